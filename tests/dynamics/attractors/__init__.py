"""Attractors and basins."""
