"""Interactions of many tokens: blocked, harmonic, sharded."""
