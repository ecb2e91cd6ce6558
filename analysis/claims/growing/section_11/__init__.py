"""Claims of Section 11 of "DDCL-INCRT"."""
