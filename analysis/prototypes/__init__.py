"""Measures of prototype flows: Hessians, collapse, slow manifolds, growth, bifurcations, symmetries, energies."""
