"""Claims of Section 6 of "DDCL-INCRT"."""
