"""Verify an instance that refutes (10) in Proposition 2 of "DDCL-Attention".

Printed: at fixed assignments the gradient of Lq by theta is sum_n (d z_n / d theta)^T (z_n - mu_n). Its proof has
2 (z_n - mu_n).

Instance: an encoder z = W x + c with the parameters W (linear), W and c (affine) or z itself (free). At fixed
assignments Lq is a quadratic polynomial in each, of which a central difference with any step is the derivative.
"""

from fractions import Fraction

from analysis.verifiers.frames.linear_algebra import matrix, squared_distance

STATEMENT = "prototypes/proposition-2"
WITNESS = {
    "encoder": "linear",
    "x": [["1"]],
    "weight": [["1"]],
    "bias": ["0"],
    "p": [["0"], ["3"]],
    "b": "2",
    "spacing": "1",
}


def directions(encoder, x, m):
    """The derivatives of all embeddings by each parameter."""
    unit = [[Fraction(i == k) for i in range(m)] for k in range(m)]
    by_weight = [[[u * row[j] for u in e] for row in x] for e in unit for j in range(len(x[0]))]
    by_bias = [[e for _ in x] for e in unit]
    free = [[[u * (n == k) for u in e] for n in range(len(x))] for e in unit for k in range(len(x))]
    return {"linear": by_weight, "affine": by_weight + by_bias, "free": free}[encoder]


def checks(witness):
    """Yield what is checked, the number measured, and whether the check holds."""
    x, weight, p = (matrix(witness[name]) for name in ("x", "weight", "p"))
    bias, base, spacing = [Fraction(v) for v in witness["bias"]], *(Fraction(witness[k]) for k in ("b", "spacing"))
    rows = [*zip(weight, bias, strict=True)]
    z = [[sum(u * v for u, v in zip(row, datum, strict=True)) + c for row, c in rows] for datum in x]
    powers = [[squared_distance(a, b) / spacing**2 for b in p] for a in z]
    whole = all(v.denominator == 1 for row in powers for v in row)
    yield "T is positive, and distances fit: base and spacing", (str(base), str(spacing)), base > 1 and whole
    q = [[1 / base ** int(v - min(row)) for v in row] for row in powers]
    q = [[v / sum(row) for v in row] for row in q]
    mu = [[sum(w * v for w, v in zip(row, column, strict=True)) for column in zip(*p, strict=True)] for row in q]

    def loss(s, dz):
        """Lq at z + s dz with these assignments."""
        moved = [[u + s * v for u, v in zip(a, d, strict=True)] for a, d in zip(z, dz, strict=True)]
        pairs = zip(moved, q, strict=True)
        return sum(w * squared_distance(a, b) for a, row in pairs for w, b in zip(row, p, strict=True))

    found = []
    for dz in directions(witness["encoder"], x, len(weight)):
        terms = (zip(d, a, c, strict=True) for d, a, c in zip(dz, z, mu, strict=True))
        found.append(((loss(1, dz) - loss(-1, dz)) / 2, sum(d * (a - c) for row in terms for d, a, c in row)))
    slope, printed = max(found, key=lambda pair: abs(pair[0] - pair[1]))
    yield "a derivative and the printed one differ", (str(slope), str(printed)), slope != printed
