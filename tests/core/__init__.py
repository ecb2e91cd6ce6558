"""Packages, layers, spaces, exact numbers, processes, programs and the README."""
