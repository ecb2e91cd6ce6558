"""Programs as JavaScript: each operation beside NumPy, exact bits, integers, single precision, refusals."""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from dynsim.programs import ProgramError, evaluate, scalar_program
from dynsim.programs.arrays import NUMPY
from dynsim.programs.braces import INFIX, SHARED
from dynsim.programs.javascript import SAME, SPECIAL, functions, literal, statements
from tests.core.test_c_text import FUNCTIONS, X, Y
from tests.support.node import NODE, WHY_NOT, in_node

in_javascript = pytest.mark.skipif(NODE is None, reason=WHY_NOT)
POSITIVE = {"igamma": lambda x: lax.igamma(x[0], x[1]), "igammac": lambda x: lax.igammac(x[0], x[1])}


def source(program, count):
    """A function `f(x)` of a list that returns the list of all results."""
    size = sum(o.size for o in program.outputs)
    block = statements(program, [f"x[{k}]" for k in range(count)], [f"y[{k}]" for k in range(size)])
    return f"{functions()}\nfunction f(x) {{\nconst y = [];\n{block}\nreturn y;\n}}"


def values(program, points):
    """Results at points, (points, results)."""
    given = [[f"{v}" for v in point] for point in np.asarray(points, float).tolist()]
    ready = "given.map(p => f(p.map(v => v === 'nan' ? NaN : v === 'inf' ? Infinity : v === '-inf' ? -Infinity : +v)))"
    return np.array(in_node(source(program, np.shape(points)[1]), ready, given), float)


def exact(program, points):
    found = jax.tree.leaves(evaluate(program, np.asarray(points)))
    return np.stack([np.asarray(one, float).reshape(len(points), -1) for one in found], 1)[..., 0]


def test_every_operation_is_written():
    assert {*SAME, *SPECIAL, *SHARED, *INFIX} == set(NUMPY)


@in_javascript
def test_operations_agree_with_numpy():
    names = sorted(FUNCTIONS)
    program = scalar_program(lambda x: tuple(FUNCTIONS[name](x) for name in names), (2,))
    points = np.stack([X, Y], 1)
    for name, mine, theirs in zip(names, values(program, points).T, exact(program, points).T, strict=True):
        where = np.isfinite(X) if name == "convert_element_type" else slice(None)  # 64 bits have no largest number
        assert np.allclose(mine[where], theirs[where], rtol=1e-11, atol=1e-11, equal_nan=True), name
    many = np.stack(np.meshgrid([0.25, 1.0, 7.0, 80.0], [0.1, 0.9, 5.0, 40.0, 90.0]), -1).reshape(-1, 2)
    program = scalar_program(lambda x: tuple(fn(x) for fn in POSITIVE.values()), (2,))
    assert np.allclose(values(program, many), exact(program, many), rtol=1e-11, atol=1e-14)


@in_javascript
def test_special_functions_are_exact_to_rounding():
    x = np.concatenate([np.linspace(-6.3, 6.3, 64), [1e-8, 12.5, 29.9, 30.1, 26.0]])
    chosen = ("erf", "erfc", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")
    program = scalar_program(lambda x: tuple(FUNCTIONS[name](x) for name in chosen), (2,))
    points = np.stack([x, x], 1)
    mine, theirs = values(program, points), exact(program, points)
    assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-15 * np.maximum(1, np.abs(x))[:, None])
    program = scalar_program(lambda x: lax.erf_inv(x[0]), (1,))
    points = np.array([-0.999999, -0.3, 1e-9, 0.5, 0.99, 1 - 1e-12])[:, None]
    assert np.allclose(values(program, points), exact(program, points), rtol=1e-11)


def field(x):
    return jnp.stack([x[0] * x[1] - x[1] ** 3 / 3.7, jnp.sqrt(jnp.abs(x[0])) + x[1] ** 7, jnp.where(x[0] > 0, x[1], 2)])


@in_javascript
def test_arithmetic_is_that_of_numpy_to_the_last_bit():
    points = np.random.default_rng(0).normal(size=(100, 2))
    program = scalar_program(field, (2,))
    assert np.array_equal(values(program, points), evaluate(program, points))
    single = scalar_program(lambda x: x[0] / 3 + x[1] * x[0] - 1 / x[1], jnp.ones(2, np.float32))
    points = points.astype(np.float32)
    assert np.array_equal(values(single, points)[:, 0], evaluate(single, points).astype(float))


@in_javascript
def test_integers_wrap_as_in_jax_or_are_not_defined():
    def mixed(x):
        k = x[0].astype(jnp.int32)
        j = x[1].astype(jnp.int8)
        return (k * k * k, k // 7, lax.rem(k, jnp.int32(5)), j * j, ~j, k & 12, x[0].astype(jnp.uint8) - jnp.uint8(7),
            lax.div(k, k * 0), lax.convert_element_type(x[1] - 1, bool).astype(float))  # fmt: skip

    points = np.array([[2000.7, 100.2], [-2000.7, -77.0], [5.0, 1.0]])
    program = scalar_program(mixed, (2,))
    assert np.array_equal(values(program, points), exact(program, points))
    long = scalar_program(lambda x: x[0].astype(int) * x[0].astype(int), (1,))
    assert np.array_equal(values(long, [[3e7], [3e8]])[:, 0], [9e14, np.nan], equal_nan=True)


def test_text_of_arithmetic_is_that_of_its_operations():
    program = scalar_program(lambda x: (x[0] * x[1] - x[1] ** 3 / 3.7) + jnp.exp(-x[0]), (2,))
    text = statements(program, ["x", "y"], ["z"])
    python = "\n".join(line.removeprefix("const ").rstrip(";") for line in text.splitlines()[1:-1])
    names = {"x": 0.3, "y": -1.7, "exp": math.exp}
    exec(python, names)
    assert names["z"] == pytest.approx(float(evaluate(program, [0.3, -1.7])), rel=1e-15)


def test_assignments_come_last_and_numbers_are_exact():
    program = scalar_program(lambda x: x[::-1], (2,))
    assert re.search(r"(v\d) = a;.*(v\d) = b;.*a = v\d;.*b = v\d;", statements(program, ["a", "b"], ["a", "b"]), re.S)
    written = {0.1: "0.1", -2.0: "(-2.0)", -0.0: "(-0.0)", math.inf: "Infinity", -math.inf: "(-Infinity)"}
    assert {value: literal(np.float64(value)) for value in written} == written
    assert [literal(np.bool_(True)), literal(np.int64(-3)), literal(np.float64(math.nan))] == ["true", "(-3)", "NaN"]


@pytest.mark.parametrize(("function", "why"), [
    (lambda x: x[0].astype(jnp.float16) * 2, "numbers of type float16"),
    (lambda x: x[0].astype(int) & 3, "`and` of numbers of type int64"),
    (lambda x: lax.integer_pow(x[0].astype(int), 3), "`integer_pow` of numbers of type int64"),
    (lambda x: x[0].astype(int) + 2**60, "the integer 1152921504606846976"),
])  # fmt: skip
def test_what_javascript_does_not_have_is_named(function, why):
    with pytest.raises(ProgramError, match=why):
        statements(scalar_program(function, (1,)), ["x"], ["y"])
