"""Search for the functions, regions, norms and orders that theorems ask for."""
