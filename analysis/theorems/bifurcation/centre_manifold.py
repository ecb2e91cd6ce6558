"""Taylor expansions of the centre manifold of an imaginary pair of eigenvalues, or of a pair on the unit circle.

The manifold is x = sum of h_jk w^j conj(w)^k, on which w' = i omega w + c1 w |w|^2 + c2 w |w|^4 for a flow, and w is
taken to mu w + c1 w |w|^2 by a map. Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004,
sections 5.4 and 8.7.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.dynamics.validated.ball_operations import flint
from analysis.dynamics.validated.balls import Balls
from analysis.theorems.bifurcation.eigenspaces import (
    NullSpace,
    complexes,
    conjugate,
    inner,
    real_parts,
    shifted,
    solved,
)
from analysis.theorems.bifurcation.forms import Forms

Terms = dict[tuple[int, int], Balls]
"""Complex vectors by the powers (j, k) of w and its conjugate."""


def centre_manifold(
    forms: Forms, at: Balls, A: Balls, null: NullSpace, value: Callable[[int, int], Any], order: int
) -> tuple[Terms, list[Any]]:
    """Enclose the coefficients h of the manifold below an order, and c1, c2, ... up to it.

    Args:
        forms: the derivatives of the field, or of the step of a map.
        at: the state and the parameters.
        A: the Jacobian by the state.
        null: the eigenvectors of the critical eigenvalue.
        value: what w^j conj(w)^k is multiplied by: i omega (j - k), or mu^j conj(mu)^k for a map.
        order: 3, or for a flow also 5.

    Raises:
        ZeroDivisionError: at a resonance, where a coefficient may not be defined.
    """
    h: Terms = {(1, 0): null.q, (0, 1): conjugate(null.q)}
    c: list[Any] = []
    for degree in range(2, order + 1):
        rest = composed(forms, at, h, degree)
        if degree % 2:
            c.append(inner(null.p, rest[degree // 2 + 1, degree // 2]))
        for j in range((degree + 1) // 2, degree + 1) if degree < order else ():
            k = degree - j
            if j == k + 1:  # the resonant term
                h[j, k] = null.solve(-rest[j, k])
            else:
                known = ((j - 1) * c[0] + (k - 1) * c[0].conjugate()) * h[j - 1, k - 1] if k and c else 0
                h[j, k] = solved(shifted(A, value(j, k)), known - rest[j, k])
            h[k, j] = conjugate(h[j, k])
    return h, c


def composed(forms: Forms, at: Balls, h: Terms, degree: int) -> Terms:
    """Enclose the coefficients of one degree of the field on a surface, from its values along lines through w = 0."""
    values = []
    for a, b in _directions(degree):
        w = flint().acb(a, b)
        curve = []
        for m in range(1, degree + 1):
            total = complexes(np.zeros(len(h[1, 0])))
            for (j, k), vector in h.items():
                if j + k == m:
                    total = total + w**j * w.conjugate() ** k * vector
            curve.append(real_parts(total))
        values.append(forms.coefficient(at, curve, degree))
    found: Terms = {}
    for powers, (weights, divisor) in _weights(degree).items():
        pairs = zip(weights, values, strict=True)
        found[powers] = sum((flint().acb(*weight) * complexes(v) for weight, v in pairs), start=0) / divisor
    return found


def _directions(degree: int) -> list[tuple[int, int]]:
    """Lines of the plane, as w = a + b i."""
    return [(1, 0), *((1, sign * b) for b in range(1, degree + 1) for sign in (1, -1))][: degree + 1]


@functools.cache
def _weights(degree: int) -> dict[tuple[int, int], tuple[list[tuple[int, int]], int]]:
    """Gaussian integers by which values along lines are summed, and the divisor, for each coefficient of a degree."""
    package, nodes = flint(), [b for _, b in _directions(degree)]
    inverse = package.fmpq_mat([[package.fmpq(b) ** i for i in range(degree + 1)] for b in nodes]).inv()
    common = math.lcm(*(int(entry.q) for entry in inverse.entries()))
    found = {}
    for j in range(degree + 1):
        total = [[0, 0] for _ in nodes]
        for i in range(degree + 1):  # a^(m - i) b^i = (w + w*)^(m - i) (w - w*)^i (-i)^i / 2^m
            share = sum((-1) ** (i - r) * math.comb(i, r) * math.comb(degree - i, j - r) for r in range(min(i, j) + 1))
            real, imaginary = ((1, 0), (0, -1), (-1, 0), (0, 1))[i % 4]
            for d in range(len(nodes)):
                weight = share * int(inverse[i, d] * common)
                total[d][0] += real * weight
                total[d][1] += imaginary * weight
        found[j, degree - j] = [tuple(one) for one in total], common * 2**degree
    return found
