"""Theorems about existence, uniqueness and invariant regions."""
