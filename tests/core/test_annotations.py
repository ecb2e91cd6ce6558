"""The runtime checks of annotations: types, shapes that agree within a call, results, dataclasses, unknown names."""

import dataclasses
import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float

import analysis.dynamics
import dynsim
from dynsim import Sphere
from dynsim._core.types import ArrayLike
from tests.support.annotations import check_anew, checked, unchecked

Matrix, Vector = Float[np.ndarray, "a b"], Float[np.ndarray, " b"]


@pytest.fixture(autouse=True)
def first_calls():
    check_anew()


@checked(typechecker=None)
def product(x: Matrix, y: "Vector", scale: float = 1, unknown: "Nowhere" = None) -> "tuple[Vector, Nowhere]":
    return x @ y * scale


@checked
def of_length_three(y: Vector) -> Vector:
    return np.ones(3)


@checked
@dataclasses.dataclass
class Pair:
    first: int
    second: Vector

    @property
    @checked
    def double(self) -> int:
        return 2.5 * self.first


class Counter:
    made = checked(classmethod(lambda cls, count: count))
    twice = checked(property(lambda self: 2))

    @checked
    @staticmethod
    def next(count: int) -> int:
        return count + 1


def test_what_agrees_is_taken():
    assert product(np.ones((2, 3)), np.ones(3), 2, "anything").tolist() == [6, 6]  # an int for a float
    assert of_length_three(np.ones(3)).size == 3
    assert (Counter.made(3), Counter().twice, Counter.next(1)) == (3, 2, 2)
    assert Pair(1, np.ones(2)).first == 1


@pytest.mark.parametrize("call", [
    lambda: product(np.ones((2, 3)), np.ones(2)),
    lambda: product(np.ones(3), np.ones(3)),
    lambda: product(np.ones((2, 3)), np.ones(3), "a"),
    lambda: of_length_three(np.ones(2)),
    lambda: Pair("a", np.ones(2)),
    lambda: Pair(1, np.ones((2, 2))),
    lambda: Pair(1, np.ones(2)).double,
    lambda: Counter.next("a"),
    lambda: Sphere().project("a"),
])  # fmt: skip
def test_what_does_not_agree_is_refused(call):
    with pytest.raises(BeartypeCallHintViolation):
        call()


def test_a_size_holds_for_one_call_only():
    for n in (2, 3):
        check_anew()
        assert product(np.ones((1, n)), np.ones(n)).size == 1


def test_checks_can_be_left_out():
    with unchecked():
        assert of_length_three(np.ones(2)).size == 3
        assert product([[1.0]], np.ones(1)).tolist() == [1]


def test_only_the_first_call_is_checked_until_all_are_checked_anew():
    of_length_three(np.ones(3))
    assert of_length_three(np.ones(2)).size == 3
    check_anew()
    with pytest.raises(BeartypeCallHintViolation):
        of_length_three(np.ones(2))


def test_help_shows_no_private_types_of_numpy():
    """The alias of NumPy for what it converts to an array is a union of its private types, a line and a half long."""
    for function in (dynsim.simulate, dynsim.simulate_until, dynsim.ensemble, analysis.dynamics.decay_rate):
        shown = str(inspect.signature(function))
        assert "_Buffer" not in shown
        assert "\n" not in shown
    assert "ts: numpy.typing.ArrayLike" in str(inspect.signature(analysis.dynamics.decay_rate))
    for value in (1.0, [0.0, 1.0], np.ones(2), jnp.ones(2), range(3)):
        assert isinstance(value, ArrayLike)
    assert not isinstance({1.0}, ArrayLike)
