"""Figures of `multirate`."""
