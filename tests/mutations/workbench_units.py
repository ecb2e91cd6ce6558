"""Errors in units of states and times in searches, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
UNITS, SAMPLES, EQUILIBRIA, LIMITS, SETS = (
    DYNAMICS + name for name in ("units", "sample_sizes", "equilibria", "limits", "limit_sets")
)
MAPS, CYCLES, ORBITS = DYNAMICS + "time_maps", DYNAMICS + "map_orbits", DYNAMICS + "periodic_orbits"
POWERS = ("tests/test_units.py::test_units_are_powers_near_sizes",)
SIZES = ("tests/test_units.py::test_sizes_of_vectors_are_those_of_their_entries_and_of_matrices_the_largest",)
RATES = ("tests/test_units.py::test_rates_are_norms_of_jacobians",)
OTHER = ("tests/test_units.py::test_other_flows_have_states_and_rates_of_order_one_in_their_units",)
MEDIAN = ("tests/test_units.py::test_the_median_rate_is_typical_and_the_largest_is_for_trajectories",)
CURVED = ("tests/test_units.py::test_on_a_curved_space_times_have_a_unit_and_states_none",)
FOUND = ("tests/test_equilibria.py::test_equilibria_and_their_types_do_not_depend_on_the_units",)
LEAST = ("tests/test_equilibria.py::test_a_low_speed_that_is_not_zero_is_no_equilibrium",)
RADIUS = ("tests/test_equilibria.py::test_the_distance_of_equilibria_that_are_one_is_in_the_units_of_the_states",)
SETTLED = ("tests/test_limits.py::test_verdicts_do_not_depend_on_the_units",)
ATTRACTORS = ("tests/test_attractors.py::test_attractors_do_not_depend_on_the_units",)
OF_MAPS = ("tests/test_attractors.py::test_cycles_of_maps_do_not_depend_on_the_units",)
OF_PARTS = ("tests/test_attractors.py::test_states_are_made_of_flat_ones_as_programs_restore_them",)
STEPPED = ("tests/test_equilibria.py::test_a_step_on_a_flat_space_is_that_of_the_program_for_all_spaces",)
PERIODIC = ("tests/test_periodic_orbits.py::test_orbits_do_not_depend_on_the_units",)

MUTANTS = (
    Mutant("units: sizes that are zero have the unit of rounding", UNITS,
           "np.where(sound, given, 1.0)", "np.where(sound, given, 1e-16)", tests=POWERS),
    Mutant("units: the range of a constant is zero", SAMPLES,
           "np.where(spread > 1e-12 * sizes, spread, sizes)", "spread", tests=SIZES),
    Mutant("units: a zero has no size", SAMPLES, "np.where(sizes > 0, sizes, most)", "sizes",
           tests=SIZES),
    Mutant("units: ranges are sizes", SAMPLES, "spread, sizes = np.ptp(rows, axis=0),",
           "spread, sizes = np.max(np.abs(rows), axis=0),", tests=SIZES),
    Mutant("units: rates are evaluated at the time zero", SAMPLES,
           "flow.vector_field(t, restored(y))", "flow.vector_field(0 * t, restored(y))", tests=RATES),
    Mutant("units: rates grow with the dimension", SAMPLES, "/ np.sqrt(flat.shape[0])", "", tests=RATES),
    Mutant("units: the largest rate is typical", SAMPLES, "= np.median,", "= np.max,", tests=MEDIAN),
    Mutant("units: the time is a rate", SAMPLES,
           "rounded_units(flow, found, 1 / one if", "rounded_units(flow, found, one if", tests=OTHER),
    Mutant("units: symmetries act in the units of the flow", UNITS, "self.rescaled(move(self.restored(z)))",
           "move(self.restored(z))", tests=OTHER),
    Mutant("units: pulls are in the time of the flow", "dynsim.systems.rescaled",
           "self.rescaled(self.time * found)", "self.rescaled(found)", tests=CURVED),
    Mutant("units: eigenvalues of equilibria are in other units", EQUILIBRIA,
           "found.values / units.time, found", "found.values, found", tests=FOUND),
    Mutant("units: speeds of equilibria are in other units", EQUILIBRIA,
           "speed if units.are_given else max_speed(units.given(units.system), x, t)", "speed", tests=FOUND),
    Mutant("units: least speeds are zero", EQUILIBRIA, "return left <= speed / 2 and", "return True or", tests=LEAST),
    Mutant("units: a given radius holds in other units", EQUILIBRIA,
           "flat_state(z if self.radius is None else self.units.restored(z))", "flat_state(z)", tests=RADIUS),
    Mutant("units: an invariant is one of states in other units", EQUILIBRIA,
           "self.invariant(self.units.restored(z))", "self.invariant(z)", tests=RADIUS),
    Mutant("units: rates of metastable states are in other units", LIMITS,
           "found._replace(rate=found.rate / units.time)", "found", tests=SETTLED),
    Mutant("units: slow in the units of the flow is slow", LIMITS,
           "if slow and slow_in_units:", "if slow:", tests=SETTLED),
    Mutant("units: the eigenvalues of a limit are judged in the units of the flow", LIMITS,
           "_linearised(units.system, units.rescaled(x),", "_linearised(flow, x,", tests=SETTLED),
    Mutant("units: the ends of intervals are in other units", MAPS,
           "solution.ys[0] * sizes)", "solution.ys[0])", tests=ATTRACTORS),
    Mutant("units: eigenvalues of attractors are in other units", SETS,
           "values = found.values / units.time", "values = found.values", tests=ATTRACTORS),
    Mutant("units: Newton's method for maps stops at an absolute step", CYCLES,
           "np.max(np.abs(move / sizes)) <= 1e-15 * (1 + np.max(np.abs(flat / sizes)))",
           "np.max(np.abs(move)) <= 1e-15", tests=OF_MAPS),
    Mutant("units: gaps of orbits are in other units", ORBITS,
           "orbit.gap * float(max(np.max(np.asarray(size)) for size in jax.tree.leaves(units.scale)))", "orbit.gap",
           tests=PERIODIC),
    Mutant("units: orbits have the units of the flow", ORBITS, "if not units.are_given:", "if False:", tests=PERIODIC),
    Mutant("time maps: matrices of a state are filled by columns", MAPS, "part.reshape(len(flat), *leaf.shape)",
           'part.reshape(len(flat), *leaf.shape, order="F")', tests=OF_PARTS),
    Mutant("time maps: a state is zero", MAPS, "states_of(time_map, flat[None])",
           "states_of(time_map, 0 * flat[None])", tests=OF_PARTS),
    Mutant("equilibria: a step on a flat space leads back", EQUILIBRIA,
           "np.asarray(leaf) + part", "np.asarray(leaf) - part", tests=STEPPED),
    Mutant("equilibria: parts move by steps of others", EQUILIBRIA,
           "np.cumsum([np.size(leaf) for leaf in leaves])[:-1]",
           "np.cumsum([np.size(leaf) for leaf in leaves])[:-1] - 1", tests=STEPPED),
)  # fmt: skip
