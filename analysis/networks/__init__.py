"""Measures of networks: which inputs their outputs depend on."""
