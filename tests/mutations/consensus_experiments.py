"""Errors in the experiments of CONSENSUS, Sections 7.4 and 7.5, and the tests that notice them."""

from tests.mutants import Mutant

SIMULATIONS, PROMPTS = (f"analysis.experiments.consensus.{name}" for name in ("simulations", "prompts"))
TESTS, RECORDS = "tests/test_consensus_experiments.py::test_", "tests/test_experiments.py::test_"
OBSERVED = (TESTS + "the_ensemble_is_observed_by_its_misalignment_and_its_diameter",)
MEASURES = (TESTS + "the_measures_are_those_of_the_directions_of_tokens",)
VARIANTS = (TESTS + "every_variant_of_the_passes_is_what_its_name_says",)
DRAWN = (TESTS + "matrices_are_redrawn_independently_of_each_other",)
OWN = (TESTS + "passes_without_the_feedforward_part_and_with_weights_of_their_own",)
DECODED = (TESTS + "decoded_are_the_likeliest_tokens_after_each_number_of_passes",)
TABLE = (TESTS + "the_table_of_the_passes_has_first_and_last_measures",)
FIRST_AND_LAST = (TESTS + "the_last_prompt_is_decoded_and_the_first_one_passes",)
PLAIN = (RECORDS + "biases_are_zero_in_redrawn_weights_whatever_their_shape",)

MUTANTS = (
    Mutant("passes: diameters are recorded as E", SIMULATIONS,
           "jnp.stack([misalignment(x), diameter(x)])", "jnp.stack([diameter(x), misalignment(x)])", tests=OBSERVED),
    Mutant("passes: every ensemble ends at time 1", SIMULATIONS,
           "np.linspace(0.0, config.end, 201)", "np.linspace(0.0, 1.0, 201)", tests=OBSERVED),
    Mutant("passes: the summary has E at the start", SIMULATIONS,
           'arrays["E"][:, -1], arrays["diameter"][:, -1]', 'arrays["E"][:, 0], arrays["diameter"][:, -1]',
           tests=OBSERVED),
    Mutant("passes: the median of E is its mean", SIMULATIONS,
           "E median {np.median(E):.2g}", "E median {np.mean(E):.2g}", tests=OBSERVED),
    Mutant("passes: gains are redrawn", SIMULATIONS, 'if name.endswith("gain"):', "if not name:", tests=PLAIN),
    Mutant("passes: redrawn weights have the variance for a deviation", SIMULATIONS,
           "else deviation * jax.random.normal(key", "else deviation**2 * jax.random.normal(key", tests=PLAIN),
    Mutant("passes: all matrices are redrawn alike", SIMULATIONS,
           "keys = jax.random.split(key, len(leaves))", "keys = jnp.broadcast_to(key, (len(leaves),))", tests=DRAWN),
    Mutant("passes: tokens are measured with their lengths", SIMULATIONS,
           "u = x / jnp.linalg.norm(x, axis=-1, keepdims=True)", "u = x", tests=MEASURES),
    Mutant("passes: all tokens are divided by one length", SIMULATIONS,
           "u = x / jnp.linalg.norm(x, axis=-1, keepdims=True)", "u = x / jnp.linalg.norm(x)", tests=MEASURES),
    Mutant("passes: all passes have the weights of the first", SIMULATIONS,
           "redrawn(transformer, key, deviation)\n        x", "redrawn(transformer, keys[0], deviation)\n        x",
           tests=OWN),
    Mutant("passes: the feedforward part is never left out", SIMULATIONS,
           "network.apply_layers(x, feedforward=feedforward)", "network.apply_layers(x)", tests=OWN),
    Mutant("passes: the measures begin after the first pass", SIMULATIONS,
           "jnp.concatenate([measures(x)[None], found])", "jnp.concatenate([found, found[-1:]])", tests=OWN),
    Mutant("passes: passes between two states count from the start", SIMULATIONS,
           "jnp.asarray(count - before)", "jnp.asarray(count)", tests=DECODED),
    Mutant("passes: decoded is the first prompt", SIMULATIONS,
           "network.embed(inputs.last), counts", "network.embed(inputs.first), counts", tests=DECODED),
    Mutant("passes: the least likely tokens are decoded", SIMULATIONS,
           "np.argmax(np.asarray(network.logits(x))", "np.argmin(np.asarray(network.logits(x))", tests=DECODED),
    Mutant("passes: attention alone has its feedforward part", SIMULATIONS,
           '"trained, attention only": (trained, first, False, None)',
           '"trained, attention only": (trained, first, True, None)', tests=VARIANTS),
    Mutant("passes: the random network is the trained one", SIMULATIONS,
           '"random": (random, first, True, None)', '"random": (trained, first, True, None)', tests=VARIANTS),
    Mutant("passes: redrawn weights are the trained ones", SIMULATIONS,
           '"redrawn": (trained, first, True, config.deviation)', '"redrawn": (trained, first, True, None)',
           tests=VARIANTS),
    Mutant("passes: prompts pass through the trained network", SIMULATIONS,
           'f"prompt {k}": (random, x, True, None)', 'f"prompt {k}": (trained, x, True, None)', tests=VARIANTS),
    Mutant("passes: single precision is double", SIMULATIONS, "first.astype(jnp.float32)", "first", tests=VARIANTS),
    Mutant("passes: random weights have the printed deviation", SIMULATIONS,
           "redrawn(trained, key, config.deviation), trained.embed", "redrawn(trained, key, 0.02), trained.embed",
           tests=VARIANTS),
    Mutant("passes: the table ends after one pass", SIMULATIONS,
           "zip(values[0], values[-1], strict=True)", "zip(values[0], values[1], strict=True)", tests=TABLE),
    Mutant("prompts: the first one is decoded", PROMPTS,
           "tokenizer.encode(LAST_PROMPT)", "tokenizer.encode(FIRST_PROMPT)", tests=FIRST_AND_LAST),
    Mutant("prompts: the last one passes", PROMPTS,
           "Inputs(tokenizer.encode(FIRST_PROMPT)", "Inputs(tokenizer.encode(LAST_PROMPT)", tests=FIRST_AND_LAST),
    Mutant("prompts: the last letters are decoded", PROMPTS,
           "Inputs(inputs[0], inputs, inputs[0]", "Inputs(inputs[0], inputs, inputs[-1]", tests=FIRST_AND_LAST),
    Mutant("prompts: they are padded before", PROMPTS,
           "(0, longest - len(ids))", "(longest - len(ids), 0)",
           tests=(RECORDS + "the_prompts_are_padded_with_zeros_to_one_length",)),
)  # fmt: skip
