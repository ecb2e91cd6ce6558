"""Continuous-time Markov chains: classes, stationary distributions, transients, spectral gap, mixing, entropy, lumping.

Column convention: p' = Q p, and `Q[i, j]` is the rate from state j to state i. `attention_generator` turns a
row-stochastic attention matrix into such a generator.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
