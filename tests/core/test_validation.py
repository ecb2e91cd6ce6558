"""Arguments: what is taken and how it is returned, what is refused in which words, and the words of other messages."""

import math
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim._core import host, printing, validation
from dynsim._core.validation import real_or_exact
from dynsim.errors import (
    ArgumentError,
    IntegrationError,
    Outcome,
    advising,
    check_at_least,
    check_positive,
    counted,
    nearest,
    reason,
    shown,
)


@pytest.mark.parametrize(("check", "value", "options", "found"), [
    (validation.reals, True, {}, np.array(True)),
    (validation.reals, [1, 2], {}, np.array([1, 2])),
    (validation.reals, np.uint8([3]), {}, np.uint8([3])),
    (validation.reals, jnp.asarray([True]), {}, jnp.asarray([True])),
    (validation.reals, jnp.asarray([1, 2]), {}, jnp.asarray([1, 2])),
    (validation.real, -2, {}, -2.0),
    (validation.real, 1e-300, {"positive": True}, 1e-300),
    (validation.not_negative, 0, {}, 0.0),
    (validation.number, 3, {}, 3.0),
    (validation.number, np.float32(0.5), {}, 0.5),
    (validation.number, jnp.asarray(2), {}, 2.0),
    (validation.number, math.inf, {"infinite": True}, math.inf),
    (validation.integer, np.int8(4), {"least": 4}, 4),
    (validation.times, np.array([2.0, 1.0]), {}, (1.0, 2.0)),
    (validation.times, (k for k in (3, 1)), {}, (1.0, 3.0)),
    (validation.times, [], {}, ()),
    (validation.choice, "a", {"choices": ("a", "b")}, "a"),
    (validation.sizes, 3, {}, (3,)),
    (validation.sizes, np.array([0, 2]), {}, (0, 2)),
    (validation.sizes, [4, 2], {"dimension": 2}, (4, 2)),
    (validation.sizes, (), {"axes": 0}, ()),
    (validation.sizes, (0,), {"axes": 0}, (0,)),
    (validation.box_sides, [[0, 1], [-2, 3]], {}, np.array([[0.0, -2.0], [1.0, 3.0]])),
])  # fmt: skip
def test_what_is_taken_is_returned_as_numbers(check, value, options, found):
    given = check("x", value, **options)
    assert np.asarray(given).dtype == np.asarray(found).dtype
    np.testing.assert_array_equal(given, found)
    scalar = check in (validation.real, validation.not_negative)
    assert isinstance(given, jax.Array) == (scalar or (check is validation.reals and isinstance(value, jax.Array)))


