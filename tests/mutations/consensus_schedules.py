"""Errors in what schedules and spaces tell integrators, and the claims that notice them."""

from tests.mutants import Mutant

SCHEDULES, FLOW = "dynsim.systems.schedules", "dynsim.systems.tokens.flow"
SPACES = "dynsim.spaces.ellipsoid"

LAYER = ("consensus/equation-6-first-order",)
TANGENT = ("consensus/equation-3",)

MUTANTS = (
    Mutant("schedules: jumps are looked for in one period", SCHEDULES,
           "turns = np.arange(math.floor(t0 / edges[-1]), math.floor(t1 / edges[-1]) + 1)",
           "turns = np.arange(math.floor(t0 / edges[-1]), math.floor(t1 / edges[-1]))", LAYER),
    Mutant("schedules: the period of |sin| is that of sin", SCHEDULES,
           "(1 if rectified else 2) * math.pi / fastest", "2 * math.pi / fastest", LAYER),
    Mutant("schedules: the fastest wave is the slowest", SCHEDULES,
           "fastest = float(np.max(np.abs(np.asarray(self.frequency))))",
           "fastest = float(np.min(np.abs(np.asarray(self.frequency))))", LAYER),
    Mutant("schedules: steps are limited by the longest period", FLOW,
           "return min(part.fastest_period() for part in (self.query_key, self.value)) / 2",
           "return max(part.fastest_period() for part in (self.query_key, self.value)) / 2", LAYER),
    Mutant("schedules: jumps of U are left out", FLOW,
           "return np.union1d(*jumps) if jumps[0].size or jumps[1].size else jumps[0]", "return jumps[0]", LAYER),
    Mutant("schedules: queries of waves are those of P transposed", "dynsim.systems.head_products",
           "return (jnp.asarray(x) * diagonal[None]) @ base\n\n\ndef mixed",
           "return (jnp.asarray(x) * diagonal[None]) @ base.T\n\n\ndef mixed", LAYER),
    Mutant("schedules: the bound of waves ignores their amplitudes", SCHEDULES,
           "return _largest_norm(self.amplitude[..., None] * self.base)", "return _largest_norm(self.base)", LAYER),
    Mutant("schedules: the bound of norms is that of an entry", SCHEDULES,
           "np.linalg.norm(np.asarray(matrices, float), 2, axis=(-2, -1))", "np.abs(np.asarray(matrices, float))",
           LAYER),
    Mutant("schedules: one U for all heads is transposed", SCHEDULES, "return jnp.sum(means, axis=0) @ U[0].T",
           "return jnp.sum(means, axis=0) @ U[0]", LAYER),
    Mutant("schedules: U is applied transposed", SCHEDULES, '"hed,hid->ie"', '"hde,hid->ie"', LAYER),
    Mutant("spaces: the defect of an ellipsoid is that of squares", SPACES,
           "jnp.max(jnp.abs(jnp.sqrt(jnp.sum(self._dual(y) * y, axis=-1)) - 1))",
           "jnp.max(jnp.abs(jnp.sum(self._dual(y) * y, axis=-1) - 1))", TANGENT),
    Mutant("spaces: the defect of a sphere is that of the nearest point", SPACES,
           "return jnp.max(jnp.abs(jnp.linalg.norm(y, axis=-1) - 1))",
           "return jnp.min(jnp.abs(jnp.linalg.norm(y, axis=-1) - 1))", TANGENT),
    Mutant("schedules: matrices drawn for a layer change in its middle", SCHEDULES,
           "layer = jnp.floor(jnp.asarray(t, float) / self.duration)",
           "layer = jnp.round(jnp.asarray(t, float) / self.duration)", LAYER),
    Mutant("schedules: layers of drawn matrices end at every unit of time", SCHEDULES,
           "math.ceil(t1 / self.duration) + 1) * self.duration", "math.ceil(t1 / self.duration) + 1)", LAYER),
    Mutant("schedules: steps of scalar-driven flows are as long as a period", "dynsim.systems.tokens.scalar_driven",
           "math.pi / abs(float(self.rate.frequency))", "2 * math.pi / abs(float(self.rate.frequency))",
           ("consensus/lemma-5.1",)),
)  # fmt: skip
