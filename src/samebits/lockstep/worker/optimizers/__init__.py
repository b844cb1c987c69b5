"""Updates of parameters: one file each."""
