"""The tables of mutants, a file for each paper."""
