"""Flows with noise: orders against closed forms, both calculi, diffrax on the same path, ensembles, files, refusals.

A state of many entries with noise of their own is as many paths, in one solve.
"""

import itertools
from typing import Any, NamedTuple

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.linearisation import tangent_jacobian
from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators import Diffrax, EulerHeun, EulerMaruyama, Event, StochasticHeun
from dynsim.integrators.fixed_step.stochastic import _checked, _path
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.run_files import load, rerun, save
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Ellipsoid, Euclidean, Product, Simplex, Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.noisy import NoisyFlow

KEY = random_key(0, "noise")
ENDS = [0.0, 1.0]
PATHS = 4096
POLE = np.array([0.0, 0.0, 1.0])


class Parts(NamedTuple):
    directions: Any
    points: Any
    numbers: Any


def at_rest(t, x):
    del t
    return jax.tree.map(jnp.zeros_like, x)


def decay(t, x):
    del t
    return -x


def growth(t, x):
    del t
    return 0.5 * x


def proportional(t, x):
    del t
    return 0.8 * x


def driven(t, x):
    del t
    return jnp.stack([x[1], -jnp.sin(x[0])])


def directions(t, x):
    """Three Brownian motions that act on two entries, and do not commute."""
    return jnp.stack([jnp.stack([0.3 * x[1], 0.2, jnp.cos(t)]), jnp.stack([0.1, 0.4 * jnp.sin(x[0]), 0.3 * x[0]])])


def last(flow, x0, integrator, key=KEY):
    return np.asarray(simulate(flow, x0, ENDS, integrator=integrator, key=key).final)


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


@pytest.mark.slow
def test_euler_maruyama_is_of_weak_order_one_on_ornstein_uhlenbeck():
    flow = NoisyFlow(FunctionFlow(decay), 0.5, calculus="ito")
    steps = np.array([1 / 4, 1 / 8])
    found = [last(flow, jnp.full(PATHS, 2.0), EulerMaruyama(h)) for h in steps]
    means = [abs(x.mean() - 2 * np.exp(-1)) for x in found]
    spreads = [abs(x.var() - 0.125 * (1 - np.exp(-2))) for x in found]
    assert 0.7 < slope(steps, means) < 1.4  # standard error .005 of errors .1 and .05
    assert spreads[1] < 0.25 * 0.5 * (1 / 8) + 4 * 0.11 * np.sqrt(2 / PATHS)  # order one, and the sampling error
    assert abs(means[0] - 2 * (np.exp(-1) - 0.75**4)) < 4 * 0.33 / np.sqrt(PATHS)  # the mean of the scheme itself


CLOSED_FORMS = (("ito", EulerMaruyama, 0.5, 0.5 - 0.32), ("stratonovich", EulerHeun, 1.0, 0.5))


def strong_errors(kind, calculus, drift, steps, finest):
    """Return the errors at t = 1 of geometric Brownian motion, against its closed form on the same paths."""
    some = jnp.ones(PATHS // 4)
    W = last(NoisyFlow(FunctionFlow(at_rest), 1.0, calculus="ito"), some, EulerMaruyama(1.0, finest)) - 1
    flow = NoisyFlow(FunctionFlow(growth), proportional, calculus=calculus)
    exact = np.exp(drift + 0.8 * W)
    return [np.sqrt(np.mean((last(flow, some, kind(h, finest)) - exact) ** 2)) for h in steps]


@pytest.mark.slow
@pytest.mark.parametrize(("calculus", "kind", "order", "drift"), CLOSED_FORMS)
def test_the_two_calculi_differ_by_half_the_square_of_a_multiplicative_noise(calculus, kind, order, drift):
    del order
    flow = NoisyFlow(FunctionFlow(growth), proportional, calculus=calculus)
    found, mean = last(flow, jnp.ones(PATHS), kind(1 / 32)), np.exp(drift + 0.32)
    assert abs(found.mean() - mean) < 4 * mean * np.sqrt(np.expm1(0.64) / PATHS) + 0.01  # of means .62 apart


@pytest.mark.slow
@pytest.mark.parametrize(("calculus", "kind", "order", "drift"), CLOSED_FORMS)
def test_the_strong_orders_on_geometric_brownian_motion(calculus, kind, order, drift):
    steps = np.array([1 / 16, 1 / 64, 1 / 256])
    assert abs(slope(steps, strong_errors(kind, calculus, drift, steps, 1 / 512)) - order) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calculus", "kind"), [pytest.param("ito", EulerMaruyama, marks=pytest.mark.slow), ("stratonovich", EulerHeun)]
)
def test_brownian_motion_on_the_sphere_forgets_its_start_at_the_known_rate(calculus, kind):
    x0 = jnp.tile(jnp.asarray(POLE), (PATHS, 1))
    flow = NoisyFlow(FunctionFlow(at_rest, Sphere()), 1.0, calculus=calculus)
    coarse, fine = (last(flow, x0, kind(h)).mean(axis=0) for h in (1 / 8, 1 / 16))
    assert np.max(np.abs(2 * fine - coarse - np.exp(-1) * POLE)) < 4 * np.sqrt(5 / 3 / PATHS)
    assert abs(fine[2] - np.exp(-1)) < 0.6 * abs(coarse[2] - np.exp(-1)) + 0.01


