"""Claims of Section 5 of "DDCL-INCRT"."""
