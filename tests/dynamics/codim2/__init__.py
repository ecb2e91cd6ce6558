"""Curves of bifurcations in two parameters."""
