"""Textbook systems with published reference values; `entries.CATALOGUE` lists them by name."""
