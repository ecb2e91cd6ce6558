"""Theorems about maps of an interval."""
