"""Errors in the hardmax maps, certificates, polytopes and classifiers, and the claims of `hardmax` that notice them."""

from tests.mutants import Mutant

MAPS = "dynsim.systems.hardmax.maps"
ATTENTION = "dynsim.systems.hardmax.attention"
SETS = "dynsim.systems.hardmax.follower_sets"
TIES = "dynsim.systems.hardmax.search.ties"
SCORES = "dynsim.systems.hardmax.search.scores"
HYPOTHESES = "dynsim.systems.hardmax.hypotheses"
CERTIFICATE = "analysis.hardmax.certificate"
MOTION = "analysis.hardmax.constant_follower_sets"
GAPS = "analysis.hardmax.float_score_gaps"
LEADERS = "analysis.hardmax.leaders"
CANDIDATES = "analysis.hardmax.candidates"
POLYTOPES = "analysis.hardmax.polytopes"
GEOMETRY = "analysis.hardmax.exact_geometry"
CLASSIFIER = "dynsim.networks.sentiment.classifier"
PASS = "dynsim.networks.sentiment.forward_pass"

LAYER = "hardmax/equation-2.5"
COLLISIONS = "hardmax/lemma-3.1"
NORMS = "hardmax/lemma-3.2"
LIMITS = "hardmax/theorem-1.1-i"
VERTICES = "hardmax/theorem-1.1-ii"
PROJECTIONS = "hardmax/theorem-1.1-iii"
ATTAINED = "hardmax/remark-1.2"
ALL_S = "hardmax/claim-s-all-projections/corrected"
FINITE = "hardmax/lemma-4.1-finite"
BOUNDARY = "hardmax/lemma-4.1-boundary/corrected"
ZERO = "hardmax/remark-1.3"
MOVED = "hardmax/remark-1.3/moved"
HULLS = "hardmax/lemma-3.3"
STAY = "hardmax/lemma-5.1-ii"
BY_VALUE = "hardmax/lemma-5.1-i/by-value"
SOFTMAX = "hardmax/claim-softmax-limit"
IDENTITY = "hardmax/claim-identity-no-restriction"
REVIEWS = "hardmax/claim-theory-applies-to-reviews/corrected"
EIGHT = "hardmax/claim-eight-layers"
BOTH = "hardmax/claim-training-loss/published"

