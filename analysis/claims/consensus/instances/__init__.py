"""Instances for the claims of `consensus`: the printed sums, and rational tokens and matrices."""
