"""Instances for the claims of `hardmax`: rational tokens, and runs with certified limits."""
