"""Rigorous results in ball arithmetic: enclosures of equilibria, periodic points and periodic orbits."""
