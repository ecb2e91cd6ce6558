"""JAX settings, types, and validation of arguments, on which all other packages build."""
