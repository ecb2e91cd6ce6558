"""Theorems about the structure of a field."""
