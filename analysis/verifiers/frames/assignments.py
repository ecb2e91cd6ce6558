"""Soft assignments of embeddings z to prototypes p, at temperatures T at which they are rational.

q_nk is exp(-|z_n - p_k|^2 / T) over the sum of its row, and exp(-h^2 / T) = 1 / b for a spacing h.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import squared_distance


def on_lattice(points, b, h=Fraction(1)):
    """Whether b > 1 and h > 0, so that T > 0, and all coordinates of lists of points are multiples of h.

    Squared distances are multiples of h^2 then, so that assignments are rational.
    """
    return b > 1 and h > 0 and all((v / h).denominator == 1 for rows in points for row in rows for v in row)


def assignments(z, p, b, h=Fraction(1)):
    """q_nk = exp(-|z_n - p_k|^2 / T) over its row's sum at T = h^2 / log b, where exp(-h^2 / T) = 1 / b."""
    found = []
    for point in z:
        d = [squared_distance(point, prototype) / h**2 for prototype in p]
        weights = [1 / b ** int(v - min(d)) for v in d]
        found.append([w / sum(weights) for w in weights])
    return found


def exact_assignments(z, p, b, h=Fraction(1)):
    """The assignments at T = h^2 / log b of points whose squared distances differ by multiples of h^2."""
    for point in z:
        d = [squared_distance(point, prototype) / h**2 for prototype in p]
        if any((v - min(d)).denominator != 1 for v in d):
            raise ValueError("squared distances must differ by multiples of h^2")
    return assignments(z, p, b, h)


def positive_assignments(z, p, b, h):
    """Yield the checks that T > 0, that coordinates are multiples of h, and that all assignments are positive."""
    what = "T is positive, and coordinates are multiples of the spacing: base and spacing"
    yield what, [str(b), str(h)], on_lattice([z, p], b, h)
    least = min(map(min, assignments(z, p, b, h)))
    yield "assignments are positive: the least", least, least > 0


def centroids(q, p):
    """The soft centroids mu_n = sum_k q_nk p_k."""
    return [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]


def covariance(q):
    """Sigma_q, the sum over n of diag(q_n) - q_n q_n^T."""
    size = range(len(q[0]))
    return [[sum((row[j] if j == k else 0) - row[j] * row[k] for row in q) for k in size] for j in size]


def separation_gradient(q, p):
    """2 Sigma_q P, the gradient of V by the prototypes at fixed assignments."""
    columns = list(zip(*p, strict=True))
    return [[2 * sum(s * v for s, v in zip(row, column, strict=True)) for column in columns] for row in covariance(q)]


def losses(z, p, q):
    """Lq, M and V, each by its own formula."""
    loss = sum(w * squared_distance(x, y) for x, row in zip(z, q, strict=True) for w, y in zip(row, p, strict=True))
    hard = sum(min(squared_distance(x, y) for y in p) for x in z)
    pairs = zip(centroids(q, p), q, strict=True)
    return loss, hard, sum(w * squared_distance(mu, y) for mu, row in pairs for w, y in zip(row, p, strict=True))


def activity(z, p, q):
    """sigma, the mean over n of the variance of |z_n - p_k|^2 under q_n."""
    total = Fraction(0)
    for point, row in zip(z, q, strict=True):
        d = [squared_distance(point, prototype) for prototype in p]
        mean = sum(w * v for w, v in zip(row, d, strict=True))
        total += sum(w * (v - mean) ** 2 for w, v in zip(row, d, strict=True))
    return total / len(z)
