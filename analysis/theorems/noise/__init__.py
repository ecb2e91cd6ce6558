"""Theorems about integrators of stochastic differential equations."""
