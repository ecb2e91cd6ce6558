"""Integrators: diffrax, stabilised and SciPy solvers, symplectic and stochastic methods, and token spans."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
