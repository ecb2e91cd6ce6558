"""Theorems about stability."""
