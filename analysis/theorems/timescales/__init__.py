"""Theorems about two time scales."""