@pytest.mark.slow
def test_the_schemes_are_of_weak_order_one_and_strong_order_one_half_on_the_sphere():
    steps, many = np.array([1 / 4, 1 / 8, 1 / 16]), 200_000
    x0 = jnp.tile(jnp.asarray(POLE), (many, 1))
    for calculus, kind in (("ito", EulerMaruyama), ("stratonovich", EulerHeun), ("stratonovich", StochasticHeun)):
        flow = NoisyFlow(FunctionFlow(at_rest, Sphere()), 1.0, calculus=calculus)
        errors = [abs(last(flow, x0, kind(h))[:, 2].mean() - np.exp(-1)) for h in steps]
        assert 0.75 < slope(steps, errors) < 1.25, (kind.__name__, errors)
        fewer = x0[:1000]
        levels = np.array([1 / 8, 1 / 32, 1 / 128])
        exact = last(flow, fewer, kind(1 / 1024, 1 / 1024))
        apart = [np.sqrt(np.mean((last(flow, fewer, kind(h, 1 / 1024)) - exact) ** 2)) for h in levels]
        assert 0.35 < slope(levels, apart) < 0.7, (kind.__name__, apart)


@pytest.mark.parametrize(("ours", "theirs"), [
    pytest.param(EulerMaruyama, dfx.Euler(), marks=pytest.mark.slow),
    pytest.param(EulerHeun, dfx.EulerHeun(), marks=pytest.mark.slow),
    pytest.param(StochasticHeun, dfx.Heun(), marks=pytest.mark.slow),
], ids=["euler-maruyama", "euler-heun", "heun"])  # fmt: skip
def test_diffrax_takes_the_same_path_in_euclidean_space(ours, theirs):
    flow = NoisyFlow(FunctionFlow(driven), directions, calculus=ours.calculus)
    x0 = jnp.asarray([0.3, -0.2])
    ts = np.linspace(0, 1, 5)
    path = simulate(flow, x0, ts, integrator=ours(1 / 8, 1 / 64), key=KEY, error_estimate=True)
    tree = dfx.VirtualBrownianTree(0.0, 1.0, tol=1 / 64, shape=(3,), key=KEY)
    noise = dfx.ControlTerm(lambda t, y, args: directions(t, y), tree)
    terms = dfx.MultiTerm(dfx.ODETerm(lambda t, y, args: driven(t, y)), noise)
    assert 1e-3 < path.stats.max_error < 0.5
    other = dfx.diffeqsolve(terms, theirs, 0.0, 1.0, 1 / 8, x0, saveat=dfx.SaveAt(ts=jnp.asarray(ts)))
    np.testing.assert_allclose(np.asarray(path.ys), np.asarray(other.ys), atol=1e-12)


def moving(t, x):
    return jnp.stack([x[1] + t, -jnp.sin(x[0]) * t])


