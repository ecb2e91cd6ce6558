"""Scales of states, times and parameters, and sizes of samples."""
