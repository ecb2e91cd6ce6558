"""Hardmax attention: the clustering maps, in floats and in exact arithmetic, and the follower sets."""
