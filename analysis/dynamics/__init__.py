"""The workbench for any system: equilibria, orbits, continuation, attractors, basins, exponents, portraits, proofs."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
