"""Errors in texts as bytes and words, and in exact numbers, that their tests notice."""

from tests.mutants import Mutant

BYTES = "dynsim.networks.multirate.byte_text"
EXACT = "dynsim.exact"
WORDS = "dynsim.networks.sentiment.words"

PLACES = ("tests/test_byte_text.py::test_every_place_of_a_text_is_drawn_equally_often_and_each_step_draws_its_own",)
SPACED = ("tests/test_byte_text.py::test_windows_are_evenly_spaced_and_none_reaches_beyond_the_text",)
LAW = ("tests/test_byte_text.py::test_symbols_are_drawn_from_the_softmax_of_the_logits_over_the_temperature",)
INDEPENDENT = ("tests/test_byte_text.py::test_symbols_at_different_places_are_drawn_independently",)
PIVOTS = ("tests/test_exact.py::test_definiteness_is_decided_by_the_pivots",)
DIGITS = ("tests/test_exact.py::test_long_integers_have_their_digits",)
SCALE = ("tests/test_exact.py::test_floats_and_their_scale_stay_in_range_at_any_size",)
COMMON = ("tests/test_exact.py::test_the_common_denominator_is_the_least_one",)
TYPES = ("tests/test_exact.py::test_numbers_of_every_type_are_converted_without_rounding",)
READING = ("tests/test_exact.py::test_other_text_is_no_fraction",)
REFUSED = ("tests/test_exact.py::test_what_is_no_number_is_refused",)
CLEANED = ("tests/test_reviews.py",)

