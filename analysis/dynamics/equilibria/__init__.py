"""Equilibria: Newton's method from given states, searches of a region, curves of equilibria, and long-time limits."""
