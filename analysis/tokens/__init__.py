"""Measures of token states: distance from consensus, hemispheres, energies and Lyapunov functions, clusters."""