def test_one_step_of_each_scheme_is_its_formula():
    x, dW, t, h = np.array([0.3, -0.2]), np.array([0.1, -0.3, 0.2]), 0.4, 0.25
    f = lambda t, x: np.asarray(moving(t, jnp.asarray(x)))
    g = lambda t, x: np.asarray(directions(t, jnp.asarray(x))) @ dW
    z, w = x + f(t, x) * h + g(t, x), x + g(t, x)
    expected = {
        EulerMaruyama: z,
        EulerHeun: x + f(t, x) * h + (g(t, x) + g(t, w)) / 2,
        StochasticHeun: x + (f(t, x) + f(t + h, z)) * h / 2 + (g(t, x) + g(t + h, z)) / 2,
    }
    for kind, y in expected.items():
        flow = NoisyFlow(FunctionFlow(moving), directions, calculus=kind.calculus)
        found = kind().step(flow, t, jnp.asarray(h), jnp.asarray(x), jnp.asarray(dW))
        np.testing.assert_allclose(found, y, rtol=1e-14)


def test_the_kick_is_the_tangent_part_of_the_noise_at_the_projected_point():
    flow = NoisyFlow(
        FunctionFlow(at_rest, Sphere()), lambda t, x: jnp.broadcast_to(0.5 * x[:, :1] + t, x.shape), calculus="ito"
    )
    x, dW = np.array([[0.6, 0.0, 0.8]]), np.array([[0.3, -0.2, 0.5]])
    pushed = (0.5 * 0.6 + 0.4) * dW
    found = flow.kick(0.4, jnp.asarray(3 * x), jnp.asarray(dW))
    np.testing.assert_allclose(found, pushed - np.sum(pushed * x) * x, atol=1e-15)
    parts = Parts(jnp.ones(2), jnp.ones((3, 1)), jnp.asarray(1.0))
    number = NoisyFlow(FunctionFlow(at_rest, Product(Parts(*[Euclidean()] * 3))), 2.0, calculus="ito")
    assert [np.unique(part).tolist() for part in number.kick(0.0, parts, parts)] == [[2.0]] * 3


def test_increments_are_independent_from_step_to_step_and_of_the_variance_of_their_time():
    flow, ts = NoisyFlow(FunctionFlow(at_rest), 1.0, calculus="ito"), np.array([0.0, 0.25, 1.25, 2.25])
    path = np.asarray(simulate(flow, jnp.zeros(PATHS), ts, integrator=EulerMaruyama(0.5), key=KEY).ys)
    steps = np.diff(path, axis=0)
    assert np.var(steps, axis=1) == pytest.approx([0.25, 1.0, 1.0], rel=4 * np.sqrt(2 / PATHS))
    assert np.max(np.abs(np.corrcoef(steps)[np.triu_indices(3, 1)])) < 4 / np.sqrt(PATHS)
    assert [_checked(EulerMaruyama(h, key=KEY), flow, jnp.zeros(1),
        ts)[1] for h in (0.3, 0.5, 1.0, 3.0)] == [4, 2, 1, 1]  # fmt: skip
    thirds = np.array([0.0, 3 * 0.1])  # a little more than three steps
    assert _checked(EulerMaruyama(0.1, key=KEY), flow, jnp.zeros(1), thirds)[1] == 3
    fast = NoisyFlow(FunctionFlow(at_rest, fastest_period=0.5), 1.0, calculus="ito")
    assert _checked(EulerMaruyama(1.0, key=KEY), fast, jnp.zeros(1), ts)[1] == 4


def test_parts_of_equal_shape_have_increments_of_their_own():
    """And so have two steps."""
    parts, ts = Parts(jnp.zeros(3), jnp.zeros(3), jnp.zeros(3)), jnp.asarray([0.0, 1.0])
    flow = NoisyFlow(FunctionFlow(at_rest, Product(Parts(*[Euclidean()] * 3))), 1.0, calculus="ito")
    drawn = _path(EulerMaruyama(0.5), flow, KEY, parts, ts)
    values = [drawn(k, *ends) for k, ends in enumerate([(0.0, 0.5), (0.5, 1.0)])]
    assert len(np.unique(np.concatenate(jax.tree.leaves(values)))) == 2 * 3 * 3


