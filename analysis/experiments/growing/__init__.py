"""Experiments of `growing`."""
