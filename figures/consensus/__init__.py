"""Figures of `consensus`."""
