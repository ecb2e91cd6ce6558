"""Integrators of flows, with and without noise."""
