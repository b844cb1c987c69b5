"""What is trained: objective, batches, settings, schedule, and where each tensor lies."""
