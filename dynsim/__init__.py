"""Systems and the means to run them: transformers and learning rules as dynamical systems."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
