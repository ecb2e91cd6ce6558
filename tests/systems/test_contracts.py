"""What every flow and every map keeps, over the zoo; both integrators agree on each flow, to t = 20.

All solves of a flow save as many times, so that one program serves them.
"""

import contextlib
import functools
import inspect
import pkgutil
from importlib import import_module

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation

import dynsim.systems
from analysis.dynamics.linearisation import tangent_basis
from dynsim.errors import ArgumentError
from dynsim.integrators import RKC2, Diffrax, Scipy
from dynsim.integrators.base import program_form
from dynsim.integrators.diffrax_backend import _padded
from dynsim.keys import random_key
from dynsim.simulation.simulate import iterate, simulate
from dynsim.spaces import AbstractSpace, Euclidean
from dynsim.systems.base import AbstractFlow, AbstractMap, _explained
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import TokenFlow
from tests.support.precision import doubles, single, types_of
from tests.support.zoo import FLOWS, MAPS, TOKEN_FLOWS, D, N, flow_and_start, map_and_start, vector_field

OWN = {
    "SpanForm",  # needs its initial tokens to exist; tests/systems/test_span_form.py holds it to the same contract
    "NoisyFlow",  # has no velocity; tests/integrators/test_noise.py
}
SHARES = np.linspace(0.0, 1.0, 11)  # of a horizon, the times that are saved
TS = 20 * SHARES
CASES = [name for name in FLOWS if "user" not in name]
COSTLY = ("growing", "prototypes and free embeddings", "prototypes and an MLP", "two levels")  # to compile
COSTLY += ("resampled", "windowed", "attracted", "gradient", "layer", "in fast time", "master equation, sparse")
COSTLY += ("repulsive", "published 7.3", "projected value", "gate", "master equation", "published 7.2", "reduced")
COSTLY += ("in other units", "fast and slow", "oja", "normalised before and after", "master equation, driven")
COSTLY += ("prototypes",)
"""Flows that only `make test-all` integrates: they are dear, or like others."""
LONG = [name for name in FLOWS if name.startswith("published") or name in ("repulsive", "projected value")]
SHAPES = ("piecewise",)  # a sphere and jumps
PUSH = 1e-6


def _classes(base):
    found = set()
    for info in pkgutil.walk_packages(dynsim.systems.__path__, "dynsim.systems."):
        if info.name.startswith("dynsim.systems.catalogue"):
            continue  # tests/systems/test_catalogue.py has them all
        for name, thing in inspect.getmembers(import_module(info.name), inspect.isclass):
            if issubclass(thing, base) and not inspect.isabstract(thing) and not name.startswith(("_", "Abstract")):
                found.add(name)
    return found - OWN


@pytest.mark.parametrize("method", ["velocity", "step"])
def test_what_is_no_state_is_named_in_a_sentence(method):
    """Without the checks of types in tests, which refuse most of it before."""
    make, names = (flow_and_start, FLOWS) if method == "velocity" else (map_and_start, MAPS)
    for system in {type(made): made for made in (make(name)[0] for name in names)}.values():
        owner = next(vars(one)[method] for one in type(system).__mro__ if method in vars(one))
        called = _explained(inspect.unwrap(owner))
        for state in (None, {"x": 1.0}, [[1.0, "a"]], np.ones(0)):
            with contextlib.suppress(ArgumentError, BeartypeCallHintViolation):  # some take arrays of any shape
                assert isinstance(called(system, 0, state), jax.Array | np.ndarray)


class Turn(AbstractFlow):
    """A rotation."""

    space: AbstractSpace = Euclidean()

    def velocity(self, t, x):
        """Along the circle."""
        return jnp.stack([-x[1], x[0]])


class Shift(AbstractMap):
    """A map of two components."""

    space: AbstractSpace = Euclidean()

    def step(self, k, x):
        """The components in turn."""
        return jnp.stack([x[1], x[0]])


