"""Linear algebra of large sparse Jacobians: bordered systems, null vectors, and the rightmost eigenvalues."""
