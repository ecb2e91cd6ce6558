"""Claims of Section 9 of "DDCL-INCRT"."""
