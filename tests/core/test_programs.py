"""Scalar programs: each operation and its values beside JAX's, listings, batches, refusals by name, and limits."""

import contextlib
import itertools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from dynsim.programs import NumpyEvaluator, ProgramError, Tabulated, evaluate, jacobian_program, scalar_program
from dynsim.programs.arrays import NUMPY
from dynsim.programs.python_function import FORMS, LOGIC, python_function
from dynsim.programs.reductions import REDUCED, _neutral

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -4.2, 1e-3, 60.0, np.inf, -np.inf, np.nan])
TINY = 1e-12  # relative

UNARY = {
    "neg": lax.neg, "abs": lax.abs, "sign": lax.sign, "square": lax.square, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt,
    "cbrt": lax.cbrt, "exp": lax.exp, "exp2": lax.exp2, "expm1": lax.expm1, "log": lax.log, "log1p": lax.log1p,
    "logistic": lax.logistic, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan, "asin": lax.asin, "acos": lax.acos,
    "atan": lax.atan, "sinh": lax.sinh, "cosh": lax.cosh, "tanh": lax.tanh, "asinh": lax.asinh, "acosh": lax.acosh,
    "atanh": lax.atanh, "erf": lax.erf, "erfc": lax.erfc, "erf_inv": lax.erf_inv, "floor": lax.floor,
    "ceil": lax.ceil, "is_finite": lax.is_finite, "bessel_i0e": lax.bessel_i0e, "bessel_i1e": lax.bessel_i1e,
    "lgamma": lax.lgamma, "digamma": lax.digamma, "round": lax.round,
    "log2": getattr(lax, "log2", jnp.log2),
    "one_minus_square": getattr(lax, "one_minus_square", lambda x: (1 - x) * (1 + x)),
    "integer_pow": lambda x: lax.integer_pow(x, 7), "convert_element_type": lambda x: x.astype(int),
}  # fmt: skip
BINARY = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "rem": lax.rem, "pow": lax.pow, "max": lax.max,
    "min": lax.min, "atan2": lax.atan2, "nextafter": lax.nextafter, "lt": lax.lt, "le": lax.le, "gt": lax.gt,
    "ge": lax.ge, "eq": lax.eq, "ne": lax.ne,
    "and": lambda x, y: lax.bitwise_and(x > 0, y > 0), "or": lambda x, y: lax.bitwise_or(x > 0, y > 0),
    "xor": lambda x, y: lax.bitwise_xor(x > 0, y > 0), "not": lambda x, y: lax.bitwise_not(x > y),
    "select_n": lambda x, y: lax.select(x > y, x, y), "clamp": lambda x, y: lax.clamp(-0.5, x, y),
    "shift_left": lambda x, y: lax.shift_left(*_words(x, y)),
    "shift_right_logical": lambda x, y: lax.shift_right_logical(*_words(x, y)),
    "add_any": lambda x, y: jax.grad(lambda z: jnp.sum(jnp.sin(z) * y + z * y))(x),
}  # fmt: skip


def _words(x, y):
    """Two small whole numbers."""
    return jnp.where(x > 0, 5, 2**32 - 3).astype(jnp.uint32), jnp.where(y > 0, 3, 1).astype(jnp.uint32)


POSITIVE = {"igamma": lax.igamma, "igammac": lax.igammac}


def agree(fn, *arguments, tolerance=TINY):
    """Compare a function and its program at an input and at a batch of two inputs."""
    program = scalar_program(fn, *arguments)
    expected = jax.tree.leaves(jax.jit(fn)(*arguments))
    for found, exact in zip(jax.tree.leaves(evaluate(program, *arguments)), expected, strict=True):
        assert found.dtype == exact.dtype
        assert np.allclose(found, exact, rtol=tolerance, atol=0 if tolerance == TINY else tolerance, equal_nan=True)
    twice = [np.stack([a, a]) for a in map(np.asarray, arguments)]
    for found, exact in zip(jax.tree.leaves(evaluate(program, *twice)), expected, strict=True):
        assert np.allclose(found[1], exact, rtol=tolerance, atol=0 if tolerance == TINY else tolerance, equal_nan=True)
    return program