@pytest.mark.parametrize(("check", "value", "options", "words"), [
    (validation.reals, [[1], [1, 2]], {}, "be an array of real numbers, but is not"),
    (validation.reals, ["a"], {}, "hold real numbers, but holds str"),
    (validation.reals, [1j], {}, "hold real numbers, but holds complex128"),
    (validation.reals, jnp.asarray(1j), {}, "hold real numbers, but holds complex128"),
    (validation.reals, jax.random.key(0), {}, "hold real numbers, but holds key"),
    (validation.real, "a", {}, "be a real number, but is 'a'"),
    (validation.real, "a", {"positive": True}, "be a positive number, but is 'a'"),
    (validation.real, [1.0], {}, r"be a real number, but has shape \(1,\)"),
    (validation.real, math.inf, {}, "be finite, but is inf"),
    (validation.real, 0, {"positive": True}, "be positive, but is 0"),
    (validation.not_negative, -1e-9, {}, "not be negative, but is -1e-09"),
    (validation.number, 0, {}, "be positive, but is 0"),
    (validation.number, math.nan, {}, "be positive, but is nan"),
    (validation.number, math.inf, {}, "be positive, but is inf"),
    (validation.number, -math.inf, {"infinite": True}, "be positive, but is -inf"),
    (validation.number, "3", {"must": "be a rate"}, "be a rate, but is '3'"),
    (validation.number, np.array([1.0]), {}, "be positive, but is array"),
    (validation.number, np.array("a"), {}, "be positive, but is array"),
    (validation.number, 10**400, {}, "be positive, but is 1000"),
    (validation.integer, True, {"least": 0}, "be an integer, but is True"),
    (validation.integer, 2.0, {"least": 0}, "be an integer, but is 2.0"),
    (validation.integer, 3, {"least": 4}, "be at least 4, but is 3"),
    (validation.times, 1.0, {}, "be a sequence of times, but is 1.0"),
    (validation.times, [0.0, math.inf], {}, "be a sequence of finite times, but is"),
    (validation.times, [[0.0]], {}, "be a sequence of finite times, but is"),
    (validation.choice, "c", {"choices": ("a", "b")}, "be one of a, b, but is 'c'"),
    (validation.choice, ["a"], {"choices": ("a", "b")}, "be one of a, b, but is"),
    (validation.instance, 3, {"kind": str, "what": "a word"}, "be a word, but is 3"),
    (validation.function, 3, {"of": "x"}, "be a function of x, but is 3"),
    (validation.function, dict, {"of": "x"}, "be a function of x, but is the class dict"),
    (validation.function, lambda: 0, {"of": "x"}, r"be a function of x, but the function <lambda> takes \(\)"),
    (validation.function, lambda x: x, {"of": "x, a", "named": ("a",)}, "be a function of x, a, but"),
    (validation.random_key, 0, {}, "be a random key such as .*, but is 0"),
    (validation.random_key, jax.random.split(jax.random.key(0)), {}, "be a random key such as"),
    (validation.sizes, -1, {}, r"be a shape such as \(3,\), but is -1"),
    (validation.sizes, (2, 1.5), {}, "be a shape such as"),
    (validation.sizes, np.zeros((1, 1), int), {}, "be a shape such as"),
    (validation.sizes, (), {}, "have a last axis of at least 1 entry"),
    (validation.sizes, (3, 0), {}, "have a last axis of at least 1 entry"),
    (validation.sizes, (3,), {"axes": 2}, "have a last axis of at least 1 entry"),
    (validation.sizes, (2, 3), {"dimension": 2}, "end in 2, the dimension of the space, but is"),
    (validation.box_sides, [0, 1], {}, r"have shape \(d, 2\), .*, but has shape \(2,\)"),
    (validation.box_sides, [[0, 1, 2]], {}, r"have shape \(d, 2\), .*, but has shape \(1, 3\)"),
    (validation.box_sides, [[0, 1], [1, 1]], {}, "hold finite .*, low before high, but is"),
    (validation.box_sides, [[0, math.inf]], {}, "hold finite .*, low before high, but is"),
])  # fmt: skip
def test_what_is_not_taken_is_refused_in_words(check, value, options, words):
    with pytest.raises(ArgumentError, match=f"^Argument `x` must {words}"):
        check("x", value, **options)


def test_traced_numbers_are_not_checked_and_what_a_function_returns_is_known_without_a_call():
    found = jax.jit(lambda x: validation.real("x", x, positive=True) + validation.not_negative("x", x))(-1.0)
    assert float(found) == -2.0
    returned = validation.returned("fn", lambda x: (x, 2.0), jnp.zeros((3, 2)))
    assert (returned[0].shape, returned[1]) == ((3, 2), jax.eval_shape(lambda: 2.0))
    with pytest.raises(ArgumentError, match="`fn` must return arrays of numbers, but returns 'a'"):
        validation.returned("fn", lambda x: "a", jnp.zeros(1))


def test_counts_values_and_reasons_in_words():
    assert [counted(n, "branch", "branches") for n in (0, 1, 2)] == ["0 branches", "1 branch", "2 branches"]
    assert counted(3, "state") == "3 states"
    assert [shown(value) for value in (math.sin, Decimal, [1,  2], "x" * 57)] == [
        "the function sin", "the class Decimal", "[1, 2]", repr("x" * 57)
    ]  # fmt: skip
    assert shown("y" * 58) == repr("y" * 58)
    assert shown("y" * 59) == repr("y" * 59)[:60] + "..."
    assert [reason(e) for e in (ValueError("one.\ntwo"), KeyError(), OSError(2, "No such file"))] == [
        "one", "KeyError", "No such file"
    ]  # fmt: skip
    assert nearest("Lorentz", ["Lorenz", "Rossler"]) == ", did you mean `Lorenz`?"
    assert nearest("sigam", ["sigma", "gamma"], prefix="--") == ", did you mean `--sigma`?"
    assert nearest("duration", ["rtol"]) == ""  # too far to be advised
    assert nearest("sigam", ["entirely", "different"]) == ""
    assert (
        str(ArgumentError(("a", "b", "c"), "differ", "are 1.")) == "Arguments `a`, `b` and `c` must differ, but are 1."
    )
    with pytest.raises(ArgumentError, match="Arguments `a` and `b` must be at least 2, but `b` is 1"):
        check_at_least(2, a=2, b=1)
    with pytest.raises(ArgumentError, match="Argument `a` must be at least 0.5, but is nan"):
        check_at_least(0.5, a=math.nan)
    check_at_least(1, a=1, b=2)
    check_positive(a=None, b=1e-300)
    for value in (0, -1.0, math.inf, math.nan):
        with pytest.raises(ArgumentError, match="Argument `b` must be a positive number, but is"):
            check_positive(a=1, b=value)
    with advising({Outcome.MAX_STEPS: "wait"}):
        assert Outcome.MAX_STEPS.advice == "wait"
        assert "check for a zero token" in Outcome.NON_FINITE.advice
    assert Outcome.MAX_STEPS.advice.startswith("increase `max_steps`")
    assert IntegrationError("late", outcome=Outcome.NON_FINITE).outcome is Outcome.NON_FINITE


