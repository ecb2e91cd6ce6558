"""Public functions answer bad input with one sentence that names the argument, by their annotations."""

import dataclasses
import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import NewType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Array, Float, Int

from analysis.chains import attention_entropy, dissipation, entropy_rate, mixing_bounds, total_variation
from analysis.hardmax import polytope, support_gap
from analysis.tokens import diameter, merge_times
from dynsim._core import checked as checked_arguments
from dynsim._core.checked import check_fields, checked
from dynsim._core.types import ArrayLike
from dynsim.errors import ArgumentError
from dynsim.keys import random_key
from tests.core.faces import FACES
from tests.core.test_examples import promised

EYE = np.eye(2)


OTHERS = ("analysis", "analysis.dynamics", "analysis.ledger", "dynsim")


@pytest.mark.parametrize(
    "face",
    [pytest.param(face, marks=[pytest.mark.slow] if face in OTHERS else []) for face in FACES if face != "figures"],
)
def test_every_promised_function_refuses_what_is_no_argument(face):
    for name, one in promised(face).items():
        needed = [p for p in inspect.signature(one).parameters.values() if p.default is p.empty]
        plain = [p for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
        if inspect.isfunction(one) and plain:
            others = {p.name: object() for p in needed if p.kind is p.KEYWORD_ONLY}
            try:
                one(*[object() for _ in plain], **others)
            except (ArgumentError, BeartypeCallHintViolation):  # tests check all other annotations, too
                continue
            pytest.fail(f"{name} takes any object")


@checked
def _example(
    x: Float[Array | np.ndarray, "n d"],
    y: Float[Array, " d"] | None = None,
    *rest: int,
    several: Float[np.ndarray, "*batch n"] | None = None,
    count: Int[Array, ""] | int = 1,
    share: float = 0.5,
    like: ArrayLike = 0.0,
    key: object = None,
    word: str = "",
    energy: Callable[[float], float] = abs,
) -> tuple:
    return x, y, several, count, share, like


@pytest.mark.parametrize(("arguments", "said"), [
    ({"x": [1.0]}, r"`x` must have shape \(n, d\), but has shape \(1,\)"),
    ({"x": np.zeros((0, 2))}, "`x` must not be empty"),
    ({"x": "word"}, "`x` must hold real numbers"),
    ({"x": [[1.0], [1.0, 2.0]]}, "`x` must be an array of real numbers"),
    ({"x": EYE, "y": [1.0]}, r"`y` must have shape \(d,\) with d = 2, as in `x`, but has shape \(1,\)"),
    ({"x": EYE, "several": np.ones((4, 3))}, r"`several` must have shape \(\*batch, n\) with n = 2, as in `x`"),
    ({"x": EYE, "several": 1.0}, r"`several` must have shape \(\*batch, n\), but has shape \(\)"),
    ({"x": EYE, "count": [1, 2]}, "`count` must be one number"),
    ({"x": EYE, "share": "a"}, "`share` must hold real numbers"),
    ({"x": EYE, "share": [1.0]}, "`share` must be a real number"),
    ({"x": EYE, "like": ["a"]}, "`like` must hold real numbers"),
    ({"x": EYE, "word": 1}, "`word` must be a word"),
    ({"x": EYE, "energy": 1}, "`energy` must be a function"),
])  # fmt: skip
def test_arguments_fit_their_annotations(arguments, said):
    with pytest.raises(ArgumentError, match=said):
        _example(**arguments)


def test_lists_become_arrays_and_other_arguments_stay():
    exact = [Fraction(1, 2)]
    x, y, several, count, share, like = _example([[1, 2]], [3, 4], several=np.ones((5, 1)), share=1, like=exact)
    assert isinstance(x, np.ndarray)
    assert x.dtype == float
    assert isinstance(y, Array)
    assert several.shape == (5, 1)
    assert (count, share) == (1, 1)
    assert like is exact
    assert jax.jit(lambda x: _example(x)[0].sum())(jnp.eye(2)) == 2


def test_measures_say_which_shapes_fit():
    chain = np.array([[-1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ArgumentError, match=r"`q` must have shape .* with k = 2, as in `p`"):
        total_variation(np.ones(2) / 2, np.ones(3) / 3)
    assert total_variation(EYE, np.array([0.5, 0.5])).tolist() == [0.5, 0.5]
    with pytest.raises(ArgumentError, match=r"`x` must have shape \(1,\)"):
        support_gap(polytope([[1], [3]]), [1, 2])
    with pytest.raises(ArgumentError, match="`stationary` must have shape"):
        dissipation(np.kron(EYE, chain), [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ArgumentError, match="`stationary`"):
        entropy_rate(EYE, [1.0])
    with pytest.raises(ArgumentError, match="`distance` must lie in"):
        mixing_bounds(chain, distance=0)
    with pytest.raises(ArgumentError, match="`ts` and `counts` must have one shape"):
        merge_times([0.0, 1.0], [2])
    with pytest.raises(ArgumentError, match="`x` must not be empty"):
        diameter(np.zeros((0, 3)))


def test_the_entropy_of_certain_rows_is_zero_without_a_sign():
    assert not np.any(np.signbit(attention_entropy(EYE)))
    assert not np.signbit(attention_entropy([[1.0]])[0])


def test_keys_are_checked():
    from dynsim.tokens import published_ensemble_flow

    with pytest.raises(ArgumentError, match="`key` must be a random key"):
        published_ensemble_flow(0)
    assert published_ensemble_flow(random_key(0, "tokens"), d=2).query_key is not None


@pytest.mark.parametrize("named", [False, True])
def test_only_arguments_like_arrays_must_hold_numbers(monkeypatch, named):
    """Whether or not NumPy gives the union of what is like an array a name of its own."""
    like = NewType("ArrayLike", object) if named else ArrayLike
    monkeypatch.setattr(checked_arguments, "LIKE", checked_arguments._members(like))

    def taken(values, other, maybe=None):
        return values, other, maybe

    taken.__annotations__ = {"values": like, "other": Fraction | str, "maybe": like | None}
    run = checked(taken)
    assert run([1.0], Fraction(1, 2)) == ([1.0], Fraction(1, 2), None)
    assert run([1.0], "word", 2.0) == ([1.0], "word", 2.0)
    for given in (("word", "word"), ([1.0], "word", "word")):
        with pytest.raises(ArgumentError, match="must hold real numbers"):
            run(*given)
    with pytest.raises(ArgumentError, match="^Argument `other` must be a `Fraction` or a word, "):
        run([1.0], object())


@checked
def _flagged(share: float, like: ArrayLike, *, on: bool = False):
    return share, like, on


def test_flags_are_true_or_false_and_exact_numbers_lie_in_the_range_of_floats():
    assert _flagged(Fraction(1, 4), 1, on=np.True_)[0] == 0.25
    for on in (1, "no", np.array([True])):
        with pytest.raises(ArgumentError, match="`on` must be True or False"):
            _flagged(1.0, 1, on=on)
    for name, given in (("share", (10**400, 1)), ("like", (1.0, 10**400))):
        with pytest.raises(ArgumentError, match=f"`{name}` must lie in the range of floats"):
            _flagged(*given)


@dataclasses.dataclass
class _Layer:
    gain: Float[Array, " d"]
    bias: Float[Array, " d"]


def test_fields_are_arrays_that_fit_together():
    check_fields(_Layer(jnp.ones(2), jnp.zeros(2)))
    with pytest.raises(ArgumentError, match="`bias` must have shape"):
        check_fields(_Layer(jnp.ones(2), jnp.ones(3)))
    with pytest.raises(ArgumentError, match="`gain` must hold real numbers"):
        check_fields(_Layer("x", jnp.ones(3)))
