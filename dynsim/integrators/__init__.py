"""Integrators: diffrax, a stabilised solver for it, SciPy for confirmation, symplectic, token spans, noise."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
