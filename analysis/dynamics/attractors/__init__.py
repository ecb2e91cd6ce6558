"""Attractors, their basins and the boundaries between basins."""
