"""Classical theorems of dynamics for your system: each condition with its margin and how it was decided."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
