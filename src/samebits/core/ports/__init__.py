"""What the engine asks of others: who runs a task, who keeps a part, where a training run may work."""
