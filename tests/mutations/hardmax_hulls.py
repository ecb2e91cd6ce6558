"""Errors in hulls of floats and of many dimensions, score gaps, clusters and hypotheses, and what notices them."""

from tests.mutants import Mutant

POLYTOPES = "analysis.hardmax.polytopes"
MOTION = "analysis.hardmax.constant_follower_sets"
GAPS = "analysis.hardmax.float_score_gaps"
CLUSTERS = "analysis.tokens.clusters"
HYPOTHESES = "dynsim.systems.hardmax.hypotheses"

LEADERS = ("hardmax/theorem-1.1-leaders-exist",)
HULLS = ("hardmax/lemma-3.3",)
LIMITS = ("hardmax/theorem-1.1-i",)
BALLS = ("hardmax/proposition-4.6",)

MUTANTS = (
    Mutant("hulls: floats count as inside up to 1e-7 of the extent", POLYTOPES, "TOLERANCE = 1e-9", "TOLERANCE = 1e-7",
           HULLS),
    Mutant("hulls: floats count as inside up to 1e-11 of the extent", POLYTOPES, "TOLERANCE = 1e-9",
           "TOLERANCE = 1e-11", HULLS),
    Mutant("hulls: the tolerance of linear programs is no length over the extent", POLYTOPES,
           "> TOLERANCE * _length_scale(others)", "> TOLERANCE", HULLS),
    Mutant("hulls: the tolerance of facets is no length over the extent", POLYTOPES,
           "k, tolerance = len(basis), TOLERANCE * _length_scale(x)", "k, tolerance = len(basis), TOLERANCE", HULLS),
    Mutant("hulls: the extent is that of the coordinates", POLYTOPES,
           "np.max(np.linalg.norm(x - x[0], axis=1), initial=np.max(np.abs(x)) * 1e-3)",
           "np.max(np.linalg.norm(x - x[0], axis=1), initial=np.max(np.abs(x)) * 1e3)", HULLS),
    Mutant("hulls: of equal points the last one is the vertex", POLYTOPES,
           "for i, row in reversed(list(enumerate(x.tolist())))", "for i, row in enumerate(x.tolist())", HULLS),
    Mutant("hulls: above three dimensions points inside are kept", POLYTOPES,
           "if others and not outside(x[[i]], x[others])[0]:", "if others and outside(x[[i]], x[others])[0]:", HULLS),
    Mutant("hulls: linear programs leave the sum of weights open", POLYTOPES, "b_eq=[1.0],", "b_eq=[0.9],", HULLS),
    Mutant("hulls: limits are numbered by sorted values", POLYTOPES,
           "numbers = np.array([seen.setdefault(tuple(row), len(seen)) for row in x], int)",
           "seen = {row: k for k, row in enumerate(sorted({tuple(row) for row in x}))}\n"
           "    numbers = np.array([seen[tuple(row)] for row in x], int)", BALLS),
    Mutant("clusters: complete linkage", CLUSTERS, 'linkage(x, "single")', 'linkage(x, "complete")', BALLS),
    Mutant("clusters: average linkage", CLUSTERS, 'linkage(x, "single")', 'linkage(x, "average")', BALLS),
    Mutant("clusters: the radius is that of a cluster on each side", CLUSTERS, 'radius, "distance")',
           '2 * radius, "distance")', BALLS),
    Mutant("clusters: labels are not numbered by first occurrence", CLUSTERS,
           "return np.argsort(np.argsort(first))[inverse]", "return inverse", BALLS),
    Mutant("gaps: the terms of the query and of the scores are not multiplied", MOTION,
           "c[k] += count * (term @ other)", "c[k] += 0 * count * (term @ other)", LIMITS),
    Mutant("gaps: products of binomials lack a factor", MOTION,
           "math.comb(t + u - j, t) * math.comb(t, j)", "math.comb(t + u - j, t)", LIMITS),
    Mutant("gaps: a bound of r^m binom(m, t) lacks the factorial", MOTION,
           " / math.prod(math.factorial(t) for t in degrees)", "", LIMITS),
    Mutant("gaps: a bound of r^m binom(m, t) has an upper bound of e", MOTION,
           "E_LOWER_BOUND = Fraction(2718, 1000)", "E_LOWER_BOUND = Fraction(2719, 1000)", LIMITS),
    Mutant("gaps: the least value of a quadratic is that at an end", MOTION,
           "return a - b * b / (4 * c) if 0 < -b < 2 * c else min(a, a + b + c)", "return min(a, a + b + c)", LIMITS),
    Mutant("gaps: a gap stays positive if its limit is", MOTION,
           "return least_on_unit_interval(leading[0], second[0], third[0]) > negative", "return leading[0] > 0",
           LIMITS),
    Mutant("gaps: floats call a gap positive if its limit is", GAPS,
           "return least > SAFETY * loss + SMALLEST", "return a > 0", LIMITS),
    Mutant("hulls: S in floats needs exact supports", "analysis.hardmax.candidates",
           "support_gap(body, x, A) <= body.tolerance * _scale(body, A)", "support_gap(body, x, A) <= 0",
           ("hardmax/lemma-4.1-finite",)),
    Mutant("hypotheses: any A is symmetric", HYPOTHESES, "symmetric=A is None or bool(np.all(A == A.T))",
           "symmetric=True", LEADERS),
    Mutant("hypotheses: any A is definite", HYPOTHESES, "definite=A is None or positive_definite(A + A.T)",
           "definite=True", LEADERS),
    Mutant("hypotheses: a matrix that is not symmetric is not definite", HYPOTHESES,
           "definite=A is None or positive_definite(A + A.T)",
           "definite=A is None or bool(np.all(A == A.T)) and positive_definite(A)", LEADERS),
    Mutant("hypotheses: alpha may be 0", HYPOTHESES, 'rational("alpha", map.alpha) > 0',
           'rational("alpha", map.alpha) >= 0', LEADERS),
)  # fmt: skip
