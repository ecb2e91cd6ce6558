"""Continuous-time Markov chains: classes, stationary distributions, transients, spectral gap, mixing, entropy, lumping.

Column convention: p' = Q p, and `Q[i, j]` is the rate from state j to state i. `attention_generator` turns a
row-stochastic attention matrix into such a generator.
"""
