"""Options of the command line, ranges, sizes, solvers and tables: from words to values."""
