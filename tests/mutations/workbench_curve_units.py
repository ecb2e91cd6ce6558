"""Errors in the units of curves of equilibria, periodic orbits and bifurcations, and the tests that notice them."""

from tests.mutants import Mutant

DYNAMICS = "analysis.dynamics."
OWN, ESTIMATES, SIZES, CONVERTED, CURVES = (
    DYNAMICS + name for name in ("units", "unit_estimates", "component_sizes", "converted_branches", "curves")
)
ALONG, TWO, PLANES, DIAGRAMS = (
    DYNAMICS + name for name in ("equilibrium_curve", "two_parameters", "parameter_planes", "diagrams")
)
TESTS = "tests/test_curve_units.py::test_"
RANGE = (TESTS + "units_are_one_in_a_range_and_else_powers_near_a_share_of_sizes",)
ZERO = (TESTS + "sizes_are_found_at_zero_and_beside_it",)
DRIVEN = (TESTS + "components_without_an_influence_on_eigenvalues_are_as_large_as_the_others_make_them",)
MATRICES = (TESTS + "matrices_have_one_unit_curved_spaces_and_noise_none",)
PITCHFORK = (TESTS + "a_pitchfork_is_found_and_left_at_its_place",)
FOLDS = (TESTS + "folds_have_their_coefficient",)
HOPF = (TESTS + "a_hopf_point_has_its_frequency_and_its_coefficient",)
MAPS = (TESTS + "maps_have_their_points_and_coefficients_in_other_units",)
CUSP = (TESTS + "folds_meet_in_a_cusp_in_two_parameters",)
SPECTRA = ("tests/test_lyapunov.py::test_spectra_do_not_depend_on_the_units",)
CERTIFIED = ("tests/test_certified_orbits.py::test_an_orbit_is_certified_in_any_units",)
DRAWN = "tests/test_diagrams.py::test_"
ORBITS = "tests/test_orbit_units.py::test_"
CYCLES = (ORBITS + "cycles_from_a_hopf_point_have_their_fold_and_its_coefficient",)
DOUBLING = (ORBITS + "a_doubling_has_the_coefficient_of_the_section_across_the_velocity",)
FORCED = (ORBITS + "forced_orbits_have_the_period_of_the_forcing_in_its_unit",)
APART = (TESTS + "equilibria_of_small_states_are_told_apart",)
BACK = (TESTS + "branches_are_the_same_in_units_and_back",)