def test_every_operation_of_the_table_is_compared_with_that_of_jax():
    assert {*UNARY, *BINARY, *POSITIVE} == set(NUMPY)


@pytest.mark.parametrize("name", sorted({**UNARY, **BINARY, **POSITIVE}))
def test_operations_agree_with_jax_at_ordinary_and_special_values(name):
    x, y = (np.ravel(v) for v in np.meshgrid(SPECIAL, SPECIAL))
    tolerance = 1e-9 if name in ("digamma", "lgamma", "bessel_i0e", "bessel_i1e", "igamma", "igammac") else 1e-11
    if name in UNARY:
        program = agree(
            UNARY[name], SPECIAL if name not in ("lgamma", "digamma") else np.abs(SPECIAL) + 0.25, tolerance=tolerance
        )
    else:
        given = (x, y) if name in BINARY else (np.linspace(0.25, 9.0, 20), np.linspace(0.1, 5.0, 20))
        program = agree({**BINARY, **POSITIVE}[name], *given, tolerance=tolerance)
    older = name in ("log2", "one_minus_square") and not hasattr(lax, name)  # than the operation
    assert older or name in {operation.name for operation in program.operations}


def test_the_python_expression_of_an_operation_gives_what_numpy_does():
    """At numbers of both signs, equal ones included; where Python refuses a number there is nothing to compare."""
    seen = set()
    for fn, count in [*((fn, 1) for fn in UNARY.values()), *((fn, 2) for fn in BINARY.values())]:
        program = scalar_program(fn, *[()] * count)
        function = python_function(program)
        for given in itertools.product((-1.5, -0.5, 0.25, 0.5, 2.0), repeat=count) if function else ():
            with contextlib.suppress(ArithmeticError, ValueError):
                found = function(given)
                np.testing.assert_allclose(found, [evaluate(program, *given)], rtol=1e-14, err_msg=f"{program} {given}")
                seen |= {operation.name for operation in program.operations}
    assert seen >= {*FORMS, *LOGIC}


def test_what_is_taken_beyond_an_array_is_that_of_jax_for_each_type():
    """NaN, the least integer, the largest one without a sign, and true."""
    beyond = jnp.array([1, 7])
    kinds = lambda x: (x, x.astype(int), x.astype(jnp.uint8), x > 1)
    agree(lambda x: [kind.at[beyond].get(mode="fill") for kind in kinds(x)], np.array([0.5, 1.5, 2.5]))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "float64"])
def test_the_result_of_no_numbers_changes_none(dtype):
    kind = np.dtype(dtype)
    samples = np.array([False, True]) if kind.kind == "b" else np.array([1, 0, 3, 120]).astype(kind)
    if kind.kind == "i":
        samples = np.append(samples, [np.iinfo(kind).min, -1, np.iinfo(kind).max]).astype(kind)
    if kind.kind == "f":
        samples = np.append(samples, [-np.inf, np.inf, -0.25]).astype(kind)
    names = set(REDUCED.values()) - (
        {"and", "or", "xor"} if kind.kind == "f" else {"add", "mul"} if kind.kind == "b" else set()
    )
    for name in names:
        neutral = np.asarray(_neutral(name, kind)).astype(kind)
        np.testing.assert_array_equal(NUMPY[name](np.full_like(samples, neutral), samples), samples, err_msg=name)


