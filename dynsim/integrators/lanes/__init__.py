"""Adaptive steps of many members at once, each with its own step size, clock and end."""
