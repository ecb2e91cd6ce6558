"""Exact results for flows and maps with sympy: equilibria, nullclines, invariants, stability, bifurcation curves."""
