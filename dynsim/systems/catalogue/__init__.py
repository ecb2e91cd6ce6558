"""Textbook systems with published numbers, to learn and to test on; `catalogue()` lists them by name."""
