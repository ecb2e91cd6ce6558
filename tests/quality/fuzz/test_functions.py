"""Odd arguments of the public functions: a result, or one sentence that names an argument; never another exception.

`make test` tries a few; `make fuzz` sets DYNSIM_FUZZ, and leaves the annotations unchecked, as users have them.
"""

import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from hypothesis import given
from hypothesis import strategies as st

import dynsim as ds
from dynsim.errors import IntegrationError
from dynsim.systems.hardmax.attention import Hardmax
from tests.quality.fuzz.test_commands import fuzzed
from tests.support.annotations import check_anew

EYE, RATES = np.eye(2), np.array([[0.0, 1.0], [2.0, 0.0]])
KEY = jax.random.key(0)
FLOW = ds.FunctionFlow(lambda t, x: -x)
TOKENS = ds.tokens.TokenFlow(EYE[None])
HARDMAX = ds.hardmax.HardmaxMap(1.0, EYE)
QUICK = ds.Scipy("RK45", rtol=1e-3, atol=1e-3)
FALL = ds.Event(lambda t, x: jnp.sum(x) - 0.5)
RUN = ds.simulate(FLOW, [1.0], [0, 1], integrator=QUICK)
CALLS = {
    "simulate": (ds.simulate, {"flow": FLOW, "y0": [1.0, 2.0], "ts": [0, 1], "integrator": QUICK}),
    "simulate tokens": (ds.simulate, {"flow": TOKENS, "y0": EYE, "ts": [0, 1], "integrator": QUICK}),
    "simulate_until": (
        ds.simulate_until,
        {
            "flow": FLOW,
            "y0": [1.0],
            "ts": [0, 1],
            "events": [ds.Event(lambda t, x: jnp.sum(x) - 0.5)],
            "integrator": QUICK,
        },
    ),
    "ensemble": (
        ds.ensemble,
        {"flow": FLOW, "y0s": [[1.0], [2.0]], "ts": [0, 1], "fn": lambda t, x: x, "integrator": QUICK, "chunk": 2},
    ),
    "iterate": (ds.iterate, {"map": ds.EulerMap(FLOW, 0.1), "x0": [1.0], "num_steps": 3, "every": 1}),
    "iterate_hardmax": (ds.hardmax.iterate_hardmax, {"map": HARDMAX, "x0": EYE, "num_layers": 3, "every": 1}),
    "Diffrax": (ds.Diffrax, {"solver": None, "rtol": 1e-6, "atol": 1e-6, "max_steps": 9, "longest_step": None}),
    "Scipy": (ds.Scipy, {"method": "RK45", "rtol": 1e-6, "atol": 1e-6, "max_steps": 9, "longest_step": None}),
    "stiff": (ds.stiff, {"rtol": 1e-6}),
    "Event": (ds.Event, {"fn": lambda t, x: x[0], "direction": 0, "samples": 4}),
    "TokenFlow": (
        ds.tokens.TokenFlow,
        {"query_key": EYE[None], "value": 1.0, "space": None, "mask": None, "scale": None},
    ),
    "identity_value_flow": (ds.tokens.identity_value_flow, {"query_key": EYE[None], "space": None}),
    "gradient_token_flow": (ds.tokens.gradient_token_flow, {"query_key": EYE}),
    "causal_identity_flow": (ds.tokens.causal_identity_flow, {"query_key": EYE[None]}),
    "causal_symmetric_flow": (ds.tokens.causal_symmetric_flow, {"query_key": EYE[None], "value": EYE}),
    "ProjectedValueFlow": (ds.tokens.ProjectedValueFlow, {"query_key": EYE[None], "value": 2 * EYE}),
    "AttractedFlow": (ds.tokens.AttractedFlow, {"target": [1.0, 0.0], "rate": 1.0}),
    "OjaFlow": (ds.tokens.OjaFlow, {"matrix": EYE, "rate": 1.0}),
    "SinusoidalRate": (ds.tokens.SinusoidalRate, {"mean": 1.0, "amplitude": 0.5, "frequency": 1.0, "phase": 0.0}),
    "LayerMap": (ds.tokens.LayerMap, {"flow": TOKENS, "step_size": 0.1}),
    "EulerMap": (ds.EulerMap, {"flow": FLOW, "step_size": 0.1}),
    "GradientFlow": (ds.GradientFlow, {"energy": lambda x: jnp.sum(x**2), "space": ds.Euclidean()}),
    "FunctionFlow": (ds.FunctionFlow, {"rhs": lambda t, x: x, "space": None, "breaks": (), "fastest_period": 1.0}),
    "FunctionMap": (ds.FunctionMap, {"step_function": lambda k, x: x, "space": None}),
    "FastSlowFlow": (
        ds.fast_slow.FastSlowFlow,
        {"fast": lambda t, u: -u.fast, "slow": lambda t, u: -u.slow, "epsilon": 0.1, "fast_space": None},
    ),
    "Ellipsoid": (ds.Ellipsoid, {"matrix": EYE}),
    "Product": (ds.Product, {"parts": ds.fast_slow.FastSlow(ds.Sphere(), ds.Euclidean())}),
    "Window": (ds.tokens.Window, {"width": 2}),
    "HardmaxMap": (ds.hardmax.HardmaxMap, {"alpha": 1.0, "attention": EYE}),
    "ExactHardmaxMap": (ds.hardmax.ExactHardmaxMap, {"alpha": 1, "attention": EYE}),
    "SoftmaxMap": (ds.hardmax.SoftmaxMap, {"alpha": 1.0, "temperature": 0.1, "attention": EYE}),
    "MultiHeadMap": (ds.hardmax.MultiHeadMap, {"rules": [Hardmax(EYE)], "value": EYE[None], "scale": 1}),
    "hypotheses": (ds.hardmax.hypotheses, {"map": HARDMAX, "x": EYE}),
    "MasterEquationFlow": (ds.chains.MasterEquationFlow, {"generator": ds.chains.generator_from_rates(RATES)}),
    "MasterEquationMap": (
        ds.chains.MasterEquationMap,
        {"generator": ds.chains.generator_from_rates(RATES), "step_size": 0.1},
    ),
    "generator_from_rates": (ds.chains.generator_from_rates, {"rates": RATES}),
    "check_generator": (
        ds.chains.check_generator,
        {"generator": ds.chains.generator_from_rates(RATES), "tolerance": 1e-9},
    ),
    "birth_death": (ds.chains.birth_death, {"birth": [1.0, 2.0], "death": [2.0, 1.0]}),
    "random_generator": (ds.chains.random_generator, {"key": KEY, "size": 3}),
    "walk_in_potential": (
        ds.chains.walk_in_potential,
        {"potential": np.array([0.0, 1.0, 0.5]), "temperature": 1.0, "rate": 1.0},
    ),
    "attention_generator": (ds.chains.attention_generator, {"weights": np.full((2, 2), 0.5), "rate": 1}),
    "DrivenRates": (ds.chains.DrivenRates, {"rates": lambda t: RATES, "breaks": (), "fastest_period": 1.0}),
    "Constant": (ds.tokens.Constant, {"value": EYE[None]}),
    "Modulated": (
        ds.tokens.Modulated,
        {"base": EYE[None], "amplitude": 1.0, "frequency": np.ones((1, 2)), "phase": np.ones((1, 2))},
    ),
    "PiecewiseConstant": (ds.tokens.PiecewiseConstant, {"values": np.ones((2, 1, 2, 2)), "durations": 1.0}),
    "Resampled": (ds.tokens.Resampled, {"key": KEY, "shape": (1, 2, 2), "deviation": 0.02, "duration": 1.0}),
    "InSpan": (ds.InSpan, {"inner": QUICK}),
    "MultirateConfig": (
        ds.networks.MultirateConfig,
        {"width": 8, "query_heads": 2, "key_heads": 1, "hidden": 8, "rounds": 1, "block": 2, "slow_mask": "full"},
    ),
    "RKC2": (ds.RKC2, {"max_stages": 9}),
    "PrototypeLoss": (
        ds.prototypes.PrototypeLoss,
        {"gradient": "full", "barrier": 0.1, "ridge": 0.0, "reduction": "sum"},
    ),
    "Annealing": (ds.prototypes.Annealing, {"start": 2.0, "floor": 0.3, "time_constant": 20.0}),
    "PrototypeFlow": (
        ds.prototypes.PrototypeFlow,
        {"embeddings": EYE, "temperature": 1.0, "loss": ds.prototypes.PrototypeLoss(), "rate": 1.0},
    ),
    "CoupledFlow": (
        ds.prototypes.CoupledFlow,
        {
            "data": EYE,
            "encoder": ds.prototypes.LinearEncoder(2, 1),
            "temperature": 1.0,
            "loss": None,
            "encoder_rate": 1.0,
            "prototype_rate": 1.0,
        },
    ),
    "TwoLevelFlow": (
        ds.prototypes.TwoLevelFlow,
        {
            "data": EYE,
            "encoder": ds.prototypes.LinearEncoder(2, 1),
            "temperature": 1.0,
            "detached": True,
            "loss": None,
            "groups": [0, 1],
            "encoder_rate": 1.0,
            "prototype_rate": 1.0,
        },
    ),
    "FreeEmbeddings": (ds.prototypes.FreeEmbeddings, {"count": 3, "outputs": 2}),
    "LinearEncoder": (ds.prototypes.LinearEncoder, {"inputs": 3, "outputs": 2}),
    "AffineEncoder": (ds.prototypes.AffineEncoder, {"inputs": 3, "outputs": 2}),
    "MLPEncoder": (ds.prototypes.MLPEncoder, {"inputs": 3, "hidden": 4, "outputs": 2}),
    "principal_components": (ds.prototypes.principal_components, {"x": EYE, "outputs": 1}),
    "DescentMap": (
        ds.prototypes.DescentMap,
        {"flow": ds.prototypes.PrototypeFlow(EYE, 1.0), "batches": [[[0], [1]]], "clip_value": 2.0, "clip_norm": 1.0},
    ),
    "random_batches": (ds.prototypes.random_batches, {"key": KEY, "count": 3, "size": 2, "epochs": 1}),
    "PrototypeReadout": (
        ds.networks.PrototypeReadout,
        {
            "prototypes": np.ones((2, 3, 1)),
            "projections": np.ones((2, 1, 2)),
            "output": EYE,
            "norm": ds.networks.LayerNorm(jnp.ones(2), jnp.zeros(2)),
            "gradient": "full",
        },
    ),
    "draw_readout": (ds.networks.draw_readout, {"key": KEY, "m": 4, "k": 3, "heads": 2, "gradient": "full"}),
    "SoftQuantiser": (ds.networks.SoftQuantiser, {"codebook": EYE, "barrier": 0.1, "gradient": "full"}),
    "HardQuantiser": (ds.networks.HardQuantiser, {"codebook": EYE, "commitment": 0.25}),
    "Transition": (
        ds.Transition,
        {"name": "fall", "guard": FALL, "reset": lambda flow, t, x: (flow, x), "immediate": False, "terminal": True},
    ),
    "simulate_hybrid": (
        ds.simulate_hybrid,
        {
            "flow": FLOW,
            "y0": [1.0],
            "ts": [0, 1],
            "transitions": [ds.Transition("fall", FALL, lambda flow, t, x: (flow, x + 1))],
            "dwell": 0.1,
            "max_transitions": 3,
            "integrator": QUICK,
        },
    ),
    "crossings": (
        ds.crossings,
        {
            "flow": FLOW,
            "y0": [1.0],
            "ts": [0, 1],
            "events": [FALL],
            "action": None,
            "max_crossings": 2,
            "integrator": QUICK,
        },
    ),
    "dense": (ds.dense_output, {"run": RUN, "integrator": QUICK}),
    "initial": (
        ds.tokens.initial_tokens,
        {"distribution": "uniform", "key": KEY, "space": ds.Sphere(), "shape": (3, 2)},
    ),
    "stream": (ds.random_key, {"seed": 0, "name": "x"}),
}
ODD = (
    None, True, -1, 0, 1, 3, 0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), "x", "", b"x", 1j, [], (), {},
    {"x": 1}, [1.0, 2.0], [[1.0, 2.0], [3.0]], [[np.nan, 1.0], [1.0, 0.0]], ["a", "b"], np.zeros((0, 2)),
    np.zeros((2, 0)), np.eye(3), np.eye(2) * 1j, np.eye(2, dtype=bool), np.eye(2, dtype=int),
    np.eye(2, dtype=np.float32), np.array(["a"]), np.zeros((2, 2)), -np.eye(2), np.ones((2, 2, 2)), np.array(1.0),
    object(), int, lambda *a: 1.0, lambda *a: "x", FLOW, ds.Sphere(), KEY,
)  # fmt: skip