@pytest.mark.slow
def test_a_path_of_a_given_resolution_is_one_of_brownian_motion():
    flow, ts = NoisyFlow(FunctionFlow(at_rest), 1.0, calculus="ito"), jnp.asarray([1.0, 1.5, 3.0])
    moved = jax.jit(lambda t, end: _path(EulerMaruyama(1.0, 0.01), flow, KEY, jnp.zeros(PATHS), ts)(0, t, end))
    times = [1.0, 1.2, 1.5, 3.0]
    increments = np.stack([moved(*pair) for pair in itertools.pairwise(times)])
    np.testing.assert_allclose(np.sum(increments, axis=0), moved(1.0, 3.0), atol=1e-12)
    np.testing.assert_allclose(np.var(increments, axis=1), np.diff(times), rtol=5 * np.sqrt(2 / PATHS))
    assert np.max(np.abs(np.corrcoef(increments) - np.eye(3))) < 5 / np.sqrt(PATHS)


def test_the_number_of_steps_of_a_very_long_run_is_told_before_it(capsys, monkeypatch):
    class Stopped(Exception):
        pass

    def stop(*arguments):
        raise Stopped(arguments[-1])

    monkeypatch.setattr("dynsim.integrators.fixed_step.stochastic._integrate", stop)
    noisy = NoisyFlow(FunctionFlow(decay), 1.0, calculus="ito")
    with pytest.raises(Stopped, match="250000000"):
        simulate(noisy, [1.0], [0.0, 2.5e6, 5e6], key=KEY)
    assert capsys.readouterr().err == "simulate: 5e+08 steps, each of at most 0.01 (`step_size`)\n"
    with pytest.raises(Stopped):
        simulate(noisy, [1.0], [0.0, 1e5], key=KEY)
    assert not capsys.readouterr().err


@pytest.mark.slow
def test_members_of_an_ensemble_have_keys_of_their_own():
    flow, starts = NoisyFlow(FunctionFlow(at_rest), 1.0, calculus="stratonovich"), jnp.zeros((3, 2))
    found = ensemble(flow, starts, ENDS, lambda t, x: x, integrator=EulerHeun(0.5), key=KEY, chunk=2).final
    alone = simulate(flow, starts[2], ENDS, integrator=EulerHeun(0.5), key=jax.random.fold_in(KEY, 2))
    np.testing.assert_allclose(found[2], alone.final, rtol=1e-12)


@pytest.mark.slow
def test_states_stay_on_every_space_and_parts_have_noise_of_their_own():
    space = Product(Parts(Sphere(), Ellipsoid(np.diag([1.0, 2.0, 3.0])), Euclidean()))
    x0 = space.sample(KEY, ((2, 3), (3,), (2,)))
    flow = NoisyFlow(FunctionFlow(at_rest, space), Parts(0.5, 0.0, jnp.ones(2)), calculus="ito")
    path = simulate(flow, x0, ENDS, key=KEY)
    assert float(space.defect(path.final)) < 1e-14
    assert np.array_equal(path.final[1], x0[1])  # no noise, no velocity
    assert np.all(np.abs(np.asarray(path.final[0] - x0[0])).max(axis=1) > 1e-3)
    assert 1e-3 < float(path.stats.max_defect) < 0.2  # before the projection
    assert int(path.stats.num_steps) == 100


@pytest.mark.slow
def test_an_ensemble_holds_the_paths_of_its_members_and_resumes(tmp_path):
    flow = NoisyFlow(FunctionFlow(decay), proportional, calculus="stratonovich")
    starts = jnp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    ts = np.linspace(0, 1, 3)
    make = lambda key, folder: ensemble(
        flow, starts, ts, lambda t, x: x, integrator=EulerHeun(0.25), key=key, chunk=2, folder=folder
    )
    found = make(KEY, tmp_path / "parts")
    one = simulate(flow, starts[2], ts, integrator=EulerHeun(0.25), key=jax.random.fold_in(KEY, 2))
    np.testing.assert_allclose(found.values[2], one.ys, rtol=1e-12)
    (tmp_path / "parts" / "part-00001.npz").unlink()
    again = make(KEY, tmp_path / "parts")
    assert np.array_equal(found.values, again.values)
    with pytest.raises(ValueError, match="parts of this very run"):
        make(random_key(1, "noise"), tmp_path / "parts")
    louder = [NoisyFlow(FunctionFlow(at_rest), s, calculus="stratonovich") for s in (0.1, 0.2, 0.0)]
    spread = ensemble(louder, starts, ENDS, lambda t, x: x, integrator=EulerHeun(0.25), key=KEY).final - starts
    assert np.array_equal(spread[2], [0.0, 0.0])
    alone = simulate(louder[1], starts[1], ENDS, integrator=EulerHeun(0.25), key=jax.random.fold_in(KEY, 1))
    np.testing.assert_allclose(spread[1], alone.final - starts[1], rtol=1e-12)


