"""Functions that share a program: equal code and equal values, and nothing that may change."""

import math
import types
from collections import OrderedDict

import jax.numpy as jnp
import numpy as np

from dynsim._core import shared_functions
from dynsim._core.shared_functions import shared

level = 1.0


def crossing(k, unit=1.0):
    return lambda x: x[k] - level * unit


def test_equal_functions_are_one():
    assert shared(crossing(0)) is shared(crossing(0))
    assert shared((crossing(0), 3))[0] is shared(crossing(0))
    assert shared(crossing(0)) is not shared(crossing(1))
    assert shared(crossing(1)) is not shared(crossing(True))
    assert shared(crossing(0, 2.0)) is not shared(crossing(0))
    assert shared(crossing(0, np.ones(2))) is shared(crossing(0, np.ones(2)))


def test_all_values_around_a_function_tell_it_apart():
    """Defaults, also of arguments given by name, values in tuples and arrays, and the values around its functions."""
    makers = (
        lambda a: lambda x, b=a: x - b,
        lambda a: lambda x, *, b=a: x - b,
        lambda a: (lambda pair: lambda x: x - pair[1])((0.0, a)),
        lambda a: (lambda array: lambda x: x - array)(jnp.full(2, a)),
        lambda a: (lambda inner: lambda x: 2 * inner(x))(lambda x: x - a),
    )
    for make in makers:
        assert shared(make(1.0)) is shared(make(1.0))
        assert shared(make(1.0)) is not shared(make(2.0))
        assert [np.max(shared(make(a))(5.0)) for a in (1.0, 2.0)] == [np.max(make(a)(5.0)) for a in (1.0, 2.0)]


def test_a_shared_function_keeps_its_values(monkeypatch):
    first, units = shared(crossing(0)), np.array([2.0])
    with_array = shared(crossing(0, units))
    monkeypatch.setitem(globals(), "level", 5.0)
    units[0] = 7.0
    later = shared(crossing(0))
    assert [fn([9.0]) for fn in (first, later)] == [8.0, 4.0]
    assert (with_array([9.0])[0], shared(crossing(0, units))([9.0])[0]) == (7.0, -26.0)


def test_the_oldest_function_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(shared_functions, "_known", OrderedDict())
    monkeypatch.setattr(shared_functions, "ROOM", 2)
    first, second, third = (shared(crossing(k)) for k in (10, 11, 12))
    assert [shared(crossing(k)) is known for k, known in ((12, third), (11, second), (10, first))] == [
        True,
        True,
        False,
    ]


def test_what_may_change_is_not_shared():
    kept = [1.0]
    listed, counting = lambda x: x - kept[0], []

    def counted(x):
        nonlocal counting
        counting = [*counting, x]
        return x

    settings = types.ModuleType("settings")

    class Rates:
        fast = 1.0

    def of_module(x):
        return x - settings.level

    def of_class(x):
        return x - Rates.fast

    def of_method(x, get={"level": 1.0}.get, draw=np.random.default_rng(0).normal):
        return x - get("level") + draw()

    def of_itself(x):
        global level
        level = x

    def unbound():
        return (lambda x: x - later) if level else (later := level)

    deep = lambda x: x
    for _ in range(shared_functions.DEPTH):
        deep = (lambda inner: lambda x: inner(x))(deep)
    assert all(shared(fn) is fn for fn in (of_module, of_class, of_method, of_itself, unbound(), deep))
    trusted = lambda: lambda x: math.sin(x) + np.sin(x) + float(jnp.sin(x)) + len([x])
    assert shared(trusted()) is shared(trusted())
    assert shared(listed) is listed
    assert shared(counted) is counted
