"""The experiments of `growing`."""
