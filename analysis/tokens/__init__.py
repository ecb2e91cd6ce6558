"""Measures of tokens: distance from consensus, hemispheres, energies and Lyapunov functions, clusters."""
