"""Measures of hardmax clustering: leaders, limit polytopes, candidate limit sets, and certified limits."""
