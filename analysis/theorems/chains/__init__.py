"""Theorems about Markov chains and positive matrices."""
