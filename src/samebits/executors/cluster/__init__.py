"""Clusters: Dask and Ray, and what they share."""