MUTANTS = (
    Mutant(
        "hardmax: alpha in place of alpha / (1 + alpha), in fractions",
        MAPS,
        "whole, share = math.lcm(*sizes.tolist()), self.alpha / (1 + self.alpha)",
        "whole, share = math.lcm(*sizes.tolist()), self.alpha",
        (LAYER, COLLISIONS, NORMS),
        quick=True,
    ),
    Mutant(
        "hardmax: alpha in place of alpha / (1 + alpha), in floats",
        MAPS,
        "return z + self.alpha / (1 + self.alpha) * (sets.averages(z) - z)",
        "return z + self.alpha * (sets.averages(z) - z)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the sum over C_i in place of the mean, in fractions",
        MAPS,
        "means = sums * np.array([whole // size for size in sizes.tolist()], object)[:, None]",
        "means = sums * whole",
        (LAYER, LIMITS, MOVED),
    ),
    Mutant(
        "hardmax: layers are averages of the tokens before the last",
        MAPS,
        "new = (q - p) * whole * N[moving] + p * means[sets.which[moving]]",
        "new = (q - p) * whole * N[moving] + p * means[sets.which[moving] - 1]",
        (LAYER, NORMS),
    ),
    Mutant(
        "hardmax: the softmax layer is not normalised",
        MAPS,
        "return (x + a * self.rule.averages(x)) / (1 + a)",
        "return x + a * self.rule.averages(x)",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: the normalisation comes before the residual connection of the softmax layer",
        MAPS,
        "return (x + a * self.rule.averages(x)) / (1 + a)",
        "return x + a * self.rule.averages(x) / (1 + a)",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: value matrices are transposed and the residual connection scaled apart",
        MAPS,
        "return self.scale * (x + sum(rule.averages(x) @ V.T for rule, V in heads))",
        "return x + self.scale * sum(rule.averages(x) @ V.T for rule, V in heads)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: exact queries use A transposed",
        ATTENTION,
        "numerators @ integers(A)[0].T\n        q = rounded_rows(queries)",
        "numerators @ integers(A)[0]\n        q = rounded_rows(queries)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: exact scores use A = I",
        ATTENTION,
        "A, numerators = self.attention, integers(z)[0]",
        "A, numerators = None, integers(z)[0]",
        (LAYER, LIMITS, VERTICES, PROJECTIONS),
    ),
    Mutant(
        "hardmax: scores in floats use A = I",
        ATTENTION,
        "A, scaled = self.attention, self.scaled_attention()",
        "A, scaled = None, self.scaled_attention()",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the softmax temperature multiplies the scores",
        ATTENTION,
        "queries @ x.T / self.temperature.astype(x.dtype)",
        "queries @ x.T * self.temperature.astype(x.dtype)",
        (SOFTMAX, BOTH),
    ),
    Mutant(
        "hardmax: softmax normalises over queries",
        ATTENTION,
        "self.temperature.astype(x.dtype), axis=-1) @ x",
        "self.temperature.astype(x.dtype), axis=0) @ x",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: softmax scores are divided by the square root of d",
        ATTENTION,
        "queries @ x.T / self.temperature.astype(x.dtype)",
        "queries @ x.T / (self.temperature.astype(x.dtype) * x.shape[-1] ** 0.5)",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: the softmax layer uses A = I",
        ATTENTION,
        "queries = x if self.attention is None else x @",
        "queries = x if self.temperature is not None else x @",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: exact ties go to the first of the best scores",
        TIES,
        "return found == np.repeat(np.maximum.reduceat(found, near.starts[:-1]), near.sizes)",
        "best = found == np.repeat(np.maximum.reduceat(found, near.starts[:-1]), near.sizes)\n"
        "        first = np.array([np.flatnonzero(best & (near.row == r))[0] for r in range(len(near.rows))])\n"
        "        return np.isin(np.arange(len(found)), first)",
        (LAYER, PROJECTIONS, SOFTMAX),
    ),
    Mutant(
        "hardmax: nearly equal scores in fractions count as ties",
        TIES,
        "kept = self.exactly_best(near)\n        return kept",
        "kept = np.ones(len(near.columns), bool)\n        return kept",
        (LIMITS,),
    ),
    Mutant(
        "hardmax: a zero token follows only itself",
        SCORES,
        "return FollowerSets(np.zeros(rows, int), np.array([0, n]), np.arange(n), np.full(rows, np.inf))",
        "return FollowerSets(np.zeros(rows, int), np.array([0, 1]), np.array([n - 1]), np.full(rows, np.inf))",
        (LAYER, MOVED),
    ),
    Mutant(
        "hardmax: leaders are tokens that follow one token, whichever it is",
        SETS,
        "return (self.sizes == 1) & (first == np.arange(len(self.which)))",
        "return self.sizes == 1",
        (STAY, VERTICES, "hardmax/proposition-5.3-only-if", "hardmax/lemma-5.4"),
        quick=True,
    ),
    Mutant(
        "hardmax: leaders are tokens that follow themselves, among others",
        SETS,
        "return (self.sizes == 1) & (first == np.arange(len(self.which)))",
        "return np.array([i in self.of(i) for i in range(len(self.which))])",
        (ZERO,),
    ),
    Mutant(
        "hardmax: a zero token counts as nonzero",
        HYPOTHESES,
        "nonzero=all(any(entry != 0 for entry in row) for row in z),",
        "nonzero=True,",
        (ZERO,),
    ),
    Mutant(
        "hardmax: equal tokens count as distinct",
        HYPOTHESES,
        "distinct=len({tuple(row) for row in z}) == len(z),",
        "distinct=True,",
        (BY_VALUE,),
    ),
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
        (LIMITS,),
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
        (VERTICES, "hardmax/theorem-1.1-leaders-exist"),
    ),
    Mutant(
        "hardmax: projections of the origin are Euclidean",
        CANDIDATES,
        "solved(edges @ A @ edges.T, edges @ (A @ x[0])) @ edges",
        "solved(edges @ edges.T, edges @ x[0]) @ edges",
        (PROJECTIONS, ALL_S, FINITE, LIMITS),
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
        (ALL_S, FINITE, PROJECTIONS),
    ),
    Mutant(
        "hardmax: the support gap has the opposite sign",
        CANDIDATES,
        "return max((body.vertex_points - x) @ (A @ x))",
        "return max((x - body.vertex_points) @ (A @ x))",
        (ALL_S, FINITE),
    ),
    Mutant(
        "hardmax: facets lose the points on them that came first",
        GEOMETRY,
        "kept = [(ray, zeros | bit if v == 0 else zeros)",
        "kept = [(ray, zeros)",
        (FINITE, PROJECTIONS),
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
        "hardmax: the mean token of a review ignores repeated words",
        PASS,
        'return np.einsum("rn,rnd->rd", counts, self.final) / counts.sum(axis=1, keepdims=True)',
        'return np.einsum("rn,rnd->rd", counts > 0, self.final) / (counts > 0).sum(axis=1, keepdims=True)',
        (IDENTITY, EIGHT, BOTH),
    ),
    Mutant(
        "hardmax: the forward pass has a layer less",
        PASS,
        "            if k < depth:\n",
        "            if k < depth - 1:\n",
        (IDENTITY,),
    ),
    Mutant(
        "hardmax: leaders of a review are dated a layer late",
        PASS,
        "(leading[rows, :size] < 0), k, leading[rows, :size])",
        "(leading[rows, :size] < 0), k + 1, leading[rows, :size])",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: the forward pass moves tokens by alpha",
        PASS,
        "return x + layer.alpha / (1 + layer.alpha) * (averages - x)",
        "return x + layer.alpha * (averages - x)",
        (IDENTITY, EIGHT),
    ),
    Mutant(
        "hardmax: repeated words are leaders by index",
        PASS,
        "return (self.leading >= 0) & (self.groups.counts == 1)",
        "return self.leading >= 0",
        (REVIEWS,),
    ),
    Mutant(
        "hardmax: further layers stop one layer early",
        PASS,
        "for _ in range(layers):",
        "for _ in range(layers // 8):",
        (EIGHT,),
    ),
    Mutant(
        "hardmax: the decoder has the opposite bias",
        CLASSIFIER,
        "return z @ np.asarray(model.weight, np.float64) + float(model.bias)",
        "return z @ np.asarray(model.weight, np.float64) - float(model.bias)",
        (IDENTITY, EIGHT),
    ),
    Mutant(
        "hardmax: the softmax classifier pools by the first token",
        CLASSIFIER,
        "return jnp.mean(x, axis=1) @ self.weight + self.bias",
        "return x[:, 0] @ self.weight + self.bias",
        (BOTH,),
    ),
    Mutant(
        "hardmax: the softmax classifier has a single layer",
        CLASSIFIER,
        "x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(self.depth))",
        "x, _ = jax.lax.scan(layer, self.embedding[ids], jnp.arange(1))",
        (BOTH,),
    ),
    Mutant(
        "hardmax: alpha of the classifier is its logarithm",
        CLASSIFIER,
        "return HardmaxMap(np.exp(np.float64(self.log_alpha)))",
        "return HardmaxMap(np.float64(self.log_alpha))",
        (IDENTITY, BOTH),
    ),
)
