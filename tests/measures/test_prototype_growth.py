"""Prototypes that stay bounded or escape: certificates, laws of growth, and cases that neither decides."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.prototypes.boundedness import LogTimeFlow, escape_constant, growth
from analysis.prototypes.certificates import _shut_out, bounding_radius, escaping_prototypes
from dynsim.integrators import Scipy
from dynsim.simulation.simulate import simulate
from dynsim.systems.prototypes.assignments import squared_distances
from dynsim.systems.prototypes.encoders import FreeEmbeddings
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import AbstractTemperature, Annealing

Z = jnp.asarray([[-0.5], [0.3], [0.6]])
NEAR, FAR, THREE = (jnp.asarray(p)[:, None] for p in ([0.0, 0.8], [0.0, 6.0], [0.0, 0.5, 6.0]))


def flow(gradient, barrier=0.0, ridge=0.0, *, reduction="sum", temperature=0.7, z=Z):
    loss = PrototypeLoss(gradient, barrier=barrier, ridge=ridge, reduction=reduction)
    return PrototypeFlow(z, temperature, loss=loss, rate=1.5)


class Heating(AbstractTemperature):
    """A temperature that rises."""

    def __call__(self, t):
        return 1.0 + jnp.asarray(t, float)

    def limit(self):
        return jnp.asarray(jnp.inf)


CASES = [
    (("frozen", 0.5), FAR, "escaping", "certificate"),
    (("full", 0.5), FAR, "escaping", "certificate"),
    (("full", 0.5), THREE, "escaping", "law"),
    (("full", 0.0), FAR, "escaping", "certificate"),
    (("frozen", 0.0), FAR, "bounded", "hull"),
    (("frozen", 0.5, 0.1), FAR, "bounded", "ridge"),
    (("full", 0.5), NEAR, "bounded", "equilibrium"),
]


@functools.cache
def case(number):
    parameters, start, *_ = CASES[number]
    return growth(flow(*parameters), start)


@pytest.mark.parametrize("number", [0, 1, pytest.param(2, marks=pytest.mark.slow), *range(3, len(CASES))])
def test_a_verdict_is_that_of_the_case(number):
    found = case(number)
    assert (found.verdict, found.reason) == CASES[number][2:]
    assert np.isfinite(found.bound) == (found.reason in ("ridge", "hull"))


def test_prototypes_that_meet_near_zero_are_followed_in_few_steps():
    z = jnp.asarray([[-0.48780565], [0.06578034], [0.42225437]])  # with the mean 8e-5
    radau = Scipy("Radau", 1e-8, 1e-10, max_steps=1000)
    found = growth(flow("frozen", z=z), jnp.asarray([[0.0], [0.1]]), integrator=radau)
    assert (found.verdict, found.reason, found.bound) == ("bounded", "hull", 0.48780565)
    assert found.radii[-1] < 1e-10


@pytest.mark.parametrize(("number", "k"), [(0, 2), (1, 2), (2, 3)])
def test_a_barrier_drives_a_distant_prototype_away_as_the_fourth_root_of_time(number, k):
    found = case(number)
    wanted = escape_constant(flow(*CASES[number][0]).loss, k, 1.5)
    assert wanted == 8 * 0.5 * 1.5 * (k - 1)
    np.testing.assert_allclose(found.exponents, 0.25, atol=1e-3 * k)
    np.testing.assert_allclose(found.constant, wanted, rtol=1e-2)
    assert found.radii[-1] > 100


def test_without_a_barrier_the_distance_in_the_mode_full_grows_logarithmically():
    """With s = r^2 / T for one embedding at 0: s' = 4 eta s^2 e^-s (1 + o(1)), so that e^s / s^2 / t tends to 4 eta."""
    start = jnp.asarray([[0.0], [3.0]])
    found = growth(flow("full", z=jnp.zeros((1, 1)), temperature=1.0), start, decades=10)
    assert (found.verdict, found.reason) == ("escaping", "certificate")
    s = found.radii[[-5, -1]] ** 2
    speed = np.exp(s) / s**2 / found.times[[-5, -1]]
    np.testing.assert_allclose(speed[1], 4 * 1.5, rtol=0.2)
    assert abs(speed[1] / 6 - 1) < abs(speed[0] / 6 - 1)


