"""Errors in the scalar-driven flows and in measures of tokens, with the claims that notice them."""

from tests.mutants import Mutant

DRIVEN = "dynsim.systems.tokens.scalar_driven"
ENERGIES = "analysis.tokens.energies"
CONSENSUS = "analysis.tokens.consensus"
HEMISPHERES = "analysis.tokens.hemispheres"
EQUILIBRIA = "analysis.dynamics.equilibria"

_DOMAIN = "consensus/theorem-5.1-domain/corrected"
_ISS = "consensus/theorem-5.1-iss/corrected"
_TOP = "consensus/theorem-6.1"
_HEMISPHERE = "consensus/theorem-4.1"
_DINI = "consensus/theorem-4.1-dini-sign"
_BARBALAT = "consensus/theorem-4.1-barbalat/corrected"
_DANSKIN = "consensus/equation-12"
_ATTRACTED = "consensus/lemma-5.1"
_OJA = "consensus/lemma-6.1-top"
_LOWER = "consensus/lemma-6.1-lower/corrected"
_WENDEL = "consensus/remark-4.2-formula/corrected"
_CERTAIN = "consensus/remark-4.2-certain"
_UNSTABLE = "consensus/claim-identity-stable-equilibria"

MUTANTS = (
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
        (_DANSKIN,),
    ),
    Mutant(
        "consensus: the Dini derivative along the flow is the lower one",
        ENERGIES,
        "jnp.max(jnp.where(active, rates, -jnp.inf))",
        "jnp.min(jnp.where(active, rates, jnp.inf))",
        (_DINI,),
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
        "consensus: indices within one of the maximum are active",
        ENERGIES,
        "values: Numbers, rates: Numbers, *, tolerance: float = 0.0",
        "values: Numbers, rates: Numbers, *, tolerance: float = 1.0",
        (_DANSKIN,),
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
    ),
    Mutant(
        "consensus: Wendel's power of two counts all signs",
        HEMISPHERES,
        "for k in range(D)), 2 ** (N - 1))",
        "for k in range(D)), 2**N)",
        (_WENDEL, _CERTAIN),
    ),
    Mutant(
        "consensus: the printed form of Wendel's sum is the correct one",
        HEMISPHERES,
        'return wendel_probability(num_tokens, _positive("sphere_dimension", sphere_dimension))',
        'return wendel_probability(num_tokens, _positive("sphere_dimension", sphere_dimension) + 1)',
        (_WENDEL,),
    ),
    Mutant(
        "consensus: Newton's method stops where a step reduces the speed",
        EQUILIBRIA,
        "if not np.max(np.abs(after)) < np.max(np.abs(field)):",
        "if np.max(np.abs(after)) < np.max(np.abs(field)):",
        (_UNSTABLE,),
    ),
    Mutant(
        "consensus: Newton's steps have the opposite direction",
        EQUILIBRIA,
        "step = basis @ np.linalg.lstsq(J, -basis.T @ field, rcond=1e-9)[0]",
        "step = basis @ np.linalg.lstsq(J, basis.T @ field, rcond=1e-9)[0]",
        (_UNSTABLE,),
    ),
)
