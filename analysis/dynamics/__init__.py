"""Measures of any flow: equilibria, linearisation, limits, convergence rates, basin boundaries, phase portraits."""
