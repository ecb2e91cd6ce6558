"""Theorems about switched systems."""
