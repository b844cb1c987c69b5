"""Models for and from other programs, and the difference of two models."""
