"""Figures of `growing`."""
