"""Figures and panels."""
