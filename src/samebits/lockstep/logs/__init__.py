"""What a training run leaves for people: progress, the log of its steps, the picture of its losses, TensorBoard files."""
