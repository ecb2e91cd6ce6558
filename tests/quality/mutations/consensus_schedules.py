"""Errors in what schedules and spaces tell integrators, and the claims that notice them."""

from tests.quality.mutants import Mutant

LAYER = ("consensus/equation-6-first-order",)
TANGENT = ("consensus/equation-3",)

# fmt: off
MUTANTS = (
    Mutant("schedules: jumps are looked for in one period", "PiecewiseConstant.breakpoints",
           "math.floor(t1 / edges[-1]) + 1", "math.floor(t1 / edges[-1])", LAYER),
    Mutant("schedules: the period of |sin| is that of sin", "Modulated.__init__", "1 if rectified else 2", "2", LAYER),
    Mutant("schedules: the fastest wave is the slowest", "Modulated.__init__", "np.max", "np.min", LAYER),
    Mutant("schedules: steps are limited by the longest period", "TokenFlow.step_limit",
           "min(part.fastest_period() for part in (self.query_key, self.value))",
           "max(part.fastest_period() for part in (self.query_key, self.value))", LAYER),
    Mutant("schedules: jumps of U are left out", "TokenFlow.breakpoints",
           "np.union1d(*jumps) if jumps[0].size or jumps[1].size else jumps[0]", "jumps[0]", LAYER),
    Mutant("schedules: queries of waves are those of P transposed", "scaled_transposed",
           "(jnp.asarray(x) * diagonal[None]) @ base", "(jnp.asarray(x) * diagonal[None]) @ base.T", LAYER),
    Mutant("schedules: the bound of waves ignores their amplitudes", "Modulated.norm_bound",
           "self.amplitude[..., None] * self.base", "self.base", LAYER),
    Mutant("schedules: the bound of norms is that of an entry", "_largest_norm",
           "np.linalg.norm(np.asarray(matrices, float), 2, axis=(-2, -1))", "np.abs(np.asarray(matrices, float))",
           LAYER),
    Mutant("schedules: one U for all heads is transposed", "AbstractSchedule.applied", "U[0].T", "U[0]", LAYER),
    Mutant("schedules: U is applied transposed", "AbstractSchedule.applied", '"hed,hid->ie"', '"hde,hid->ie"', LAYER),
    Mutant("spaces: the defect of an ellipsoid is that of squares", "Ellipsoid.defect",
           "jnp.sqrt(jnp.sum(self._dual(y) * y, axis=-1))", "jnp.sum(self._dual(y) * y, axis=-1)", TANGENT),
    Mutant("spaces: the defect of a sphere is that of the nearest point", "Sphere.defect",
           "jnp.max", "jnp.min", TANGENT),
    Mutant("schedules: matrices drawn for a layer change in its middle", "Resampled.__call__",
           "jnp.floor", "jnp.round", LAYER),
    Mutant("schedules: layers of drawn matrices end at every unit of time", "Resampled.breakpoints",
           "np.arange(math.floor(t0 / self.duration), math.ceil(t1 / self.duration) + 1) * self.duration",
           "np.arange(math.floor(t0 / self.duration), math.ceil(t1 / self.duration) + 1)", LAYER),
    Mutant("schedules: steps of scalar-driven flows are as long as a period", "_Driven.step_limit",
           "math.pi", "2 * math.pi", ("consensus/lemma-5.1",)),
)
# fmt: on
