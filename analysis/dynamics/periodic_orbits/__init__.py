"""Periodic orbits of flows by shooting, periodic points of maps, limit cycles of planar flows."""
