"""Programs as C++ text: each operation beside NumPy, order of assignments, numbers, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from dynsim.programs import NumpyEvaluator, ProgramError, evaluate, scalar_program
from dynsim.programs.arrays import NUMPY
from dynsim.programs.c_text import literal, statements, type_name
from dynsim.programs.program import Operation, Program
from tests.core.test_programs import BINARY, SPECIAL, UNARY
from tests.support.cuda_on_host import COMPILER, WHY_NOT, HostKernel

compiled = pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
FUNCTIONS = {
    **{name: (lambda x, fn=fn: fn(x[0])) for name, fn in UNARY.items()},
    **{name: (lambda x, fn=fn: fn(x[0], x[1])) for name, fn in BINARY.items()},
}
NOT_IN_C = {"bessel_i0e", "bessel_i1e", "digamma"}  # C++ has no function for them
X, Y = (np.ravel(v) for v in np.meshgrid(SPECIAL, SPECIAL))


def in_c(program, columns, dtype=np.float64):
    """Evaluate a program by its C++ text, one thread for each input."""
    size, real = len(columns[0]), type_name(dtype)
    outputs = [(k, program.types[k]) for o in program.outputs for k in o.ravel().tolist()]
    lines = [
        f'extern "C" __global__ void f(const {real}* a, double* out) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;',
        f"if (i >= {size}) return;",
        *(f"{real} x{k} = a[{k * size} + i];" for k in range(len(columns))),
        *(f"{type_name(kind)} y{j};" for j, (_, kind) in enumerate(outputs)),
        statements(program, [f"x{k}" for k in range(len(columns))], [f"y{j}" for j in range(len(outputs))]),
        *(f"out[{j * size} + i] = (double) y{j};" for j in range(len(outputs))),
        "}",
    ]
    shape = jax.ShapeDtypeStruct((len(outputs), size), np.float64)
    kernel = HostKernel("\n".join(lines), "f")
    return np.asarray(kernel(np.stack(columns).astype(dtype), results=[shape], grid=(-(-size // 8),), block=(8,))[0])


@compiled
def test_operations_in_c_agree_with_numpy():
    names = sorted(set(FUNCTIONS) - NOT_IN_C - {"convert_element_type"})
    program = scalar_program(lambda x: tuple(FUNCTIONS[name](x) for name in names), (2,))
    found = in_c(program, [X, Y])
    for name, mine, exact in zip(names, found, evaluate(program, np.stack([X, Y], 1)), strict=True):
        known = (X > 0) | (name != "lgamma")  # SciPy's has another sign for negative numbers
        exact = np.asarray(exact, float)
        assert np.allclose(mine[known], exact[known], rtol=1e-11, atol=1e-11, equal_nan=True), name


@compiled
def test_single_precision_stays_single_in_c():
    program = scalar_program(
        lambda x: jnp.stack([x[0] / 3 + x[1] * x[0], jnp.exp(x[0]), 1 / x[1]]), jnp.ones(2, np.float32)
    )
    columns = [np.float32([0.1, 1.7, -3.0]), np.float32([1e-3, 2.5, 1e30])]
    found, exact = in_c(program, columns, np.float32), np.asarray(evaluate(program, np.stack(columns, 1))).T
    assert np.allclose(found, exact, rtol=3e-7)
    assert np.abs(found - np.float64(columns[0]) / 3 - np.float64(columns[1]) * columns[0])[0].max() > 1e-9


@compiled
def test_negative_powers_and_truths_are_those_of_numpy():
    fn = lambda x: (lax.integer_pow(x[0], -3), lax.convert_element_type(x[1], bool).astype(float))
    program = scalar_program(fn, (2,))
    assert [operation.name for operation in program.operations].count("convert_element_type") == 2
    columns = np.array([2.0, -0.5, 3.0]), np.array([0.0, -1e-300, 7.0])
    np.testing.assert_allclose(in_c(program, columns)[0], [0.125, -8.0, 1 / 27], rtol=1e-15)
    assert in_c(program, columns)[1].tolist() == [0.0, 1.0, 1.0]
    for x, y in zip(*columns, strict=True):
        np.testing.assert_allclose(evaluate(program, np.array([x, y])), [x**-3, y != 0], rtol=1e-15)


@compiled
def test_outputs_may_be_inputs_that_change_places():
    program = scalar_program(lambda x: jnp.stack([x[1], x[0], x[0] + x[1]]), (2,))
    text = statements(program, ["a", "b"], ["b", "a", "c"])
    kernel = HostKernel(
        'extern "C" __global__ void f(const double* x, double* out) { double a = x[0], b = x[1], c;\n' + text
        + "\nout[0] = a; out[1] = b; out[2] = c; }", "f",
    )  # fmt: skip
    (found,) = kernel(np.array([2.0, 5.0]), results=[jax.ShapeDtypeStruct((3,), np.float64)], grid=(1,), block=(1,))
    assert found.tolist() == [2.0, 5.0, 7.0]


@compiled
def test_numbers_are_written_exactly():
    for dtype in (np.float64, np.float32):
        numbers = np.array(
            [0.1, -0.1, 1.0, -0.0, 1e-310, 3.4e38, -1e22, 1 / 3, np.inf, -np.inf, np.nan, 5e-324]
        ).astype(dtype)
        body = "\n".join(f"out[{k}] = {literal(v)};" for k, v in enumerate(numbers))
        kernel = HostKernel(f'extern "C" __global__ void f({type_name(dtype)}* out) {{ {body} }}', "f")
        (found,) = kernel(results=[jax.ShapeDtypeStruct(numbers.shape, dtype)], grid=(1,), block=(1,))
        assert np.asarray(found).tobytes() == numbers.tobytes() or np.array_equal(found, numbers, equal_nan=True)
        assert np.array_equal(np.signbit(found)[:-2], np.signbit(numbers)[:-2])
    assert [literal(np.int32(-3)), literal(np.bool_(True))] == ["((int) -3LL)", "true"]


def test_what_c_lacks_is_refused_by_name():
    with pytest.raises(ProgramError, match="`digamma` of numbers of type float64, which kernels do not have"):
        statements(scalar_program(lambda x: lax.digamma(x[0]), (1,)), ["x"], ["y"])
    with pytest.raises(ProgramError, match="`convert_element_type` of numbers of type float64"):
        statements(scalar_program(lambda x: x.astype(int), (1,)), ["x"], ["y"])
    with pytest.raises(ProgramError, match="`shift_left` of numbers of type int64"):
        statements(scalar_program(lambda x: lax.shift_left(x[0], x[1]), jnp.ones(2, int)), ["x", "y"], ["z"])


@compiled
@pytest.mark.parametrize(("name", "exact"), [("log2", np.log2), ("one_minus_square", lambda x: (1 - x) * (1 + x))])
def test_operations_of_newer_versions_of_jax(name, exact):
    number = np.dtype(float)
    program = Program(
        ((1,),), (number,), jax.tree.structure((0,)), (), (Operation(name, (0,), number),), (np.array([1]),), (number,),
        jax.tree.structure(0),
    )  # fmt: skip
    x = np.array([0.25, 3.0, 1 - 1e-9])
    assert name in NUMPY
    assert program.is_smooth
    np.testing.assert_allclose(NumpyEvaluator(program)(x[:, None])[:, 0], exact(x), rtol=1e-15)
    np.testing.assert_allclose(in_c(program, [x])[0], exact(x), rtol=1e-15)
