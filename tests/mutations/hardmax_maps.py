"""Errors in the hardmax and softmax maps and the search for follower sets, with the claims that notice them."""

from tests.mutants import Mutant

MAPS = "dynsim.systems.hardmax.maps"
ATTENTION = "dynsim.systems.hardmax.attention"
SETS = "dynsim.systems.hardmax.follower_sets"
TIES = "dynsim.systems.hardmax.search.ties"
SCORES = "dynsim.systems.hardmax.search.scores"
HYPOTHESES = "dynsim.systems.hardmax.hypotheses"
CLUSTERING = "dynsim.clustering"
REUSE = "dynsim.systems.hardmax.search.reuse"

LAYER = "hardmax/equation-2.5"
GROWTH = "hardmax/lemma-4.2"
COLLISIONS = "hardmax/lemma-3.1"
NORMS = "hardmax/lemma-3.2"
LIMITS = "hardmax/theorem-1.1-i"
VERTICES = "hardmax/theorem-1.1-ii"
PROJECTIONS = "hardmax/theorem-1.1-iii"
ZERO = "hardmax/remark-1.3"
MOVED = "hardmax/remark-1.3/moved"
STAY = "hardmax/lemma-5.1-ii"
BY_VALUE = "hardmax/lemma-5.1-i/by-value"
SOFTMAX = "hardmax/claim-softmax-limit"
BOTH = "hardmax/claim-training-loss/published"
FLOATS = "hardmax/equation-2.5/floats"
SEMIDEFINITE = "hardmax/claim-semidefinite"
KERNEL = "hardmax/claim-semidefinite/kernel"

MUTANTS = (
    Mutant(
        "hardmax: alpha in place of alpha / (1 + alpha), in fractions",
        MAPS,
        "whole, share = math.lcm(*sizes.tolist()), self.alpha / (1 + self.alpha)",
        "whole, share = math.lcm(*sizes.tolist()), self.alpha",
        (LAYER, COLLISIONS, NORMS, SEMIDEFINITE, KERNEL),
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
        (LAYER, LIMITS, MOVED, GROWTH, KERNEL),
    ),
    Mutant(
        "hardmax: tokens move to the mean of another follower set",
        MAPS,
        "new = (q - p) * whole * N[moving] + p * means[sets.which[moving]]",
        "new = (q - p) * whole * N[moving] + p * means[sets.which[moving] - 1]",
        (LAYER, NORMS),
    ),
    Mutant(
        "hardmax: follower sets are reused without the loss of a layer",
        REUSE,
        "found = (1 - c) * ((1 - c) * self.bounds + c * self.bounds[leader]) * SAFE - self._score_error(sets)",
        "found = (1 - c) * (self.bounds + self.bounds[leader]) * SAFE",
        (LAYER,),
    ),
    Mutant(
        "hardmax: follower sets are reused for tokens that follow others than leaders",
        REUSE,
        "return np.where(leads[sets.which], np.maximum(found, 0.0), 0.0)",
        "return np.maximum(found, 1e-9)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: every layer in floats is called certain",
        CLUSTERING,
        "        self.ended = self.ended or not self._same_sets(z, sets)\n",
        "        self.ended = False\n",
        (LAYER,),
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
        "hardmax: several heads are scaled without the residual connection",
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
        "hardmax: queries in floats use A transposed",
        ATTENTION,
        "q = rescaled_rows(u, z) @ scaled.T",
        "q = rescaled_rows(u, z) @ scaled",
        (LAYER,),
    ),
    Mutant(
        "hardmax: queries of the softmax use A transposed",
        ATTENTION,
        "x @ self.attention.astype(x.dtype).T",
        "x @ self.attention.astype(x.dtype)",
        (SOFTMAX,),
    ),
    Mutant(
        "hardmax: the values of several heads are transposed",
        MAPS,
        "sum(rule.averages(x) @ V.T for rule, V in heads)",
        "sum(rule.averages(x) @ V for rule, V in heads)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: several heads are averaged",
        MAPS,
        "sum(rule.averages(x) @ V.T for rule, V in heads)",
        "sum(rule.averages(x) @ V.T for rule, V in heads) / len(self.rules)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: rounding adds nothing to the error of tokens",
        CLUSTERING,
        "growth * self.error + factor * self.reused.rounding_error(sets)",
        "growth * self.error",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the error of tokens is that of the last layer alone",
        CLUSTERING,
        "self.error = growth * self.error +",
        "self.error =",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: errors do not grow for steps outside of ]0, 1[",
        CLUSTERING,
        "growth = 1.0 if 0 < c < 1 else (abs(1 - c) + abs(c)) * (1 + 8 * EPSILON)",
        "growth = 1.0",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the error of the tokens that are compared changes no score",
        CLUSTERING,
        "(2 * norm * e * (largest + e) + 2 * lengths * e)",
        "2 * norm * e * (largest + e)",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the error of a query changes no score",
        CLUSTERING,
        "(2 * norm * e * (largest + e) + 2 * lengths * e)",
        "2 * lengths * e",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the change of a score is halved",
        CLUSTERING,
        "(1 + 64 * EPSILON)  # of a difference of two scores",
        "0.5  # of a difference of two scores",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: tokens that became equal by rounding count as equal",
        CLUSTERING,
        "self.initial_groups[sets.members]",
        "equal_rows(z).label[sets.members]",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: members of a certain follower set may differ",
        CLUSTERING,
        "bool(np.all(one) and np.all(self.reused.bounds > change))",
        "bool(np.all(self.reused.bounds > change))",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: one certain follower set makes all certain",
        CLUSTERING,
        "np.all(self.reused.bounds > change)",
        "np.any(self.reused.bounds > change)",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: a mean over three tokens counts as not rounded",
        CLUSTERING,
        " or np.any(sizes & (sizes - 1))",
        "",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: numbers of ten more bits count as not rounded",
        CLUSTERING,
        "largest.bit_length() + 2\n",
        "largest.bit_length() - 8\n",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the states that are kept are one layer late",
        CLUSTERING,
        "if (k + 1) % every == 0",
        "if k % every == 0",
        (FLOATS,),
    ),
    Mutant(
        "hardmax: the layers of kept states are numbered in turn",
        CLUSTERING,
        "np.arange(0, num_layers + 1, every)",
        "np.arange(num_layers // every + 1)",
        (FLOATS,),
    ),
)
