"""What one measures, and the ledger of what the papers claim."""
