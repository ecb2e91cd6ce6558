"""Errors in schedules and in the iteration of maps, and the tests that notice them."""

from tests.mutants import Mutant

SCHEDULES, SIMULATION = "dynsim.systems.schedules", "dynsim.simulation"
APPLIED = ("tests/test_token_flow.py::test_a_schedule_applies_itself_as_its_matrices_do",)
ONE = ("tests/test_token_flow.py::test_one_matrix_is_applied_to_the_sum_of_all_heads",)
WAVES = ("tests/test_token_flow.py::test_a_rectified_wave_has_half_the_period_and_layers_return",)
LAYERS = ("tests/test_simulate.py::test_layers_are_numbered_from_zero_through_all_blocks",)

MUTANTS = (
    Mutant("schedules: the modulus of a wave is the wave", SCHEDULES,
           "jnp.abs(wave) if self.rectified else wave", "wave", tests=WAVES),
    Mutant("schedules: a modulus has the period of its wave", SCHEDULES,
           "(1 if rectified else 2) * math.pi / fastest", "2 * math.pi / fastest", tests=WAVES),
    Mutant("schedules: negative frequencies are slow", SCHEDULES,
           "np.max(np.abs(np.asarray(self.frequency)))", "np.max(np.asarray(self.frequency))", tests=WAVES),
    Mutant("schedules: no layer returns", SCHEDULES,
           "jnp.mod(t, self.edges[-1]) if self.periodic else t", "t", tests=WAVES),
    Mutant("schedules: the bound is that of the first layer", SCHEDULES,
           "_largest_norm(self.values)", "_largest_norm(self.values[0])", tests=WAVES),
    Mutant("schedules: negative factors have no norm", SCHEDULES,
           "return _largest_norm(self.factor[:, None, None])", "return float(np.max(np.asarray(self.factor)))",
           tests=WAVES),
    Mutant("schedules: a schedule without a period has one", SCHEDULES,
           'object.__setattr__(same, "period", math.inf)', "pass", tests=WAVES),
    Mutant("schedules: queries are those of P^T", SCHEDULES,
           "per_head(transposed, self(t)", "per_head(transposed, jnp.swapaxes(self(t), 1, 2)", tests=APPLIED),
    Mutant("schedules: values are applied transposed", SCHEDULES,
           'jnp.einsum("hed,hid->ie", U, means)', 'jnp.einsum("hde,hid->ie", U, means)', tests=APPLIED),
    Mutant("schedules: one value for all heads is applied transposed", SCHEDULES,
           "jnp.sum(means, axis=0) @ U[0].T", "jnp.sum(means, axis=0) @ U[0]", tests=ONE),
    Mutant("schedules: negative factors are positive", SCHEDULES,
           "self.factor.astype(means.dtype), means)", "abs(self.factor.astype(means.dtype)), means)", tests=APPLIED),
    Mutant("iterate: blocks of layers overlap", SIMULATION,
           "block * every + jnp.arange(every)", "block + jnp.arange(every)", tests=LAYERS),
    Mutant("iterate: layers are numbered anew in every block", SIMULATION,
           "block * every + jnp.arange(every)", "jnp.arange(every)", tests=LAYERS),
    Mutant("iterate: on the host layers are numbered from one", SIMULATION,
           "map.step(k, x)\n        if (k + 1)", "map.step(k + 1, x)\n        if (k + 1)", tests=LAYERS),
    Mutant("iterate: one step more is counted", SIMULATION,
           "num_steps=jnp.asarray(steps)", "num_steps=jnp.asarray(steps + 1)", tests=LAYERS),
    Mutant("iterate: a state that is not a number is finite", SIMULATION,
           "jnp.all(jnp.isfinite(y)) for y", "jnp.all(jnp.isfinite(y[-1])) for y", tests=LAYERS),
    Mutant("iterate: a run that is not finite has finished", SIMULATION,
           "jnp.asarray(ends[0 if ok else 1])", "jnp.asarray(ends[0])", tests=LAYERS),
    Mutant("simulate: errors have signs", SIMULATION, "jnp.abs(a - b), ys, finer", "a - b, ys, finer",
           tests=("tests/test_simulate.py::test_an_error_is_a_distance",)),
)  # fmt: skip
