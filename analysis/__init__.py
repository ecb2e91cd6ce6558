"""Measures of dynamical systems and networks, theorems, experiments, and the ledger of the statements of papers."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
