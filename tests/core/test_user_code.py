"""What JAX cannot trace in a user's function is told with the line and with what to write in its place."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim._core.user_code import untraceable
from dynsim.errors import ArgumentError
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.base import FunctionFlow, FunctionMap


def branching(t, x):
    if x[0] > 0:
        return -x
    return x


def by_math(t, x):
    return x * math.exp(x[0])


def by_norm(t, x):
    return x / np.linalg.norm(x)


def as_a_number(t, x):
    return x * float(x[0])


d = np.zeros(2)


def by_entries(t, x):
    d[0] = -x[0]
    return d


def as_an_index(t, x):
    return x * [1.0, 2.0][x.astype(int)[0]]


def in_numpy(t, x):
    return np.asarray(x)


CASES = [
    (branching, "`if x[0] > 0:`, branches on its state: write `jnp.where(condition, a, b)` in place of `if`"),
    (by_math, "`return x * math.exp(x[0])`, calls NumPy or `math` on its state: write `jnp.exp`"),
    (by_norm, "`return x / np.linalg.norm(x)`, calls NumPy or `math` on its state: write `jnp.linalg.norm`"),
    (by_entries, "`d[0] = -x[0]`, sets an entry of an array of NumPy: write `d = jnp.stack([...])` of all entries"),
    (as_a_number, "`return x * float(x[0])`, makes a number of its state: write the array itself, without `float`"),
    (as_an_index, "uses its state as an index: write `jnp.take` of a JAX array"),
    (in_numpy, "`return np.asarray(x)`, calls NumPy or `math` on its state: write `jnp.asarray`"),
]


@pytest.mark.parametrize(("field", "told"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_the_advice_fits_the_line(field, told):
    with pytest.raises(jax.errors.JAXTypeError) as error:
        jax.eval_shape(FunctionFlow(field).vector_field, 0.0, jnp.ones(2))
    assert untraceable(error.value).endswith(told)
    assert f"{field.__code__.co_firstlineno + 1} of `" in untraceable(error.value)
    assert told in error.value.__notes__[0]  # for those who meet the error of JAX itself


def test_simulations_and_maps_quote_the_line_of_the_user():
    with pytest.raises(ArgumentError, match=r"`flow` must use jax.numpy .*`if x\[0\] > 0:`.*`jnp.where"):
        simulate(FunctionFlow(branching), [1.0, 2.0], [0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"`map` must use jax.numpy in its step, .*write `jnp.exp`"):
        iterate(FunctionMap(by_math), [1.0, 2.0], 2)
