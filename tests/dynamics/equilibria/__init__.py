"""Equilibria."""
