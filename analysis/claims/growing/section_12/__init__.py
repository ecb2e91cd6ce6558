"""Claims of Section 12 of "DDCL-INCRT"."""
