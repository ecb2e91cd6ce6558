"""Ledger of papers: measurements, trials and verdicts, claims and their checks, and findings on statements."""
