"""Measures of dynamical systems and networks, experiments, and the ledger of the statements of papers."""
