"""Errors in attractors, basins and edges, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
ATTRACTION, LIMITS, MAPS = DYNAMICS + "attraction", DYNAMICS + "limit_sets", DYNAMICS + "time_maps"
RECURRENT = DYNAMICS + "recurrent_sets"
STIFF = ("tests/test_stiff_attractors.py",)
SEARCH, BASINS, CYCLES = DYNAMICS + "attractor_search", DYNAMICS + "basins", DYNAMICS + "map_orbits"
FRACTIONS, EDGE, BOUNDARY = DYNAMICS + "basin_fractions", DYNAMICS + "edge_tracking", DYNAMICS + "basin_boundary"
INTERVALS = DYNAMICS + "intervals"
TESTS = "tests/test_attractors.py::test_"
HAUSDORFF = (TESTS + "distances_of_sets_are_those_of_hausdorff_in_extents",)
CONSTANT = (TESTS + "a_constant_feature_is_measured_by_its_size",)
LATE = (TESTS + "late_samples_stay_on_an_attractor_or_not",)
RECURS = (TESTS + "a_cycle_is_looked_for_where_the_trajectory_recurs",)
RELATIVE = (TESTS + "what_moves_while_its_features_stay_is_a_relative_equilibrium",)
SADDLE = (TESTS + "the_edge_of_a_map_is_its_saddle",)
FORCED = (TESTS + "the_map_over_intervals_of_a_forced_flow_goes_on_in_time_and_leaves_what_is_out_of_bounds",)
VOLUMES = (TESTS + "volumes_are_kept_by_conservative_maps_only",)
BEYOND = (TESTS + "what_passes_the_bound_has_escaped_only_far_beyond_it_or_where_the_solver_fails",)
GROWN = (TESTS + "a_population_that_grows_a_million_times_has_not_escaped",)
LONGER = (TESTS + "intervals_become_longer_where_states_hardly_move_and_shorter_where_the_field_is_steep",)
START = (TESTS + "wells_attract_and_the_start_on_the_saddle_does_not",)
FOUND = (TESTS + "maps_have_fixed_points_cycles_and_chaos",)
FOLLOWED = ("tests/test_basins.py::test_labels_of_a_map_follow_their_attractors_along_a_parameter",)
SLICE = ("tests/test_basins.py::test_a_slice_of_a_map_keeps_the_other_components",)
SETS = "tests/test_attraction.py::test_"
RETURNS = DYNAMICS + "returns"
RADIUS = (SETS + "the_radius_is_the_largest_one_from_which_as_from_smaller_ones_perturbations_came_back",)
ELSEWHERE = (SETS + "perturbations_that_reach_other_attractors_do_not_refute_a_set",)
POLYGON = (SETS + "distances_from_an_orbit_are_those_from_its_polygon",)
DRIFT = (SETS + "what_drifts_is_no_recurrent_set_and_what_comes_back_to_itself_is",)
ALIKE = (SETS + "sets_are_the_same_if_each_covers_the_other",)
GROWTH = (SETS + "a_mean_growth_of_volumes_within_its_error_is_not_clear",)
GONE = (SETS + "a_trajectory_has_left_a_set_if_it_is_far_for_the_others_or_at_rest",)
SPECTRUM = (SETS + "a_stable_spectrum_decides_whatever_perturbations_did",)
DILUTED = (SETS + "neutral_circles_in_five_components_are_no_attractors",)
LATER = (SETS + "perturbations_are_followed_for_longer_while_the_answer_is_open",)
HALFWAY = (SETS + "perturbations_half_way_back_show_no_attraction",)
BRIEF = (SETS + "what_stays_away_while_volumes_shrink_by_little_is_open",)
CIRCLES = (SETS + "neutral_circles_in_a_plane_that_attracts_are_no_attractors",)
TRANSIENT = (SETS + "a_chaotic_transient_is_no_attractor",)
CLOSE_BY = (SETS + "a_chaotic_attractor_close_to_the_boundary_of_its_basin_is_one",)
DEGENERATE = (SETS + "at_a_degenerate_fixed_point_attraction_is_undecided",)
WILSON = ("tests/test_basins.py::test_shares_of_random_starts_have_wilson_intervals",)

MUTANTS = (
    Mutant("workbench returns: what is half-way back is not looked for in one size", RETURNS,
           "np.any(np.mean(between, axis=1) > 1 - BACK)", "np.all(np.mean(between, axis=1) > 1 - BACK)", tests=HALFWAY),
    Mutant("workbench returns: what is led elsewhere is half-way back", RETURNS,
           "(seen > told) & (seen <= np.asarray(RADII)[:, None] / 2)", "seen > told", tests=HALFWAY),
    Mutant("workbench attractors: volumes that shrink slowly are kept", ATTRACTION,
           "KEPT * max(self.size, 1e-300)", "1e-6 * max(self.size, 1e-300)", tests=BRIEF),
    Mutant("workbench attractors: a short time shows what stays away", SEARCH,
           "is_open = not growth.is_clear if found.attracts else brief",
           "is_open = bool(found.attracts) and not growth.is_clear", tests=BRIEF),
    Mutant("workbench attractors: volumes that grow are brief", ATTRACTION,
           "-FOLDS < self.mean * duration < 0", "-FOLDS < self.mean * duration", tests=BRIEF),
    Mutant("workbench attractors: a blow-up is a failure", MAPS,
           "again[:, blown] = _outside(self, found[-1, out[blown]])", "again[:, blown] = np.nan", tests=BEYOND),
    Mutant("workbench attractors: what passes the bound stays there", MAPS,
           "eqx.tree_at(lambda m: m.bound, self, self.beyond)", "self", tests=BEYOND),
    Mutant("workbench attractors: what passes the bound has escaped", DYNAMICS + "attractors",
           "beyond = FAR * bound if", "beyond = bound if", tests=GROWN),
    Mutant("workbench attractors: intervals become longer where one trajectory moves", INTERVALS,
           "np.quantile(moves, NEARLY_ALL) < STILL", "np.min(moves) < STILL", tests=LONGER),
    Mutant("workbench attractors: motions are not in extents", INTERVALS,
           "np.abs(np.diff(features, axis=1)) / extent", "np.abs(np.diff(features, axis=1))", tests=LONGER),
    Mutant("workbench attractors: intervals become longer where the field is steep", INTERVALS,
           "_steepness(time_map, some) * LONGER > STEEP", "_steepness(time_map, some) > STEEP", tests=LONGER),
    Mutant("workbench attractors: intervals become shorter than the first one", INTERVALS,
           "-min(np.ceil(powers[0]), np.round(powers[1]))", "-np.ceil(powers[0])", tests=LONGER),
    Mutant("workbench attractors: the distance of sets is one-sided", ATTRACTION,
           "float(max(np.max(KDTree(b).query(a)[0]), np.max(KDTree(a).query(b)[0])))",
           "float(np.max(KDTree(b).query(a)[0]))", tests=HAUSDORFF),
    Mutant("workbench attractors: the distance of sets is not in extents", ATTRACTION,
           "a, b = one.features / extent, other.features / extent\n    return float",
           "a, b = one.features, other.features\n    return float", tests=HAUSDORFF),
    Mutant("workbench attractors: far sets are paired", ATTRACTION,
           "if costs[row, column] <= furthest:", "if costs[row, column] <= 10 * furthest:", tests=HAUSDORFF),
    Mutant("workbench attractors: far sets decide which near ones are paired", ATTRACTION,
           "linear_sum_assignment(np.minimum(costs, furthest))", "linear_sum_assignment(costs)", tests=HAUSDORFF),
    Mutant("workbench attractors: a constant feature has the extent one", ATTRACTION,
           "np.where(sizes > 0, np.maximum(sizes, floor), rest)", "rest", tests=CONSTANT),
    Mutant("workbench attractors: a feature that is always zero has the extent one", ATTRACTION,
           "max(floor, float(power_near(np.max(sizes, initial=0.0) / 4)))", "1.0", tests=CONSTANT),
    Mutant("workbench attractors: early samples count", ATTRACTION,
           "tail = features[-max(WINDOW, len(features) // 4) :]", "tail = features", tests=LATE),
    Mutant("workbench attractors: a sample within the radius is on an attractor", ATTRACTION,
           "return max(known.radius / 4, 2 * resolution(known, extent), ARRIVED)",
           "return max(known.radius, 2 * resolution(known, extent), ARRIVED)", tests=LATE),
    Mutant("workbench attractors: one sample may be far away", ATTRACTION,
           "<= fine and np.max(near) <= max(known.radius, fine)", "<= fine", tests=LATE),
    Mutant("workbench attractors: volumes are kept by what contracts them", ATTRACTION,
           "return abs(self.mean) <= KEPT", "return self.mean <= KEPT", tests=VOLUMES),
    Mutant("workbench attractors: the window of a forced flow begins at time 0", MAPS,
           "begin = begun * float(self.interval)", "begin = 0.0 * begun", tests=FORCED),
    Mutant("workbench attractors: the intervals of a window begin at the same time", MAPS,
           "start = begin + k.astype(float) * time_map.interval", "start = begin + 0 * k.astype(float)", tests=FORCED),
    Mutant("workbench attractors: what is out of bounds moves on", MAPS,
           "return jnp.where(out | ~jnp.all(jnp.isfinite(moved), axis=0), still, moved)",
           "return jnp.where(~jnp.all(jnp.isfinite(moved), axis=0), still, moved)", tests=FORCED),
    Mutant("workbench attractors: what is out of bounds is not defined", MAPS,
           "return escaped, ~escaped & ~_by_rows", "return escaped, escaped | ~_by_rows", tests=FORCED),
    Mutant("workbench attractors: the least period is not looked for", LIMITS,
           "for period in range(1, min(record.longest_period, len(f) // 3) + 1):",
           "for period in range(min(record.longest_period, len(f) // 3), 0, -1):", tests=FOUND),
    Mutant("workbench attractors: multipliers are those of one step", CYCLES,
           "    steps = jnp.asarray(period * round(float(time_map.interval)))\n",
           "    steps = jnp.asarray(round(float(time_map.interval)))\n", tests=FOUND),
    Mutant("workbench attractors: what has escaped has failed", SEARCH,
           "run.labels[run.pending[failed]] = ESCAPED, FAILED", "run.labels[run.pending[failed]] = FAILED, ESCAPED",
           tests=FOUND),
    Mutant("workbench attractors: saddles attract", SEARCH,
           'if limit.stability in ("saddle", "unstable"):\n            return limit, Attraction(False, 0.0)',
           'if limit.stability in ("saddle", "unstable"):\n            return limit, Attraction(True, 0.0)',
           tests=START),
    Mutant("workbench attractors: a recurrence has a whole number of samples", LIMITS,
           "_closed(record, k - _ahead(record, k))", "_closed(record, k)", tests=RECURS),
    Mutant("workbench attractors: a sample that is ahead is behind", LIMITS,
           "_closed(record, k - _ahead(record, k))", "_closed(record, k + _ahead(record, k))", tests=RECURS),
    Mutant("workbench attractors: what drifts slowly is a relative equilibrium", LIMITS,
           "record.features[len(record.features) // 2]) <= CLOSE", "record.features[-2]) <= CLOSE", tests=RELATIVE),
    Mutant("workbench edges: the direction is the one that decays", EDGE,
           "best = np.argmax(np.abs(values))", "best = np.argmin(np.abs(values))", tests=SADDLE),
    Mutant("workbench edges: the derivative is taken of one vector after another", EDGE,
           "matrix = basis.T @ _derivative(time_map, x, basis, limit.period)",
           "matrix = (basis.T @ _derivative(time_map, x, basis, limit.period)).T", tests=SADDLE),
    Mutant("workbench edges: both small steps go to the same side", EDGE,
           "[x + shares * push, x - shares * push]", "[x + shares * push, x + shares * push]", tests=SADDLE),
    Mutant("workbench edges: directions that decay are counted", EDGE,
           "else np.abs(values) > 1", "else np.abs(values) < 1", tests=SADDLE),
    Mutant("workbench edges: the sign of the direction is left open", EDGE,
           "vector = vector * np.sign(vector[np.argmax(np.abs(vector))])",
           "vector = -vector * np.sign(vector[np.argmax(np.abs(vector))])", tests=SADDLE),
    Mutant("workbench basins: new attractors take the label of old ones", ATTRACTION,
           "itertools.count(len(known))", "itertools.count(0)", tests=FOLLOWED),
    Mutant("workbench basins: labels are not those of the attractors before", ATTRACTION,
           "known[place] if place >= 0 else", "known[place] if place > len(known) else", tests=FOLLOWED),
    Mutant("workbench basins: intervals are exact, not Wilson's", FRACTIONS,
           'method="wilson"', 'method="exact"', tests=WILSON),
    Mutant("workbench basins: the first components vary", DYNAMICS + "flat_states",
           "states[:, list(varied)] = points", "states[:, : len(axes)] = points", tests=SLICE),
    Mutant("workbench basins: a slice has the names of the first components", BASINS,
           "tuple(names[k] for k in which)", "tuple(names[k] for k in range(len(which)))", tests=SLICE),
    Mutant("workbench basins: the part behind the boundary is divided", BOUNDARY,
           "low, high, right = ends[change - 1], ends[change], found[change]",
           "low, high, right = ends[change], ends[change + 1], found[change]",
           tests=("tests/test_basins.py::test_division_into_parts_brackets_as_bisection_does",)),
    Mutant("workbench attractors: Newton's method for a cycle of a map takes the transposed derivative", CYCLES,
           "inside = basis.T @ jacobian @ basis\n        move", "inside = basis.T @ jacobian.T @ basis\n        move",
           tests=(TESTS + "newtons_method_finds_the_points_and_multipliers_of_a_cycle_of_a_map",)),
    Mutant("workbench attractors: fixed points and cycles of a map are exchanged", LIMITS,
           '"fixed point" if duration == 1', '"fixed point" if duration != 1',
           tests=(TESTS + "maps_have_fixed_points_cycles_and_chaos",)),
    Mutant("workbench attractors: trajectories of a set begin close to its points", RETURNS,
           "size=(len(some), 1)) * gaps +", "size=(len(some), 1)) * 0 * gaps +",
           tests=("tests/test_attraction.py::test_trajectories_of_a_set_begin_in_its_gaps_too",)),
    Mutant("workbench attractors: neighbours are as far as they may be", RETURNS,
           "(away <= NEIGHBOURS)", "(away <= np.inf)",
           tests=("tests/test_attraction.py::test_trajectories_of_a_set_begin_in_its_gaps_too",)),
    Mutant("workbench attractors: a failure of a large radius refutes smaller ones", RETURNS,
           "best = radius if smaller else best", "best = radius if smaller else 0.0", tests=RADIUS),
    Mutant("workbench attractors: larger radii count where smaller ones have failed", RETURNS,
           "smaller = smaller and back >= share", "smaller = back >= share", tests=RADIUS),
    Mutant("workbench attractors: radii that cannot be told count", RETURNS,
           "if radius <= told:", "if False:", tests=RADIUS),
    Mutant("workbench attractors: one radius that failed refutes", RETURNS,
           "False if refuted and all(refuted) else None", "False if any(refuted) else None", tests=RADIUS),
    Mutant("workbench attractors: what could not be told is refuted", RETURNS,
           "False if refuted and all(refuted) else None", "False if all(refuted) else None", tests=RADIUS),
    Mutant("workbench attractors: what stays at the radius has come back", RETURNS,
           "back = float(np.mean(row <= radius / 2))", "back = float(np.mean(row <= radius))", tests=RADIUS),
    Mutant("workbench attractors: perturbations that reach another attractor refute a set", RETURNS,
           "medians[-1] / medians[0] <= np.sqrt(radii[-1] / radii[0])", "medians[-1] <= medians[0]", tests=ELSEWHERE),
    Mutant("workbench attractors: what all perturbations leave is undecided", RETURNS,
           "if np.all(np.mean(away, axis=1) >= BACK):", "if False:", tests=ELSEWHERE),
    Mutant("workbench attractors: Newton's method is never lost", LIMITS, "<= LOST and 0.5 < ratio < 1.5", "< np.inf",
           tests=(TESTS + "newtons_method_is_lost_far_from_the_trajectory_in_extents_or_from_the_period",)),
    Mutant("workbench orbits: where an iteration is lost is told in other units", DYNAMICS + "periodic_orbits",
           "lost(units.restored(x), period * units.time)", "lost(x, period)",
           tests=("tests/test_periodic_orbits.py::test_an_iteration_that_is_lost_ends_there",)),
    Mutant("workbench: tangent vectors of a flat space are looked for", DYNAMICS + "linearisation",
           "if is_flat(space):", "if False:",
           tests=("tests/test_linearisation.py::"
                  "test_tangent_vectors_of_a_flat_space_are_those_of_its_axes_and_nothing_is_compiled",)),
    Mutant("workbench attractors: states that are not finite are solved for", MAPS,
           "if not np.all(here):", "if False:",
           tests=(TESTS + "nothing_is_solved_for_a_state_that_is_not_finite",)),
    Mutant("workbench attractors: what is known is moved on after a failure", MAPS,
           "jax.lax.cond(failed, stopped, moved, ys, length)", "jax.lax.cond(failed, moved, moved, ys, length)",
           tests=(TESTS + "after_a_failure_nothing_is_solved",)),
    Mutant("workbench attractors: distances from an orbit are those from its points", RETURNS,
           "near = np.minimum(near, np.linalg.norm(scaled - foot, axis=1))", "near = near", tests=POLYGON),
    Mutant("workbench attractors: sides of an orbit are lines without ends", RETURNS,
           "np.clip(along, 0, 1)[:, None] * side", "along[:, None] * 0 * side", tests=POLYGON),
    Mutant("workbench attractors: the polygon of an orbit has no error", RETURNS,
           "self.error = float(np.max(np.linalg.norm(rest - along[:, None] * chord, axis=1))) / 4",
           "self.error = 0.0", tests=POLYGON),
    Mutant("stiff attractors: the states of a window begin with the start", MAPS,
           "time_map.interval * jnp.arange(1.0, WINDOW + 1)", "time_map.interval * jnp.arange(0.0, WINDOW)",
           tests=STIFF),
    Mutant("stiff attractors: vectors are transposed", DYNAMICS + "variations",
           "turned = jax.vmap(along, in_axes=1, out_axes=1)(V)", "turned = jax.vmap(along, in_axes=1, out_axes=0)(V)",
           tests=STIFF),
    Mutant("stiff attractors: an implicit solver is held back", DYNAMICS + "intervals",
           "if time_map.solver is not None:\n        return False", "if False:\n        return False", tests=STIFF),
    Mutant("stiff attractors: the interval is that of the fastest direction", DYNAMICS + "attractors",
           "float(np.min(sizes[sizes > ZERO * np.max(sizes)]))", "float(np.max(sizes))", tests=STIFF),
    Mutant("stiff attractors: the tolerance is not that of the integrator", DYNAMICS + "attractors",
           "float(integrator.rtol) if isinstance(integrator, Diffrax)", "number('rtol', rtol) if True", tests=STIFF),
    Mutant("stiff attractors: one perturbation that is back decides", RETURNS,
           "bool(np.all(back.reshape(-1) | time_map.lost(states[-1])[0]))",
           "bool(np.any(back.reshape(-1) | time_map.lost(states[-1])[0]))", tests=STIFF),
    Mutant("workbench attractors: one half of a trajectory covers the other", RECURRENT,
           "for one, other in (halves, halves[::-1]):", "for one, other in (halves,):", tests=DRIFT),
    Mutant("workbench attractors: a trajectory is compared with itself at the same times", RECURRENT,
           "KDTree(np.concatenate(parts[::2])).query(np.concatenate(parts[1::2]))[0]",
           "KDTree(points).query(points, k=2)[0][:, 1]", tests=DRIFT),
    Mutant("workbench attractors: a part of a set is the set", ATTRACTION,
           "for x, y in ((a, b), (b, a)))", "for x, y in ((a, b),))", tests=ALIKE),
    Mutant("workbench attractors: what the points of a set leave out is not reached", ATTRACTION,
           "2 * resolution(known, extent), ARRIVED)", "0 * resolution(known, extent), ARRIVED)", tests=ALIKE),
    Mutant("workbench attractors: a mean growth has no error", ATTRACTION,
           "bool(abs(self.mean) > CLEAR * self.error)", "True", tests=GROWTH),
    Mutant("workbench attractors: what is far has not left", RETURNS,
           "return far | (np.max", "return (np.max", tests=GONE),
    Mutant("workbench attractors: what is at rest has not left", RETURNS,
           "return far | (np.max", "return far | False & (np.max", tests=GONE),
    Mutant("workbench attractors: a stable orbit attracts if perturbations came back", SEARCH,
           "return limit, found._replace(attracts=True)", "return limit, found", tests=SPECTRUM),
    Mutant("workbench attractors: recurrent sets attract", RETURNS,
           "spacing=spacing), Attraction(attracts, radius)", "spacing=spacing), Attraction(True, radius)",
           tests=CIRCLES),
    Mutant("workbench attractors: sets from which perturbations are half-way back attract", RETURNS,
           "if attracts and half_way(rows[:-1], TOLD * spacing):", "if False:", tests=DILUTED),
    Mutant("workbench attractors: perturbations are followed once", RETURNS,
           "for again in range(AGAIN):", "for again in range(1):", tests=LATER),
    Mutant("workbench attractors: transients are attractors", RETURNS,
           "if left or strayed + strays > STRAY:", "if False:", tests=TRANSIENT),
    Mutant("workbench attractors: every perturbation of a recurrent set comes back", RETURNS,
           "TOLD * spacing, BACK, AWAY)", "TOLD * spacing, 1.0, AWAY)", tests=CLOSE_BY),
    Mutant("workbench attractors: neutral points do not attract", SEARCH,
           "found = attraction_of_orbit(self.time_map, limit, self.extent, widths(record))",
           "found = Attraction(False, 0.0)", tests=DEGENERATE),
    Mutant("workbench basins: what is undecided does not attract", BASINS,
           "UNDECIDED if is_open else NOT_ATTRACTING", "NOT_ATTRACTING", tests=DEGENERATE),
)  # fmt: skip
