"""Experiments of `prototypes`."""
