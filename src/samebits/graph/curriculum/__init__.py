"""Expressions of growing difficulty with their graphs, checked."""
