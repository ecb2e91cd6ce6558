"""What `simulate` and `ensemble` take as SciPy does, and what they refuse in one sentence."""

import math
import re
import subprocess
import sys
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from dynsim._core.validation import function
from dynsim.errors import ArgumentError
from dynsim.integrators import Diffrax, Event, Scipy
from dynsim.simulation.checks import check_start
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.hybrid import Transition
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.simulation.sweep import sweep
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.fast_slow.examples import linear_flow
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.noisy import NoisyFlow

DECAY = FunctionFlow(lambda t, x: -x)


@pytest.mark.parametrize("start", [[1, 2], (1.0, 2.0), np.array([1, 2]), jnp.array([1.0, 2.0])], ids=str)
@pytest.mark.parametrize("times", [[0, 1], (0, 1), range(2), np.array([0.0, 1.0])], ids=str)
def test_lists_tuples_and_ints_are_taken_as_scipy_takes_them(start, times):
    path = simulate(DECAY, start, times, integrator=Scipy())
    np.testing.assert_allclose(path.final, np.exp(-1) * np.array([1, 2]), rtol=1e-9)
    assert path.ys.dtype == float


def test_a_number_and_a_named_tuple_of_numbers_are_states():
    assert float(simulate(DECAY, 1, [0, 1], integrator=Scipy()).final) == pytest.approx(np.exp(-1))
    assert simulate(linear_flow(0.1), FastSlow(2, 1), [0, 1], integrator=Scipy()).final.slow.shape == ()


def test_a_start_is_projected_unless_it_is_on_the_space_up_to_rounding():
    flow, eps = FunctionFlow(lambda t, x: 0 * x, Sphere()), float(np.finfo(float).eps)
    for away, kept in ((8 * eps, True), (32 * eps, False), (0.9e-6, False)):
        start = jnp.asarray([1 + away, 0.0])
        assert float(check_start("y0", flow, start)[0]) == (start[0] if kept else 1.0)
    with pytest.raises(ValueError, match=r"`y0` must lie on the space, Sphere .*, but is off it by 1.1e-06"):
        check_start("y0", flow, jnp.asarray([1 + 1.1e-6, 0.0]))


