"""Runs as they go on: one watcher for each run that somebody looks at."""
