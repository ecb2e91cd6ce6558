"""The separation force F_sep of prototypes, and its expansion as embeddings gain components along a direction u."""

from fractions import Fraction

from analysis.verifiers.frames.assignments import centroids
from analysis.verifiers.frames.linear_algebra import dot, squared_distance


def separated_along(p, u, alpha):
    """Yield the checks that two prototypes differ, also along u, and that the tokens' components alpha are centred."""
    yield "(A1) prototypes are distinct", squared_distance(*p), squared_distance(*p) > 0
    yield "(A2') they differ along u", dot(p[0], u) - dot(p[1], u), dot(p[0], u) != dot(p[1], u)
    yield "tokens are centred", [str(a) for a in alpha], sum(alpha) == 0


def displaced(z, u, alpha):
    """z_n + alpha_n u, the embeddings displaced along u."""
    return [[a + s * b for a, b in zip(point, u, strict=True)] for point, s in zip(z, alpha, strict=True)]


def deviations(q, p):
    """r_k = sum_n q_nk (p_k - mu_n); twice these are the columns of 2 P Sigma_q."""
    found = []
    for k, y in enumerate(p):
        away = [
            [row[k] * (a - b) for a, b in zip(y, mu, strict=True)] for row, mu in zip(q, centroids(q, p), strict=True)
        ]
        found.append([sum(column) for column in zip(*away, strict=True)])
    return found


def separation_force(q, p):
    """F_sep = 4 sum_k |r_k|^2 of (4)."""
    return 4 * sum(dot(r, r) for r in deviations(q, p))


def assignment_series(q, p, u, alpha):
    """The coefficients of q in eps / T up to the second, from q_n exp(2 (eps / T) alpha_n <p_k, u>).

    The rest of |z_n + eps alpha_n u - p_k|^2 is the same for all k.
    """
    found = [[], [], []]
    for row, a in zip(q, alpha, strict=True):
        slope = [2 * a * dot(y, u) for y in p]
        first = [w * c for w, c in zip(row, slope, strict=True)]
        second = [w * c / 2 for w, c in zip(first, slope, strict=True)]
        q1 = [w - sum(first) * v for w, v in zip(first, row, strict=True)]
        q2 = [w - sum(first) * v - sum(second) * x for w, v, x in zip(second, q1, row, strict=True)]
        for coefficients, values in zip(found, (row, q1, q2), strict=True):
            coefficients.append(values)
    return found


def force_series(q, p):
    """The coefficients of F_sep in eps / T up to the second, for those of q."""
    mu = [centroids(rows, p) for rows in q]
    r = [[[Fraction(0)] * len(p[0]) for _ in p] for _ in range(3)]
    for n in range(len(q[0])):
        for k, y in enumerate(p):
            for i in range(3):
                r[i][k] = [a + q[i][n][k] * b for a, b in zip(r[i][k], y, strict=True)]
                for j in range(3 - i):
                    r[i + j][k] = [a - q[i][n][k] * b for a, b in zip(r[i + j][k], mu[j][n], strict=True)]
    product = lambda i, j: sum(dot(a, b) for a, b in zip(r[i], r[j], strict=True))
    return 4 * product(0, 0), 8 * product(0, 1), 4 * product(1, 1) + 8 * product(0, 2)


def variance_bound(q, p, u, alpha):
    """The mean variance of p* and C_0 = |alpha|^2 Var_max N D^2 of (15)."""
    starred, variances = [dot(y, u) for y in p], []
    for row in q:
        mean = dot(row, starred)
        variances.append(sum(w * (s - mean) ** 2 for w, s in zip(row, starred, strict=True)))
    widest = max(squared_distance(y, mu) for y in p for mu in centroids(q, p))
    return sum(variances) / len(q), max(a * a for a in alpha) * max(variances) * len(q) * widest
