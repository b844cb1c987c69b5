"""What a page that watches runs reads: the log of events."""
