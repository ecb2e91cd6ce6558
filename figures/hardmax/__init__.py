"""Figures of `hardmax`."""
