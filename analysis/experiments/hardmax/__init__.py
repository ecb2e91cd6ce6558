"""Experiments of `hardmax`."""
