"""Theorems about local bifurcations."""