@pytest.mark.parametrize(("gradient", "temperature"), [("full", 0.7), ("frozen", Annealing(2.0, 0.3, 5.0))])
def test_trajectories_keep_to_the_bound_of_a_ridge(gradient, temperature):
    system = flow(gradient, 2.0, 0.05, temperature=temperature)
    bound, reason = bounding_radius(system, FAR)
    assert reason == "ridge"
    path = simulate(system, FAR, np.linspace(0, 40, 41), integrator=Scipy())
    assert float(jnp.max(jnp.abs(path.ys))) < bound
    T = jax.vmap(system.temperature)(path.ts)
    potential = np.asarray(path.along_time(system.potential)) + (gradient == "frozen") * 3 * np.log(2) * np.asarray(T)
    assert np.all(np.diff(potential) < 1e-9)


@pytest.mark.parametrize(
    ("gradient", "reduction", "share"), [("full", "sum", 0), ("frozen", "sum", 3), ("frozen", "mean", 1)]
)
def test_the_bound_of_a_ridge_is_where_the_ridge_alone_is_the_loss(gradient, reduction, share):
    """In the mode `frozen` the least free energy of `share` embeddings and two prototypes is added."""
    system = flow(gradient, 0.5, 0.1, reduction=reduction)
    loss = float(system.potential(0.0, FAR)) + share * 0.7 * np.log(2)
    assert bounding_radius(system, FAR) == (pytest.approx(np.sqrt(2 * loss / 0.1), rel=1e-8), "ridge")
    without = flow("frozen", 0.0, 1e-3, reduction=reduction)
    assert bounding_radius(without, NEAR) == (pytest.approx(0.8), "hull")  # the smaller one of both


@pytest.mark.parametrize(
    ("gradient", "reduction"), [("full", "sum"), ("full", "mean"), ("frozen", "sum"), ("frozen", "mean")]
)
def test_a_prototype_is_certified_from_the_distance_of_the_conditions_on(gradient, reduction):
    barrier, T, width = 0.5, 0.7, 1.1
    system = flow(gradient, barrier, reduction=reduction)
    at = lambda r: jnp.asarray([[0.0], [r]])
    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if escaping_prototypes(system, at(middle))[1] else (middle, high)
    assert not escaping_prototypes(system, at(high))[0]
    scale, points = (1, 3) if reduction == "sum" else (3, 1)
    level = float(system.potential(0.0, at(high))) + (gradient == "frozen") * points * T * np.log(2)
    D, B = (high - 0.6) ** 2, scale * level  # the nearest embedding is at 0.6
    if gradient == "full":
        assert pytest.approx(T + B, rel=1e-6) == D
    else:
        pull = np.exp((B - D) / T) * (np.sqrt(D) + width) * (np.sqrt(D) + np.sqrt(B)) ** 3
        assert pull == pytest.approx(barrier if scale == 3 else barrier / 3, rel=1e-6)
        assert max(B, 2 * T) < D


def test_embeddings_that_are_seen_at_an_obtuse_angle_do_not_certify():
    between = lambda square: np.array([[0.0, square], [square, 0.0]])
    d = np.array([[1.0, 25.0], [1.0, 25.0]])
    assert _shut_out(d, between(49.0), 3.0).tolist() == [False, True]
    assert _shut_out(d, between(51.0), 3.0).tolist() == [False, False]
    assert _shut_out(np.array([[25.0, 25.0], [3.0, 30.0]]), between(9.0), 3.0).tolist() == [False, True]


def test_the_hull_bounds_prototypes_by_the_farthest_point():
    assert bounding_radius(flow("frozen"), NEAR) == (pytest.approx(0.8), "hull")
    assert bounding_radius(flow("frozen"), NEAR / 8) == (pytest.approx(0.6), "hull")
    assert bounding_radius(flow("full"), NEAR) == (np.inf, "none")
    assert bounding_radius(flow("frozen", 0.1), NEAR) == (np.inf, "none")
    assert bounding_radius(flow("full", ridge=1.0, temperature=Heating()), NEAR)[1] == "none"


