"""Periodic orbits."""
