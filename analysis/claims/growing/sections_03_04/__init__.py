"""Claims of Sections 3 and 4 of "DDCL-INCRT"."""
