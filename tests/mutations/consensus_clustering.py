"""Errors in the token flow, its masks and measures, and the scalar-driven flows, with the claims that notice them."""

from tests.mutants import Mutant

FLOW, MASKS = "dynsim.systems.tokens.flow", "dynsim.systems.tokens.masks"
SCHEDULES, DRIVEN = "dynsim.systems.schedules", "dynsim.systems.tokens.scalar_driven"
SPACES, ENERGIES = "dynsim.spaces.ellipsoid", "analysis.tokens.energies"
CONSENSUS, HEMISPHERES = "analysis.tokens.consensus", "analysis.tokens.hemispheres"

_CAUSAL = "consensus/equation-18-19"
_CASCADE = "consensus/equation-23-24"
_STABLE = "consensus/theorem-5.1-stability"
_DOMAIN = "consensus/theorem-5.1-domain/corrected"
_CONULL = "consensus/theorem-5.1-conull"
_ISS = "consensus/theorem-5.1-iss/corrected"
_TOP = "consensus/theorem-6.1"
_HEMISPHERE = "consensus/theorem-4.1"
_DINI = "consensus/theorem-4.1-dini-sign"
_BARBALAT = "consensus/theorem-4.1-barbalat/corrected"
_DANSKIN = "consensus/equation-12"
_WEIGHTS = "consensus/lemma-4.1"
_CAUSAL_WEIGHTS = "consensus/lemma-4.1/causal"
_RATES = "consensus/lemma-4.2"
_COORDINATES = "consensus/remark-5.1-coordinates"
_PROJECTION = "consensus/remark-5.1-projection/corrected"
_HEADS = "consensus/claim-multihead-value/common-eigenvector"
_ATTRACTED = "consensus/lemma-5.1"
_OJA = "consensus/lemma-6.1-top"
_LOWER = "consensus/lemma-6.1-lower/corrected"
_WENDEL = "consensus/remark-4.2-formula/corrected"
_CERTAIN = "consensus/remark-4.2-certain"

_TRIL = '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))'

