"""Errors in the experiments on documents, in the epochs and the histories of prototypes, and tests that notice them."""

from tests.mutants import Mutant

LEVELS, EPOCHS, DOCUMENTS, HISTORIES = (
    f"analysis.experiments.prototypes.{name}" for name in ("hierarchy", "epochs", "documents", "histories")
)
TESTS, READ = "tests/test_document_levels.py::test_", "tests/test_prototype_documents.py::test_"
MEASURED = (TESTS + "tables_are_of_the_second_level_and_measures_of_both",)
KEPT = (TESTS + "some_documents_are_kept_as_the_second_level_embeds_them_at_the_last_temperature",)
TRAINED = (TESTS + "a_stack_is_trained_with_its_barrier_and_both_rates",)
RECORDED = (TESTS + "records_have_the_scores_of_every_epoch_and_the_chance_of_the_last",)
SAID = (TESTS + "the_summary_has_final_and_best_epochs_and_both_levels",)
SETTINGS = (TESTS + "the_settings_of_table_6_are_what_their_names_say",)
SPLIT = (READ + "one_file_is_split_thinned_evenly_and_read_word_for_word",)
ROWS = ("tests/test_prototype_epochs.py::test_an_epoch_has_every_row_at_most_once_at_one_temperature",)
FOLLOWED = ("tests/test_prototype_epochs.py::test_measures_follow_each_epoch_and_a_resumed_run_has_the_same_bits",)
ALONG = ("tests/test_debris.py::test_the_measures_along_a_descent_are_those_of_its_states",)

MUTANTS = (
    Mutant("levels: separations are exchanged", LEVELS,
           "for level in (model.first, model.second)", "for level in (model.second, model.first)", tests=MEASURED),
    Mutant("levels: tables are those of level 1", LEVELS,
           "readings[1].assignments, labels", "readings[0].assignments, labels", tests=MEASURED),
    Mutant("levels: documents are kept at the first temperature", LEVELS,
           "_annealing(config)(jnp.asarray(config.epochs - 1, float))", "_annealing(config)(jnp.asarray(0, float))",
           tests=KEPT),
    Mutant("levels: documents are kept as level 2 reads them", LEVELS,
           "np.asarray(model.second.embed(below.centroids))", "np.asarray(below.centroids)", tests=KEPT),
    Mutant("levels: classes are those of the first documents", LEVELS,
           '"mapped labels": test.labels[rows]', '"mapped labels": test.labels[:count]', tests=KEPT),
    Mutant("levels: the two rates are exchanged", LEVELS,
           "two_rates(config.prototype_rate, stack.ratio * config.prototype_rate)",
           "two_rates(stack.ratio * config.prototype_rate, config.prototype_rate)", tests=TRAINED),
    Mutant("levels: the barrier of a setting is ignored", LEVELS, "_loss(stack.barrier)", "_loss(0.5)", tests=TRAINED),
    Mutant("levels: k-means has the number of prototypes of level 1", LEVELS,
           "config.counts[1], config.corpus.classes, keys)", "config.counts[0], config.corpus.classes, keys)",
           tests=RECORDED),
    Mutant("levels: chance is that before training", LEVELS,
           "chance_band(key, tables[0, -1])", "chance_band(key, tables[0, 0])", tests=RECORDED),
    Mutant("levels: the final epoch is the first", LEVELS,
           "_triple(of('scores')[:, -1])", "_triple(of('scores')[:, 0])", tests=SAID),
    Mutant("levels: the best seed is the best epoch", LEVELS,
           "np.max(of('scores'), axis=1)", "np.max(of('scores'), axis=0)", tests=SAID),
    Mutant("levels: the detached setting is attached", LEVELS,
           'Stack("detached", True)', 'Stack("detached", False)', tests=SETTINGS),
    Mutant("epochs: one batch is more than the rows fill", EPOCHS,
           "shape[0] // self.size", "shape[0] // self.size + 1", tests=ROWS),
    Mutant("epochs: batches overlap", EPOCHS, "step % self.steps * self.size", "step % self.steps", tests=ROWS),
    Mutant("epochs: all have one order", EPOCHS, "jax.random.fold_in(self.key, epoch)", "self.key", tests=ROWS),
    Mutant("epochs: measures are at the temperature of the next", EPOCHS,
           "batches.at(max(epoch - 1, 0))", "batches.at(epoch)", tests=FOLLOWED),
    Mutant("documents: training and test set are exchanged", DOCUMENTS,
           'row["split"] == split', 'row["split"] != split', tests=SPLIT),
    Mutant("documents: the first ones are taken", DOCUMENTS,
           "np.linspace(0, len(rows) - 1, corpus.limit).astype(int)", "range(corpus.limit)", tests=SPLIT),
    Mutant("documents: all words of the file have mean zero", DOCUMENTS,
           "vec[used].mean(axis=0)", "vec.mean(axis=0)", tests=SPLIT),
    Mutant("documents: all words of the file have variance one", DOCUMENTS,
           "/ vec[used].std(axis=0)", "/ vec.std(axis=0)", tests=SPLIT),
    Mutant("documents: a word counts once in a document", DOCUMENTS,
           "for number in document])", "for number in set(document)])", tests=SPLIT),
    Mutant("documents: padding counts in means", DOCUMENTS,
           'np.einsum("nl,nld->nd", self.shares, self.tokens)', "np.mean(self.tokens, axis=1)", tests=SPLIT),
    Mutant("documents: one without a word has no share", DOCUMENTS,
           "shares[row, : max(len(found), 1)]", "shares[row, : len(found)]", tests=SPLIT),
    Mutant("documents: words of one letter are left out", DOCUMENTS, "shortest=1", "shortest=2", tests=SPLIT),
    Mutant("documents: stop words are left out", DOCUMENTS,
           'stop_words="none"', 'stop_words="scikit-learn"', tests=SPLIT),
    Mutant("documents: the test set is the training set", DOCUMENTS,
           '(corpus.test, "test")', '(corpus.test, "train")', tests=SPLIT),
    Mutant("documents: pooled ones have half a share", DOCUMENTS,
           "np.ones((len(self.labels), 1), np.float32)", "np.full((len(self.labels), 1), 0.5, np.float32)",
           tests=SPLIT),
    Mutant("histories: steps are kept at other temperatures", HISTORIES,
           "map.flow.temperature(map.epoch(k))", "map.flow.temperature(map.epoch(k + 1))", tests=ALONG),
    Mutant("histories: entropies are in bits", HISTORIES,
           "H = entropy(assignments(z, p, T))", "H = entropy(assignments(z, p, T)) / jnp.log(2.0)", tests=ALONG),
    Mutant("histories: tables have the classes of other points", HISTORIES,
           "at[labels, nearest(z, p)]", "at[labels, nearest(z, p)[::-1]]", tests=ALONG),
    Mutant("histories: V is a sum over the points", HISTORIES,
           "prototype_variance(z, p, T) / n, H", "prototype_variance(z, p, T), H", tests=ALONG),
)  # fmt: skip
