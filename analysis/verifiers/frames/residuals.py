"""Residual matrices A_res of interactions: antisymmetric parts M_a without the directions that heads have captured."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import on_lattice
from analysis.verifiers.frames.linear_algebra import dot, matrix, matrix_product, orthonormal, transpose, vector


def antisymmetric_part(M):
    """(M - M^T) / 2, the antisymmetric part of a matrix."""
    return [
        [(a - b) / 2 for a, b in zip(row, column, strict=True)] for row, column in zip(M, transpose(M), strict=True)
    ]


def residual(M, captured):
    """P M_a P, P being the projector of what is orthogonal to orthonormal rows."""
    d = range(len(M))
    P = [[Fraction(i == j) - sum(c[i] * c[j] for c in captured) for j in d] for i in d]
    return matrix_product(P, matrix_product(antisymmetric_part(M), P))


def dominant(A, u, s):
    """Whether |u| = 1, A^T A u = s^2 u, and tr A^T A < 4 s^2, so that no other pair reaches s."""
    gram = matrix_product(transpose(A), A)
    trace = sum(row[i] for i, row in enumerate(gram))
    return dot(u, u) == 1 and [dot(row, u) for row in gram] == [s**2 * v for v in u] and 0 < trace < 4 * s**2


def dominant_direction(witness):
    """Yield the checks that assignments are rational, and that u is a dominant vector of A_res."""
    b, captured = Fraction(witness["b"]), matrix(witness["captured"])
    whole = on_lattice([matrix(witness["z"]), matrix(witness["p"])], b)
    yield "T = 1 / log b is positive, and coordinates are integers: b", b, whole
    yield "what is captured is orthonormal", [[str(v) for v in row] for row in captured], orthonormal(captured)
    u, s = vector(witness["u"]), Fraction(witness["s"])
    yield "u is a dominant vector of A_res: s", s, dominant(residual(matrix(witness["M"]), captured), u, s)


def complement(w):
    """The projector 1 - w w^T / |w|^2; that of zero is 1."""
    size = dot(w, w) or Fraction(1)
    return [[(i == j) - a * b / size for j, b in enumerate(w)] for i, a in enumerate(w)]


def remaining_square(A, w):
    """|P A P|_F^2, with the projector P of what is orthogonal to w."""
    P = complement(w)
    return sum(v * v for row in matrix_product(matrix_product(P, A), P) for v in row)


def remaining_value_squared(s, u, v, w):
    """The squared value of P A P, A = s (v u^T - u v^T), P the projection orthogonal to w: |P A P|_F^2 / 2."""
    size = range(len(u))
    return remaining_square([[s * (v[i] * u[j] - u[i] * v[j]) for j in size] for i in size], w) / 2


def values_and_thresholds(witness):
    """The values of M_a, phi_g and theta_w."""
    return vector(witness["values of M_a"]), Fraction(witness["phi_g"]), Fraction(witness["theta_w"])


def last_gap(values, phi, theta):
    """Gamma^2 = s^2 / (2 sum s^2) of the last value of M_a, and whether Gamma < phi < theta < every value."""
    square = values[-1] ** 2 / (2 * sum(s * s for s in values))
    return square, square < phi**2 and 0 < phi < theta < min(values)
