"""Instances for the claims of `hardmax`: rational tokens, and runs whose limits are certified."""