def test_methods_of_own_classes_name_the_state_and_leave_tracing_alone():
    for method in (Turn().velocity, Turn().vector_field, Shift().step, Shift().image):
        with pytest.raises(ArgumentError, match=r"^Argument `x` must be an array of numbers, .* but is None\.$"):
            method(0, None)
        with pytest.raises(
            ArgumentError, match=r"`x` must be a state that this \w+ takes, but is float64 of shape \(1,\)"
        ):
            method(0, np.ones(1))
    with pytest.raises(IndexError, match="indices"):
        jax.eval_shape(lambda x: Turn().velocity(0.0, x), np.ones(()))
    assert Turn().velocity(0.0, x=np.array([1.0, 2.0])).tolist() == [-2.0, 1.0]


def _flat(x):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


def _like(x, flat):
    """Return a flat vector as a state like `x`."""
    leaves, tree = jax.tree.flatten(x)
    parts = np.split(flat, np.cumsum([leaf.size for leaf in leaves])[:-1])
    return jax.tree.unflatten(
        tree, [jnp.asarray(part.reshape(leaf.shape)) for part, leaf in zip(parts, leaves, strict=True)]
    )


@functools.cache
def _both(name):
    """Return a flow of the zoo, and its path to t = 20 by both integrators."""
    flow, x = flow_and_start(name)
    return flow, *(simulate(flow, x, TS, integrator=i) for i in (Diffrax(rtol=1e-11, atol=1e-13), Scipy()))


def test_the_zoo_is_complete():
    made = {name: make() for name, (make, _) in FLOWS.items()}
    flows = {type(flow).__name__ for flow in made.values()}
    maps = {type(make()).__name__ for make, _ in MAPS.values()}
    assert _classes(AbstractFlow) == flows
    assert _classes(AbstractMap) == maps
    assert tuple(name for name, flow in made.items() if isinstance(flow, TokenFlow)) == TOKEN_FLOWS


@pytest.mark.parametrize("name", FLOWS)
def test_the_field_is_tangent_and_constant_along_the_fibres_of_the_retraction(name):
    flow, x = flow_and_start(name)
    v = vector_field(flow, 0.3, x)
    np.testing.assert_allclose(_flat(flow.space.tangent(x, v)), _flat(v), atol=1e-13)
    h = 1e-6  # central differences: error h^2
    ahead, behind = (jax.tree.map(lambda a, b, s=s: a + s * b, x, v) for s in (h, -h))
    slope = (flow.space.defect(ahead) - flow.space.defect(behind)) / (2 * h)
    assert abs(slope) < 1e-5
    y = jax.tree.map(lambda a: 1.7 * a, x)
    on = vector_field(flow, 0.3, flow.space.project(y))
    np.testing.assert_allclose(_flat(vector_field(flow, 0.3, y)), _flat(on), atol=1e-12)


