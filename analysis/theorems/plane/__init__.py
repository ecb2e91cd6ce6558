"""Theorems about flows in the plane."""
