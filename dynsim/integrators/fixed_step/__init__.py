"""Integrators with a fixed step: stochastic and symplectic methods."""
