"""Measures of fast-slow systems: critical manifolds, folds, and the error of the reduced flow."""
