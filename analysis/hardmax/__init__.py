"""Measures of hardmax clustering: leaders, limit polytopes, candidate sets, and certified limits."""
