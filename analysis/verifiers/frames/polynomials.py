"""Polynomials as lists of coefficients."""


def product(p, q):
    """The coefficients of the product of two polynomials."""
    return [sum(p[i] * q[k - i] for i in range(len(p)) if 0 <= k - i < len(q)) for k in range(len(p) + len(q) - 1)]