def test_whole_numbers_divide_as_in_jax():
    def fn(x):
        a, b = jnp.floor(x).astype(int), jnp.asarray([2, -2, 3, -1, 0, 3, -2])
        return lax.div(a, b), lax.rem(a, b), a**3, jnp.sum(x > 0), lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)

    agree(fn, np.array([7.0, 7.5, -7.0, -0.5, 2.5, -1e30, 1e30]))
    agree(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), np.array([0.5, 1.5, -2.5, 0.49999999999999994]))
    agree(lambda x: (x > 0).astype(float) - (x < 1).astype(float), np.array([0.0, 1.0, 2.0]))


def moves(x):
    """Return what moves of entries make of a matrix (3, 4)."""
    rows, flat, cube, whole = jnp.array([2, 0]), x.ravel(), x.reshape(3, 2, 2), jnp.floor(10 * x).astype(int)
    return (
        x[1], x[:, -1], x[::2, 1:], x[None], x.T, flat[::-1], x[rows], x[rows, rows], x[:, rows], jnp.pad(x, 1),
        lax.pad(x, 0.5, ((1, -1, 1), (-1, 0, 2))), jnp.roll(x, 1, axis=0), jnp.stack([x, x], 1), jnp.unstack(x),
        jnp.concatenate([x, 2 * x]), jnp.tile(x, (2, 1)), jnp.split(x, [1, 3], axis=1), jnp.take(x, 5, axis=0),
        cube[rows], cube[:, rows[1:]], cube[rows, :, 1], cube.at[rows].add(cube[1:]), cube.at[:, 1, rows[1:]].set(0.5),
        x.at[rows + 1].get(mode="fill", fill_value=7.0), lax.dynamic_slice(x, (-9, 1), (2, 2)),
        [kind.at[rows + 1].get(mode="fill") for kind in (whole, whole.astype(jnp.uint8), whole > 3)],
        x.at[rows + 1].get(mode="clip"), x.at[rows + 1].set(x[:2], mode="clip"),
        x.at[1].set(7.0), x.at[rows].add(x[:2]), x.at[0, rows].multiply(3.0), x.at[rows, 1].max(0.2), x.at[9].set(1.0),
        lax.dynamic_slice(x, (2, 1), (2, 2)), lax.dynamic_update_slice(x, x[:2, :2], (2, 1)), jnp.diag(x[:, 0]),
        jnp.broadcast_to(x[0], (2, 4)), jnp.expand_dims(x, (0, 2)), jnp.repeat(x, 2, axis=1), jnp.flip(x),
        jax.vmap(lambda row, k: row[k])(x, jnp.arange(3)),
        jax.vmap(lambda row, k: row.at[k].set(0.0))(x, jnp.arange(3)),
        jnp.take_along_axis(x, jnp.array([[0], [3], [1]]), axis=1), flat.at[jnp.array([1, 1, 20])].add(1.0),
        lax.optimization_barrier(x), lax.stop_gradient(x), x.at[jnp.array([0, 1])].min(x[1:]),
    )  # fmt: skip


def contractions(x):
    """Return sums, products of matrices and the like of a matrix (3, 4)."""
    y, cube, whole, rows = x[:, :3], x.reshape(3, 2, 2), jnp.floor(10 * x).astype(int), jnp.array([2, 0])
    return (
        jnp.sum(x), jnp.sum(x, 0), jnp.prod(x, 1), jnp.max(x), jnp.min(x, 0), jnp.any(x > 0.9, 1), jnp.all(x > 0),
        x @ x.T, jnp.einsum("ij,kj->ki", x, x), jnp.einsum("ij,ij->i", x, x), jnp.tensordot(x, x, ((0, 1), (0, 1))),
        jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0, reverse=True), lax.cumsum(x, 0, True),
        jnp.argmax(x), jnp.argmin(x, 1), jnp.mean(x), jnp.var(x, 0), jax.nn.softmax(x), jax.nn.logsumexp(x),
        jnp.linalg.norm(y), jnp.trace(y), jnp.sum(x[:0]), jnp.prod(x[:0], 0), jnp.outer(x[0], x[1]), jnp.cross(y, y[1]),
        jnp.linalg.det(jnp.eye(2)) * x, jnp.eye(3) @ x,
        *(reduce(part, (0,)) for reduce in (lax.reduce_max, lax.reduce_min) for part in (x[:0], whole[:0], whole)),
        *(reduce(part, (1,)) for reduce in (lax.reduce_and, lax.reduce_or, lax.reduce_xor)
          for part in (whole > 3, whole, whole[:, :0], whole[:, :0] > 3)),
        lax.dot_general(whole, x, (((1,), (1,)), ((), ())), preferred_element_type=float),
        jnp.einsum("bij,bkj->bik", cube, 2 * cube),
        x.at[rows].subtract(x[:2]), jnp.arange(4.0)[None] * x, jnp.hypot(x, 1.0), jax.nn.gelu(x),
    )  # fmt: skip


