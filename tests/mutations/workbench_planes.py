"""Errors in curves of two parameters, stability maps and diagrams, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
TWO, PLANES, EQUATIONS = DYNAMICS + "two_parameters", DYNAMICS + "parameter_planes", DYNAMICS + "critical_equations"
FORMS, PLACES, KINDS = DYNAMICS + "codimension_two", DYNAMICS + "degenerate_coefficients", DYNAMICS + "critical_kinds"
HOPFS = DYNAMICS + "hopf_degeneracies"
DIAGRAMS, FLAT = DYNAMICS + "diagrams", DYNAMICS + "flat_states"
TESTS, DRAWN = "tests/test_two_parameters.py::test_", "tests/test_diagrams.py::test_"
CUSP = (TESTS + "the_folds_of_the_double_well_meet_in_a_cusp",)
CLOSED = (TESTS + "a_curve_that_comes_back_is_closed_and_gone_around_once",)
COVERS = (TESTS + "a_curve_covers_another_one_if_it_passes_both_ends",)
HOPF = (TESTS + "hopf_points_of_the_brusselator_are_at_one_plus_the_square",)
ONE = (TESTS + "both_folds_of_the_double_well_are_on_one_curve_unless_the_cusp_is_cut_off",)
SAVED = (TESTS + "curves_are_saved_with_their_diagram_and_go_on",)
POLE = (TESTS + "a_pole_of_the_lyapunov_coefficient_is_no_bautin_point",)
CORNER = (TESTS + "a_fold_hopf_point_has_the_coefficients_of_its_normal_form",)
CENTRE = (TESTS + "a_cusp_has_the_coefficient_of_its_centre_manifold",)
PAIRS = (TESTS + "pairs_of_eigenvalues_cross_where_their_sum_is_zero",)
TAKENS = (TESTS + "folds_and_hopf_points_meet_at_a_bogdanov_takens_point",)
ENDS = (TESTS + "a_curve_of_hopf_points_may_have_bogdanov_takens_points_at_both_ends",)
EXTENDED = (TESTS + "the_extended_lorenz_84_model_has_the_degenerate_points_that_bifurcationkit_finds",)
COUNTS = (TESTS + "a_stability_map_counts_equilibria_on_both_sides_of_the_folds",)
BAD = (TESTS + "bad_input_is_one_sentence",)
BAUTIN = ("tests/test_normal_forms.py::test_a_bautin_point_is_where_the_coefficient_vanishes",)
CURVED = ("tests/test_normal_forms.py::test_the_coefficient_does_not_depend_on_the_coordinates",)
DOUBLE = ("tests/test_hopf_degeneracies.py::test_a_double_hopf_point_has_the_coefficients_of_its_normal_form",)
GIVEN = ("tests/test_hopf_degeneracies.py::test_coefficients_of_hopf_degeneracies_are_those_of_the_given_flow",)
CHORDS = (DRAWN + "distances_from_chords_are_those_from_their_nearest_points",)
PITCHFORK = (DRAWN + "a_diagram_holds_every_branch_of_a_pitchfork_once",)
AGAIN = (DRAWN + "a_diagram_is_read_again_as_it_was_and_goes_on",)
DOUBLED = (DRAWN + "the_diagram_of_a_map_holds_a_cycle_once_with_both_of_its_points",)
CASCADE = (DRAWN + "a_cascade_has_one_branch_of_each_period_and_is_drawn_with_all_points",)
LINE = (DRAWN + "a_line_changes_its_stability_at_the_bifurcation",)
REFUSED = (DRAWN + "files_that_hold_no_diagram_are_refused",)
RETURNS, VARIED = DYNAMICS + "critical_returns", DYNAMICS + "varied_systems"
ORBITS = "tests/test_critical_returns.py::test_"
RESONANCES = (ORBITS + "neimark_sacker_points_of_the_delayed_logistic_map_pass_its_strong_resonances",)
CYCLES = (ORBITS + "folds_of_orbits_are_at_their_closed_form_and_end_at_the_equilibrium",)
DIFFERENCES = (ORBITS + "derivatives_of_the_equations_of_a_neimark_sacker_point_are_those_of_differences",)
FLIPS = (ORBITS + "folds_of_a_map_have_a_cusp_and_points_that_are_flips_too",)
HENON = (ORBITS + "folds_and_flips_of_the_henon_map_are_at_their_closed_forms_and_go_on",)
IMAGES = (ORBITS + "an_orbit_of_a_map_gives_one_curve_whichever_of_its_points_is_followed",)
NUMBERS = (ORBITS + "numbers_change_their_signs_where_a_multiplier_passes_a_value_or_is_double",)
FORCED = ("tests/test_located_bifurcations.py::test_branches_of_a_flow_that_depends_on_time_are_not_continued",)
ONCE = ("tests/test_compilations.py::test_ranges_of_orbits_on_branches_of_any_length_are_one_program",)

MAPS = DYNAMICS + "map_degeneracies"
DEGENERATE = "tests/test_map_degeneracies.py::test_"
PAIR = (DEGENERATE + "normal_forms_of_pairs_of_multipliers_are_those_in_other_coordinates",)
REAL = (DEGENERATE + "normal_forms_of_real_multipliers_are_those_in_other_coordinates",)
GENERAL = (DEGENERATE + "the_generalised_henon_map_has_its_chenciner_point_and_resonances",)
JUMP = (DEGENERATE + "a_pole_of_a_test_function_is_no_degenerate_point",)
POLES = (DEGENERATE + "a_coefficient_is_bounded_where_its_terms_have_a_pole",)
SEEN = (TESTS + "chords_of_a_curve_are_not_seen_beside_it",)

MUTANTS = (
    Mutant("workbench planes: the turning of a Chenciner point counts once", MAPS,
           "second.real + first.imag**2 / 2", "second.real + first.imag**2", tests=PAIR),
    Mutant("workbench planes: a Chenciner point may be a strong resonance", MAPS,
           "for k in (1, 2, 3, 4))", "for k in (1, 2))", tests=PAIR),
    Mutant("workbench planes: a map acts on its centre manifold as on a line", MAPS,
           "right = known.get(powers, 0) - rest[powers]", "right = -rest[powers]", tests=PAIR + REAL),
    Mutant("workbench planes: no product of multipliers is resonant", MAPS,
           "if abs(product - critical[i]) <= RESONANT]", "if sum(powers) == 3 and i == 0]", tests=PAIR),
    Mutant("workbench planes: no square is in the coefficient of a 1:3 resonance", MAPS,
           "abs(b) ** 2 - 1) / 3", "abs(b) ** 2) / 3", tests=PAIR),
    Mutant("workbench planes: a coefficient of a pole is large", DYNAMICS + "normal_forms",
           "return self.value / (1 + self.size)", "return self.value", tests=POLES),
    Mutant("workbench planes: a jump is a zero", TWO,
           "if place is None or not abs(test(place)) <= JUMP * (abs(test(begin)) + abs(test(end))):",
           "if place is None:", tests=JUMP),
    Mutant("workbench planes: a degenerate point at a point of the curve is passed by", TWO,
           "if values[k] == 0 and k and values[k - 1] * values[k + 1] < 0:", "if False:", tests=GENERAL),
    Mutant("workbench planes: a curve is drawn by its steps", DYNAMICS + "refined_curves",
           "if not halvings or", "if True or", tests=SEEN),
    Mutant("workbench planes: each length of a branch has a program for the ranges of its orbits",
           DYNAMICS + "orbit_continuation", "slice(begin, begin + TOGETHER)", "slice(begin, points * m)", tests=ONCE),
    Mutant("workbench planes: curves of a forced flow are those at time zero", KINDS,
           "elif not isinstance(flow, AbstractMap):", "elif False:", tests=FORCED),
    Mutant("workbench planes: doubled orbits of a forced flow need no period", DYNAMICS + "orbit_continuation",
           "check_forcing(moved, cycle, forcing)", "pass", tests=FORCED),
    Mutant("workbench planes: the vector of a fold of orbits has no period", VARIED,
           "(at.vectors) + at.rate * velocity[None]", "(at.vectors)", tests=CYCLES),
    Mutant("workbench planes: segments of an orbit begin at the same time", DYNAMICS + "shot_gaps",
           "- k * maps[k] @ begins[k]", "", tests=DIFFERENCES),
    Mutant("workbench planes: a pair of multipliers turns the other way", DYNAMICS + "shot_gaps",
           "change[1, 2], change[2, 1] = -s, s, -c, c", "change[1, 2], change[2, 1] = -s, s, c, -c",
           tests=DIFFERENCES + RESONANCES),
    Mutant("workbench planes: a double multiplier is one that is passed", DYNAMICS + "multipliers",
           "np.diag(right @ left) * products", "products", tests=NUMBERS),
    Mutant("workbench planes: folds of maps have no cusp", RETURNS,
           '"cusp": self._bend,', "", tests=FLIPS),
    Mutant("workbench planes: the sense of a null vector changes at a cusp", RETURNS,
           "* np.sign(q @ null)", "", tests=FLIPS),
    Mutant("workbench planes: each point of an orbit of a map has a curve", DYNAMICS + "cycle_phases",
           "for k in range(iterate - 1):", "for k in range(0):", tests=IMAGES),
    Mutant("workbench planes: curves of iterates are those of the map", TWO,
           "_replace(iterate=returning.iterate)", "_replace(iterate=1)", tests=IMAGES),
    Mutant("workbench planes: multipliers of a map pass one a unit away", DYNAMICS + "equilibrium_curve",
           "return J + np.eye(len(J))", "return J", tests=FLIPS + HENON),
    Mutant("workbench planes: a 1:3 resonance is a 1:4 resonance", RETURNS,
           '"1:3 resonance": 2 * np.pi / 3', '"1:3 resonance": np.pi / 2', tests=RESONANCES),
    Mutant("workbench planes: two degenerate points in a step are passed by", TWO,
           "inside = hidden_sign(curve, points, values, k, test)", "inside = []",
           tests=(TESTS + "two_cusps_in_one_step_are_both_found",)),
    Mutant("workbench planes: a Bautin point has a flat centre manifold to the third order", HOPFS,
           "((j - 1) * c + (k - 1) * np.conj(c)) * h[j - 1, k - 1]", "0 * h[j - 1, k - 1]", tests=BAUTIN),
    Mutant("workbench planes: the second Lyapunov coefficient is a rate", HOPFS,
           "_rest(flow, state, h, ORDER)[3, 2]).real) / w", "_rest(flow, state, h, ORDER)[3, 2]).real)", tests=BAUTIN),
    Mutant("workbench planes: coordinates of a curved space are exact to the third order", DYNAMICS + "charts",
           "len(terms) - 2)", "2)", tests=CURVED),
    Mutant("workbench planes: frequencies of a double Hopf point have no difference", HOPFS,
           "+ B(apart, r) ", "", tests=DOUBLE),
    Mutant("workbench planes: the pairs of a double Hopf point act on each other alike", HOPFS,
           "p12 / p22, p21 / p11", "p21 / p22, p12 / p11", tests=DOUBLE),
    Mutant("workbench planes: a double Hopf point is never resonant", HOPFS,
           "min(abs(fast - ratio * slow) for ratio in STRONG) <=", "slow <", tests=DOUBLE),
    Mutant("workbench planes: the second Lyapunov coefficient is a square of lengths", PLACES,
           "float(at.frequency)) / length**4", "float(at.frequency)) / length**2", tests=GIVEN),
    Mutant("workbench planes: the first pair of a double Hopf point is the slow one", PLACES,
           "sorted(frequencies, reverse=True)", "sorted(frequencies)", tests=GIVEN),
    Mutant("workbench planes: theta is half of what it is", FORMS,
           "2 * growth / square", "growth / square", tests=CORNER),
    Mutant("workbench planes: s is the sign of one coefficient", FORMS,
           "np.sign(square * turning)", "np.sign(square)", tests=CORNER),
    Mutant("workbench planes: the centre manifold of a cusp is flat", FORMS,
           "+ 3 * _real(chart, q, h)", "", tests=CENTRE),
    Mutant("workbench planes: b has one term", FORMS,
           "float(p0 @ square + p1 @", "float(p1 @", tests=EXTENDED),
    Mutant("workbench planes: vectors of a double zero are not orthogonal", FORMS,
           "p0 = p0 - (p0 @ q1) * p1", "", tests=EXTENDED),
    Mutant("workbench planes: sums of eigenvalues have no sign", FORMS,
           "np.sign(np.real(np.prod(sums / shares)))", "1.0", tests=PAIRS),
    Mutant("workbench planes: real eigenvalues are a pair", FORMS,
           "return abs(value.imag) > REAL * abs(value)", "return True", tests=PAIRS),
    Mutant("workbench planes: the critical eigenvalues cross", EQUATIONS,
           "return crossing_pair(self.others(point))[0]",
           "return crossing_pair(self.others(point)[:1])[0]", tests=EXTENDED),
    Mutant("workbench planes: a determinant of Hopf points has no sign", EQUATIONS,
           "return float(np.linalg.slogdet(J)[0]) * share if", "return share if", tests=POLE),
    Mutant("workbench planes: one end of a curve of Hopf points is degenerate", TWO,
           "    degenerate += last\n", "", tests=ENDS),
    Mutant("workbench planes: degenerate ends are exchanged", TWO,
           "degenerate.insert(0, last.pop())", "degenerate.insert(0, last.pop(0))", tests=ENDS),
    Mutant("workbench planes: a curve ends before a bound of the first parameter", EQUATIONS,
           "float(critical_of(p).parameter) - edge)", "float(critical_of(p).parameter) - edge + 0.01)", tests=HOPF),
    Mutant("workbench planes: both parts of a curve go the same way", TWO,
           "follow(curve, first, -first.tangent, within)", "follow(curve, first, first.tangent, within)", tests=CUSP),
    Mutant("workbench planes: the parameters have each other's bounds", TWO,
           "limits(bounds[1], step, max_step, max_points, units.parameters[1])\n    low, high = limits(bounds[0]",
           "limits(bounds[0], step, max_step, max_points, units.parameters[1])\n    low, high = limits(bounds[1]",
           tests=CUSP),
    Mutant("workbench planes: a closed curve is gone around twice", TWO,
           'if end == "closed" else', 'if end == "" else', tests=CLOSED),
    Mutant("workbench planes: points of the first part are not turned round", TWO,
           "for point in backward[::-1]), first", "for point in backward), first", tests=CUSP),
    Mutant("workbench planes: branch points are followed as Hopf points", KINDS,
           "if at.kind not in kinds:", "if False:", tests=BAD),
    Mutant("workbench planes: degeneracies are where a test keeps its sign", TWO,
           "if values[k] * values[k + 1] < 0:", "if values[k] * values[k + 1] > 0:",
           tests=CUSP),
    Mutant("workbench planes: a degeneracy is at the point before it", TWO,
           "degenerate.append(_degeneracy(curve, kind, place))",
           "degenerate.append(_degeneracy(curve, kind, points[k]))", tests=BAUTIN),
    Mutant("workbench planes: parameters of a degeneracy are exchanged", TWO,
           "at.state, float(at.parameter), point.parameter, found)",
           "at.state, point.parameter, float(at.parameter), found)",
           tests=BAUTIN),
    Mutant("workbench planes: a curve goes on at its other end", TWO,
           "last, before = (0, 1) if side == 0 else (-1, -2)", "last, before = (0, 1) if side == 1 else (-1, -2)",
           tests=SAVED),
    Mutant("workbench planes: a curve that goes on turns back", TWO,
           "(rows[last] - rows[before]) >= 0 else -begin", "(rows[last] - rows[before]) < 0 else -begin",
           tests=SAVED),
    Mutant("workbench planes: a known curve may be that of another flow", TWO,
           "> 1e-6 * (1 + np.max(np.abs(rows[last])))", "> 1e6 * (1 + np.max(np.abs(rows[last])))", tests=SAVED),
    Mutant("workbench planes: the point that two parts share is kept twice", TWO,
           "np.concatenate([a, b[1:]] if side", "np.concatenate([a, b] if side", tests=SAVED),
    Mutant("workbench planes: the part before a curve is not reversed", TWO,
           "else [b[:0:-1], a])", "else [b[1:], a])", tests=SAVED),
    Mutant("workbench planes: degeneracies of the new part are left out", TWO,
           "(known.degeneracies + more.degeneracies) if side", "known.degeneracies if side",
           tests=SAVED),
    Mutant("workbench planes: the critical vector turns the other way in one equation", EQUATIONS,
           "along(a) + w * b, along(b) - w * a", "along(a) + w * b, along(b) + w * a", tests=HOPF),
    Mutant("workbench planes: the critical vector has any length", EQUATIONS,
           "jnp.dot(a, a) + jnp.dot(b, b) - 1", "0 * jnp.dot(a, a)", tests=CUSP),
    Mutant("workbench planes: the first parameter has no bounds", EQUATIONS,
           "if not self.bounds[0] <= float(at.parameter) <= self.bounds[1]:", "if False:", tests=HOPF),
    Mutant("workbench planes: the null vector is that of the largest singular value", EQUATIONS,
           "null_vectors(J)[0]", "np.linalg.svd(J)[2][0]",
           equivalent="Newton's method leads from any vector to the null vector; in one dimension there is one only"),
    Mutant("workbench planes: the sense of the left null vector is not continuous", EQUATIONS,
           "w = p * np.sign(np.linalg.slogdet(J + np.outer(p, q))[0])", "w = p", tests=CUSP),
    Mutant("workbench planes: the coefficient of a fold is taken with one vector", EQUATIONS,
           "second_derivative(FlowChart(moved, at.state, B), v, v)",
           "second_derivative(FlowChart(moved, at.state, B), v, 0 * v)", tests=CUSP),
    Mutant("workbench planes: a Bautin point is where folds are", EQUATIONS,
           '"Bautin point": lambda point: _lyapunov(self, point)',
           '"Bautin point": lambda point: 1 + _lyapunov(self, point) ** 2', tests=BAUTIN),
    Mutant("workbench planes: both parameters are moved by the first place", EQUATIONS,
           "with_parameter(self.where[1], moved, jnp.asarray(second))",
           "with_parameter(self.where[0], moved, jnp.asarray(second))", tests=BAUTIN),
    Mutant("workbench planes: a curve that passes one end covers another one", PLANES,
           "all(_holds(curve, _rows(other)[k], sizes) for k in (0, -1))",
           "any(_holds(curve, _rows(other)[k], sizes) for k in (0, -1))", tests=COVERS),
    Mutant("workbench planes: a curve of folds covers one of Hopf points", PLANES,
           "(curve.kind, curve.of_orbits, curve.iterate) == (other.kind,",
           "(0, curve.of_orbits, curve.iterate) == (0,", tests=COVERS),
    Mutant("workbench planes: a curve of folds passes Hopf points", PLANES,
           "same = curve.kind == at.kind and", "same =", tests=COVERS),
    Mutant("workbench planes: the state does not tell curves apart", PLANES,
           "at.parameter, second, *flat_state(at.state)",
           "at.parameter, second, *0 * flat_state(at.state)", tests=COVERS),
    Mutant("workbench planes: a curve passes what is a fifth of a chord away", PLANES,
           "NEAR = 0.1", "NEAR = 0.2", tests=COVERS),
    Mutant("workbench planes: what is near a curve is divided by its chords", PLANES,
           "NEAR * lengths", "NEAR / lengths", tests=COVERS),
    Mutant("workbench planes: rows of a curve have the second parameter first", PLANES,
           "np.column_stack([curve.first, curve.second, flat_states(curve.states)])",
           "np.column_stack([curve.second, curve.first, flat_states(curve.states)])", tests=COVERS),
    Mutant("workbench planes: the flow's own second parameter may lie out of bounds", PLANES,
           "if not bounds[1][0] <= second <= bounds[1][1]:", "if False:", tests=ONE),
    Mutant("workbench planes: bifurcations on a known curve give another one", PLANES,
           "if not any(c.iterate == k and _passes(c, place, second, sizes) for c in found for place in places):",
           "if True:", tests=ONE),
    Mutant("workbench planes: all bifurcations are followed", PLANES,
           " if at.kind in kinds_of(flow, at.state)]", "]", tests=ONE),
    Mutant("workbench planes: curves that are one are kept twice", PLANES,
           "if not any(_covers(curve, one, _sizes_on(flow, where, one, bounds)) for curve in found):", "if True:",
           tests=SAVED),
    Mutant("workbench planes: only neighbours are starts of a stability map", PLANES,
           "_distinct(moved, [*before, *begin], radius)", "_distinct(moved, before or begin, radius)",
           tests=COUNTS),
    Mutant("workbench planes: saddles count as stable", PLANES,
           'kinds.count("stable")', "len(kinds)", tests=COUNTS),
    Mutant("workbench planes: an equilibrium counts for every start", PLANES,
           "np.all(np.isfinite(flat)) and new:", "np.all(np.isfinite(flat)):", tests=COUNTS),
    Mutant("workbench planes: parameters of a stability map are exchanged", PLANES,
           "with_parameter(units.where[0], moved, jnp.asarray(p))",
           "with_parameter(units.where[1], moved, jnp.asarray(p))", tests=COUNTS),
    Mutant("workbench diagrams: chords go on as lines", FLAT,
           "np.clip(np.sum((at - begin) * chord, axis=1) / squares, 0, 1)",
           "np.sum((at - begin) * chord, axis=1) / squares", tests=CHORDS),
    Mutant("workbench diagrams: a point is nearest to the end of a chord", FLAT,
           "(at - begin) * chord, axis=1) / squares, 0, 1)", "(at - begin) * chord, axis=1) / squares, 1, 1)",
           tests=CHORDS),
    Mutant("workbench diagrams: lengths of chords are squared", FLAT,
           "axis=1), np.sqrt(squares)", "axis=1), squares", tests=CHORDS),
    Mutant("workbench diagrams: only the first array of a state counts", FLAT,
           "for y in jax.tree.leaves(states)], axis=1)", "for y in jax.tree.leaves(states)[:1]], axis=1)",
           tests=CHORDS),
    Mutant("workbench diagrams: the branch of each start is kept", DIAGRAMS,
           "if not passes.known(found, one, _own(where, flow), start):", "if True:", tests=PITCHFORK),
    Mutant("workbench diagrams: branches that are switched to are kept twice", DIAGRAMS,
           "if not passes.follows(found, other, phases(flow, where, *_middle(other), times)):", "if True:",
           tests=PITCHFORK),
    Mutant("workbench diagrams: each phase of a cycle has a branch", DIAGRAMS,
           "phases(flow, where, *_middle(other), times)", "[_middle(other)[0]]", tests=DOUBLED),
    Mutant("workbench diagrams: phases in a file stay apart", DIAGRAMS,
           "if not passes.follows(same, more, phases(flow, where, *_middle(more), k)):", "if True:", tests=DOUBLED),
    Mutant("workbench diagrams: cycles of twice the period are those of a branch beside them", DIAGRAMS,
           "for branch, k in found if k % period == 0", "for branch, _ in found", tests=CASCADE),
    Mutant("workbench diagrams: a straight branch is as far from its chords as a bent one", DIAGRAMS,
           "np.minimum(chord_bends(points) / 4, CUT) * lengths", "CUT * lengths", tests=CASCADE + CHORDS),
    Mutant("workbench diagrams: one phase of a cycle is drawn", "dynsim.commands.continue",
           "rows = at[:, -1:] if orbits else at", "rows = at[:, -1:]", tests=CASCADE),
    Mutant("workbench diagrams: the first point of a branch is undecided", DYNAMICS + "branches",
           "return self.kinds[int(begin) : len(self.kinds) - int(end)]", "return self.kinds", tests=CASCADE),
    Mutant("workbench diagrams: all branches are the same", DIAGRAMS,
           "SAME = 1e-3", "SAME = 1e3", tests=PITCHFORK),
    Mutant("workbench diagrams: branches are told apart at their first point", DIAGRAMS,
           "k = len(branch.parameters) // 2", "k = 0",
           tests=PITCHFORK + DOUBLED),
    Mutant("workbench diagrams: a doubled orbit is a fixed point of the map", DIAGRAMS,
           'iterate * (2 if at.kind == "period doubling" else 1)', "iterate", tests=DOUBLED),
    Mutant("workbench diagrams: no branch is switched at the last level", DIAGRAMS,
           "for _ in range(depth):", "for _ in range(depth - 1):", tests=DOUBLED),
    Mutant("workbench diagrams: branches go on as those of the map itself", DIAGRAMS,
           "flow, where, one, bounds, iterate=k, step", "flow, where, one, bounds, iterate=1, step", tests=DOUBLED),
    Mutant("workbench diagrams: stability changes beside a bifurcation", DIAGRAMS,
           "np.full(len(marks), 0.5)", "np.full(len(marks), 0.0)", tests=LINE),
    Mutant("workbench diagrams: an interval with one stable end is stable", DIAGRAMS,
           "rows, pairs > 1,", "rows, pairs >= 1,", tests=LINE),
    Mutant("workbench diagrams: bifurcations are drawn behind the branch", DIAGRAMS,
           'order = np.argsort(lengths, kind="stable")', "order = np.arange(len(lengths))", tests=LINE),
    Mutant("workbench diagrams: files of another version are read", DIAGRAMS,
           'header["format"] == FORMAT and header["format_version"] == 2', 'header["format"] == FORMAT',
           tests=REFUSED),
    Mutant("workbench diagrams: a diagram may have another number of iterates", DIAGRAMS,
           "or len(found.iterates) != len(found.branches):", "or False:", tests=REFUSED),
    Mutant("workbench diagrams: one branch makes a diagram", DIAGRAMS,
           "all(isinstance(b, Branch) for b in", "any(isinstance(b, Branch) for b in", tests=REFUSED),
    Mutant("workbench diagrams: what a bifurcation is does not matter", DIAGRAMS,
           "if not all(known) or not", "if not", tests=REFUSED),
    Mutant("workbench diagrams: what a curve is does not matter", DIAGRAMS,
           "or not all(isinstance(one, CriticalCurve) for one in found.curves):", "or False:", tests=REFUSED),
    Mutant("workbench planes: the coefficient of a cusp is in the units of the curve",
           PLACES, "cusp_coefficient(flow, at.state)[0] / (time * size**2)",
           "cusp_coefficient(flow, at.state)[0] / size**2", tests=("tests/test_curve_units.py::"
                  "test_coefficients_of_degenerate_points_are_those_of_the_given_flow[cusp]",)),
    Mutant("workbench planes: the length of a null vector is that in the units of the curve",
           PLACES, "np.linalg.norm(units.flat(state) * null)", "np.linalg.norm(null)",
           tests=("tests/test_curve_units.py::"
                  "test_coefficients_of_degenerate_points_are_those_of_the_given_flow[cusp]",)),
)  # fmt: skip