def spoilt(name: str) -> st.SearchStrategy:
    """Return a call with one or two of its arguments replaced."""
    names = sorted(CALLS[name][1])
    changes = st.dictionaries(st.sampled_from(names), st.integers(0, len(ODD) - 1), min_size=1, max_size=2)
    return st.tuples(st.just(name), changes if names else st.just({}))


@pytest.mark.filterwarnings("ignore")
@fuzzed
@given(call=st.sampled_from(sorted(CALLS)).flatmap(spoilt))
def test_arguments(call):
    name, changes = call
    function, arguments = CALLS[name]
    check_anew()
    try:
        function(**{**arguments, **{key: ODD[k] for key, k in changes.items()}})
    except BeartypeCallHintViolation:  # the annotations, which tests check, refuse it before
        return
    except IntegrationError as error:
        said = str(error)
    except ValueError as error:
        said = str(error)
        assert re.match(r"Arguments? `", said), (name, {key: ODD[k] for key, k in changes.items()}, said)
    else:
        return
    assert "\n" not in said
    assert said.endswith((".", "?"))


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_valid(name):
    function, arguments = CALLS[name]
    function(**arguments)


@pytest.mark.skipif("DYNSIM_FUZZ" not in os.environ, reason="every odd value of every argument: `make fuzz`")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_every_odd_value_of_every_argument(name):
    for argument in CALLS[name][1]:
        for k in range(len(ODD)):
            test_arguments.hypothesis.inner_test((name, {argument: k}))
