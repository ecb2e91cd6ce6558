"""Continuation of equilibria and periodic orbits in one parameter by pseudo-arclength."""
