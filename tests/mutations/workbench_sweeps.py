"""Errors in figures of sweeps, and the tests that notice them."""

from tests.mutants import Mutant

SWEEPS = "figures.sweeps"
TESTS = "tests/test_sweep_figures.py::test_"
CURVE = (TESTS + "a_sweep_of_one_parameter_is_a_curve_on_which_failures_are_marked",)
MAP = (TESTS + "a_sweep_of_two_parameters_is_a_map_with_the_first_on_the_horizontal_axis",)
SEEDS = (TESTS + "seeds_are_a_mean_in_a_band_and_those_that_failed_are_left_out",)
SCALES = (TESTS + "scales_are_logarithmic_where_values_and_parameters_ask_for_it",)

MUTANTS = (
    Mutant("sweep figures: values are in the order that was given", SWEEPS,
           "rows = lambda part: _table(found[part], [name])[order]",
           "rows = lambda part: _table(found[part], [name])", tests=CURVE),
    Mutant("sweep figures: failures are in the order that was given", SWEEPS,
           "_failures(found, [name])[order]", "_failures(found, [name])", tests=CURVE),
    Mutant("sweep figures: the first parameter of a map is vertical", SWEEPS,
           "np.ma.masked_invalid(values).T", "np.ma.masked_invalid(values).reshape(values.shape[::-1])", tests=MAP),
    Mutant("sweep figures: crosses of a map are exchanged", SWEEPS,
           "ax.plot(x[places[:, 0]], y[places[:, 1]]", "ax.plot(y[places[:, 1]], x[places[:, 0]]", tests=MAP),
    Mutant("sweep figures: a point fails where all of its seeds do", SWEEPS,
           'np.any(_table(found["status"]', 'np.all(_table(found["status"]', tests=SEEDS),
    Mutant("sweep figures: one seed that failed spoils the mean", SWEEPS,
           "_nan(np.nanmean, middle)", "_nan(np.mean, middle)", tests=SEEDS),
    Mutant("sweep figures: edges are midway between values", SWEEPS,
           "at = np.log(values) if log else values", "at = values", tests=SCALES),
    Mutant("sweep figures: zero is on a logarithmic axis", SWEEPS,
           "values.min() <= 0", "values.min() < 0", tests=SCALES),
)  # fmt: skip
