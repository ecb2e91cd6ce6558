"""Rigorous results."""
