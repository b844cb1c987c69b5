"""What a run tells while it runs and what is recorded of it; nothing here can reach a result."""
