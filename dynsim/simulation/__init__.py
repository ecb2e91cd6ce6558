"""Simulation of flows, maps and hybrid systems, and the trajectories and run files that result."""
