"""The dynamical systems, grouped by mechanism."""
