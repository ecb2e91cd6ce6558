"""Measures of networks: on which inputs their outputs depend."""
