"""Claims of Section 10 of "DDCL-INCRT"."""
