"""Systems: their formulas, and the contracts that all of them keep."""