DEAR = (*COSTLY, "published 7.4, small", "a user's own, simplex", "general heads on an ellipsoid")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in DEAR else []) for n in FLOWS])
def test_both_integrators_agree(name):
    flow, x = flow_and_start(name)
    ts = 4 * SHARES
    first = simulate(flow, x, ts)
    second = simulate(flow, x, ts, integrator=Scipy())
    for path in (first, second):
        assert jax.tree.map(jnp.shape, path.ys) == jax.tree.map(lambda a: (11, *a.shape), x)
        assert float(path.stats.max_defect) < 1e-6
        np.testing.assert_allclose(_flat(path.initial), _flat(x), atol=1e-15)
    kinks = "7.4" in name  # at the kinks of |sin| an error estimate is of first order only
    near = 1e-6 if kinks else 2e-8  # rtol 1e-9, over four time units
    np.testing.assert_allclose(_flat(first.ys), _flat(second.ys), atol=near)


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in SHAPES else [pytest.mark.slow]) for n in FLOWS])
def test_the_stabilised_integrator_agrees_as_far_as_its_steps_allow(name):
    flow, x = flow_and_start(name)
    ts, rtol = 4 * SHARES, 1e-6
    path = simulate(flow, x, ts, integrator=Diffrax(RKC2(), rtol=rtol, atol=rtol))
    assert jax.tree.map(jnp.shape, path.ys) == jax.tree.map(lambda a: (11, *a.shape), x)
    assert path.stats.max_defect < 1e-3
    np.testing.assert_allclose(_flat(path.initial), _flat(x), atol=1e-15)
    exact = simulate(flow, x, ts, integrator=Scipy()).ys
    away = flow.space.tangent(x, _like(x, jax.random.normal(random_key(7, "push"), _flat(x).shape)))
    pushed = flow.space.project(jax.tree.map(lambda a, b: a + PUSH * b, x, away))
    moved = simulate(flow, pushed, ts, integrator=Scipy()).ys
    growth = max(1.0, _distance(moved, exact) / _distance(pushed, x))
    step = rtol * (1 + np.max(np.abs(_flat(path.ys))))  # what the tolerances allow in one
    assert _distance(path.ys, exact) < step * int(path.stats.num_steps) * growth


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in COSTLY else []) for n in LONG])
def test_both_integrators_agree_up_to_the_growth_of_one_displacement(name):
    flow, first, second = _both(name)
    x, tight = first.initial, Diffrax(rtol=1e-11, atol=1e-13)
    nudge = 1e-6 * flow.space.tangent(x, jax.random.normal(jax.random.key(3), x.shape))
    moved = simulate(flow, flow.space.project(x + nudge), TS, integrator=tight).final
    growth = max(1.0, float(jnp.linalg.norm(moved - first.final) / jnp.linalg.norm(nudge)))
    assert _distance(second.final, first.final) < 1e-8 * growth


def _distance(left, right):
    """Return the largest difference of two states, or of two paths of them."""
    return float(np.max(np.abs(_flat(left) - _flat(right))))


def _growth(flow, path):
    """Return how much a small displacement grows between any two of the times, over a few directions; at least 1."""
    largest, follow = 1.0, Diffrax(rtol=1e-10)
    for begin in (0, 5):
        x, ts = jax.tree.map(lambda leaf, i=begin: leaf[i], path.ys), TS[begin] + (TS[-1] - TS[begin]) * SHARES
        basis, undisturbed = tangent_basis(flow.space, x), simulate(flow, x, ts, integrator=follow).ys
        for drawn in np.asarray(jax.random.normal(random_key(0, "directions", begin), (3, max(N * D, basis.shape[1])))):
            direction = drawn[: basis.shape[1]]
            pushed = _like(x, _flat(x) + PUSH * basis @ direction / np.linalg.norm(direction))
            moved = simulate(flow, flow.space.project(pushed), ts, integrator=follow).ys
            largest = max(largest, _distance(moved, undisturbed) / PUSH)
    return largest


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in COSTLY else []) for n in CASES])
def test_both_integrators_agree_up_to_the_growth_of_the_linearised_flow(name):
    flow, first, second = _both(name)
    assert _distance(first.ys, second.ys) < 1e-8 * _growth(flow, first)


def test_a_solver_is_compiled_once_for_all_horizons_of_a_flow_that_jumps():
    flow = FLOWS["piecewise"][0]()
    short, long = (_padded(flow.breakpoints(0.0, end)) for end in (4.0, 20.0))
    assert short.shape == long.shape
    np.testing.assert_array_equal(short[np.isfinite(short)], flow.breakpoints(0.0, 4.0))
    assert _padded(np.empty(0)).shape == (0,)


def test_a_solver_is_compiled_once_for_all_periods():
    flow = FLOWS["published 7.2"][0]()
    faster = eqx.tree_at(lambda f: f.query_key, flow, Modulated(flow.query_key.base, 2.0, 90.0, 0.0))
    assert faster.step_limit() < flow.step_limit()
    assert jax.tree.structure(faster) != jax.tree.structure(flow)
    assert jax.tree.structure(program_form(faster)) == jax.tree.structure(program_form(flow))
    x = flow.space.sample(random_key(7, "periods"), (N, D))
    np.testing.assert_array_equal(program_form(faster).vector_field(0.3, x), faster.vector_field(0.3, x))


