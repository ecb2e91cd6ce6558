"""Errors in the token flow, its masks, schedules and spaces, with the claims that notice them."""

from tests.mutants import Mutant

FLOW = "dynsim.systems.tokens.flow"
MASKS = "dynsim.systems.tokens.masks"
SCHEDULES, PRODUCTS = "dynsim.systems.schedules", "dynsim.systems.head_products"
SPACES = "dynsim.spaces.ellipsoid"

_CAUSAL = "consensus/equation-18-19"
_CASCADE = "consensus/equation-23-24"
_STABLE = "consensus/theorem-5.1-stability"
_DOMAIN = "consensus/theorem-5.1-domain/corrected"
_CONULL = "consensus/theorem-5.1-conull"
_TOP = "consensus/theorem-6.1"
_HEMISPHERE = "consensus/theorem-4.1"
_DINI = "consensus/theorem-4.1-dini-sign"
_BARBALAT = "consensus/theorem-4.1-barbalat/corrected"
_WEIGHTS = "consensus/lemma-4.1"
_CAUSAL_WEIGHTS = "consensus/lemma-4.1/causal"
_RATES = "consensus/lemma-4.2"
_COORDINATES = "consensus/remark-5.1-coordinates"
_PROJECTION = "consensus/remark-5.1-projection/corrected"
_HEADS = "consensus/claim-multihead-value/common-eigenvector"
_TRIL = '"""Return a lower triangular matrix of ones."""\n        return jnp.tril(jnp.ones((n, n), bool))'

_SCHEDULED = (
    "tests/test_token_flow.py::test_a_flow_with_its_own_projection_has_the_jumps_the_period_and_the_end_of_its_head",
)
_ENDS = ("tests/test_token_flow.py::test_the_end_of_the_values_ends_a_flow_and_the_largest_constant_matrix_bounds_all",)

MUTANTS = (
    Mutant(
        "consensus: the causal mask shows the next token",
        MASKS,
        _TRIL,
        _TRIL.replace("bool))", "bool), 1)"),
        (_CAUSAL, _CAUSAL_WEIGHTS),
        quick=True,
    ),
    Mutant(
        "consensus: the causal mask shows the next token along a solution",
        MASKS,
        _TRIL,
        _TRIL.replace("bool))", "bool), 1)"),
        (_STABLE, _DOMAIN, _TOP),
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
        PRODUCTS,
        "weights @ (jnp.asarray(x) @ U.T)",
        "weights @ (jnp.asarray(x) @ U)",
        (_COORDINATES, _PROJECTION),
    ),
    Mutant(
        "consensus: the weights are transposed in the sum of values",
        PRODUCTS,
        "return weights @ (jnp.asarray(x) @ U.T)",
        "return weights.T @ (jnp.asarray(x) @ U.T)",
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
        PRODUCTS,
        "((jnp.asarray(x) * diagonal[None]) @ base) @ y.T",
        "(jnp.asarray(x) @ (base * diagonal[None])) @ y.T",
        (_HEMISPHERE, _STABLE, _DINI),
    ),
    Mutant(
        "consensus: the bilinear form of a constant P is transposed",
        PRODUCTS,
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
        (_DINI,),
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
        "consensus: the linearisation is that at t = 0",
        "analysis.dynamics.linearisation",
        "_ambient_jacobian(flow, x, np.asarray(t, float))",
        "_ambient_jacobian(flow, x, np.asarray(0.0 * t, float))",
        (_CONULL,),
    ),
    Mutant(
        "consensus: layers that alternate end in the last one",
        SCHEDULES,
        "t = jnp.mod(t, self.edges[-1]) if self.periodic else t",
        "t = jnp.asarray(t)",
        ("consensus/theorem-5.1-stability/jumps", "consensus/theorem-6.1/jumps"),
    ),
    Mutant(
        "consensus: a network has the layer before",
        SCHEDULES,
        "return self.values[self.layer(t)]",
        "return self.values[self.layer(t) - 1]",
        ("consensus/theorem-5.1-stability/jumps", "consensus/theorem-6.1/jumps"),
    ),
    Mutant(
        "consensus: the flow (20) has no jumps",
        FLOW,
        "return self.attention.breakpoints(t0, t1)",
        "return np.empty(0)",
        tests=_SCHEDULED,
    ),
    Mutant(
        "consensus: steps of the flow (20) have no limit",
        FLOW,
        "return self.attention.step_limit()",
        "return math.inf",
        tests=_SCHEDULED,
    ),
    Mutant(
        "consensus: the flow (20) has no end",
        FLOW,
        "self.attention.check_horizon(t0, t1)",
        "del t0, t1",
        tests=_SCHEDULED,
    ),
    Mutant(
        "consensus: values may end before a solution",
        FLOW,
        '(("query_key", self.query_key), ("value", self.value)):',
        '(("query_key", self.query_key),):',
        tests=_ENDS,
    ),
    Mutant(
        "consensus: constant matrices are bounded by the first",
        SCHEDULES,
        "return _largest_norm(self.value)",
        "return _largest_norm(self.value[:1])",
        tests=_ENDS,
    ),
    Mutant(
        "consensus: the linearisation for several heads is that of the reversed flow",
        "analysis.dynamics.linearisation",
        "return basis.T @ np.asarray(_ambient_jacobian(",
        "return -basis.T @ np.asarray(_ambient_jacobian(",
        (_HEADS,),
    ),
    Mutant(
        "consensus: rotations that almost commute are symmetries",
        "analysis.dynamics.linearisation",
        "kept = right[full <= 1e-9 * max(1.0, full[0])]",
        "kept = right[full <= 1e-1 * max(1.0, full[0])]",
        tests=("tests/test_linearisation.py::test_rotations_are_those_that_commute",),
    ),
    Mutant(
        "consensus: an eigenvalue that is zero up to rounding is unstable",
        "analysis.dynamics.linearisation",
        "index(values, tolerance=tolerance), tolerance, kind",
        "index(values), tolerance, kind",
        tests=("tests/test_linearisation.py::test_an_eigenvalue_that_is_zero_up_to_rounding_is_not_unstable",),
    ),
    Mutant(
        "consensus: steps of a scalar-driven flow over whole periods",
        "dynsim.systems.tokens.scalar_driven",
        "math.pi / abs(float(self.rate.frequency))",
        "2 * math.pi / abs(float(self.rate.frequency))",
        tests=("tests/test_integrators.py::test_steps_of_a_scalar_driven_flow_are_at_most_half_of_its_period",),
    ),
    Mutant(
        "consensus: a scalar-driven flow at a constant rate has a period",
        "dynsim.systems.tokens.scalar_driven",
        "still = float(self.rate.amplitude) == 0",
        "still = False",
        tests=("tests/test_integrators.py::test_steps_of_a_scalar_driven_flow_are_at_most_half_of_its_period",),
    ),
)