MUTANTS = (
    Mutant(
        "consensus: the causal mask shows the next token",
        MASKS,
        _TRIL,
        _TRIL.replace("bool))", "bool), 1)"),
        (_CAUSAL, _STABLE, _CAUSAL_WEIGHTS),
        quick=True,
    ),
    Mutant(
        "consensus: the causal mask shows the future instead of the past",
        MASKS,
        _TRIL,
        _TRIL.replace("tril", "triu"),
        (_CAUSAL, _CASCADE, _TOP),
    ),
    Mutant(
        "consensus: hidden scores are zero instead of minus infinity",
        MASKS,
        "[None], scores, -jnp.inf)",
        "[None], scores, 0.0)",
        (_CAUSAL, _DOMAIN),
    ),
    Mutant(
        "consensus: the scores are transposed",
        FLOW,
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x).swapaxes(1, 2))",
        (_CAUSAL, _DINI, _COORDINATES),
    ),
    Mutant(
        "consensus: the scores are divided by sqrt(d)",
        FLOW,
        "self.query_key.bilinear(t, x, x))",
        "self.query_key.bilinear(t, x, x) * self.scale)",
        (_CAUSAL, _WEIGHTS, _CASCADE),
    ),
    Mutant(
        "consensus: the softmax is over queries",
        FLOW,
        "bilinear(t, x, x)), axis=-1)",
        "bilinear(t, x, x)), axis=-2)",
        (_WEIGHTS, _DINI),
    ),
    Mutant(
        "consensus: the factor 1/sqrt(d) is 1/d",
        FLOW,
        "1 / math.sqrt(d) if scale is None",
        "1 / d if scale is None",
        (_CAUSAL, _STABLE, _HEMISPHERE),
    ),
    Mutant(
        "consensus: the value matrices are transposed",
        SCHEDULES,
        '"jd,hed->jhe"',
        '"jd,hde->jhe"',
        (_COORDINATES, _PROJECTION),
    ),
    Mutant(
        "consensus: the weights are transposed in the sum of values",
        SCHEDULES,
        '"hij,jhe->ie"',
        '"hji,jhe->ie"',
        (_TOP, _CASCADE, _HEADS),
    ),
    Mutant(
        "consensus: the weights are transposed for U = I",
        SCHEDULES,
        '"h,hij->ij"',
        '"h,hij->ji"',
        (_CAUSAL, _HEMISPHERE),
    ),
    Mutant(
        "consensus: heads are modulated by cosines",
        SCHEDULES,
        "self.amplitude * jnp.sin(",
        "self.amplitude * jnp.cos(",
        (_HEMISPHERE, _STABLE, _TOP),
    ),
    Mutant(
        "consensus: heads are modulated by columns",
        SCHEDULES,
        "((jnp.asarray(x) * diagonal[None]) @ base) @ y.T",
        "(jnp.asarray(x) @ (base * diagonal[None])) @ y.T",
        (_HEMISPHERE, _STABLE, _DINI),
    ),
    Mutant(
        "consensus: the bilinear form of a constant P is transposed",
        SCHEDULES,
        "return (jnp.asarray(x) @ P) @ y.T",
        "return (jnp.asarray(x) @ P.T) @ y.T",
        (_CAUSAL, _CASCADE, _BARBALAT),
    ),
    Mutant(
        "consensus: the tangent map of the ellipsoid drops W",
        SPACES,
        "return v - jnp.sum(self._dual(x) * v,",
        "return v - jnp.sum(x * v,",
        (_HEMISPHERE, _DINI, _RATES),
    ),
    Mutant(
        "consensus: the tangent map of the sphere removes twice the normal part",
        SPACES,
        "return v - jnp.sum(x * v, axis=-1, keepdims=True) * x",
        "return v - 2 * jnp.sum(x * v, axis=-1, keepdims=True) * x",
        (_CAUSAL, _TOP),
    ),
    Mutant(
        "consensus: the vector field is not made tangent",
        "dynsim.systems.base",
        "return self.space.tangent(x, self.velocity(t, x))",
        "return self.velocity(t, x)",
        (_CAUSAL, _DINI),
    ),
    Mutant(
        "consensus: the flow (15) attends to all tokens",
        FLOW,
        "return TokenFlow(query_key, 1.0, mask=Causal())",
        "return TokenFlow(query_key, 1.0)",
        (_CAUSAL, _STABLE, _CONULL),
    ),
    Mutant(
        "consensus: the flow (21) attends to all tokens",
        FLOW,
        "return TokenFlow(P, U, mask=Causal())",
        "return TokenFlow(P, U)",
        (_CASCADE, _TOP, "consensus/theorem-6.1/stability"),
    ),
    Mutant(
        "consensus: the flow (11) lies on the sphere for every W",
        FLOW,
        "return TokenFlow(query_key, 1.0, space=space)",
        "return TokenFlow(query_key, 1.0)",
        (_DINI, _RATES),
    ),
    Mutant(
        "consensus: Pi_W solves with the transpose of U",
        FLOW,
        "return jnp.linalg.solve(U, (X",
        "return jnp.linalg.solve(U.T, (X",
        (_COORDINATES, _PROJECTION),
    ),
    Mutant(
        "consensus: Pi_W removes the part along U^T y",
        FLOW,
        "z = x @ U.T",
        "z = x @ U",
        (_COORDINATES, _PROJECTION),
    ),
    Mutant(
        "consensus: the flow (20) attends to all tokens",
        FLOW,
        "space=self.space, mask=Causal())",
        "space=self.space)",
        (_COORDINATES,),
    ),
    Mutant(
        "consensus: the token of (16) is pushed beyond its target",
        DRIVEN,
        "(jnp.broadcast_to(p, x.shape) - (x @ p)[..., None] * x)",
        "(jnp.broadcast_to(p, x.shape) + (x @ p)[..., None] * x)",
        (_ATTRACTED,),
    ),
    Mutant(
        "consensus: the closed form of (16) has another denominator",
        DRIVEN,
        "/ (1 + a * jnp.tanh(A))",
        "/ (1 - a * jnp.tanh(A))",
        (_ATTRACTED,),
    ),
    Mutant(
        "consensus: the integral of a sinusoid is multiplied by the frequency",
        DRIVEN,
        "self.amplitude * waves / self.frequency",
        "self.amplitude * waves * self.frequency",
        (_ATTRACTED, _OJA),
    ),
    Mutant(
        "consensus: the rate of a scalar-driven flow drops its phase",
        DRIVEN,
        "jnp.sin(self.frequency * t + self.phase)",
        "jnp.sin(self.frequency * t)",
        (_ATTRACTED, _OJA, _LOWER),
    ),
    Mutant(
        "consensus: the field (22) drops the quotient",
        DRIVEN,
        "jnp.sum(x * Uy, axis=-1, keepdims=True) * x)",
        "jnp.sum(x * x, axis=-1, keepdims=True) * x)",
        (_OJA,),
    ),
    Mutant(
        "consensus: the closed form of (22) ignores the rate",
        DRIVEN,
        "exponent = values * self.rate.integral(t)",
        "exponent = values * t",
        (_OJA, _TOP),
    ),
    Mutant(
        "consensus: V of (13) is a minimum",
        ENERGIES,
        "return jnp.max(1 - x @ axis)",
        "return jnp.min(1 - x @ axis)",
        (_DINI, _BARBALAT),
    ),
    Mutant(
        "consensus: V of (13) has the sign of v^T y reversed in its rate",
        ENERGIES,
        "-flow.vector_field(t, x) @ axis",
        "flow.vector_field(t, x) @ axis",
        (_DINI, _BARBALAT),
    ),
    Mutant(
        "consensus: the Dini derivative is the lower one",
        ENERGIES,
        "jnp.max(jnp.where(active, rates, -jnp.inf))",
        "jnp.min(jnp.where(active, rates, jnp.inf))",
        (_DANSKIN, _DINI),
        quick=True,
    ),
    Mutant(
        "consensus: the Dini derivative is clipped at zero",
        ENERGIES,
        "DiniRate(jnp.max(jnp.where(active, rates, -jnp.inf)), active)",
        "DiniRate(jnp.maximum(jnp.max(jnp.where(active, rates, -jnp.inf)), 0.0), active)",
        (_DANSKIN, _DINI, _BARBALAT),
    ),
    Mutant(
        "consensus: of tied indices the first alone is active",
        ENERGIES,
        "active = jnp.asarray(values) >= jnp.max(values) - tolerance",
        "active = jnp.arange(len(values)) == jnp.argmax(values)",
        (_DANSKIN, _DINI),
    ),
    Mutant(
        "consensus: all indices are active",
        ENERGIES,
        "active = jnp.asarray(values) >= jnp.max(values) - tolerance",
        "active = jnp.asarray(values) >= jnp.min(values) - tolerance",
        (_DANSKIN, _DINI, _BARBALAT),
    ),
    Mutant(
        "consensus: V of (17) has a square for its cube",
        ENERGIES,
        "return 2 / 3 - a + a**3 / 3",
        "return 2 / 3 - a + a**2 / 3",
        (_ISS, _ATTRACTED),
    ),
    Mutant(
        "consensus: V of (17) is not zero at 1",
        ENERGIES,
        "return 2 / 3 - a + a**3 / 3",
        "return 1 / 3 - a + a**3 / 3",
        (_ISS,),
    ),
    Mutant(
        "consensus: the derivative along a flow is the energy itself",
        ENERGIES,
        "(flow.vector_field(t, x),))[1]",
        "(flow.vector_field(t, x),))[0]",
        (_ATTRACTED,),
    ),
    Mutant(
        "consensus: the diameter is a mean",
        CONSENSUS,
        "return jnp.max(jnp.linalg.norm(x[:, None] - x[None], axis=-1))",
        "return jnp.mean(jnp.linalg.norm(x[:, None] - x[None], axis=-1))",
        (_DOMAIN,),
    ),
    Mutant(
        "consensus: the distance from a point is that of the nearest token",
        CONSENSUS,
        "return jnp.max(jnp.linalg.norm(x - v[None], axis=-1))",
        "return jnp.min(jnp.linalg.norm(x - v[None], axis=-1))",
        (_DOMAIN, _TOP),
    ),
    Mutant(
        "consensus: the margin along an axis is that of the farthest token",
        HEMISPHERES,
        "return jnp.min(x @ axis)",
        "return jnp.max(x @ axis)",
        (_HEMISPHERE, _TOP),
    ),
    Mutant(
        "consensus: the hemisphere margin is a mean",
        HEMISPHERES,
        "float(np.min(_directions(x) @ axis))",
        "float(np.mean(_directions(x) @ axis))",
        (_CERTAIN,),
    ),
    Mutant(
        "consensus: the axis of a hemisphere depends on the lengths of tokens",
        HEMISPHERES,
        "return x / sizes",
        "return x",
        (_CERTAIN,),
    ),
    Mutant(
        "consensus: the weights of the nearest point are signed",
        HEMISPHERES,
        "return directions.T @ (weights / np.sum(weights))",
        "return directions.T @ np.full(n, 1 / n)",
        (_WENDEL, _CERTAIN),
    ),
    Mutant(
        "consensus: Wendel's sum ends one term early",
        HEMISPHERES,
        "for k in range(D)), 2 ** (N - 1))",
        "for k in range(D - 1)), 2 ** (N - 1))",
        (_WENDEL, _CERTAIN),
        quick=True,
    ),
    Mutant(
        "consensus: Wendel's power of two counts all signs",
        HEMISPHERES,
        "for k in range(D)), 2 ** (N - 1))",
        "for k in range(D)), 2**N)",
        (_WENDEL, _CERTAIN),
    ),
)
