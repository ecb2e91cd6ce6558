"""Analyse any flow or map: equilibria, periodic orbits, continuation, attractors, basins, Lyapunov exponents."""
