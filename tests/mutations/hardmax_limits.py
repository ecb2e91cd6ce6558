"""Errors in certificates, leaders, polytopes and the set S of limits, with the claims and tests that notice them."""

from tests.mutants import Mutant

CERTIFICATE = "analysis.hardmax.certificate"
MOTION = "analysis.hardmax.constant_follower_sets"
GAPS = "analysis.hardmax.float_score_gaps"
LEADERS = "analysis.hardmax.leaders"
CONVERGENCE = "analysis.hardmax.convergence"
CANDIDATES = "analysis.hardmax.candidates"
POLYTOPES = "analysis.hardmax.polytopes"
GEOMETRY = "analysis.hardmax.exact_geometry"
SEMIDEFINITE_CLAIMS = "analysis.claims.hardmax.section_7_semidefinite"

LIMIT_INSTANCES = "analysis.claims.hardmax.instances.certified_limits"

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
SEMIDEFINITE = "hardmax/claim-semidefinite"
KERNEL = "hardmax/claim-semidefinite/kernel"
ROUNDING = ("tests/test_certificate.py::test_rounding_decides_no_sign",)

MUTANTS = (
    Mutant(
        "hardmax: leaders that appear after layer 0 are lost by the certificate",
        CERTIFICATE,
        "first[(first < 0) & phase.sets.leaders] = layer",
        "first[(first < 0) & phase.sets.leaders & (layer == 0)] = layer",
        (
            VERTICES,
            ATTAINED,
            "hardmax/proposition-5.3-if/corrected",
            "hardmax/lemma-5.5",
            "hardmax/proposition-5.3-only-if",
        ),
    ),
    Mutant(
        "hardmax: late leaders are dated to the last layer of the certificate",
        CERTIFICATE,
        "        if (layer > phase.begin and phase.proved(values)) or layer == max_layers:\n            break",
        "        if (layer > phase.begin and phase.proved(values)) or layer == max_layers:\n"
        "            first[first > 0] = layer\n            break",
        (VERTICES, "hardmax/lemma-5.4"),
    ),
    Mutant(
        "hardmax: sets that did not change in one layer count as final",
        CERTIFICATE,
        "        self.certified = bool(np.all(unresolved)) and all(",
        "        self.certified = True or all(",
        (LIMITS,),
    ),
    Mutant(
        "hardmax: the layer of the last change is one too late",
        CERTIFICATE,
        "constant_from=phase.begin if proved else -1,",
        "constant_from=phase.begin + 1 if proved else -1,",
        (LIMITS, VERTICES),
    ),
    Mutant(
        "hardmax: means of the certificate ignore multiplicities",
        CERTIFICATE,
        "weights = np.array([int(w) for w in self.weights], object)",
        "weights = np.array([1 for w in self.weights], object)",
        (BY_VALUE,),
    ),
    Mutant(
        "hardmax: limits of the certificate ignore multiplicities",
        MOTION,
        "share = {j: Fraction(int(weights[j]), total) for j in members}",
        "share = {j: Fraction(1, len(members)) for j in members}",
        (BY_VALUE,),
    ),
    Mutant(
        "hardmax: the ratio of the closed form is alpha / (1 + alpha)",
        MOTION,
        "return Motion(limits, terms, 1 / (1 + alpha), valid)",
        "return Motion(limits, terms, alpha / (1 + alpha), valid)",
        (LIMITS, VERTICES, "hardmax/proposition-4.3", "hardmax/lemma-3.4"),
    ),
    Mutant(
        "hardmax: the term k r^k of the closed form lacks its factor alpha",
        MOTION,
        "terms[i] = [x[i] - limits[i], *(alpha * q for q in rest)]",
        "terms[i] = [x[i] - limits[i], *rest]",
        (LIMITS, VERTICES),
    ),
    Mutant(
        "hardmax: tokens are solved in the order of increasing norm",
        MOTION,
        "return sorted(range(len(x)), key=lambda i: -norms[i])",
        "return sorted(range(len(x)), key=lambda i: norms[i])",
        (LIMITS,),
    ),
    Mutant(
        "hardmax: a negative score gap in the limit does not stop the certificate",
        GAPS,
        "        if np.any(sign < 0):\n",
        "        if np.any(sign < 0) and False:\n",
        equivalent="a shortcut: such a gap is never proved positive, so that the proof fails without it too",
    ),
    Mutant(
        "hardmax: the sign of score gaps in the limit is reversed",
        GAPS,
        "        a = self.scores[g, h] - self.scores[g, k]\n",
        "        a = self.scores[g, k] - self.scores[g, h]\n",
        (LIMITS,),
    ),
    Mutant(
        "hardmax: a leader by value must follow one token",
        LEADERS,
        "return (lowest == highest)[sets.which] & (lowest[sets.which] == value)",
        "return (sets.sizes == 1) & (lowest[sets.which] == value)",
        (BY_VALUE,),
    ),
    Mutant(
        "hardmax: the layers of leaders are counted from the last one",
        LEADERS,
        "first[(first < 0) & mask(map.follower_sets(x), x)] = layer",
        "first[mask(map.follower_sets(x), x)] = layer",
        (VERTICES, "hardmax/theorem-1.1-leaders-exist", SEMIDEFINITE),
    ),
    Mutant(
        "hardmax: projections of the origin are Euclidean",
        CANDIDATES,
        "solved(edges @ A @ edges.T, edges @ (A @ x[0])) @ edges",
        "solved(edges @ edges.T, edges @ x[0]) @ edges",
        (PROJECTIONS, FINITE, LIMITS),
    ),
    Mutant(
        "hardmax: S contains the projections of the origin that do not support K",
        CANDIDATES,
        "if _inside(body, face, x) and support_gap(body, x, A) <= body.tolerance * _scale(body, A):",
        "if _inside(body, face, x):",
        (ALL_S, FINITE),
    ),
    Mutant(
        "hardmax: S contains the projections of the origin outside K",
        CANDIDATES,
        "if _inside(body, face, x) and support_gap(body, x, A) <= body.tolerance * _scale(body, A):",
        "if support_gap(body, x, A) <= body.tolerance * _scale(body, A):",
        (ALL_S, FINITE),
    ),
    Mutant(
        "hardmax: S lacks the vertices of K",
        CANDIDATES,
        "for face in (face for group in faces(body) for face in group):",
        "for face in (face for group in faces(body)[1:] for face in group):",
        (LIMITS, ATTAINED, "hardmax/lemma-4.4-vertices", FINITE),
    ),
    Mutant(
        "hardmax: S lacks the projection on K itself",
        CANDIDATES,
        "for face in (face for group in faces(body) for face in group):",
        "for face in (face for group in faces(body)[: max(1, body.dimension)] for face in group):",
        (FINITE, BOUNDARY),
    ),
    Mutant(
        "hardmax: the support gap is that of the Euclidean metric",
        CANDIDATES,
        "return max((body.vertex_points - x) @ (A @ x))",
        "return max((body.vertex_points - x) @ x)",
        (ALL_S, FINITE),
    ),
    Mutant(
        "hardmax: the support gap has the opposite sign",
        CANDIDATES,
        "return max((body.vertex_points - x) @ (A @ x))",
        "return max((x - body.vertex_points) @ (A @ x))",
        (ALL_S, FINITE),
    ),
    Mutant(
        "hardmax: facets lose points added in their hyperplane",
        GEOMETRY,
        "kept = [(ray, zeros | bit if v == 0 else zeros)",
        "kept = [(ray, zeros)",
        (PROJECTIONS,),
    ),
    Mutant(
        "hardmax: polytopes have all their boundary points as vertices",
        POLYTOPES,
        "maximal = [k for k in range(len(first)) if np.sum(np.all(sets[sets[:, k]], axis=0)) == 1]",
        "maximal = list(range(len(first)))",
        (VERTICES, "hardmax/lemma-5.5", ATTAINED),
    ),
    Mutant(
        "hardmax: points outside the affine hull count as contained",
        POLYTOPES,
        "return body.affine_hull_contains(point) and all(",
        "return all(",
        (BOUNDARY,),
    ),
    Mutant(
        "hardmax: hulls are compared in the wrong order",
        POLYTOPES,
        "return not np.any(outside(inner, outer))",
        "return not np.any(outside(outer, inner))",
        (HULLS, "hardmax/lemma-3.4"),
    ),
    Mutant(
        "hardmax: every point is in the hull",
        GEOMETRY,
        "        if column < 0:\n            return False",
        "        if column < 0:\n            return True",
        (HULLS,),
    ),
    Mutant(
        "hardmax: distances to limits are Euclidean",
        CONVERGENCE,
        "np.eye(limits.shape[1]) if attention is None else np.linalg.cholesky(np.asarray(attention, float))",
        "np.eye(limits.shape[1])",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: distances to limits use the transposed factor of A",
        CONVERGENCE,
        "np.linalg.norm(gap @ factor, axis=1)",
        "np.linalg.norm(gap @ factor.T, axis=1)",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: ratios of distances are inverted",
        CONVERGENCE,
        "np.divide(after, before, out=np.zeros_like(after), where=before > 0)",
        "np.divide(before, after, out=np.zeros_like(after), where=before > 0)",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: the fit of a rate has another power",
        CONVERGENCE,
        "design = np.stack([np.ones_like(k), np.log(k), k], axis=1)",
        "design = np.stack([np.ones_like(k), np.sqrt(k), np.log(k)], axis=1)",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: the fitted ratio is its logarithm",
        CONVERGENCE,
        "return ConvergenceRate(float(np.exp(found[2])), float(found[1]), error, len(k))",
        "return ConvergenceRate(float(found[2]), float(found[1]), error, len(k))",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: tokens at vertices are those whose first coordinate is that of a vertex",
        CONVERGENCE,
        "return np.array([tuple(limit) in known for limit in limits.tolist()])",
        "return np.array([limit[0] in {v[0] for v in known} for limit in limits.tolist()])",
        (ATTRACTING,),
    ),
    Mutant(
        "hardmax: rounding of a moving query is left out of the bound of its error",
        GAPS,
        "(terms[ahead] + terms[behind]) + terms[i] * (limits[ahead] + limits[behind])",
        "(terms[ahead] + terms[behind])",
        tests=ROUNDING,
    ),
    Mutant(
        "hardmax: floats are taken for more accurate than they are",
        GAPS,
        "16 * (d + 3) * 2.0**-52",
        "(d + 3) * 2.0**-60",
        tests=ROUNDING,
    ),
    Mutant(
        "hardmax: a point on the boundary of a face belongs to it",
        CANDIDATES,
        "all(slack > body.tolerance for slack, other",
        "all(slack >= body.tolerance for slack, other",
        (FINITE,),
    ),
    Mutant(
        "hardmax: a token that follows one other value leads by value",
        LEADERS,
        "return (lowest == highest)[sets.which] & (lowest[sets.which] == value)",
        "return (lowest == highest)[sets.which]",
        (BY_VALUE,),
    ),
    Mutant(
        "hardmax: the weights of leaders in a limit are those of one layer",
        SEMIDEFINITE_CLAIMS,
        "shares[others] = solved(inner, averages[np.ix_(others, leaders)])",
        "shares[others] = averages[np.ix_(others, leaders)]",
        (KERNEL,),
    ),
    Mutant(
        "hardmax: tokens with constant follower sets jump to their means",
        SEMIDEFINITE_CLAIMS,
        "(1 - a) * identity(n) + a * M",
        "M",
        (KERNEL,),
    ),
    Mutant(
        "hardmax: above three dimensions all points of a hull are vertices",
        POLYTOPES,
        "        if others and not outside(x[[i]], x[others])[0]:\n            kept = others",
        "        kept = [*kept]",
        (KERNEL,),
    ),
    Mutant(
        "hardmax: S of Theorem 1.1 has the origin where it is interior to K",
        LIMIT_INSTANCES,
        "if flat or face != self.body.vertices",
        "if flat or face",
        (LIMITS,),
    ),
    Mutant(
        "hardmax: S of Theorem 1.1 lacks the point on K itself where K is flat",
        LIMIT_INSTANCES,
        "if flat or face != self.body.vertices",
        "if face != self.body.vertices",
        tests=("tests/test_claims_hardmax.py",),
    ),
)
