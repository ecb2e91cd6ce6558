"""Measures of fast-slow systems: critical manifold, its stability and folds, and the error of the reduced flow."""
