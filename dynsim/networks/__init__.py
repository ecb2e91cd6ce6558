"""Neural networks built from the systems of this library: decoders, sentiment classifiers, multirate networks."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
