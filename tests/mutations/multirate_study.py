"""Errors in the study of MULTIRATE, Section 9, and the tests that notice them."""

from tests.mutants import Mutant

STUDY, TESTS = "analysis.experiments.multirate.training_study", "tests/test_multirate_study.py::test_"
RUN = (TESTS + "a_run_is_trained_by_its_configuration_and_ends_with_the_whole_held_out_text",)
KEPT = (TESTS + "a_network_of_a_record_has_its_gates_held_and_its_weights",)
SAID = (TESTS + "the_text_of_a_study_is_that_of_its_numbers",)
COSTS = (TESTS + "costs_are_those_of_each_network",)
NAMES = (TESTS + "the_networks_of_section_9_are_what_their_names_say",)

MUTANTS = (
    Mutant("study: nothing is recorded before training", STUDY,
           "[*range(0, self.steps, self.every), self.steps]",
           "[*range(self.every, self.steps, self.every), self.steps]",
           tests=RUN),
    Mutant("study: checkpoints evaluate all windows", STUDY,
           "windows(held_out, config.length, count=config.evaluated),",
           "windows(held_out, config.length, count=config.final),", tests=RUN),
    Mutant("study: the end evaluates the training text", STUDY,
           "windows(held_out, config.length, count=config.final),",
           "windows(train, config.length, count=config.final),",
           tests=RUN),
    Mutant("study: held gates are trained", STUDY, "frozen(model) if variant.held else model", "model", tests=RUN),
    Mutant("study: the weight of the auxiliary loss is ignored", STUDY,
           "residual_weight=variant.residual_weight,", "residual_weight=0.0,", tests=RUN),
    Mutant("study: the decay of weights is ignored", STUDY,
           "weight_decay=config.weight_decay,", "weight_decay=0.0,", tests=RUN),
    Mutant("study: the final loss is that before training", STUDY,
           "np.array(text_loss(found.model, data.held_out))", "np.array(text_loss(start, data.held_out))", tests=RUN),
    Mutant("study: the final loss is that of a checkpoint", STUDY,
           "np.array(text_loss(found.model, data.held_out))", "np.array(text_loss(found.model, data.evaluated))",
           tests=RUN),
    Mutant("study: a record keeps the weights before training", STUDY,
           "final, seen[1], leaves)", "final, seen[1], tuple(np.asarray(one) for one in weights))", tests=RUN),
    Mutant("study: a network of a record is never held", STUDY,
           'entry["held"]), jax.random.key(0)', "False), jax.random.key(0)", tests=KEPT),
    Mutant("study: all networks have the cost of the first", STUDY,
           "np.array(layer_equivalent_cost(variant.network))",
           "np.array(layer_equivalent_cost(config.variants[0].network))", tests=COSTS),
    Mutant("study: products are counted for two windows", STUDY,
           "layer_equivalents(model, config.length)", "layer_equivalents(model, 2 * config.length)", tests=COSTS),
    Mutant("study: differences have the other sign", STUDY,
           "gap = loss_difference(arrays, first, name)", "gap = loss_difference(arrays, name, first)", tests=SAID),
    Mutant("study: the deviation is divided by n", STUDY, "ddof=1)) / math.sqrt", "ddof=0)) / math.sqrt", tests=SAID),
    Mutant("study: the gates are those at the start", STUDY, 'of("gates")[:, -1]', 'of("gates")[:, 0]', tests=SAID),
    Mutant("study: the mean loss is the median", STUDY,
           "held-out loss {np.mean(final)", "held-out loss {np.median(final)", tests=SAID),
    Mutant("study: the frozen network is coupled", STUDY,
           'Variant("frozen", held=True)', 'Variant("frozen")', tests=NAMES),
    Mutant("study: four layers are three", STUDY, "dense(_NETWORK, 4)", "dense(_NETWORK, 3)", tests=NAMES),
    Mutant("study: the held-out text is the training text", STUDY,
           'validation: str = "tinyshakespeare_val.txt.gz"', 'validation: str = "tinyshakespeare_train.txt.gz"',
           tests=NAMES),
)  # fmt: skip
