"""Instances for the claims of `growing`: banks of prototypes and directions with rational expansions, residuals."""
