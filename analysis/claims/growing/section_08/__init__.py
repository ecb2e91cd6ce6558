"""Claims of Section 8 of "DDCL-INCRT"."""
