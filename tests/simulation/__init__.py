"""Simulation, ensembles, hybrid runs, sweeps and run files."""
