"""State spaces: Euclidean space, circles and tori, spheres and ellipsoids, the simplex, and products."""

from dynsim.spaces.angles import Circle, Cylinder, Torus
from dynsim.spaces.base import AbstractSpace
from dynsim.spaces.ellipsoid import Ellipsoid, Sphere
from dynsim.spaces.euclidean import Euclidean
from dynsim.spaces.product import Product
from dynsim.spaces.simplex import Simplex

__all__ = ["AbstractSpace", "Circle", "Cylinder", "Ellipsoid", "Euclidean", "Product", "Simplex", "Sphere", "Torus"]
