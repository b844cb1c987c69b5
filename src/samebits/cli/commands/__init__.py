"""Commands that belong to no job."""
