"""Experiments of `consensus`."""
