"""Collocation at Gauss points on adapted meshes, for periodic orbits and other boundary value problems."""
