"""Commands that measure one trajectory at evenly spaced times: spectrum, recurrence and the 0-1 test."""
