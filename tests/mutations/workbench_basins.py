"""Errors in maps over intervals, basins, their boundaries and the pace of curves, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
MAPS, BASINS, FRACTIONS = DYNAMICS + "time_maps", DYNAMICS + "basins", DYNAMICS + "basin_fractions"
PLANES = DYNAMICS + "phase_plane"
BOUNDARY, EDGE, PACE = DYNAMICS + "basin_boundary", DYNAMICS + "edge_tracking", DYNAMICS + "pace"
TESTS, SETS, PLANE = (
    "tests/test_basins.py::test_",
    "tests/test_attractors.py::test_",
    "tests/test_phase_plane.py::test_",
)
STEPS = (SETS + "the_map_over_intervals_of_a_map_goes_on_in_steps",)
ANGLES = (SETS + "angles_have_the_features_of_a_circle_of_their_period",)
PRINCIPAL = (SETS + "angles_of_limits_are_principal_ones",)
JUMPS = (SETS + "jumps_of_a_window_are_those_between_its_ends",)
ALONE = (SETS + "a_state_for_which_the_solver_fails_is_nan_alone",)
FORCED = (SETS + "the_map_over_intervals_of_a_forced_flow_goes_on_in_time_and_leaves_what_is_out_of_bounds",)
SADDLE = (SETS + "the_edge_of_a_map_is_its_saddle",)
LEFT = (SETS + "what_leaves_the_domain_has_failed",)
NEWTON = (TESTS + "the_basins_of_newtons_method_turn_into_each_other",)
ESCAPED = (TESTS + "what_escapes_is_in_no_basin",)
IN_NONE = (TESTS + "the_saddle_of_a_map_is_in_no_basin",)
PASSING = (TESTS + "what_passes_an_attractor_is_not_in_its_basin",)
TURNS = (TESTS + "rotations_of_a_pendulum_are_one_attractor",)
LONGER = (TESTS + "intervals_of_a_grid_become_longer_where_nothing_moves",)
SLICE = (TESTS + "a_slice_of_a_map_keeps_the_other_components",)
TOUCH = (TESTS + "basins_that_touch_are_paired_once",)
STRAIGHT = (TESTS + "a_straight_boundary_has_the_exponent_one",)
DIVIDED = (TESTS + "division_into_parts_brackets_as_bisection_does",)
WILSON = (TESTS + "shares_of_random_starts_have_wilson_intervals",)
FOLLOWED = (TESTS + "labels_of_a_map_follow_their_attractors_along_a_parameter",)
BAD = (TESTS + "bad_input_is_one_sentence",)
PACED = (PLANE + "a_paced_flow_has_the_direction_of_the_field_and_vanishes_with_it",)
AWAY = (PLANE + "a_field_that_depends_on_time_away_from_the_corner_is_forced",)
IN_TIME = (PLANE + "whether_a_field_depends_on_time",)
CYCLES = (PLANE + "limit_cycles_are_found_forwards_and_backwards_each_once",)
UNITED = (PLANE + "limit_cycles_are_found_whatever_their_period[1.0]",)
FIELDS = ("tests/test_compilations.py::test_the_field_at_any_number_of_states_and_times_is_one_program",)

MUTANTS = (
    Mutant("workbench time maps: steps of a map begin anew in every interval", MAPS,
           "step(begin + k.astype(float), y)", "step(k.astype(float), y)", tests=STEPS),
    Mutant("workbench time maps: an interval has a step more", MAPS,
           "jax.lax.fori_loop(0, steps, once, ys)", "jax.lax.fori_loop(0, steps + 1, once, ys)", tests=STEPS),
    Mutant("workbench time maps: what is out of bounds moves by the map", MAPS,
           "step(begin + k.astype(float), y), y)", "step(begin + k.astype(float), y), step(begin, y))", tests=STEPS),
    Mutant("workbench time maps: a window begins an interval later", MAPS,
           "begin = begun * float(self.interval)", "begin = (begun + 1) * float(self.interval)", tests=FORCED),
    Mutant("workbench time maps: jumps of a window are those before it", MAPS,
           "self.system.breakpoints(begin, begin + WINDOW",
           "self.system.breakpoints(begin - WINDOW, begin + 0 * WINDOW", tests=JUMPS),
    Mutant("workbench time maps: no step is too long", MAPS,
           "None if math.isinf(longest) else np.asarray(longest)", "None", tests=JUMPS),
    Mutant("workbench time maps: one failure makes all of its part fail", MAPS,
           "if len(xs) == 1:", "if len(xs) <= FEW:", tests=ALONE),
    Mutant("workbench time maps: what fails keeps its last state", MAPS,
           "return np.full((WINDOW, *xs.shape), np.nan)", "return np.asarray(states)[:, : len(xs)]", tests=ALONE),
    Mutant("workbench time maps: an angle has twice its period", MAPS,
           "(k, 2 * np.pi / period)", "(k, np.pi / period)", tests=ANGLES),
    Mutant("workbench time maps: circles of angles have the radius one", MAPS,
           "fn(flat[k] * rate) / rate", "fn(flat[k] * rate)", tests=ANGLES),
    Mutant("workbench time maps: angles are features, too", MAPS,
           "if k not in dict(self.periods)]", "]", tests=ANGLES),
    Mutant("workbench time maps: whole turns are those below", MAPS,
           "np.round(moved[k] / period)", "np.floor(moved[k] / period)", tests=ANGLES),
    Mutant("workbench time maps: turns are counted, not measured", MAPS,
           "found[k] = period * np.round", "found[k] = np.round", tests=ANGLES),
    Mutant("workbench time maps: principal angles are those above", MAPS,
           "np.ceil(moved[0, k] / period - 0.5 - NEARLY)", "np.floor(moved[0, k] / period)", tests=PRINCIPAL),
    Mutant("workbench time maps: half a turn back is not half a turn", MAPS,
           "- 0.5 - NEARLY)", "- 0.5)", tests=PRINCIPAL),
    Mutant("workbench time maps: points of a set turn each on its own", MAPS,
           "np.ceil(moved[0, k] / period", "np.ceil(moved[:, k] / period", tests=PRINCIPAL),
    Mutant("workbench time maps: angles of a limit have any number of turns", DYNAMICS + "limit_sets",
           "return with_principal_angles(record.time_map, found) if isinstance(found, LimitSet) else found",
           "return found", tests=PRINCIPAL),
    Mutant("workbench time maps: angles of a recurrent set have any number of turns", DYNAMICS + "recurrent_sets",
           "return with_principal_angles(record.time_map, found)", "return found", tests=PRINCIPAL),
    Mutant("workbench time maps: states that are finite are defined", MAPS,
           "jnp.all(jnp.isfinite(x)) & jnp.all(jnp.isfinite(velocity(jnp.zeros(()), x)))",
           "jnp.all(jnp.isfinite(x))", tests=BAD),
    Mutant("workbench time maps: errors of the solver do not count", MAPS,
           "jnp.max(jnp.sqrt(jnp.mean(error**2, axis=0)))", "0 * jnp.max(jnp.sqrt(jnp.mean(error**2, axis=0)))",
           tests=FORCED),
    Mutant("workbench basins: intervals of a grid stay as short as at the starts", BASINS,
           "if told.may_adapt(self.time_map) and self.pending.size and", "if False and", tests=LONGER),
    Mutant("workbench basins: intervals of a forced flow become longer", DYNAMICS + "attractor_search",
           "return self.adapts and not self.forced and", "return self.adapts and", tests=LONGER),
    Mutant("workbench basins: the axes of a grid are exchanged", DYNAMICS + "flat_states",
           'np.meshgrid(*axes, indexing="ij")', 'np.meshgrid(*axes, indexing="xy")', tests=NEWTON),
    Mutant("workbench basins: components that do not vary are zero", DYNAMICS + "flat_states",
           "np.tile(flat, (len(points), 1))", "np.tile(0 * flat, (len(points), 1))",
           tests=SLICE),
    Mutant("workbench basins: what has escaped has failed", BASINS,
           "self.labels[self.pending[failed]] = ESCAPED, FAILED", "self.labels[self.pending[failed]] = FAILED, ESCAPED",
           tests=ESCAPED),
    Mutant("workbench basins: what is near at the end of a window has arrived", BASINS,
           "for state in states[::-1]:", "for state in states[-1:]:", tests=PASSING),
    Mutant("workbench basins: what stays at a saddle has not settled", BASINS,
           "UNDECIDED if is_open else NOT_ATTRACTING", "NOT_SETTLED",
           tests=IN_NONE),
    Mutant("workbench basins: attractors have any radius", BASINS,
           "fine = [reach(a, self.extent, self.attractors) for",
           "fine = [100 * reach(a, self.extent, self.attractors) for", tests=NEWTON),
    Mutant("workbench basins: angles are not wrapped", BASINS,
           "s.features, s.wrapped, s.escape", "s.features, None, s.escape", tests=TURNS),
    Mutant("workbench basins: boxes may have their upper end first", BASINS,
           "not np.all(ends[:, 0] < ends[:, 1])", "False", tests=BAD),
    Mutant("workbench basins: a box in which all fail has basins", BASINS,
           "if np.all(found.labels == FAILED):", "if False:", tests=BAD),
    Mutant("workbench basins: the same index may vary twice or not exist", BASINS,
           "or max(which) >= flat.size:", "or max(which) > flat.size + 9:", tests=BAD),
    Mutant("workbench basins: basins touch what escapes", BASINS,
           "if 0 <= pair[0] < pair[1]:", "if pair[0] < pair[1]:", tests=TOUCH),
    Mutant("workbench basins: basins touch themselves", BASINS,
           "if 0 <= pair[0] < pair[1]:", "if 0 <= pair[0] <= pair[1]:", tests=TOUCH),
    Mutant("workbench basins: the first place is that at which basins touch", BASINS,
           "places[pair][len(places[pair]) // 2]", "places[pair][0]", tests=TOUCH),
    Mutant("workbench basins: points beside each other are not sorted by their basins", BASINS,
           "sorted((index, beside), key=lambda place: int(labels[place]))", "(index, beside)", tests=TOUCH),
    Mutant("workbench basins: a boundary is looked for within an even number of points", BASINS,
           "scipy.ndimage.maximum_filter(self.labels, 2 * k + 1,", "scipy.ndimage.maximum_filter(self.labels, 2 * k,",
           tests=STRAIGHT),
    Mutant("workbench basins: the exponent is that of the distance", BASINS,
           "np.polyfit(np.log(reach), np.log(shares), 1, cov=True)",
           "np.polyfit(reach, np.log(shares), 1, cov=True)", tests=STRAIGHT),
    Mutant("workbench basins: intervals have the confidence 0.95", FRACTIONS,
           "proportion_ci(confidence,", "proportion_ci(0.95,", tests=WILSON),
    Mutant("workbench basins: confidences above one are taken", FRACTIONS,
           "if not 0 < confidence < 1:", "if not 0 < confidence:", tests=BAD),
    Mutant("workbench basins: shares are those of the starts that arrive", FRACTIONS,
           "return self.counts / self.total", "return self.counts / max(1, int(np.max(self.counts)))", tests=FOLLOWED),
    Mutant("workbench basins: absent attractors have the share zero", FRACTIONS,
           "np.full((len(values), len(labels)), np.nan)", "np.full((len(values), len(labels)), 0.0)", tests=FOLLOWED),
    Mutant("workbench basins: attractors before that have gone are forgotten at once", DYNAMICS + "attraction",
           "self.known |= zip(labels, found, strict=True)", "self.known = dict(zip(labels, found, strict=True))",
           tests=("tests/test_basins.py::test_basins_in_a_movie_have_the_labels_of_the_attractors_that_theirs_continue",)),
    Mutant("workbench basins: starts have the labels before they are followed", DYNAMICS + "attraction",
           "np.append(np.asarray(names, int), 0)[labels]", "labels",
           tests=FOLLOWED),
    Mutant("workbench basins: the enclosing attractor is the one with the fewest points", FRACTIONS,
           "if votes[row, column] > 0.5 and", "if votes[row, column] <= 0.5 and", tests=FOLLOWED),
    Mutant("workbench basins: a boundary with both outcomes the same is divided", BOUNDARY,
           "if left == right:", "if False:", tests=DIVIDED),
    Mutant("workbench basins: a third outcome is taken for the one at the upper end", BOUNDARY,
           "low, high, right = ends[change - 1], ends[change], found[change]",
           "low, high = ends[change - 1], ends[change]", tests=DIVIDED),
    Mutant("workbench basins: division goes on within the width", BOUNDARY,
           "if high - low <= width or not", "if not", tests=DIVIDED),
    Mutant("workbench basins: parts are halves", BOUNDARY,
           "low + (high - low) * k / parts for", "low + (high - low) * k / (2 * parts) for", tests=DIVIDED),
    Mutant("workbench edges: starts of one basin have an edge between them", EDGE,
           "if labels[0] == labels[1]:", "if False:", tests=SADDLE),
    Mutant("workbench edges: an edge is known to a thousandth", EDGE,
           "NARROW = 1e-9", "NARROW = 1e-3", tests=SADDLE),
    Mutant("workbench pace: a flow backwards goes forwards", PACE,
           "self.sign * self.unit / self.size", "self.unit / self.size", tests=CYCLES),
    Mutant("workbench pace: a frozen flow goes on in time", PACE,
           "self.flow.vector_field(self.t, self.size * x)", "self.flow.vector_field(t, self.size * x)", tests=PACED),
    Mutant("workbench pace: a curve has the unit speed at an equilibrium", PACE,
           "jnp.sum(v**2) + self.slow**2", "jnp.sum(v**2)", tests=PACED),
    Mutant("workbench pace: the speed below which a curve is slow is squared", PACE,
           "v**2) + self.slow**2)", "v**2) + self.slow)", tests=PACED),
    Mutant("workbench pace: the typical speed is the mean one", PACE,
           "np.median(known)", "np.mean(known)", tests=PACED),
    Mutant("workbench pace: a field that vanishes has no typical speed", PACE,
           "else np.nan) or 1.0", "else np.nan)", tests=PACED),
    Mutant("workbench pace: the speed at a place is its largest entry", PACE,
           "np.linalg.norm(fields(flow, points, t) / size, axis=-1)", "np.sum(fields(flow, points, t) / size, axis=-1)",
           tests=PACED),
    Mutant("workbench pace: late changes of a field are missed", PACE,
           "5.3, 11.3, 41.0)", "5.3)", tests=IN_TIME),
    Mutant("workbench pace: a field is forced if it is so at the corner of the window", PLANES,
           "change_in_time(flow, points)[0] > 0", "change_in_time(flow, points[:1])[0] > 0", tests=AWAY),
    Mutant("workbench pace: every field in a portrait depends on time", "dynsim.commands.portrait",
           "jnp.asarray(points))[0] > 0", "jnp.asarray(points))[0] >= 0",
           tests=(PLANE + "the_command_draws_planes_slices_spheres_and_simplices",)),
    Mutant("workbench pace: a portrait is looked at in a corner", "dynsim.commands.portrait",
           "jnp.asarray(points))[0] > 0", "jnp.asarray(points[:1]))[0] > 0",
           tests=(PLANE + "basins_are_refused_where_only_some_of_the_window_is_forced",)),
    Mutant("workbench pace: where a field is not a number it depends on time", PACE,
           "change = np.nanmax(np.abs", "change = np.max(np.abs", tests=IN_TIME),
    Mutant("workbench pace: states are not brought back to the units of a followed flow", PACE,
           "self.unit / self.size * self.flow", "self.unit * self.flow", tests=UNITED),
    Mutant("workbench pace: an infinite slow speed stops a followed flow", PACE,
           "jnp.isfinite(self.slow), speed, 1.0)", "jnp.isfinite(self.slow), speed, speed)", tests=UNITED),
    Mutant("workbench pace: fields of parts are those of the first time", PACE,
           "column[k : k + rows] for column in columns]", "columns[0][:rows], *(c[k : k + rows] for c in columns[1:])]",
           tests=FIELDS),
)  # fmt: skip
