"""Curves of bifurcations in two parameters, and the codimension-two points on them."""