def loops(x):
    """Return what loops of known length, branches and calls make of a vector (3,)."""
    turn = lambda carry, row: (carry * row + x[0], carry - row)
    grown = lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * s[1] + x), (0, x))[1]
    return (
        lax.fori_loop(0, 3, lambda k, c: c * x + k, x), lax.scan(turn, x, jnp.stack([x, 2 * x])),
        lax.scan(turn, x, jnp.ones((3, 3)), reverse=True), grown, lax.cond(x[0] > 0.1, jnp.sin, jnp.cos, x),
        lax.cond(x[0] > 9.0, jnp.sin, jnp.cos, x), lax.switch(1, [jnp.sin, jnp.cos], x), jax.jit(jnp.tanh)(x),
        lax.switch(jnp.sum(x > 0.2), [jnp.sin, jnp.cos, jnp.tan, jnp.exp], x), jax.nn.relu(x),
        jax.checkpoint(jnp.sin)(x),
        lax.scan(turn, x, jnp.ones((0, 3))), jnp.where(x > 0.3, x, -x), jnp.clip(x, 0.1, 0.4), jnp.sinc(x), x % 0.3,
    )  # fmt: skip


MATRIX = np.random.default_rng(3).uniform(0.1, 1.0, (3, 4))


@pytest.mark.parametrize("fn", [moves, contractions])
def test_moves_and_contractions_are_those_of_jax(fn):
    agree(fn, MATRIX, tolerance=1e-13)


def test_loops_of_known_length_branches_and_calls_are_unrolled():
    agree(loops, np.array([0.3, 0.5, -0.2]), tolerance=1e-13)


def test_ties_and_nan_are_decided_as_in_jax():
    for row in (
        [1.0, 3.0, 3.0],
        [2.0, np.nan, 5.0],
        [np.nan, np.nan, 1.0],
        [-np.inf, -np.inf, -np.inf],
        [0.0, -0.0, 0.0],
    ):
        agree(lambda x: (jnp.argmax(x), jnp.argmin(x), jnp.max(x), jnp.min(x), x >= x[0]), np.array(row))


def test_a_listing_names_operations_and_numbers():
    program = scalar_program(lambda x, mu: jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]]), (2,), ())
    assert repr(program) == "Program of ((2,), ()): 5 operations, 1 constant"
    lines = str(program).splitlines()
    assert lines[1:4] == ["  input %0 %1: float64[2]", "  input %2: float64[]", "  %3 = 1.0"]
    assert lines[4] == "  %4 = integer_pow[2] %0"
    assert lines[-1] == "  output [2]: %1 %8"
    found = evaluate(program, np.array([[0.5, 1.0], [2.0, 0.0]]), 1.0)
    assert np.array_equal(found, [[1.0, 0.25], [0.0, -2.0]])


def test_equal_operations_are_recorded_once():
    program = scalar_program(lambda x: jnp.sin(x) + jnp.sin(x) * jnp.sin(x), ())
    assert [operation.name for operation in program.operations] == ["sin", "mul", "add"]


