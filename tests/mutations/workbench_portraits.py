"""Errors in limit cycles, poles of nullclines and portraits, and the tests that notice them."""

from tests.mutants import Mutant

CYCLES, POLES, PORTRAIT, PERIODIC = (
    f"analysis.dynamics.{name}" for name in ("cycles", "poles", "portrait", "periodic_orbits")
)
PHASE, EQUILIBRIA = "tests/test_phase_plane.py::test_", "tests/test_equilibria.py::test_"
EACH = (PHASE + "limit_cycles_are_found_forwards_and_backwards_each_once",)
CENTRE = (PHASE + "the_separatrices_of_a_duffing_oscillator_have_the_energy_of_its_saddle",)
RETURN = (PHASE + "a_return_is_the_first_low_after_having_left",)
POLE = (PHASE + "a_change_of_sign_at_a_pole_is_no_zero",)
CIRCLE = (EQUILIBRIA + "the_portrait_on_the_circle_finds_basins_that_end_at_the_unstable_points",)
TURNING = (EQUILIBRIA + "a_limit_cycle_on_the_sphere_has_a_basin_of_its_own",)
EVENLY = (EQUILIBRIA + "points_of_a_portrait_cover_the_space_evenly_and_its_field_is_frozen",)
FRAMES = ("tests/test_workbench_figures.py::test_frames_of_a_movie_have_one_scale_of_speeds_and_one_legend",)
SPEEDS = ("tests/test_workbench_figures.py::test_portraits_show_the_speeds_of_a_range_that_is_given",)

