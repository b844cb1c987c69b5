"""PROGRESS: how a run shows itself while it runs: one line for terminals and logs, the same with a curve in notebooks."""
