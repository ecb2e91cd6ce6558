"""Measures for one mechanism: tokens, hardmax, chains, prototypes, growing and fast-slow systems."""
