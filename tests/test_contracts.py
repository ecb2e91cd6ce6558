"""What every flow and every map keeps, over the zoo."""

import inspect
import pkgutil
from importlib import import_module

import diffrax as dfx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import dynsim.systems
from dynsim.integrators import Diffrax, Scipy
from dynsim.simulation import iterate, simulate
from dynsim.systems.base import AbstractFlow, AbstractMap
from tests.zoo import FLOWS, MAPS, flow_and_start, map_and_start

OWN = {"SpanForm"}  # needs its initial tokens to exist; tests/test_span_form.py holds it to the same contract


def _classes(base):
    found = set()
    for info in pkgutil.walk_packages(dynsim.systems.__path__, "dynsim.systems."):
        for name, thing in inspect.getmembers(import_module(info.name), inspect.isclass):
            if issubclass(thing, base) and not inspect.isabstract(thing) and not name.startswith(("_", "Abstract")):
                found.add(name)
    return found - OWN


def _flat(x):
    return np.asarray(jax.flatten_util.ravel_pytree(x)[0])


def test_the_zoo_is_complete():
    flows = {type(make()).__name__ for make, _ in FLOWS.values()}
    maps = {type(make()).__name__ for make, _ in MAPS.values()}
    assert _classes(AbstractFlow) == flows
    assert _classes(AbstractMap) == maps


@pytest.mark.parametrize("name", FLOWS)
def test_the_field_is_tangent_and_constant_along_the_fibres_of_the_retraction(name):
    flow, x = flow_and_start(name)
    v = flow.vector_field(0.3, x)
    np.testing.assert_allclose(_flat(flow.space.tangent(x, v)), _flat(v), atol=1e-13)
    h = 1e-6  # central differences: error h^2
    ahead, behind = (jax.tree.map(lambda a, b, s=s: a + s * b, x, v) for s in (h, -h))
    slope = (flow.space.defect(ahead) - flow.space.defect(behind)) / (2 * h)
    assert abs(slope) < 1e-5
    y = jax.tree.map(lambda a: 1.7 * a, x)
    on = flow.vector_field(0.3, flow.space.project(y))
    np.testing.assert_allclose(_flat(flow.vector_field(0.3, y)), _flat(on), atol=1e-12)


@pytest.mark.parametrize("name", FLOWS)
def test_both_integrators_agree(name):
    flow, x = flow_and_start(name)
    ts = np.linspace(0.0, 4.0, 5)
    first = simulate(flow, x, ts)
    second = simulate(flow, x, ts, integrator=Scipy())
    for path in (first, second):
        assert jax.tree.map(jnp.shape, path.ys) == jax.tree.map(lambda a: (5, *a.shape), x)
        assert float(path.stats.max_defect) < 1e-6
        np.testing.assert_allclose(_flat(path.initial), _flat(x), atol=1e-15)
    kinks = "7.4" in name  # at the kinks of |sin| an error estimate is of first order only
    near = 1e-6 if kinks else 2e-8  # rtol 1e-9, over four time units
    np.testing.assert_allclose(_flat(first.ys), _flat(second.ys), atol=near)


LONG = [name for name in FLOWS if name.startswith("published") or name in ("repulsive", "projected value")]


@pytest.mark.parametrize("name", LONG)
def test_both_integrators_agree_up_to_the_growth_of_the_linearised_flow(name):
    flow, x = flow_and_start(name)
    ts = np.array([0.0, 20.0])
    tight = Diffrax(rtol=1e-11, atol=1e-13)
    end = simulate(flow, x, ts, integrator=tight).final
    nudge = 1e-6 * flow.space.tangent(x, jax.random.normal(jax.random.key(3), x.shape))
    moved = simulate(flow, flow.space.project(x + nudge), ts, integrator=tight).final
    growth = max(1.0, float(jnp.linalg.norm(moved - end) / jnp.linalg.norm(nudge)))
    second = simulate(flow, x, ts, integrator=Scipy()).final
    assert float(jnp.max(jnp.abs(second - end))) < 1e-8 * growth


@pytest.mark.parametrize("name", ["published 7.1", "oja", "a user's own, plane"])
def test_diffrax_takes_the_vector_field_as_it_is(name):
    flow, x = flow_and_start(name)
    plain = dfx.diffeqsolve(
        dfx.ODETerm(flow.vector_field), dfx.Tsit5(), 0.0, 1.0, 0.01, x,
        stepsize_controller=dfx.PIDController(rtol=1e-9, atol=1e-11),
    )  # fmt: skip
    np.testing.assert_allclose(flow.space.project(plain.ys[0]), simulate(flow, x, [0.0, 1.0]).final, atol=1e-8)


@pytest.mark.parametrize("name", ["published 7.2", "piecewise"])
def test_simulate_runs_under_vmap(name):
    flow, x = flow_and_start(name)
    ts = np.linspace(0.0, 2.0, 3)
    batch = jnp.stack([x, x[::-1]])
    ends = jax.vmap(lambda y: simulate(flow, y, ts, throw=False).final)(batch)
    np.testing.assert_allclose(ends[0], simulate(flow, x, ts).final, atol=1e-8)


@pytest.mark.parametrize("name", ["published 7.1", "published 7.2", "general heads on an ellipsoid"])
def test_full_attention_commutes_with_a_permutation_of_the_tokens(name):
    flow, x = flow_and_start(name)
    order = np.array([3, 1, 4, 0, 2])
    np.testing.assert_allclose(flow.vector_field(0.2, x[order]), flow.vector_field(0.2, x)[order], atol=1e-14)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_iterated_exactly(name):
    map, x = map_and_start(name)
    path = iterate(map, x, 6, every=2)
    for k in range(6):
        x = map.step(k, x)
        if k % 2:
            np.testing.assert_allclose(path.ys[(k + 1) // 2].astype(float), x.astype(float), atol=1e-14)
    assert list(np.asarray(path.ts)) == [0, 2, 4, 6]
    assert path.stats.max_defect < 1e-14


@pytest.mark.parametrize("name", ["published 7.1", "published 7.2", "repulsive", "windowed"])
def test_a_single_precision_state_stays_single(name):
    flow, x = flow_and_start(name)
    path = simulate(flow, x.astype(jnp.float32), [0.0, 1.0], integrator=Diffrax(rtol=1e-4, atol=1e-6))
    assert path.ys.dtype == jnp.float32
    np.testing.assert_allclose(path.final, simulate(flow, x, [0.0, 1.0]).final, atol=1e-3)
