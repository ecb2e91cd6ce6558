"""Figures: each computes its data, stores them, and draws them with Matplotlib."""

import lazy_loader as _lazy

from dynsim._core.siblings import check_not_hidden as _check_not_hidden

_check_not_hidden("analysis")
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
