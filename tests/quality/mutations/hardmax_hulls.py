"""Errors in hulls of floats and of many dimensions, score gaps, clusters and hypotheses, and what notices them."""

from tests.quality.mutants import Mutant

LEADERS = ("hardmax/theorem-1.1-leaders-exist",)
HULLS = ("hardmax/lemma-3.3",)
LIMITS = ("hardmax/theorem-1.1-i",)
BALLS = ("hardmax/proposition-4.6",)

# fmt: off
MUTANTS = (
    Mutant("hulls: floats count as inside up to 1e-7 of the extent", "TOLERANCE", "1e-9", "1e-7", HULLS),
    Mutant("hulls: floats count as inside up to 1e-11 of the extent", "TOLERANCE", "1e-9", "1e-11", HULLS),
    Mutant("hulls: the tolerance of linear programs is no length over the extent", "outside",
           "TOLERANCE * _length_scale(others)", "TOLERANCE", HULLS),
    Mutant("hulls: the tolerance of facets is no length over the extent", "_float_polytope",
           "TOLERANCE * _length_scale(x)", "TOLERANCE", HULLS),
    Mutant("hulls: the extent is that of the coordinates", "_length_scale",
           "np.max(np.abs(x)) * 1e-3", "np.max(np.abs(x)) * 1e3", HULLS),
    Mutant("hulls: of equal points the last one is the vertex", "vertices",
           "reversed(list(enumerate(x.tolist())))", "enumerate(x.tolist())", HULLS),
    Mutant("hulls: above three dimensions points inside are kept", "vertices",
           "not outside(x[[i]], x[others])[0]", "outside(x[[i]], x[others])[0]", HULLS),
    Mutant("hulls: linear programs leave the sum of weights open", "_distance", "[1.0]", "[0.9]", HULLS),
    Mutant("hulls: limits are numbered by sorted values", "distinct_limits",
           "numbers = np.array([seen.setdefault(tuple(row), len(seen)) for row in x], int)",
           "seen = {row: k for k, row in enumerate(sorted({tuple(row) for row in x}))}\n"
           "numbers = np.array([seen[tuple(row)] for row in x], int)", BALLS),
    Mutant("clusters: complete linkage", "clusters", '"single"', '"complete"', BALLS),
    Mutant("clusters: average linkage", "clusters", '"single"', '"average"', BALLS),
    Mutant("clusters: the radius is that of a cluster on each side", "clusters",
           'scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.linkage(x, "single"), radius, "distance")',
           'scipy.cluster.hierarchy.fcluster(scipy.cluster.hierarchy.linkage(x, "single"), 2 * radius, "distance")',
           BALLS),
    Mutant("clusters: labels are not numbered by first occurrence", "clusters",
           "np.argsort(np.argsort(first))[inverse]", "inverse", BALLS),
    Mutant("gaps: the terms of the query and of the scores are not multiplied", "exact_gap",
           "count * (term @ other)", "0 * count * (term @ other)", LIMITS),
    Mutant("gaps: products of binomials lack a factor", "product_of_binomials",
           "math.comb(t + u - j, t) * math.comb(t, j)", "math.comb(t + u - j, t)", LIMITS),
    Mutant("gaps: a bound of r^m binom(m, t) lacks the factorial", "supremum_bound",
           "(total / (E_LOWER_BOUND * (1 - ratio))) ** total / math.prod(math.factorial(t) for t in degrees)",
           "(total / (E_LOWER_BOUND * (1 - ratio))) ** total", LIMITS),
    Mutant("gaps: a bound of r^m binom(m, t) has an upper bound of e", "E_LOWER_BOUND",
           "Fraction(2718, 1000)", "Fraction(2719, 1000)", LIMITS),
    Mutant("gaps: the least value of a quadratic is that at an end", "least_on_unit_interval",
           "a - b * b / (4 * c) if 0 < -b < 2 * c else min(a, a + b + c)", "min(a, a + b + c)", LIMITS),
    Mutant("gaps: a gap stays positive if its limit is", "Gap.stays_positive",
           "least_on_unit_interval(leading[0], second[0], third[0]) > negative", "leading[0] > 0", LIMITS),
    Mutant("gaps: floats call a gap positive if its limit is", "FloatMotion._separated_in_the_limit",
           "least > SAFETY * loss + SMALLEST", "a > 0", LIMITS),
    Mutant("hulls: S in floats needs exact supports", "candidate_set",
           "body.tolerance * _scale(body, A)", "0", ("hardmax/lemma-4.1-finite",)),
    Mutant("hypotheses: any A is symmetric", "hypotheses", "A is None or bool(np.all(A == A.T))", "True", LEADERS),
    Mutant("hypotheses: any A is definite", "hypotheses", "A is None or positive_definite(A + A.T)", "True", LEADERS),
    Mutant("hypotheses: a matrix that is not symmetric is not definite", "hypotheses",
           "positive_definite(A + A.T)", "bool(np.all(A == A.T)) and positive_definite(A)", LEADERS),
    Mutant("hypotheses: alpha may be 0", "hypotheses",
           'rational("alpha", map.alpha) > 0', 'rational("alpha", map.alpha) >= 0', LEADERS),
)
# fmt: on
