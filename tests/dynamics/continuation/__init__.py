"""Continuation in one parameter."""
