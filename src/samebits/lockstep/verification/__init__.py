"""Are two training runs the same, and where do they part? Logs by step, checkpoints and models by tensor."""