def test_a_program_does_not_depend_on_the_values_used_for_tracing():
    fn = lambda x: jnp.where(x > 0, jnp.sqrt(x), -x)
    assert str(scalar_program(fn, np.ones(3))) == str(scalar_program(fn, -np.ones(3))) == str(scalar_program(fn, (3,)))


def test_comparisons_of_inputs_are_listed():
    program = scalar_program(
        lambda x, a: jnp.where((x[0] > a) & (x[1] <= 0.5), x[0], jnp.argmax(x).astype(float)), (2,), ()
    )
    listed = [(c.name, c.left, c.right) for c in program.comparisons]
    assert ("gt", 0, 2) in listed
    half = program.constants.index(0.5) + program.num_inputs
    assert ("le", 1, half) in listed
    assert ("gt", 1, 0) in listed
    assert len(listed) == 3  # the tests for NaN are none
    assert program.operations[program.comparisons[0].result - program.first_operation].name == "gt"
    assert not scalar_program(lambda x: x * jnp.where(jnp.asarray(2.0) > 1, 3.0, 4.0), ()).comparisons


def test_leading_axes_broadcast_and_blocks_join():
    fn = lambda x, A, s: A @ x * s
    program, rng = scalar_program(fn, (3,), (2, 3), ()), np.random.default_rng(0)
    x, A, s = rng.normal(size=(5, 1, 3)), rng.normal(size=(2, 3)), rng.normal(size=(4,))
    expected = np.einsum("ij,bcj->bci", A, np.broadcast_to(x, (5, 4, 3))) * s[:, None]
    assert np.allclose(evaluate(program, x, A, s), expected, rtol=1e-13)
    many = rng.normal(size=(10_001, 3))
    assert np.allclose(evaluate(program, many, A, 2.0), 2 * many @ A.T, rtol=1e-12, atol=1e-14)
    assert evaluate(program, many[:0], A, 2.0).shape == (0, 2)


def test_first_arguments_may_be_fixed_and_entries_given_one_by_one():
    fn = lambda A, x, s: (A @ x * s, jnp.sum(A), s)
    program, rng = scalar_program(fn, (2, 3), (3,), ()), np.random.default_rng(1)
    A, x, s = rng.normal(size=(2, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5,))
    for found in (NumpyEvaluator(program, A)(x, s), NumpyEvaluator(program)(A, x, s)):
        np.testing.assert_allclose(found[0], x @ A.T * s[:, None], rtol=1e-13)
        np.testing.assert_allclose(found[1], np.full(5, np.sum(A)), rtol=1e-13)
        np.testing.assert_array_equal(found[2], s)
    entries = NumpyEvaluator(program, A).columns(*x.T, s)
    np.testing.assert_allclose(entries[:2], (x @ A.T * s[:, None]).T, rtol=1e-13)


@pytest.mark.parametrize(
    ("fn", "smooth"),
    [
        (lambda x: jnp.sin(x) / (1 + x**2), True), (jnp.abs, False), (jnp.sqrt, False), (lambda x: x + abs(-2.0), True),
        (lambda x: x + jnp.abs(jnp.asarray(-2.0)), True), (lambda x: x.astype(jnp.float32).astype(float), True),
        (lambda x: x.astype(int).astype(float), False), (lambda x: jnp.where(x > 0, x, -x), False),
    ],
)  # fmt: skip
def test_functions_of_smooth_operations_on_the_input_are_smooth(fn, smooth):
    assert scalar_program(fn, ()).is_smooth == smooth


def test_a_long_loop_over_equal_entries_is_refused_soon():
    """Entries that are equal share their operations, which alone would reach the limit after 10 million entries."""
    long = lambda x: jax.lax.fori_loop(0, 10**9, lambda k, c: jnp.sin(c), x * jnp.ones(1000))
    with pytest.raises(ProgramError, match="more than 200,000 entries of arrays"):
        scalar_program(long, (), limit=10_000)