TIMED = r"`fn` must be a function of \(t, x\), but the function <lambda> takes \(x\)\.$"
RUN = simulate(DECAY, [1.0], [0, 1], integrator=Scipy())


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda fn: ensemble(DECAY, jnp.ones((1, 1)), [0.0, 1.0], fn), TIMED),
    (Event, TIMED),
    (RUN.along_time, TIMED),
    (lambda fn: RUN.along(cast(Any, lambda t, x: x)),
     r"`fn` must be a function of the state, but .* takes \(t, x\)\.$"),
    (lambda fn: NoisyFlow(DECAY, fn, calculus="Ito"), r"`noise` must be a function of \(t, x\), but"),
    (lambda fn: Transition("hit", Event(lambda t, x: x[0]), fn), r"`reset` must be a function of \(flow, t, x\), but"),
    (lambda fn: sweep(fn, {"a": [1], "b": [2]}), "`function` must be a function of the parameters by name, a, b, but"),
    (lambda fn: sweep(lambda a: a, {"a": [1]}, seeds=2), "of the parameters by name, a, key, but"),
])  # fmt: skip
def test_a_function_of_other_arguments_is_refused_where_it_is_given(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(lambda x: x)


def test_functions_with_defaults_and_functions_without_a_signature_are_taken():
    assert function("fn", lambda t, x, scale=2.0: x, "(t, x)", 2)(0, 1) == 1
    assert function("fn", lambda *all: all, "(t, x)", 2)(0, 1) == (0, 1)
    assert function("fn", max, "(t, x)", 2)(0, 1) == 1  # written in C


REFUSALS = {
    "flow=lambda t, x: -x": r"be a flow, for a function of time and state `FunctionFlow\(function, space\)`, but is",
    "flow=TokenFlow": "`flow` must be a flow, but is the class TokenFlow itself",
    "flow='token-flow'": "`flow` must be a flow, but is a str",
    "flow=FunctionMap(lambda k, x: x)": r"`flow` must be a flow \(`iterate` applies maps\), but is the map FunctionMap",
    "integrator='scipy'": r"`integrator` must be an integrator such as `Diffrax\(\)` or `Scipy\(\)`, but is 'scipy'",
    "integrator=Scipy": "but is the class Scipy",
    "y0={'x': 1.0}": "`y0` must be an array or a named tuple of arrays, but is a dict",
    "y0=[[1.0, 0.0], [1.0]]": "`y0` must be an array of real numbers, but is not",
    "y0=['a', 'b']": "`y0` must hold real numbers, but holds str",
    "y0=np.eye(3) * 1j": "`y0` must hold real numbers, but holds complex128",
    "y0=np.eye(4)": r"`y0` must have a shape that this TokenFlow takes, but has shape \(4, 4\)",
    "y0=np.eye(3)[0]": r"`y0` must have a shape that this TokenFlow takes, but has shape \(3,\)",
    "ts='ab'": "`ts` must be an array of numbers, but is not",
    "ts=1.0": r"`ts` must hold at least two times, but has shape \(\)",
    **{
        f"integrator=lambda: {kind}(max_steps={steps})": f"`max_steps` must be an integer, but is {steps}"
        for kind in ("Diffrax", "Scipy")
        for steps in ("None", "1.5", "'many'", "True")
    },
    "integrator=lambda: Scipy(max_steps=0)": "`max_steps` must be at least 1, but is 0",
    **{
        f"integrator=lambda: {space}.sample({key}, {shape})": f"`key` must be a random key such as .*, but is {key}"
        for space, shape in (("Euclidean()", (3,)), ("Sphere()", (3,)), ("Simplex()", (3,)), ("BOTH", ((3,), (3,))))
        for key in (0, None)
    },
    "ts=[]": r"`ts` must hold at least two times, but has shape \(0,\)",
}
# In a process of its own: the annotations, which tests check, would refuse some of these before.
IMPORTS = "imports"
SCRIPT = """
import numpy as np
from dynsim import Diffrax, Euclidean, FunctionMap, Product, Scipy, Simplex, Sphere, simulate
from dynsim.tokens import TokenFlow

BOTH = Product((Sphere(), Euclidean()))

def said(**change):
    arguments = {"flow": TokenFlow(np.eye(3)), "y0": np.eye(3), "ts": [0, 1], "integrator": Scipy()} | change
    try:
        if getattr(arguments["integrator"], "__name__", "") == "<lambda>":
            arguments["integrator"] = arguments["integrator"]()
        simulate(arguments["flow"], arguments["y0"], arguments["ts"], integrator=arguments["integrator"])
    except ValueError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def sentences():
    script = f"import sys\n{SCRIPT}print('scipy.special' in sys.modules)\n"
    script += "".join(f"said({change})\n" for change in REFUSALS)
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return dict(zip((IMPORTS, *REFUSALS), found.splitlines(), strict=True))


def test_what_simulates_imports_no_special_functions(sentences):
    assert sentences[IMPORTS] == "False"


@pytest.mark.parametrize("change", REFUSALS)
def test_what_cannot_be_simulated_gets_one_sentence(change, sentences):
    assert re.search(REFUSALS[change], sentences[change]), sentences[change]


def test_a_sentence_ends_in_one_full_stop():
    assert str(ArgumentError("run", "be a flow's", "is a run. It ended.")).endswith("is a run. It ended.")
    assert str(ArgumentError("run", "be short", "is abc...")).endswith("is abc....")


def test_an_error_of_the_user_s_own_function_is_theirs():
    def field(t, x):
        raise IndexError("my own")

    with pytest.raises(IndexError, match="my own"):
        simulate(FunctionFlow(field, Euclidean()), [1.0], [0.0, 1.0], integrator=Scipy())


@pytest.mark.slow
def test_an_ensemble_takes_the_same():
    run = ensemble(DECAY, [[1], [2]], [0, 1], lambda t, x: x, integrator=Diffrax())
    np.testing.assert_allclose(np.ravel(run.final), np.exp(-1) * np.array([1, 2]), rtol=1e-7)


def pendulum_in_numpy(t, x):
    return np.array([x[1], -np.sin(x[0])])


def pendulum_as_a_list(t, x):
    return [x[1], -math.sin(x[0])]


def pendulum_with_a_branch(t, x):
    return jnp.stack([x[1], -jnp.sin(x[0]) if x[0] > -np.inf else 0 * x[0]])


@pytest.mark.parametrize("field", [
    pendulum_in_numpy,
    *(pytest.param(f, marks=pytest.mark.slow) for f in (pendulum_as_a_list, pendulum_with_a_branch)),
])  # fmt: skip
def test_a_field_that_cannot_be_traced_runs_with_scipy_and_is_refused_for_diffrax(field, tmp_path):
    flow, start, times = FunctionFlow(field), [1.0, 0.0], [0.0, 1.0, 2.0]
    traced = FunctionFlow(lambda t, x: [x[1], -jnp.sin(x[0])])
    expected = simulate(traced, start, times, integrator=Diffrax())
    for integrator in (Scipy(), Scipy("Radau", rtol=1e-9, atol=1e-11)):
        np.testing.assert_allclose(simulate(flow, start, times, integrator=integrator).ys, expected.ys, atol=1e-7)
    refusal = (
        r"`flow` must use jax.numpy \(`Scipy\(\)` takes NumPy functions as they are\), but line \d+ of .*: write `jnp"
    )
    measure = lambda t, x: x[0]
    members = ensemble(flow, [start], times, measure, integrator=Scipy())
    np.testing.assert_allclose(members.values[0], expected.ys[:, 0], atol=1e-7)
    with pytest.raises(ValueError, match=refusal):
        simulate(flow, start, times)
    with pytest.raises(ValueError, match=refusal):
        ensemble(flow, [start], times, measure)
    with pytest.raises(ValueError, match="`folder` must be left out for a flow that calls NumPy"):
        ensemble(flow, [start], times, measure, integrator=Scipy(), folder=tmp_path)


def test_an_event_of_a_numpy_flow_is_located():
    stop = simulate_until(
        FunctionFlow(pendulum_in_numpy), [0.1, 0.0], [0, 4], [Event(lambda t, x: x[0])], integrator=Scipy()
    )
    assert float(stop.path.ts[-1]) == pytest.approx(scipy.special.ellipk(np.sin(0.05) ** 2), abs=1e-9)
