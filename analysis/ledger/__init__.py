"""The ledger: measurements and trials, verdicts, claims and their checks, and findings on statements of papers."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
