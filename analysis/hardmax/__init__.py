"""Measures of hardmax clustering: leaders, limit polytopes, candidate limit sets, and certified limits."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
