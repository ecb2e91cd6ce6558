"""Normal form coefficients of bifurcations of equilibria, of maps and of periodic orbits."""
