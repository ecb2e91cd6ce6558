"""Figures: each computes its data, stores them, and draws them with Matplotlib."""
