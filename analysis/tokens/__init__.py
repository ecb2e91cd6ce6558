"""Measures of token states: distance from consensus, hemispheres, energies, Lyapunov functions, clusters, densities."""
