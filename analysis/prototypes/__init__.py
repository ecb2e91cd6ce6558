"""Measures of prototype flows: Hessians, collapse, slow manifolds, growth, bifurcations, symmetries, energies."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
