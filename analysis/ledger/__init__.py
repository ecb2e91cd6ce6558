"""The ledger: evidence, verdicts, claims, how they are checked, and the findings on the statements of papers."""