@pytest.mark.slow
def test_a_run_file_repeats_a_path_with_noise_to_the_bit(tmp_path):
    flow = NoisyFlow(FunctionFlow(decay), proportional, calculus="ito")
    path = simulate(flow, [1.0, 2.0], ENDS, integrator=EulerMaruyama(0.25, 0.125), key=KEY)
    save(tmp_path / "run.npz", path, key=KEY)
    trust = [f"{__name__}:decay", f"{__name__}:proportional", "tests/integrators/test_noise.py"]
    again: Any = rerun(tmp_path / "run.npz", trust=trust)
    assert np.array_equal(path.ys, again.ys)
    stored: Any = load(tmp_path / "run.npz", trust=trust)
    assert stored.system.calculus == "ito"
    assert np.array_equal(jax.random.key_data(stored.integrator.key), jax.random.key_data(KEY))


def test_noise_that_leaves_the_domain_ends_the_run_in_one_sentence():
    apart = NoisyFlow(FunctionFlow(at_rest, Simplex()), 1.0, calculus="ito")
    with pytest.raises(IntegrationError, match="only reached t = .*the noise left the domain.*vanishes at the") as said:
        simulate(apart, [0.2, 0.3, 0.5], [0.0, 4.0], key=KEY)
    assert said.value.outcome is Outcome.LEFT_DOMAIN
    positive = NoisyFlow(FunctionFlow(at_rest), 1.0, calculus="ito", domain=jnp.min)
    assert [bool(positive.outside(jnp.asarray([0.5, x]))) for x in (0.1, 0.0, -0.1)] == [False, False, True]
    path = simulate(positive, [0.5, 0.5], np.linspace(0, 4, 9), key=KEY, throw=False)
    reached = np.asarray(path.ts) <= float(path.stats.last_time)
    assert not path.stats.succeeded
    assert 0 < reached.sum() < 9
    assert np.all(np.asarray(path.ys)[reached] >= 0)
    assert np.all(np.isnan(np.asarray(path.ys)[~reached]))


@pytest.mark.slow
def test_gradients_pass_through_a_path_with_noise():
    def ends_at(amplitude):
        flow = NoisyFlow(FunctionFlow(decay), amplitude, calculus="ito")
        return simulate(flow, jnp.ones(2), ENDS, integrator=EulerMaruyama(0.25), key=KEY).final[0]

    at = jnp.asarray(0.3)
    slope = eqx.filter_jit(jax.grad(ends_at))(at)
    np.testing.assert_allclose(slope, (ends_at(at + 1e-3) - ends_at(at - 1e-3)) / 2e-3, rtol=1e-9)


def _noisy(**changes):
    given = {"flow": FunctionFlow(decay), "noise": 0.1, "calculus": "ito", **changes}
    return NoisyFlow(given.pop("flow"), given.pop("noise"), **given)


