"""Errors in certificates, leaders, polytopes and the set S of limits, with the claims that notice them."""

from tests.quality.mutants import Mutant

LIMITS = "hardmax/theorem-1.1-i"
ATTRACTING = "hardmax/proposition-4.3"
VERTICES = "hardmax/theorem-1.1-ii"
PROJECTIONS = "hardmax/theorem-1.1-iii"
ATTAINED = "hardmax/remark-1.2"
ALL_S = "hardmax/claim-s-all-projections/corrected"
FINITE = "hardmax/lemma-4.1-finite"
BOUNDARY = "hardmax/lemma-4.1-boundary/corrected"
HULLS = "hardmax/lemma-3.3"
BY_VALUE = "hardmax/lemma-5.1-i/by-value"
KERNEL = "hardmax/claim-semidefinite/kernel"

# fmt: off
MUTANTS = (
    Mutant("hardmax: leaders that appear after layer 0 are lost by the certificate", "certify",
           "(first < 0) & phase.sets.leaders", "(first < 0) & phase.sets.leaders & (layer == 0)",
           (VERTICES, ATTAINED, "hardmax/proposition-5.3-if/corrected", "hardmax/lemma-5.5",
            "hardmax/proposition-5.3-only-if")),
    Mutant("hardmax: late leaders are dated to the last layer of the certificate", "certify",
           "break", "first[first > 0] = layer\n"
           "break", (VERTICES, "hardmax/lemma-5.4")),
    Mutant("hardmax: sets that did not change in one layer count as final", "_Phase.proved",
           "bool(np.all(unresolved)) and all(exact_gap(motion, A, i, int(self.ahead[i]), j).stays_positive for "
           "i, j in zip(self.tokens.tolist(), self.behind.tolist(), strict=True))",
           "True or all(exact_gap(motion, A, i, int(self.ahead[i]), j).stays_positive for i, j in "
           "zip(self.tokens.tolist(), self.behind.tolist(), strict=True))", (LIMITS,)),
    Mutant("hardmax: the layer of the last change is one too late", "certify",
           "phase.begin if proved else -1", "phase.begin + 1 if proved else -1", (LIMITS, VERTICES)),
    Mutant("hardmax: means of the certificate ignore multiplicities", "_Phase.next_values", "int(w)", "1", (BY_VALUE,)),
    Mutant("hardmax: limits of the certificate ignore multiplicities", "_average",
           "Fraction(int(weights[j]), total)", "Fraction(1, len(members))", (BY_VALUE,)),
    Mutant("hardmax: the ratio of the closed form is alpha / (1 + alpha)", "closed_form_motion",
           "1 / (1 + alpha)", "alpha / (1 + alpha)", (LIMITS, VERTICES, ATTRACTING, "hardmax/lemma-3.4")),
    Mutant("hardmax: the term k r^k of the closed form lacks its factor alpha", "closed_form_motion",
           "(alpha * q for q in rest)", "rest", (LIMITS, VERTICES)),
    Mutant("hardmax: tokens are solved in the order of increasing norm", "by_decreasing_norm",
           "-norms[i]", "norms[i]", (LIMITS,)),
    Mutant("hardmax: a negative score gap in the limit does not stop the certificate", "FloatMotion._block",
           "np.any(sign < 0)", "np.any(sign < 0) and False",
           equivalent="a shortcut: such a gap is never proved positive, so that the proof fails without it too"),
    Mutant("hardmax: the sign of score gaps in the limit is reversed", "FloatMotion._block",
           "self.scores[g, h] - self.scores[g, k]", "self.scores[g, k] - self.scores[g, h]", (LIMITS,)),
    Mutant("hardmax: a leader by value must follow one token", "leaders_by_value",
           "(lowest == highest)[sets.which]", "sets.sizes == 1", (BY_VALUE,)),
    Mutant("hardmax: the layers of leaders are counted from the last one", "_first_layers",
           "(first < 0) & mask(map.follower_sets(x), x)", "mask(map.follower_sets(x), x)",
           (VERTICES, "hardmax/theorem-1.1-leaders-exist", "hardmax/claim-semidefinite")),
    Mutant("hardmax: projections of the origin are Euclidean", "projection_of_origin",
           "solved(edges @ A @ edges.T, edges @ (A @ x[0]))", "solved(edges @ edges.T, edges @ x[0])",
           (PROJECTIONS, FINITE, LIMITS)),
    Mutant("hardmax: S contains the projections of the origin that do not support K", "candidate_set",
           "_inside(body, face, x) and support_gap(body, x, A) <= body.tolerance * _scale(body, A)",
           "_inside(body, face, x)", (ALL_S, FINITE)),
    Mutant("hardmax: S contains the projections of the origin outside K", "candidate_set",
           "_inside(body, face, x) and support_gap(body, x, A) <= body.tolerance * _scale(body, A)",
           "support_gap(body, x, A) <= body.tolerance * _scale(body, A)", (ALL_S, FINITE)),
    Mutant("hardmax: S lacks the vertices of K", "candidate_set",
           "faces(body)", "faces(body)[1:]", (LIMITS, ATTAINED, "hardmax/lemma-4.4-vertices", FINITE)),
    Mutant("hardmax: S lacks the projection on K itself", "candidate_set",
           "faces(body)", "faces(body)[: max(1, body.dimension)]", (FINITE, BOUNDARY)),
    Mutant("hardmax: the support gap is that of the Euclidean metric", "support_gap",
           "A @ point", "point", (ALL_S, FINITE)),
    Mutant("hardmax: the support gap has the opposite sign", "support_gap",
           "body.vertex_points - point", "point - body.vertex_points", (ALL_S, FINITE)),
    Mutant("hardmax: facets lose points added in their hyperplane", "_with_point",
           "zeros | bit if v == 0 else zeros", "zeros", (PROJECTIONS,)),
    Mutant("hardmax: polytopes have all their boundary points as vertices", "_incidences",
           "[k for k in range(len(first)) if np.sum(np.all(sets[sets[:, k]], axis=0)) == 1]", "list(range(len(first)))",
           (VERTICES, "hardmax/lemma-5.5", ATTAINED)),
    Mutant("hardmax: points outside the affine hull count as contained", "contains",
           "body.affine_hull_contains(point) and all(slack >= -body.tolerance for slack in body.slacks(point))",
           "all(slack >= -body.tolerance for slack in body.slacks(point))", (BOUNDARY,)),
    Mutant("hardmax: hulls are compared in the wrong order", "nested",
           "outside(inner, outer)", "outside(outer, inner)", (HULLS, "hardmax/lemma-3.4")),
    Mutant("hardmax: every point is in the hull", "in_hull", "False", "True", (HULLS,)),
    Mutant("hardmax: distances to limits are Euclidean", "distances",
           "np.eye(limits.shape[1]) if attention is None else np.linalg.cholesky(np.asarray(attention, float))",
           "np.eye(limits.shape[1])", (ATTRACTING,)),
    Mutant("hardmax: distances to limits use the transposed factor of A", "distances",
           "gap @ factor", "gap @ factor.T", (ATTRACTING,)),
    Mutant("hardmax: ratios of distances are inverted", "ratios",
           "np.divide(after, before, out=np.zeros_like(after), where=before > 0)",
           "np.divide(before, after, out=np.zeros_like(after), where=before > 0)", (ATTRACTING,)),
    Mutant("hardmax: the fit of a rate has another power", "convergence_rate",
           "[np.ones_like(k), np.log(k), k]", "[np.ones_like(k), np.sqrt(k), np.log(k)]", (ATTRACTING,)),
    Mutant("hardmax: the fitted ratio is its logarithm", "convergence_rate",
           "np.exp(found[2])", "found[2]", (ATTRACTING,)),
    Mutant("hardmax: tokens at vertices are those whose first coordinate is that of a vertex", "at_vertices",
           "tuple(limit) in known", "limit[0] in {v[0] for v in known}", (ATTRACTING,)),
    Mutant("hardmax: a point on the boundary of a face belongs to it", "_inside",
           "slack > body.tolerance", "slack >= body.tolerance", (FINITE,)),
    Mutant("hardmax: a token that follows one other value leads by value", "leaders_by_value",
           "(lowest == highest)[sets.which] & (lowest[sets.which] == value)", "(lowest == highest)[sets.which]",
           (BY_VALUE,)),
    Mutant("hardmax: the weights of leaders in a limit are those of one layer", "shares_of_leaders",
           "solved(inner, averages[np.ix_(others, leaders)])", "averages[np.ix_(others, leaders)]", (KERNEL,)),
    Mutant("hardmax: tokens with constant follower sets jump to their means", "_kernel_measures",
           "(1 - a) * identity(n) + a * M", "M", (KERNEL,)),
    Mutant("hardmax: above three dimensions all points of a hull are vertices", "vertices",
           "if others and not outside(x[[i]], x[others])[0]: kept = others", "kept = [*kept]", (KERNEL,)),
    Mutant("hardmax: S of Theorem 1.1 has the origin where it is interior to K", "CertifiedRun.boundary_candidates",
           "face != self.body.vertices", "face", (LIMITS,)),
)
# fmt: on
