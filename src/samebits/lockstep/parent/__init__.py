"""The parent's side of training: starts workers, listens, keeps checkpoints, tries again."""
