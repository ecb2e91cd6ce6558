"""The rule that chooses a device, and what is moved there, with names in place of two devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim._core import placement
from dynsim._core.placement import PAIRS, SMALL, VARIABLE, chosen_device, moved, step_numbers


class Other:
    """A device by its name."""

    platform = "other"


@pytest.fixture
def two(monkeypatch):
    """Let a device of another name be the default beside the host."""
    other = Other()
    monkeypatch.setattr(placement, "default", lambda: other)
    monkeypatch.setattr(placement, "host", lambda: "host")
    monkeypatch.delenv(VARIABLE, raising=False)
    return other


def test_work_of_few_numbers_runs_on_the_host_and_other_work_on_the_default_device(two):
    assert chosen_device(SMALL - 1, ()) == chosen_device(lambda: SMALL - 1, np.zeros(3)) == ("host", "rule")
    assert chosen_device(SMALL, ()) == chosen_device(lambda: SMALL, jnp.zeros(3)) == (two, "rule")
    traced = []
    jax.make_jaxpr(lambda x: traced.append(chosen_device(SMALL, x)) or x)(np.zeros(2))
    assert traced == [(None, "")]


def test_arrays_that_are_bound_settings_and_the_variable_come_before_the_rule(two, monkeypatch):
    here = jax.devices("cpu")[0]
    bound = jax.device_put(jnp.zeros(2), here)
    assert chosen_device(0, (bound, jnp.zeros(2))) == (here, "told")
    assert chosen_device(0, bound, here) == (here, "told")
    with jax.default_device(here):
        assert chosen_device(0, ()) == (None, "")
    monkeypatch.setenv(VARIABLE, "cpu")
    assert chosen_device(SMALL, ()) == (here, "told")
    monkeypatch.setenv(VARIABLE, "auto")
    assert chosen_device(SMALL, ()) == (two, "rule")
    with placement._set("told", None):
        assert chosen_device(0, ()) == (None, "")
    monkeypatch.setattr(placement, "host", lambda: two)
    assert chosen_device(0, ()) == (None, "")


def test_what_is_moved_keeps_its_numbers_and_types(two):
    weak, key = jnp.asarray(2.5), jax.random.key(3)
    given = {"a": jnp.arange(3.0), "weak": weak, "whole": jnp.asarray(2), "key": key, "host": np.ones(2), "none": None}
    found = moved(given, two)
    assert found["a"] is not given["a"]
    np.testing.assert_array_equal(found["a"], [0.0, 1.0, 2.0])
    for name in ("weak", "whole"):
        assert (found[name].item(), found[name].dtype) == (given[name].item(), given[name].dtype)
        assert found[name].weak_type == given[name].weak_type
    assert [found[name] is given[name] for name in ("key", "host", "none")] == [True] * 3
    bound = jax.device_put(jnp.arange(2.0), jax.devices("cpu")[0])
    assert moved(bound, two) is bound
    assert moved(bound, two, True) is not bound
    assert moved(given["a"], jax.devices("cpu")[0]) is given["a"]


def test_numbers_of_a_step_are_those_of_the_largest_array_that_it_makes():
    n = PAIRS + 1
    pairs = lambda x: jnp.sum(x[:, None] * x[None, :], axis=1)
    assert step_numbers(pairs, np.zeros(n)) == n * n
    assert step_numbers(jax.jit(pairs), np.zeros(n)) == n * n
    assert step_numbers(pairs, np.zeros(PAIRS)) == PAIRS
    assert step_numbers(pairs, [np.zeros(SMALL), np.zeros(2)]) == SMALL + 2
    assert step_numbers(lambda x: np.linalg.norm(float(x[0])), np.zeros(n)) == n
    assert step_numbers(lambda x: x[:2], np.zeros(n)) == n
    assert step_numbers(lambda x: jax.lax.map(lambda y: y * jnp.ones(n), x), np.zeros(n)) == n * n
