"""Quasi-periodic tori."""