@pytest.mark.parametrize("name", ["published 7.1", pytest.param("oja", marks=pytest.mark.slow), "a user's own, plane"])
def test_diffrax_takes_the_vector_field_as_it_is(name):
    flow, x = flow_and_start(name)
    plain = dfx.diffeqsolve(
        dfx.ODETerm(flow.vector_field), dfx.Tsit5(), 0.0, 1.0, 0.01, x,
        stepsize_controller=dfx.PIDController(rtol=1e-9, atol=1e-11),
    )  # fmt: skip
    np.testing.assert_allclose(flow.space.project(plain.ys[0]), simulate(flow, x, SHARES).final, atol=1e-8)


@pytest.mark.parametrize("name", ["published 7.2", pytest.param("piecewise", marks=pytest.mark.slow)])
def test_simulate_runs_under_vmap(name):
    flow, x = flow_and_start(name)
    ts = 2 * SHARES
    batch = jnp.stack([x, x[::-1]])
    ends = jax.vmap(lambda y: simulate(flow, y, ts, throw=False).final)(batch)
    for end, start in zip(ends, batch, strict=True):
        np.testing.assert_allclose(end, simulate(flow, start, ts, integrator=Scipy()).final, atol=1e-8)


@pytest.mark.parametrize("name", ["published 7.1", "published 7.2", "general heads on an ellipsoid"])
def test_full_attention_commutes_with_a_permutation_of_the_tokens(name):
    flow, x = flow_and_start(name)
    order = np.array([3, 1, 4, 0, 2])
    np.testing.assert_allclose(flow.vector_field(0.2, x[order]), flow.vector_field(0.2, x)[order], atol=1e-14)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_iterated_exactly(name):
    map, x = map_and_start(name)
    step = map.step if map.on_host else eqx.filter_jit(map.step)
    path = iterate(map, x, 6, every=2)
    for k in range(6):
        x = step(k if map.on_host else np.asarray(k), x)
        if k % 2:
            saved = jax.tree.map(lambda leaf, i=(k + 1) // 2: leaf[i], path.ys)
            np.testing.assert_allclose(_flat(saved).astype(float), _flat(x).astype(float), atol=1e-14)
    assert list(np.asarray(path.ts)) == [0, 2, 4, 6]
    assert path.stats.max_defect < 1e-14


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_computes_in_the_precision_of_its_state(name):
    flow, x = flow_and_start(name)
    field, t, y = flow.vector_field, jnp.float32(0.3), single(x)
    assert types_of(jax.eval_shape(field, t, y)) == {"float32"}
    # matrices are drawn in float64, so that they are the same ones in any precision
    assert name == "resampled" or doubles(field, t, y) == []


@pytest.mark.parametrize("name", MAPS)
def test_a_map_computes_in_the_precision_of_its_state(name):
    map, x = map_and_start(name)
    if map.on_host:
        assert map.step(0, jax.tree.map(np.asarray, single(x))).dtype in (float, object)  # as its documentation says
        return
    image = lambda x: map.image(1, x)
    assert types_of(jax.eval_shape(image, single(x))) == {"float32"}
    assert doubles(image, single(x)) == []


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("published 7.2", "windowed", "repulsive")]


@pytest.mark.parametrize("name", ["published 7.1", *OTHERS])
def test_a_single_precision_state_stays_single(name):
    flow, x = flow_and_start(name)
    path = simulate(flow, x.astype(jnp.float32), SHARES, integrator=Diffrax(rtol=1e-4, atol=1e-6))
    assert path.ys.dtype == jnp.float32
    np.testing.assert_allclose(path.final, simulate(flow, x, SHARES).final, atol=1e-3)
