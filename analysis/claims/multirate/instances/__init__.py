"""Instances for the claims of `multirate`: chains and networks."""
