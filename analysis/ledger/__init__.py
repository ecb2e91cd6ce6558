"""The ledger: measurements and trials, verdicts, claims and their checks, and findings on statements of papers."""
