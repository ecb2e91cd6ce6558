"""Errors in the limits of axes that curves leave, and the tests that notice them."""

from tests.mutants import Mutant

SHOWN = "figures.panels.shown"
TESTS = "tests/test_shown_limits.py::test_"
MIDDLE = (TESTS + "limits_hold_the_middle_of_each_curve_and_all_values_that_are_kept",)
MEMBERS = (TESTS + "members_that_escape_do_not_decide_about_the_axes",)
MARKS = (TESTS + "lines_that_leave_the_axes_are_marked_at_the_edge_once",)
DENSITY = (TESTS + "members_with_noise_have_a_density_at_the_last_time",)

MUTANTS = (
    Mutant("workbench limits: all points of a curve count alike", SHOWN,
           "np.cumsum(weights[order]) if", "np.cumsum(0 * weights + 1) if", tests=MIDDLE),
    Mutant("workbench limits: values that are kept do not count", SHOWN,
           "middle, every = [kept[np.isfinite(kept)]]", "middle, every = [kept[:0]]", tests=MIDDLE),
    Mutant("workbench limits: all that is wider is cut", SHOWN,
           "<= FAR / 2 * (high - low)", "<= 0", tests=MIDDLE),
    Mutant("workbench limits: members that failed decide", SHOWN,
           "kept = rows[there & ended]", "kept = rows[there]", tests=MEMBERS),
    Mutant("workbench limits: the place of a mark is that of a point", SHOWN,
           "x[k] + share * (x[k + 1] - x[k])", "x[k]", tests=MARKS),
    Mutant("workbench limits: members that failed have a density", "dynsim.commands.simulate.ensembles",
           "beside(ax, values[finished, -1, k]", "beside(ax, np.nan_to_num(values[:, -1, k])", tests=DENSITY),
    Mutant("workbench limits: densities are counts", "figures.panels.curves",
           "density=True)", "density=False)", tests=DENSITY),
    Mutant("workbench limits: an orbit that escapes is drawn as far as numbers go", "dynsim.commands.simulate.flows",
           "<= AWAY * np.median", "<= 1e99 * AWAY * np.median",
           tests=("tests/test_command_line.py::test_an_orbit_that_escapes_late_is_drawn_until_it_runs_away",)),
)  # fmt: skip
