"""Ledger of papers: measurements, trials and verdicts, claims and their checks, and findings on statements."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
