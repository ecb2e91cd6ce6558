"""Markov chains of master equations: classes, stationary laws, relaxation, gaps and mixing, entropy, lumping.

Columns: p' = Q p, and `Q[i, j]` is the rate from j to i. A row-stochastic attention matrix A becomes such a chain by
`attention_generator`.
"""
