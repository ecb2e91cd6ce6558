"""Experiments of `multirate`."""
