"""Periodic orbits of flows by multiple shooting, periodic points of maps, and limit cycles near given starts."""