MUTANTS = (
    Mutant("workbench curve units: sizes of order one have powers, too", OWN,
           "np.where((given >= range_[0]) & (given <= range_[1]), 1.0, power_near(share * given))",
           "power_near(share * given)", tests=RANGE),
    Mutant("workbench curve units: a map's state is not given back", OWN,
           "return times(self.rest.step(k, times(x, self.scale)), self.scale, -1)",
           "return self.rest.step(k, times(x, self.scale))", tests=MAPS),
    Mutant("workbench curve units: parameters have the unit one", OWN,
           "[take if unit == 1 else InUnit(take, unit)", "[take", tests=PITCHFORK),
    Mutant("workbench curve units: a value in a unit is one in that of the flow", "dynsim.systems.named",
           "where, value = where.take, where.unit * value", "where, value = where.take, value", tests=PITCHFORK),
    Mutant("workbench curve units: the flow's own value is not in its unit", "dynsim.systems.named",
           "return InUnit(take, where.unit), value / where.unit", "return InUnit(take, where.unit), value",
           tests=PITCHFORK),
    Mutant("workbench curve units: what is multiplied by zero is looked at once", SIZES,
           "if np.any(doubted) and not np.all(doubted):", "if False:", tests=ZERO),
    Mutant("workbench curve units: a size far from that of what moves a component is not doubted", SIZES,
           "doubted = np.isnan(found) | ((driven > 0) & (found > FAR * driven))", "doubted = np.isnan(found)",
           tests=ZERO),
    Mutant("workbench curve units: the range of a parameter moves nothing", SIZES,
           "np.nan_to_num(np.max(moves, axis=0)) if moves else", "0 * moves[0] if moves else", tests=DRIVEN),
    Mutant("workbench curve units: a component that acts has no size", SIZES,
           "np.min(rough[acted] * speeds[acted] / among[acted, k]) if acted.size else own", "own", tests=DRIVEN),
    Mutant("workbench curve units: a component that nothing moves has no size", SIZES,
           "if acted.size else own", "if acted.size else 1.0", tests=DRIVEN),
    Mutant("workbench curve units: the entries of a matrix have a unit each", SIZES,
           "part if part.ndim == 1 else part.ravel()[0]", "part", tests=MATRICES),
    Mutant("workbench curve units: what cannot be evaluated has units", SIZES,
           "if np.all(np.isfinite(J)) else None", "", tests=MATRICES),
    Mutant("workbench curve units: rates are slow", SIZES,
           "return float(unit_of(1 / rate if", "return float(unit_of(rate if", tests=ZERO),
    Mutant("workbench curve units: a bifurcation is at the flow's own parameters", ESTIMATES,
           "own = own if at is None else tuple(float(value) for value in at)", "own = own", tests=MATRICES),
    Mutant("workbench curve units: arclengths have the unit of the step", CONVERTED,
           "arclengths=branch.arclengths * size,", "arclengths=branch.arclengths,", tests=PITCHFORK),
    Mutant("workbench curve units: eigenvalues of branches are in other units", CONVERTED,
           "eigenvalues=branch.eigenvalues / _rate(units, branch.states, power)",
           "eigenvalues=branch.eigenvalues", tests=PITCHFORK),
    Mutant("workbench curve units: frequencies are in other units", CONVERTED,
           "rate if at.kind == ", "1.0 if at.kind == ", tests=HOPF),
    Mutant("workbench curve units: directions are in other units", CONVERTED,
           "at.direction * np.append(flat_sizes(units, at.state), units.parameters[0]) ** power", "at.direction",
           tests=BACK),
    Mutant("workbench curve units: directions have any length", CONVERTED,
           "direction=away / max(float(np.linalg.norm(away)), np.finfo(float).tiny)", "direction=away", tests=BACK),
    Mutant("workbench curve units: critical vectors have length one in other units", CURVES,
           "share /= float(np.linalg.norm(sizes * vector)) ** 2", "share /= 1.0", tests=HOPF),
    Mutant("workbench curve units: coefficients of folds are not in the unit of the parameter", ALONG,
           "null_vectors(point.J)[0], self.units.parameters[0]", "null_vectors(point.J)[0], 1.0", tests=FOLDS),
    Mutant("workbench curve units: the vector of a period doubling is another one", ALONG,
           "flip_coefficient(chart, A), point, -2.0)", "flip_coefficient(chart, A), point)", tests=MAPS),
    Mutant("workbench curve units: degenerate points are in other units", TWO,
           "first=d.first * first, second=d.second * second)", "first=d.first, second=d.second)", tests=CUSP),
    Mutant("workbench curve units: a known curve is in the units of the new one", TWO,
           "_in_given(units, known, -1)\n", "known\n", tests=CUSP),
    Mutant("workbench curve units: curves are compared in the units of the flow", PLANES,
           "chord_distances(_rows(curve) / sizes, point / sizes)", "chord_distances(_rows(curve), point)",
           tests=("tests/test_two_parameters.py::test_a_curve_covers_another_one_if_it_passes_both_ends",)),
    Mutant("workbench curve units: small equilibria are one", PLANES,
           "begin = [units.rescaled(start) for start in starts]",
           "units, begin = units._replace(system=flow, where=where, parameters=(1.0, 1.0)), list(starts)", tests=APART),
    Mutant("workbench curve units: small fixed points are one", "dynsim.commands.continue",
           "- x)) > SAME for", "- x)) * np.max(units.scale) > SAME for",
           tests=(DRAWN + "all_fixed_points_of_a_map_of_ones_own_are_looked_for",)),
    Mutant("workbench curve units: branches of small states are one", DIAGRAMS,
           "return rows / np.append(self.units.flat(state), self.units.parameters[0])", "return rows", tests=APART),
    Mutant("workbench curve units: spectra are of trajectories in the units of the flow", DYNAMICS + "lyapunov",
           "trajectory_units(system, x, t0)", "trajectory_units(system, x, t0)._replace(system=system, scale=1.0)",
           tests=SPECTRA),
    Mutant("workbench curve units: exponents are in another unit of time", DYNAMICS + "lyapunov",
           "getattr(found, name) / units.time", "getattr(found, name)", tests=SPECTRA),
    Mutant("workbench curve units: times of estimates are in another unit", DYNAMICS + "lyapunov",
           "times=found.times * units.time", "times=found.times", tests=SPECTRA),
    Mutant("workbench curve units: maps have no Jacobian of their own", SIZES,
           "return pair.step(t.astype(int), (x, one))[1] - one", "return 0 * one", tests=SPECTRA),
    Mutant("workbench curve units: orbits are certified in the units of the flow", DYNAMICS + "certified_orbits",
           "units = orbit_units(flow, (), cycle, ())",
           "units = orbit_units(flow, (), cycle, ())._replace(system=flow, scale=1.0, time=1.0)", tests=CERTIFIED),
    Mutant("workbench curve units: certified periods are in other units", DYNAMICS + "certified_orbits",
           "found.period * ball(units.time) if period", "found.period if period", tests=CERTIFIED),
    Mutant("workbench curve units: certified radii are in other units", DYNAMICS + "certified_orbits",
           "found.radius * float(np.max(sizes))", "found.radius * float(np.max(sizes)) ** 2 * 1e9", tests=CERTIFIED),
    Mutant("workbench curve units: the period of a forcing is one in other units", DYNAMICS + "orbit_equations",
           "forcing_period(period) / ball(units.time) if", "forcing_period(period) if", tests=CERTIFIED),
    Mutant("workbench curve units: what moves by rounding has the unit of rounding", SIZES,
           "(size < ROUNDING * most) |", "", tests=("tests/test_orbit_normal_forms.py::"
           "test_a_doubling_of_a_cycle_has_the_coefficient_of_its_return_map",)),
    Mutant("workbench curve units: coefficients of multipliers are those of the section in other units",
           DYNAMICS + "orbit_curve", "vector = vector - velocity * (", "vector = vector - 0 * velocity * (",
           tests=DOUBLING),
    Mutant("workbench curve units: coefficients of folds of orbits are not in the unit of the parameter",
           DYNAMICS + "orbit_curve", "self.units.time), self.units.parameters[0]", "self.units.time), 1.0",
           tests=CYCLES),
    Mutant("workbench curve units: the period of a forcing is in the units of the flow",
           DYNAMICS + "orbit_continuation", "self.given(self.units.given(flow)) / self.units.time",
           "self.given(self.units.given(flow))", tests=FORCED),
    Mutant("workbench curve units: a size a little below one has a unit of a thousandth",
           DYNAMICS + "component_sizes", "LEAST = TYPICAL / 1024", "LEAST = 1 / 64",
           tests=("tests/test_curve_units.py::"
                  "test_a_component_has_a_smaller_unit_only_if_its_size_is_nearer_to_four_of_that",)),
)  # fmt: skip
