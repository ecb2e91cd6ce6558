"""Simulation of flows, maps and hybrid systems, with the resulting trajectories and run files."""
