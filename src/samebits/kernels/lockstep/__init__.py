"""Hot loops of a training step."""
