"""Hardmax attention: clustering maps in floating-point and exact arithmetic, and their follower sets."""