def test_the_limit_counts_equations_and_operations():
    fn = lambda x: jnp.sum(jnp.sin(x))  # two equations, three sines and two sums
    assert len(scalar_program(fn, (3,), limit=7).operations) == 5
    with pytest.raises(ProgramError, match="more than 6 of them"):
        scalar_program(fn, (3,), limit=6)


def test_trees_go_in_and_come_out():
    fn = lambda state: {"sum": state["a"] + state["b"], "parts": (state["a"], jnp.ones(2))}
    program = scalar_program(fn, {"a": np.zeros(2), "b": np.zeros(())})
    found = evaluate(program, {"a": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": 1.0})
    assert np.array_equal(found["sum"], [[2.0, 3.0], [4.0, 5.0]])
    assert np.array_equal(found["parts"][1], np.ones((2, 2)))
    with pytest.raises(ValueError, match="have the structure"):
        evaluate(program, {"a": np.zeros(2)})
    with pytest.raises(ValueError, match="have the shapes"):
        evaluate(program, {"a": np.zeros(3), "b": 1.0})


def test_single_precision_stays_single():
    fn = lambda x: (jnp.sin(x) / 3 + x**3, x.astype(float) * 0.1, 1 / x**2, jax.nn.sigmoid(x), jax.lax.rsqrt(x))
    x = np.array([0.3, 2.0], np.float32)
    agree(fn, x, tolerance=1e-6)
    program = scalar_program(fn, (2,), dtype=np.float32)
    assert [v.dtype for v in evaluate(program, x.astype(float))] == [np.float32, float, *[np.float32] * 3]
    assert evaluate(jacobian_program(lambda x: x**2, (2,), dtype=np.float32), x.astype(float)).dtype == np.float32


def test_singular_points_give_infinities_without_warnings():
    fn = lambda x: jnp.stack([1 / x, jnp.log(x), x**-2, jnp.sqrt(-1 - x), jnp.exp(1000 + x), x * jnp.inf])
    with np.errstate(all="raise"):
        agree(fn, np.zeros(()))
        agree(jax.jacfwd(fn), np.zeros(()))


def test_derivatives_are_those_of_jax_and_zeros_may_be_dropped():
    fn = lambda x: jnp.stack([x[0] * x[1], jnp.exp(x[2]), jnp.max(x), jnp.tanh(x) @ x])
    x = np.array([0.2, 0.7, -0.4])
    for drop in (False, True):
        program = jacobian_program(fn, (3,), drop_zeros=drop)
        assert np.allclose(evaluate(program, x), jax.jacfwd(fn)(x), rtol=1e-12)
    kept = jacobian_program(fn, (3,))
    assert len(program.operations) < len(kept.operations)
    singular = jacobian_program(lambda x: jnp.stack([jnp.sqrt(x[0]), x[1]]), (2,), drop_zeros=True)
    assert np.array_equal(evaluate(singular, np.zeros(2)), [[np.inf, 0.0], [0.0, 1.0]])


def data_loop(x):
    return lax.while_loop(lambda y: y < 1, lambda y: y + 1, x)


def data_gather(x):
    return jnp.arange(3.0)[jnp.floor(x).astype(int)]


def callback(x):
    jax.debug.callback(lambda v: None, x)
    return x


REFUSED = {"`while` with an end that depends on the input": data_loop,
    "`gather` at an index that depends on the input": lambda x: jnp.take(jnp.stack([x, x]),
    jnp.stack([x, x]).astype(int)), "`dynamic_slice` at an index": lambda x: jnp.ones(3)[x.astype(int)],
    "`scatter` at an index": lambda x: jnp.ones(3).at[x.astype(int)].set(2.0),
    "`sort`": lambda x: jnp.sort(jnp.stack([x, -x])), "`debug_callback`": callback,
    "`pure_callback`": lambda x: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct((), float), x),
    "`random_seed`": lambda x: jax.random.normal(jax.random.key(x.astype(int)), ()),
    "`lu`": lambda x: jnp.linalg.det(jnp.eye(4) * x), "`complex`": lambda x: jnp.abs(lax.complex(x, x))}  # fmt: skip


@pytest.mark.parametrize("named", REFUSED)
def test_what_is_no_list_of_scalar_operations_is_refused_by_name(named):
    with pytest.raises(ProgramError, match=named) as error:
        scalar_program(REFUSED[named], ())
    assert str(error.value).startswith("Argument `fn` must consist of scalar operations on its input, but uses `")
    assert str(error.value).count(".") == 1
    again = pickle.loads(pickle.dumps(error.value))  # as it comes from another process
    assert (again.uses, str(again)) == (error.value.uses, str(error.value))


def test_look_ups_in_tables_are_recorded_on_request():
    knots, table = np.array([0.0, 1.0, 1.5, np.nan]), jnp.arange(4.0) ** 2
    for fn in (
        lambda x: jnp.interp(x, knots, table, right=7.0) + table[jnp.searchsorted(knots, x) % 4],
        lambda x: jnp.take(jnp.stack([table, x * table]), x.astype(int), axis=1, mode="fill", fill_value=-1.0),
        lambda x: jnp.take(table, jnp.stack([x, 2 * x]).astype(int), mode="clip"),
    ):
        program = scalar_program(fn, (), lookups=True)
        for x in (-3.0, 0.0, 0.3, 1.0, 1.2, 3.7, 9.0, np.nan):
            np.testing.assert_array_equal(evaluate(program, x), fn(jnp.asarray(x)))
    with pytest.raises(ProgramError, match="`dynamic_slice` at an index"):
        scalar_program(lambda x: jnp.outer(table, table)[x.astype(int), x.astype(int)], (), lookups=True)


def test_a_random_draw_that_does_not_depend_on_the_input_is_a_constant():
    agree(lambda x: x + jax.random.normal(jax.random.key(1), (3,)), np.zeros(3))


@pytest.mark.parametrize("fn", [
    lambda x: jnp.ones((700, 700)) @ (x * jnp.ones(700)),
    lambda x: jnp.sum(jnp.sin(x + jnp.arange(300_000.0))),
    lambda x: jnp.broadcast_to(x, (10_000, 10_000))[0, 0],
    lambda x: lax.fori_loop(0, 10**9, lambda k, c: jnp.sin(c), x + jnp.arange(1000.0)),
    pytest.param(lambda x: lax.fori_loop(0, 10**9, lambda k, c: (c[0] + 1, c[1]), (0, x)), marks=pytest.mark.slow),
])  # fmt: skip
def test_programs_that_are_too_long_are_refused_before_they_take_memory(fn):
    with pytest.raises(ProgramError, match=r"uses (more than 200,000|`.*` with more than 2,000,000)"):
        scalar_program(fn, ())


def test_another_arithmetic_is_a_table_that_refuses_by_name():
    program = scalar_program(lambda x: jnp.sum(x**3) * 2.0, (2,))
    counted = {"add": lambda a, b: f"({a}+{b})", "mul": lambda a, b: f"{a}*{b}", "integer_pow": lambda a, k: f"{a}^{k}"}
    assert Tabulated(program, counted, str).run(["x", "y"]) == ["(x^3+y^3)*2.0"]
    with pytest.raises(ProgramError, match="`integer_pow` of the input"):
        Tabulated(program, {"add": counted["add"], "mul": counted["mul"]}, str)


def test_an_evaluator_refuses_what_numpy_does_not_have(monkeypatch):
    monkeypatch.delitem(NUMPY, "tanh")
    monkeypatch.setattr("dynsim.programs.recording.NUMPY", {**NUMPY, "tanh": None})
    with pytest.raises(ProgramError, match="`tanh`, which NumPy does not have"):
        evaluate(scalar_program(jnp.tanh, ()), 1.0)
