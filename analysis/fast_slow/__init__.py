"""Measures of fast-slow systems: critical manifold, its stability and folds, and errors of the reduced flow."""