MUTANTS = (
    Mutant(
        "byte text: the last place is never drawn",
        BYTES,
        "(self.batch,), 0, self.text.shape[0] - self.length)",
        "(self.batch,), 0, self.text.shape[0] - self.length - 1)",
        tests=PLACES,
    ),
    Mutant(
        "byte text: the first place is never drawn",
        BYTES,
        "(self.batch,), 0, self.text.shape[0] - self.length)",
        "(self.batch,), 1, self.text.shape[0] - self.length)",
        tests=PLACES,
    ),
    Mutant(
        "byte text: places beyond the end",
        BYTES,
        "(self.batch,), 0, self.text.shape[0] - self.length)",
        "(self.batch,), 0, self.text.shape[0] - self.length + 1)",
        tests=PLACES,
    ),
    Mutant(
        "byte text: a window at a time overlaps by half",
        BYTES,
        "text[chosen[:, None] * length + np.arange(length + 1)]",
        "text[chosen[:, None] * (length // 2) + np.arange(length + 1)]",
        tests=SPACED,
    ),
    Mutant(
        "byte text: a window without the byte after it",
        BYTES,
        "most = (len(text) - 1) // length",
        "most = len(text) // length",
        tests=SPACED,
    ),
    Mutant(
        "byte text: the last window is left out",
        BYTES,
        "most = (len(text) - 1) // length",
        "most = (len(text) - 2) // length",
        tests=SPACED,
    ),
    Mutant(
        "byte text: the first windows and not evenly spaced ones",
        BYTES,
        "np.arange(count) * most // count",
        "np.arange(count)",
        tests=SPACED,
    ),
    Mutant(
        "byte text: the root of the temperature",
        BYTES,
        "temperature.astype(scores.dtype) * noise",
        "jnp.sqrt(temperature).astype(scores.dtype) * noise",
        tests=LAW,
    ),
    Mutant(
        "byte text: normal noise",
        BYTES,
        "noise = jax.random.gumbel(",
        "noise = jax.random.normal(",
        tests=LAW,
    ),
    Mutant(
        "byte text: noise of the least value and not of the largest",
        BYTES,
        "temperature.astype(scores.dtype) * noise",
        "temperature.astype(scores.dtype) * -noise",
        tests=LAW,
    ),
    Mutant(
        "byte text: one noise for all symbols",
        BYTES,
        "jax.random.fold_in(key, i), scores.shape",
        "key, scores.shape",
        tests=INDEPENDENT,
    ),
    Mutant(
        "exact: a pivot may be zero",
        EXACT,
        "if rest[k, k] <= 0:",
        "if rest[k, k] < 0:",
        tests=PIVOTS,
    ),
    Mutant(
        "exact: elimination of the next row alone",
        EXACT,
        "for i in range(k + 1, len(rest)):",
        "for i in range(k + 1, min(k + 2, len(rest))):",
        tests=PIVOTS,
    ),
    Mutant(
        "exact: elimination changes the matrix given",
        EXACT,
        "rest = matrix.copy()",
        "rest = matrix",
        tests=PIVOTS,
    ),
    Mutant(
        "exact: no zeros between the halves of a long integer",
        EXACT,
        "{_digits(low).zfill(half)}",
        "{_digits(low)}",
        tests=DIGITS,
    ),
    Mutant(
        "exact: halves of a long integer are put together a digit off",
        EXACT,
        "return _integer(text[:-half]) * 10**half + _integer(text[-half:])",
        "return _integer(text[:-half]) * 10 ** (half - 1) + _integer(text[-half:])",
        tests=DIGITS,
    ),
    Mutant(
        "exact: the sign of a long integer is lost",
        EXACT,
        "        return -_integer(text[1:])",
        "        return _integer(text[1:])",
        tests=("tests/test_exact.py::test_a_fraction_is_read_as_it_was_written",),
    ),
    Mutant(
        "exact: the scale is the largest entry with its sign",
        EXACT,
        "max((abs(entry) for entry in values.flat)",
        "max((entry for entry in values.flat)",
        tests=SCALE,
    ),
    Mutant(
        "exact: floats before they are scaled",
        EXACT,
        "np.array([float(entry / scale) for entry in values.flat], dtype=float)",
        "np.array([float(entry) / float(scale) for entry in values.flat], dtype=float)",
        tests=SCALE,
    ),
    Mutant(
        "exact: the product of the denominators",
        EXACT,
        "denominator = math.lcm(",
        "denominator = math.prod(",
        tests=COMMON,
    ),
    Mutant(
        "exact: floats are rounded to decimals",
        EXACT,
        "return Fraction(value.item() if isinstance(value, np.generic) else value)",
        "return Fraction(str(value))",
        tests=TYPES,
    ),
    Mutant(
        "exact: truth values are numbers",
        EXACT,
        "if isinstance(value, bool | np.bool_) or not isinstance(value, real):",
        "if not isinstance(value, real):",
        tests=REFUSED,
    ),
    Mutant(
        "exact: a denominator may be zero",
        EXACT,
        "(/0*[1-9][0-9]*)?",
        "(/[0-9]+)?",
        tests=READING,
    ),
    Mutant(
        "words: markup joins its neighbours",
        WORDS,
        'MARKUP.sub(" ", text',
        'MARKUP.sub("", text',
        tests=CLEANED,
    ),
    Mutant(
        "words: the shortest words are left out",
        WORDS,
        "len(word) >= self.shortest",
        "len(word) > self.shortest",
        tests=CLEANED,
    ),
    Mutant(
        "words: lower case where case is kept",
        WORDS,
        "text if self.keep_case else text.lower()",
        "text.lower() if self.keep_case else text",
        tests=CLEANED,
    ),
    Mutant(
        "words: the last words of a text",
        WORDS,
        "if word in self.numbers][:length]",
        "if word in self.numbers][-length:]",
        tests=CLEANED,
    ),
    Mutant(
        "words: stop words in any case",
        WORDS,
        "word not in self._removed",
        "word.lower() not in self._removed",
        tests=CLEANED,
    ),
    Mutant(
        "words: padding at the start",
        WORDS,
        "found + [0] * (length - len(found))",
        "[0] * (length - len(found)) + found",
        tests=CLEANED,
    ),
    Mutant(
        "words: the padding has a number",
        WORDS,
        "for number, word in enumerate(self.words) if number and word}",
        "for number, word in enumerate(self.words) if word}",
        tests=CLEANED,
    ),
    Mutant(
        "words: by the alphabet and not by frequency",
        WORDS,
        "(word for word, _ in counts.most_common())",
        "sorted(counts)",
        tests=CLEANED,
    ),
)
