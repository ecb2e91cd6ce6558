"""Scales of states, times and parameters, estimated from samples."""