REFUSED = {
    "calculus": (lambda: _noisy(calculus="Ito"), "`calculus` must be one of ito, stratonovich, but is 'Ito'"),
    "twice": (lambda: _noisy(flow=_noisy()), "`flow` must be a flow without noise"),
    "amplitude": (lambda: _noisy(noise=np.nan), "`noise` must be finite"),
    "step": (lambda: EulerHeun(0.0), "`step_size` must be positive"),
    "no key": (lambda: simulate(_noisy(), [1.0], ENDS), "`key` must be given for a flow with noise, .* but is missing"),
    "key": (lambda: simulate(FunctionFlow(decay), [1.0], ENDS, key=KEY), "`key` must be left out for a flow without"),
    "scheme": (
        lambda: simulate(_noisy(), [1.0], ENDS, key=KEY, integrator=EulerHeun()),
        '`integrator` must be `EulerMaruyama\\(\\)` for noise with calculus="ito", but is EulerHeun',
    ),
    "adaptive": (lambda: simulate(_noisy(), [1.0], ENDS, key=KEY, integrator=Diffrax()), "but is Diffrax"),
    "error": (
        lambda: simulate(_noisy(), [1.0], ENDS, key=KEY, error_estimate=True),
        "`error_estimate` must be left out for noise without a `path_resolution`",
    ),
    "quiet": (
        lambda: simulate(FunctionFlow(decay), [1.0], ENDS, integrator=EulerHeun()),
        "`integrator` must be one for a flow without noise",
    ),
    "shape": (
        lambda: simulate(_noisy(noise=lambda t, x: jnp.ones(3)), [1.0, 2.0], ENDS, key=KEY),
        r"`noise` must return arrays of the shape of the state, \(2,\), or with one more axis, but has shape \(3,\)",
    ),
    "list": (
        lambda: simulate(_noisy(noise=[0.1, 0.2, 0.3]), [1.0, 2.0], ENDS, key=KEY),
        r"`noise` must return arrays of the shape of the state, \(2,\), or with one more axis, but has shape \(3,\)",
    ),
    "parts": (
        lambda: simulate(_noisy(noise=(0.1, 0.2)), [1.0, 2.0], ENDS, key=KEY),
        "`noise` must have the same structure as the state",
    ),
    "a text": (
        lambda: simulate(_noisy(noise=lambda t, x: "loud"), [1.0], ENDS, key=KEY),
        "`noise` must hold real numbers",
    ),
    "domain": (
        lambda: simulate(_noisy(domain=lambda x: x), [1.0, 2.0], ENDS, key=KEY),
        r"`domain` must return one number, but returns shape \(2,\)",
    ),
    "events": (
        lambda: simulate_until(_noisy(), [1.0], ENDS, [Event(lambda t, x: x[0])]),
        "`flow` must be without noise here",
    ),
    "limits": (lambda: settle(_noisy(), jnp.ones(1)), "`key` must be given for a flow with noise"),
    "spectra": (lambda: tangent_jacobian(_noisy(), jnp.ones(1)), "`flow` must be without noise here"),
    "both": (
        lambda: ensemble([_noisy(), _noisy(calculus="stratonovich")], [[1.0], [2.0]], ENDS, lambda t, x: x, key=KEY),
        "`flow` must have noise of a single calculus, or none",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_solved_is_refused_in_one_sentence(case):
    make, match = REFUSED[case]
    with pytest.raises(ValueError, match=match):
        make()


def test_steps_without_noise_are_those_of_euler_at_their_times():
    """X' = -t x by steps of 0.1 from t = 1, two between saved times."""
    flow = NoisyFlow(FunctionFlow(lambda t, x: -t * x), 0.0, calculus="ito")
    path = simulate(flow, [3.0], [1.0, 1.2, 1.4], key=KEY, integrator=EulerMaruyama(0.1))
    wanted = 3 * np.cumprod([1.0, *(1 - 0.1 * np.array([1.0, 1.1, 1.2, 1.3]))])[::2]
    np.testing.assert_allclose(path.ys[:, 0], wanted, rtol=1e-12)
    assert (int(path.stats.num_steps), float(path.stats.last_time)) == (4, 1.4)


def test_a_tighter_scheme_takes_shorter_steps_along_the_same_path():
    scheme = EulerHeun(0.1, key=KEY, path_resolution=1e-3).tightened(4.0)
    assert (scheme.step_size, scheme.path_resolution) == (0.025, 1e-3)
    assert scheme.key is KEY


@pytest.mark.slow
def test_a_list_of_numbers_is_an_array_as_it_is_for_a_start():
    x, moved = jnp.asarray([1.0, 2.0]), jnp.asarray([3.0, 5.0])
    for noise in ([0.1, 0.2], lambda t, x: [0.1, 0.1 * x[1]]):
        np.testing.assert_allclose(_noisy(noise=noise).kick(0.0, x, moved), [0.3, 1.0])
