"""Errors in spaces, integrators, starts and commands that closed forms at generic parameters notice."""

from tests.mutants import Mutant

MUTANTS = (
    Mutant(
        "simplex: samples that are not uniform",
        "dynsim.spaces.simplex",
        "jax.random.exponential(",
        "jax.random.uniform(",
        tests=("tests/test_spaces.py::test_samples_of_the_simplex_are_uniform_and_those_of_euclidean_space_normal",),
    ),
    Mutant(
        "euclidean: samples that are not normal",
        "dynsim.spaces.euclidean",
        "jax.random.normal(",
        "jax.random.uniform(",
        tests=("tests/test_spaces.py::test_samples_of_the_simplex_are_uniform_and_those_of_euclidean_space_normal",),
    ),
    Mutant(
        "hybrid: the limit of accumulation one interval later",
        "dynsim.hybrid_trajectory",
        "gaps[-1] * ratio / (1 - ratio)",
        "gaps[-1] / (1 - ratio)",
        tests=(
            "tests/test_hybrid.py::test_the_last_transitions_of_a_capped_run_are_described_by_the_times_between_them",
        ),
    ),
    Mutant(
        "hybrid: the largest interval for their mean",
        "dynsim.hybrid_trajectory",
        "np.mean(gaps):.3g",
        "np.max(gaps):.3g",
        tests=(
            "tests/test_hybrid.py::test_the_last_transitions_of_a_capped_run_are_described_by_the_times_between_them",
        ),
    ),
    Mutant(
        "simulate growing: activity and temperature swapped",
        "dynsim.commands.simulate.growing_summary",
        "T[slot], sigma[slot]",
        "sigma[slot], T[slot]",
        tests=("tests/test_growing_command.py::test_events_are_printed_in_order_and_the_file_has_them",),
    ),
    Mutant(
        "simulate growing: the temperature of a head to come",
        "dynsim.commands.simulate.growing_summary",
        "np.where(np.asarray(flow.active), jax",
        "np.where(True, jax",
        tests=("tests/test_growing_command.py::test_events_are_printed_in_order_and_the_file_has_them",),
    ),
    Mutant(
        "simulate prototypes: the variance of all points",
        "dynsim.commands.simulate.prototype_summary",
        "prototype_variance(z, p, T) / z.shape[0]",
        "prototype_variance(z, p, T)",
        tests=("tests/test_prototypes_command.py::test_the_measures_are_those_of_the_time_of_a_state",),
    ),
    Mutant(
        "simulate prototypes: the least norm",
        "dynsim.commands.simulate.prototype_summary",
        "jnp.max(jnp.sqrt(jnp.sum(p**2, axis=-1)))",
        "jnp.min(jnp.sqrt(jnp.sum(p**2, axis=-1)))",
        tests=("tests/test_prototypes_command.py::test_the_measures_are_those_of_the_time_of_a_state",),
    ),
    Mutant(
        "simulate prototypes: measures at the first temperature",
        "dynsim.commands.simulate.prototype_summary",
        "_of_level(flow, flow.temperature(t), z, p)",
        "_of_level(flow, flow.temperature(0 * t), z, p)",
        tests=("tests/test_prototypes_command.py::test_the_measures_are_those_of_the_time_of_a_state",),
    ),
    Mutant(
        "stiff: one tolerance for both",
        "dynsim.integrators.implicit",
        'Scipy(method="Radau", rtol=rtol, atol=rtol / 100)',
        'Scipy(method="Radau", rtol=rtol, atol=rtol)',
        tests=(
            "tests/test_integrators.py::test_absolute_tolerances_of_stiff_methods_are_a_hundredth_of_the_relative_ones",
        ),
    ),
    Mutant(
        "implicit: one tolerance for both",
        "dynsim.integrators.implicit",
        "Diffrax(dfx.Kvaerno4(), rtol=rtol, atol=rtol / 100)",
        "Diffrax(dfx.Kvaerno4(), rtol=rtol, atol=rtol)",
        tests=(
            "tests/test_integrators.py::test_absolute_tolerances_of_stiff_methods_are_a_hundredth_of_the_relative_ones",
        ),
    ),
    Mutant(
        "in span: events in both directions",
        "dynsim.integrators.in_span",
        "form), event.direction, event",
        "form), 0, event",
        tests=("tests/test_span_form.py::test_events_are_seen_by_the_tokens",),
    ),
    Mutant(
        "starts: a box at a corner",
        "dynsim.initial_distributions",
        "minval=-0.5, maxval=0.5",
        "minval=0.0, maxval=1.0",
        tests=("tests/test_simulate.py::test_boxes_and_clusters_have_the_moments_of_their_laws",),
    ),
    Mutant(
        "starts: a cluster that grows with the dimension",
        "dynsim.initial_distributions",
        "+ 0.1 * jax.random.normal(rest, shape) / np.sqrt(shape[1])",
        "+ 0.1 * jax.random.normal(rest, shape)",
        tests=("tests/test_simulate.py::test_boxes_and_clusters_have_the_moments_of_their_laws",),
    ),
    Mutant(
        "encoders: the variance of one over the outputs",
        "dynsim.systems.prototypes.encoders",
        "/ math.sqrt(self.inputs)",
        "/ math.sqrt(self.outputs)",
        tests=("tests/test_prototypes.py::test_weights_are_drawn_with_the_variance_of_one_over_their_inputs",),
    ),
    Mutant(
        "descent: pruning before growth",
        "dynsim.growing",
        "reset = grow if growth else prune",
        "reset = prune if pruning else grow",
        tests=(
            "tests/test_growing_pruning.py::test_growth_comes_before_pruning_after_a_dwell_each_and_every_fourth_step_is_kept",
        ),
    ),
    Mutant(
        "descent: every fourth step after an event",
        "dynsim.growing",
        "(descent.k // every + 1) * every",
        "descent.k + every",
        tests=(
            "tests/test_growing_pruning.py::test_growth_comes_before_pruning_after_a_dwell_each_and_every_fourth_step_is_kept",
        ),
    ),
    Mutant(
        "descent: saved states for steps",
        "dynsim.growing",
        "self._times[-1] - self._times[0], jnp",
        "len(self._times), jnp",
        tests=(
            "tests/test_growing_pruning.py::test_growth_comes_before_pruning_after_a_dwell_each_and_every_fourth_step_is_kept",
        ),
    ),
    Mutant(
        "symplectic: steps after a failure",
        "dynsim.integrators.symplectic",
        "steps * reached, none",
        "steps * len(ts), none",
        tests=(
            "tests/test_symplectic.py::test_an_ensemble_has_the_runs_of_its_members_and_one_that_escapes_ends_there",
        ),
    ),
    Mutant(
        "symplectic: the last time after a failure",
        "dynsim.integrators.symplectic",
        "ts[reached])",
        "ts[-1])",
        tests=(
            "tests/test_symplectic.py::test_an_ensemble_has_the_runs_of_its_members_and_one_that_escapes_ends_there",
        ),
    ),
    Mutant(
        "fixed steps: as many as the shortest interval needs",
        "dynsim.integrators.fixed_steps",
        "np.max(np.diff(np",
        "np.min(np.diff(np",
        tests=(
            "tests/test_symplectic.py::test_an_ensemble_has_the_runs_of_its_members_and_one_that_escapes_ends_there",
        ),
    ),
    Mutant(
        "rules: a higher threshold by default",
        "dynsim.systems.growing.rules",
        "threshold: Any = 0.05",
        "threshold: Any = 0.5",
        tests=("tests/test_growing_command.py::test_rules_and_rates_are_by_default_those_of_the_library",),
    ),
    Mutant(
        "rules: a shorter dwell by default",
        "dynsim.systems.growing.rules",
        "dwell: Any = 1.0",
        "dwell: Any = 0.1",
        tests=("tests/test_growing_command.py::test_rules_and_rates_are_by_default_those_of_the_library",),
    ),
    Mutant(
        "rules: directions are given back by default",
        "dynsim.systems.growing.rules",
        'release: str = "retain"',
        'release: str = "release"',
        tests=("tests/test_growing_command.py::test_rules_and_rates_are_by_default_those_of_the_library",),
    ),
    Mutant(
        "dense: the default integrator for that of the run",
        "dynsim.dense_output",
        "integrator or run.integrator or Diffrax()",
        "integrator or Diffrax()",
        tests=("tests/test_dense_output.py::test_a_run_is_integrated_once_more_by_its_own_integrator",),
    ),
    Mutant(
        "flows: a jump at the last time is between",
        "dynsim.systems.base",
        "if t0 < b < t1",
        "if t0 < b <= t1",
        tests=("tests/test_own_system.py::test_jumps_at_the_ends_are_not_between_them",),
    ),
    Mutant(
        "driven rates: a jump at the first time is between",
        "dynsim.systems.master_equation.rates",
        "if t0 < b < t1",
        "if t0 <= b < t1",
        tests=("tests/test_own_system.py::test_jumps_at_the_ends_are_not_between_them",),
    ),
    Mutant(
        "ensembles: the number of a member in its part",
        "dynsim.ensemble_parts",
        "self.numbers[member]",
        "member",
        tests=("tests/test_ensemble.py::test_members_of_a_part_keep_their_starts_flows_and_numbers",),
    ),
)