MUTANTS = (
    Mutant("portraits: no cycle is looked for backwards", CYCLES,
           "[: 1 + backwards]:", "[:1]:", tests=EACH),
    Mutant("portraits: cycles found forwards are unstable", CYCLES,
           '((1.0, "stable"), (-1.0, "unstable"))', '((1.0, "unstable"), (-1.0, "stable"))', tests=EACH),
    Mutant("portraits: no point is on a known cycle", CYCLES,
           "< max(SAME * size, spacing)", "< 0", tests=EACH),
    Mutant("portraits: every point is on a known cycle", CYCLES,
           "< max(SAME * size, spacing)", "< size", tests=EACH),
    Mutant("portraits: orbits of a family are cycles", CYCLES,
           "return orbit if orbit.stability == kind else None", "return orbit", tests=CENTRE),
    Mutant("portraits: a return may come before having left", CYCLES,
           "lows = lows[lows > away[0]]", "lows = lows[lows > 0]", tests=RETURN),
    Mutant("portraits: the last return is taken", CYCLES,
           "float(ts[lows[0]]) if len(lows)", "float(ts[lows[-1]]) if len(lows)", tests=RETURN),
    Mutant("portraits: a return may be far away", CYCLES,
           "& (gaps[1:-1] < CLOSE * size)]", "]", tests=RETURN),
    Mutant("portraits: what does not move returns", CYCLES,
           "or size < 1e-6 * (1 + float(np.max(np.abs(ys[0])))) or not len(away)", "", tests=RETURN),
    Mutant("portraits: a jump is a pole", POLES,
           "GROWN = 2.0", "GROWN = 0.4", tests=POLE),
    Mutant("portraits: edges are halved to the side without the change of sign", POLES,
           "left = np.sign(value) == np.sign(fa)", "left = np.sign(value) != np.sign(fa)", tests=POLE),
    Mutant("portraits: only the first end of an edge is beside a pole", POLES,
           "    for k in (0, 1):\n        found", "    for k in (0,):\n        found", tests=POLE),
    Mutant("portraits: edges lead to the neighbour in the other direction", POLES,
           "np.array([axis == 0, axis == 1, False], int)", "np.array([axis == 1, axis == 0, False], int)", tests=POLE),
    Mutant("portraits: the value in the middle is that of the other component", POLES,
           "[rows, which]", "[rows, 1 - which]", tests=POLE),
    Mutant("portraits: the first angle is there twice", PORTRAIT,
           "np.arange(num_points) / num_points\n", "np.arange(num_points) / (num_points - 1)\n", tests=EVENLY),
    Mutant("portraits: points of the sphere are those above their rings", PORTRAIT,
           "(2 * np.arange(num_points) + 1)", "(2 * np.arange(num_points))", tests=EVENLY),
    Mutant("portraits: radii on the sphere are not those of its circles", PORTRAIT,
           "np.sqrt(1 - heights**2)", "1 - np.abs(heights)", tests=EVENLY),
    Mutant("portraits: the field is that at time 0", PORTRAIT,
           "flow.vector_field(jnp.asarray(t, float), x)", "flow.vector_field(jnp.asarray(0.0), x)", tests=EVENLY),
    Mutant("portraits: every attractor is the nearest equilibrium", PORTRAIT,
           'known = limit.kind == "equilibrium" and np.min(gaps, initial=np.inf) < SAME', "known = True",
           tests=TURNING),
    Mutant("portraits: other attractors are counted from 0", PORTRAIT,
           "else len(rests) + place)", "else place)", tests=TURNING),
    Mutant("portraits: a start without a limit has that of the first equilibrium", PORTRAIT,
           "np.array([*numbers, -1])[np.maximum(found.labels, -1)]", "np.array([*numbers, 0])[found.labels % 1]",
           tests=CIRCLE),
    Mutant("portraits: a cycle has the number of an attractor", PORTRAIT,
           "cycles.append(Cycle(numbers[-1],", "cycles.append(Cycle(place,",
           tests=(EQUILIBRIA + "a_limit_cycle_on_the_sphere_has_a_basin_of_its_own",)),
    Mutant("portraits: the hidden part of a cycle is missing", "figures.panels.portrait_curves",
           "view.sees(points, np.eye(3)))", "view.sees(points, np.eye(3)) | True)",
           tests=("tests/test_workbench_figures.py::test_a_limit_cycle_on_the_sphere_is_whole_on_both_sides_and_pale_"
                  "where_it_is_hidden",)),
    Mutant("portraits: each frame has its own scale of speeds", "dynsim.commands.portrait",
           "common = Common((min(low), max(high)))", "common = Common()", tests=FRAMES),
    Mutant("portraits: each frame has its own legend", "dynsim.commands.portrait",
           "[one.draw(common._replace(legend=legend)) for", "[one.draw(common) for", tests=FRAMES),
    Mutant("portraits: a circle has its own scale", "figures.panels.phase",
           "np.append(speeds, speeds[0]) / max(largest, 1e-300)",
           "np.append(speeds, speeds[0]) / max(float(np.max(np.abs(speeds))), 1e-300)", tests=SPEEDS),
    Mutant("portraits: a sphere has its own scale", "figures.panels.phase",
           "(size / max(largest, 1e-300))", "(size / max(float(np.max(size)), 1e-300))", tests=SPEEDS),
    Mutant("portraits: stable and unstable curves of saddles are exchanged", "analysis.dynamics.phase_plane",
           "shown[role == -1], shown[role == 1]", "shown[role == 1], shown[role == -1]",
           tests=(PHASE + "the_curves_of_a_saddle_are_told_by_where_they_lead",)),
    Mutant("portraits: only short periods are looked for", CYCLES, "HORIZONS = 5", "HORIZONS = 1",
           tests=(PHASE + "limit_cycles_are_found_whatever_their_period[1.0]",)),
    Mutant("portraits: states are of the size one", CYCLES,
           "size = np.where(spread > 0, spread, 1.0)", "size = np.ones_like(spread)",
           tests=(PHASE + "limit_cycles_are_found_whatever_their_period[10000000.0]",)),
    Mutant("portraits: periods are in the unit of the search", PERIODIC,
           "period=orbit.period * units.time", "period=orbit.period",
           tests=(PHASE + "limit_cycles_are_found_whatever_their_period[1.0]",)),
    Mutant("portraits: states of cycles are in the unit of the search", PERIODIC,
           "state=units.restored(orbit.state)", "state=orbit.state",
           tests=(PHASE + "limit_cycles_are_found_whatever_their_period[10000000.0]",)),
)  # fmt: skip
