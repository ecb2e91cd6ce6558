"""Textbook systems with published numbers, to learn and to test on; `entries.CATALOGUE` lists them by name."""
