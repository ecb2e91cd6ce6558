"""Claims of Section 7 of "DDCL-INCRT"."""
