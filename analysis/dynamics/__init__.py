"""Measures of any system: equilibria, linearisation, limits, convergence rates, basin boundaries, phase portraits."""
