"""Build the state space that an option names."""

from pathlib import Path

from dynsim.cli.parsing.options import typed_as
from dynsim.cli.parsing.tables import matrix
from dynsim.errors import ArgumentError, nearest
from dynsim.spaces import AbstractSpace, Ellipsoid, Euclidean, Simplex, Sphere


def space(name: str) -> AbstractSpace:
    """Build a state space by name; `ellipsoid:FILE` is the ellipsoid of the matrix W in a file."""
    plain = {"sphere": Sphere, "euclidean": Euclidean, "simplex": Simplex}
    if name in plain:
        return plain[name]()
    if name.startswith("ellipsoid:"):
        with typed_as(matrix="space"):
            return Ellipsoid(matrix(Path(name.partition(":")[2]), "space"))
    must = "be sphere, euclidean, simplex or ellipsoid:FILE"
    raise ArgumentError("space", must, f"is `{name}`{nearest(name, plain)}")
