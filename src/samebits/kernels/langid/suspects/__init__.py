"""Rows whose label is far behind when their own counts are taken out."""
