"""Losses of integer points at T = 1 / log 2, their derivatives, and the barrier that keeps prototypes apart."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import assignments
from analysis.verifiers.frames.linear_algebra import frobenius_product, squared_distance


def loss_and_gradients(z, p):
    """L_q and its derivatives by embeddings and prototypes at fixed q, for integer points and T = 1 / log 2."""
    by_z, by_p, loss = [[0] * len(v) for v in z], [[0] * len(v) for v in p], 0
    for n, row in enumerate(assignments(z, p, Fraction(2))):
        for k, (q, c) in enumerate(zip(row, p, strict=True)):
            loss += q * squared_distance(z[n], c)
            for i, (x, y) in enumerate(zip(z[n], c, strict=True)):
                by_z[n][i] += 2 * q * (x - y)
                by_p[k][i] -= 2 * q * (x - y)
    return loss, by_z, by_p


def mean_loss_gradient(z, p, log_2):
    """The derivative of the mean loss by the prototypes, through the assignments, for a value of log 2."""
    found = [[Fraction(0)] * len(b) for b in p]
    for a, q in zip(z, assignments(z, p, Fraction(2)), strict=True):
        d = [squared_distance(a, b) for b in p]
        mean = sum(x * y for x, y in zip(q, d, strict=True))
        for k, b in enumerate(p):
            w = q[k] * (1 - (d[k] - mean) * log_2)
            for i, (x, y) in enumerate(zip(a, b, strict=True)):
                found[k][i] += 2 * w * (y - x) / len(z)
    return found


def barrier_gradient(p):
    """The derivative of sum_{j < k} |p_j - p_k|^-2 by the prototypes."""
    found = [[Fraction(0)] * len(b) for b in p]
    for k, a in enumerate(p):
        for j, b in enumerate(p):
            if j != k:
                square = squared_distance(a, b)
                found[k] = [f - 2 * (x - y) / square**2 for f, x, y in zip(found[k], a, b, strict=True)]
    return found


def squared_slope(z, banks, lam, log_2):
    """The squared derivative of mean losses and lam times barriers, over all banks, for a value of log 2."""
    total = Fraction(0)
    for p in banks:
        rows = zip(mean_loss_gradient(z, p, log_2), barrier_gradient(p), strict=True)
        slope = [[g + lam * r for g, r in zip(*pair, strict=True)] for pair in rows]
        total += frobenius_product(slope, slope)
    return total
