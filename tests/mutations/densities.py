"""Errors in the experiment on densities of many tokens, and the tests that notice them."""

from tests.mutants import Mutant

DENSITY, TESTS = "analysis.experiments.tokens.density", "tests/test_densities.py::test_"
FITTED = (TESTS + "a_rate_is_fitted_up_to_four_times_the_first_size",)
KEPT = (TESTS + "shares_of_cells_and_moduli_of_coefficients_are_kept",)
ANEW = (TESTS + "every_ensemble_has_its_beta_and_starts_anew",)
READ = (TESTS + "times_counts_and_rates_are_read_off_the_densities",)
LINE = (TESTS + "a_line_has_medians_and_the_middle_half",)

MUTANTS = (
    Mutant("densities: a rate is fitted before the end of the growth", DENSITY,
           "kept = slice(0, beyond[0] + 1)", "kept = slice(0, beyond[0])", tests=FITTED),
    Mutant("densities: two points make a rate", DENSITY, "beyond[0] < 3", "beyond[0] < 2", tests=FITTED),
    Mutant("densities: coefficients begin with degree 0", DENSITY,
           "jnp.arange(1, self.degrees + 1, dtype=x.dtype)", "jnp.arange(self.degrees, dtype=x.dtype)", tests=KEPT),
    Mutant("densities: moduli are those of cosines alone", DENSITY,
           "jnp.mean(jnp.sin(turned), axis=1)", "0 * jnp.mean(jnp.sin(turned), axis=1)", tests=KEPT),
    Mutant("densities: every flow has beta 1", DENSITY, "beta * np.eye(2)", "np.eye(2)", tests=ANEW),
    Mutant("densities: all numbers of tokens have one key", DENSITY,
           "b * len(config.tokens) + k)", "b * len(config.tokens))", tests=READ),
    Mutant("densities: one cluster need not hold all tokens", DENSITY,
           "len(c.masses) == 1 and c.masses[0] >= ALL", "len(c.masses) == 1", tests=READ),
    Mutant("densities: the rate is that of the degree above the fastest", DENSITY,
           "sizes[:, fastest_degree(beta, 2) - 1]", "sizes[:, fastest_degree(beta, 2) - 2]", tests=READ),
    Mutant("densities: the predicted rate is without the scale of attention", DENSITY,
           "scale=2**-0.5", "scale=1.0", tests=READ),
    Mutant("densities: the longest plateau is the first", DENSITY,
           "max(plateaus(ts, counts[b, k, member]), default=0.0)", "next(plateaus(ts, counts[b, k, member]), 0.0)",
           tests=READ),
    Mutant("densities: a band is the whole range", DENSITY, "[0.25, 0.5, 0.75]", "[0.0, 0.5, 1.0]", tests=LINE),
)  # fmt: skip
