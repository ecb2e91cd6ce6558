"""Analyse any flow or map: equilibria, periodic orbits, continuation, attractors, basins, Lyapunov exponents."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
