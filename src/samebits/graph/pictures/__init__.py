"""Graphs and edits as SVG."""
