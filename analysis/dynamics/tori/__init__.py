"""Quasi-periodic tori: invariant circles of maps, and of flows over a time, computed and continued in a parameter."""
