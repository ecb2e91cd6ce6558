"""Measures of fast-slow systems: critical manifold, its stability and folds, and errors of the reduced flow."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
