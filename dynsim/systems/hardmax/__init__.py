"""Hardmax clustering: who follows whom, the maps in floats and fractions, and their geometry."""
