"""The dynamical systems, filed by mechanism."""
