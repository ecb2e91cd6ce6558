"""Boundary value problems of ordinary differential equations, and connecting orbits, by collocation."""