@pytest.mark.parametrize(
    ("gradient", "barrier", "reduction"), [("full", 0.0, "sum"), ("full", 0.5, "mean"), ("frozen", 0.5, "mean")]
)
def test_distances_of_a_certified_prototype_increase(gradient, barrier, reduction):
    z = 0.5 * jnp.asarray([[-0.5, 0.1], [0.3, -0.4], [0.2, 0.3]])
    system = flow(gradient, barrier, reduction=reduction, temperature=0.3, z=z)
    far = next(r for r in np.arange(0.5, 12, 0.25) if escaping_prototypes(system, jnp.asarray([[0.0, 0], [0, r]]))[1])
    assert far > 0.5
    path = simulate(system, jnp.asarray([[0.0, 0.0], [0.0, far]]), np.linspace(0, 100, 21), integrator=Scipy())
    distances = np.asarray(path.along(lambda p: squared_distances(z, p)[:, 1]))
    least = np.min(distances, axis=1) if gradient == "frozen" else distances
    assert np.all(np.diff(least, axis=0) > 0)
    assert not np.any(path.along(lambda p: squared_distances(z, p)[:, 0] > 1.0))


def test_no_prototype_is_certified_where_the_conditions_fail():
    certain = lambda system, p: escaping_prototypes(system, p).tolist()
    assert certain(flow("full", 0.5), FAR) == [False, True]
    assert certain(flow("frozen", 0.5), FAR) == [False, True]
    assert certain(flow("full", 0.5), NEAR) == [False, False]
    assert certain(flow("frozen", 0.5), NEAR) == [False, False]
    assert certain(flow("frozen", 1e-3), FAR / 2) == [False, False]
    assert certain(flow("frozen"), FAR) == [False, False]
    assert certain(flow("full", 0.5, 1e-9), FAR) == [False, False]
    assert certain(flow("full", 0.5), THREE) == [False, False, False]
    assert certain(flow("full"), THREE) == [False, False, True]
    assert certain(flow("full", temperature=Heating()), FAR) == [False, False]
    wide = jnp.asarray([[-9.0], [9.0]])  # the prototype at 0 lies between them
    assert certain(flow("full", z=wide), jnp.asarray([[-9.0], [9.0], [0.0]])) == [False, False, False]
    free = CoupledFlow(Z, FreeEmbeddings(3, 1), 0.7, loss=PrototypeLoss("full"))
    assert certain(free, Coupled(Z, FAR)) == [False, False]


def test_an_annealed_flow_converges_at_its_last_temperature():
    found = growth(flow("full", temperature=Annealing(2.0, 0.3, 5.0)), NEAR, decades=5)
    assert (found.verdict, found.reason) == ("bounded", "equilibrium")


def test_the_flow_in_logarithmic_time_has_the_same_states():
    system = flow("full", 0.3, temperature=Annealing(2.0, 0.3, 2.0))
    ts = np.array([0.0, 1.0, 10.0])
    slow = simulate(LogTimeFlow(system), NEAR, np.log1p(ts), integrator=Scipy())
    np.testing.assert_allclose(slow.ys, simulate(system, NEAR, ts, integrator=Scipy()).ys, atol=1e-9)
    arrival = system.temperature.arrival()
    np.testing.assert_allclose(LogTimeFlow(system).breakpoints(0.0, 3.0), [np.log1p(arrival)])


def test_a_trajectory_that_stays_on_a_saddle_is_undecided():
    found = growth(flow("full", z=jnp.asarray([[-1.0], [0.0], [1.0]])), jnp.zeros((2, 1)), decades=4)
    assert (found.verdict, found.reason) == ("undecided", "none")
    assert np.max(found.radii) == 0


def test_free_embeddings_at_rest_are_not_called_bounded():
    """They may be translated, so that the equilibrium is not isolated, and convergence to it is not decided here."""
    encoder = FreeEmbeddings(2, 1)
    system = CoupledFlow(jnp.zeros((2, 1)), encoder, 0.5, loss=PrototypeLoss("frozen"), encoder_rate=0.5)
    found = growth(system, Coupled(jnp.asarray([[-1.0], [1.0]]), jnp.asarray([[-1.1], [0.9]])), decades=4)
    assert (found.verdict, found.reason) == ("undecided", "none")


def test_a_growth_over_too_few_decades_is_refused():
    with pytest.raises(ValueError, match="Argument `decades` must be at least 4, but is 2"):
        growth(flow("full"), NEAR, decades=2)


def test_single_precision_is_refused():
    with pytest.raises(ValueError, match="Argument `x` must be in double precision, but is in single precision"):
        growth(flow("full", 0.5), FAR.astype(jnp.float32))
