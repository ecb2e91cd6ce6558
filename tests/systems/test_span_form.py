"""The span form is the token flow in other coordinates: same answers from both integrators, and the same contract."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Diffrax, Event, InSpan, Scipy
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.run_files import rerun, save
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Ellipsoid, Euclidean
from dynsim.systems.base import FunctionFlow
from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, Resampled
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal, Window
from dynsim.systems.tokens.published import published_ensemble_flow, published_hemisphere_flow
from dynsim.systems.tokens.span_form import SpanForm
from dynsim.systems.tokens.span_scores import span_scores

N, D = 4, 7
TIMES = np.linspace(0.0, 2.0, 5)
RANDOM = np.random.default_rng(0).normal(size=(3, 2, D, D)) / 2
METRIC = RANDOM[0, 0] @ RANDOM[0, 0].T + np.eye(D)

FLOWS = {
    "constant, ellipsoid": lambda: TokenFlow(RANDOM[0], -0.7, space=Ellipsoid(METRIC)),
    "modulated, causal": lambda: published_ensemble_flow(random_key(0, "P"), d=D),
    "piecewise, windowed": lambda: TokenFlow(PiecewiseConstant(RANDOM, [0.3, 0.5, 0.2]), mask=Window(2)),
    "resampled": lambda: TokenFlow(Resampled(random_key(0, "R"), (1, D, D), 1.0, 0.7)),
    "more tokens than dimensions": lambda: published_hemisphere_flow(),
}
PLAIN = ("resampled", "more tokens than dimensions")  # to diffrax: jumps and a constant, as others here


def flow_and_start(name: str):
    flow = FLOWS[name]()
    d = flow.query_key.shape[1]
    return flow, flow.space.sample(random_key(0, name), (N, d))


@eqx.filter_jit
def looked_at(flow, form, t, random):
    """Return the tokens' field at a time twice, the form's field there, made tangent, and scaled, and its start."""
    M = form.space.project(jnp.eye(N) + 0.3 * jnp.tril(random))
    v = form.vector_field(t, M)
    again = form.space.tangent(M, v), form.vector_field(t, 1.7 * M)
    start = form.tokens(form.start), form.space.defect(form.start)
    return flow.vector_field(t, form.tokens(M)), form.tokens(v), v, again, start


@pytest.mark.parametrize(
    "schedule",
    [
        Constant(RANDOM[0]),
        PiecewiseConstant(RANDOM, [0.3, 0.5, 0.2]),
        Resampled(random_key(0, "R"), (2, D, D), 1.0, 0.7),
    ]
    + [Modulated(RANDOM[0], 1.5, 2.0, 0.3)],
)
def test_scores_of_the_span_are_bilinear_forms_of_the_initial_tokens(schedule):
    y = RANDOM[1, 0, :N]
    for t in (0.2, 0.75):
        P = np.asarray(schedule(t))
        np.testing.assert_allclose(span_scores(schedule, jnp.asarray(y))(t), y @ P @ y.T, atol=1e-12)


def test_random_coordinates_are_those_of_tokens_on_the_ellipsoid():
    form = SpanForm(FLOWS["constant, ellipsoid"](), RANDOM[1, 0, :N])
    tokens = form.tokens(form.space.sample(random_key(0, "coordinates"), (N, N)))
    np.testing.assert_allclose(jnp.einsum("nd,de,ne->n", tokens, METRIC, tokens), 1.0, atol=1e-12)


SOME = [
    pytest.param(name, marks=[pytest.mark.slow] if name in ("modulated, causal", "resampled") else []) for name in FLOWS
]


@pytest.mark.parametrize("name", SOME)
def test_the_field_is_that_of_the_tokens(name):
    flow, x = flow_and_start(name)
    form, random = SpanForm(flow, x), np.asarray(jax.random.normal(random_key(1, name), (N, N)))
    for t in (0.0, 0.41, 1.3):
        expected, found, v, (tangent, scaled), (start, defect) = looked_at(flow, form, jnp.asarray(t), random)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(start, x, atol=0)
        assert float(defect) < 1e-14
        np.testing.assert_allclose(tangent, v, atol=1e-12)
        np.testing.assert_allclose(scaled, v, atol=1e-12)


ELSEWHERE = ("constant, ellipsoid", "modulated, causal", "resampled")  # by an ensemble, by diffrax; other jumps


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in ELSEWHERE else []) for n in FLOWS])
def test_trajectories_are_those_of_the_tokens(name):
    compare_trajectories(name, InSpan(Scipy()))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "modulated, causal" else [pytest.mark.slow]) for name in FLOWS]
)
def test_diffrax_follows_them_too(name):
    compare_trajectories(name, InSpan())


def compare_trajectories(name, integrator):
    flow, x = flow_and_start(name)
    direct = simulate(flow, x, TIMES, integrator=Scipy())
    path = simulate(flow, x, TIMES, integrator=integrator)
    np.testing.assert_allclose(path.ys, direct.ys, atol=1e-7)
    np.testing.assert_array_equal(path.initial, x)
    assert float(path.stats.max_defect) < 1e-6


@pytest.mark.parametrize("name", ["modulated, causal", "piecewise, windowed"])
def test_steps_jumps_and_defects_are_those_of_the_tokens(name):
    flow, x = flow_and_start(name)
    form = SpanForm(flow, x)
    assert form.step_limit() == flow.step_limit()
    np.testing.assert_array_equal(form.breakpoints(0.1, 7.3), flow.breakpoints(0.1, 7.3))
    assert np.isfinite(form.step_limit()) or len(form.breakpoints(0.1, 7.3)) > 1
    assert float(form.space.defect(1.5 * form.start)) == pytest.approx(0.5)


def test_causal_coordinates_stay_lower_triangular():
    flow, x = flow_and_start("modulated, causal")
    form = SpanForm(flow, x)
    path = simulate(form, form.start, 2.5 * TIMES)
    assert np.all(np.triu(np.asarray(path.ys), 1) == 0.0)


def observed(t, x):
    return x[0] @ x[-1]


@pytest.mark.slow
@pytest.mark.parametrize("inner", [Diffrax(), Scipy()])
def test_an_ensemble_in_the_span_is_the_same_ensemble(inner):
    flow, _ = flow_and_start("constant, ellipsoid")
    y0s = flow.space.sample(random_key(0, "starts"), (5, N, D))
    ts = np.linspace(0.0, 3.0, 4)
    plain = ensemble(flow, y0s, ts, observed, integrator=Scipy())
    found = ensemble(flow, y0s, ts, observed, integrator=InSpan(inner), chunk=2)
    np.testing.assert_allclose(found.values, plain.values, atol=1e-7)
    np.testing.assert_allclose(found.final, plain.final, atol=1e-7)
    np.testing.assert_array_equal(found.initial, plain.initial)


def test_float32_stays_float32():
    flow, x = flow_and_start("modulated, causal")
    follow = lambda x: InSpan(Diffrax(rtol=1e-4)).observe([flow], x, np.array([0.0, 1.0], np.float32), observed)
    values, final, _ = eqx.filter_eval_shape(follow, x[None].astype(jnp.float32))  # types are decided in tracing
    assert values.dtype == final.dtype == jnp.float32


def test_events_are_seen_by_the_tokens():  # by diffrax too: see `test_events`
    flow, x = flow_and_start("piecewise, windowed")
    ends = simulate(flow, x, 1.5 * TIMES, integrator=Scipy())
    between = (np.vdot(ends.initial[0], ends.initial[-1]) + np.vdot(ends.final[0], ends.final[-1])) / 2
    meets = Event(lambda t, x: x[0] @ x[-1] - between)
    plain, spanned = (simulate_until(flow, x, 1.5 * TIMES, [meets], integrator=i) for i in (Scipy(), InSpan(Scipy())))
    assert plain.event == spanned.event == 0
    assert float(spanned.path.ts[-1]) == pytest.approx(float(plain.path.ts[-1]), abs=1e-6)
    np.testing.assert_allclose(spanned.path.final, plain.path.final, atol=1e-6)
    way = -1 if observed(0.0, ends.initial) < between else 1  # the other one
    assert simulate_until(flow, x, 1.5 * TIMES, [Event(meets.fn, way)], integrator=InSpan(Scipy())).event == -1


def test_a_run_in_the_span_is_made_again_from_its_file(tmp_path):
    flow, x = flow_and_start("constant, ellipsoid")
    path = simulate(flow, x, TIMES, integrator=InSpan(Scipy(rtol=1e-6)))
    save(tmp_path / "run.npz", path)
    np.testing.assert_array_equal(rerun(tmp_path / "run.npz").ys, path.ys)


def test_a_flow_without_a_span_form_is_refused():
    x = jnp.eye(D)[:N]
    with pytest.raises(ValueError, match="flow` must have the value c I to have a span form, but has Constant"):
        simulate(TokenFlow(np.eye(D), np.eye(D)), x, [0.0, 1.0], integrator=InSpan())
    with pytest.raises(ValueError, match="flow` must be a token flow to have a span form"):
        ensemble(FunctionFlow(lambda t, x: -x), x[None], [0.0, 1.0], observed, integrator=InSpan())
    with pytest.raises(ValueError, match="flow` must live on a sphere or an ellipsoid"):
        SpanForm(TokenFlow(np.eye(D), mask=Causal(), space=Euclidean()), x)
