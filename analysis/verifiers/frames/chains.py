"""Generators of Markov chains: p' = Q p, the columns of Q sum to zero."""


def column_sums(Q):
    """Yield the check that a matrix is a generator: rates are not negative, and columns sum to zero."""
    n = len(Q)
    rates = [Q[i][j] for i in range(n) for j in range(n) if i != j]
    sums = [str(sum(row[j] for row in Q)) for j in range(n)]
    yield "Q is a generator: column sums", sums, sums == ["0"] * n and min(rates) >= 0