def test_numbers_are_printed_as_zero_within_their_rounding_error():
    assert [printing.printed(value) for value in (1e-12, 1.1e-12, -2.5, 1 / 3)] == ["0", "1.1e-12", "-2.5", "0.333333"]
    assert [printing.printed(value, 1e3) for value in (1e-9, 1.1e-9)] == ["0", "1.1e-09"]
    assert printing.printed(1e-20, math.inf) == "1e-20"
    assert printing.printed_place((3e-10, -3e-9, 3e-10), (1.0, 1.0, 1e-9)) == "0, -3e-09, 3e-10"
    assert [printing.printed(value, digits=3) for value in (1 + 2j, 1 - 2j, 1e-13 + 2j, -2j, 3 + 1e-13j, 0j)] == [
        "1+2j", "1-2j", "2j", "-2j", "3", "0"
    ]  # fmt: skip
    assert [printing.size_of(values) for values in ([1.0, -3.0], [1e-12, 0.0], [1.1e-12], [])] == [3, 1, 1.1e-12, 1]


def test_rows_are_repeated_up_to_powers_of_two():
    assert [host.room_for(n) for n in (0, 1, 2, 3, 4, 5, 1024, 1025)] == [1, 1, 2, 4, 4, 8, 1024, 2048]
    assert [host.room_for(n, least=16) for n in (3, 16, 17)] == [16, 16, 32]
    assert host.filled(np.array([[1, 2], [3, 4]]), 4).tolist() == [[1, 2], [3, 4], [3, 4], [3, 4]]
    assert host.filled(np.array([5]), 1).tolist() == [5]
    assert host.has_values({"a": np.zeros(1), "b": jnp.zeros(1)}, jnp.ones(()))
    assert not host.has_values(jnp.zeros(1), jax.ShapeDtypeStruct((), float))
    assert not host.has_values(np.zeros(1), 2.0)


@pytest.mark.parametrize(("check", "value", "must"), [
    (validation.integer, 10**30, "at most 9223372036854775807, but is larger"),
    (validation.size, 2**29 + 1, "at most 536870912, but is 536870913"),
    (validation.size, 0, "at least 1"),
    (validation.float_dtype, int, "a type of floating-point numbers"),
    (validation.float_dtype, True, "a type of floating-point numbers"),
    (validation.float_dtype, None, "a type of floating-point numbers"),
])  # fmt: skip
def test_sizes_and_types_beyond_those_of_arrays_are_refused(check, value, must):
    with pytest.raises(ArgumentError, match=f"^Argument `x` must be {must}"):
        check("x", value)
    assert validation.size("x", 2**29) == 2**29
    assert validation.float_dtype("x", "float32") == np.float32


def test_exact_numbers_are_kept_unless_one_entry_is_no_real_number():
    exact = np.array([[Fraction(1, 3), 2], [0.5, Fraction(2)]], dtype=object)
    assert real_or_exact("x", exact) is exact
    assert real_or_exact("x", [1, 2.5]).dtype == np.float64
    for other in (1j, "1", None):
        with pytest.raises(ValueError, match="Argument `x` must hold real numbers, but holds"):
            real_or_exact("x", np.array([Fraction(1, 3), other], dtype=object))
