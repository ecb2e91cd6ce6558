"""Figures of `prototypes`."""
