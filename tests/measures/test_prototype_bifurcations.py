"""Branches of equilibria in the temperature, the pitchfork of collapse, and Lyapunov functions along flows."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from analysis.dynamics.equilibria.newton import newton
from analysis.prototypes.bifurcations import _unordered, branch_in_temperature, branches_in_temperature, pitchfork
from analysis.prototypes.collapse import collapse_spectrum, critical_temperature
from analysis.prototypes.lyapunov import lyapunov_candidates, rate_along
from dynsim.integrators import Scipy
from dynsim.keys import random_key
from dynsim.simulation.simulate import simulate
from dynsim.systems.parameter import Parameter
from dynsim.systems.prototypes.assignments import assignments as soft
from dynsim.systems.prototypes.assignments import distance_variance, entropy
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing

DRAWN = np.random.default_rng(15)
Z, PLANE = jnp.asarray(DRAWN.normal(size=(9, 1))), jnp.asarray(DRAWN.normal(size=(9, 2)) * [[1.5, 0.6]])


def test_banks_are_told_apart_by_two_sorted_projections_but_not_in_another_order():
    first, second = np.array([1.0, np.sqrt(2)]), np.cos([1.0, np.sqrt(2)])
    bank = np.array([[3.0, -1.0], [1.0, 2.0], [-1.0, 0.5]])
    wanted = [*np.sort(bank @ first), *np.sort(bank @ second)]
    for order in ([0, 1, 2], [2, 0, 1]):
        np.testing.assert_allclose(_unordered(jnp.asarray(bank[order])), wanted, rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["full", "frozen"])
def test_collapse_loses_stability_at_the_critical_temperature_and_two_prototypes_split(gradient):
    loss = PrototypeLoss(gradient)
    T = critical_temperature(Z, loss)
    bounds = (0.8 * T, 1.2 * T)
    together, *others = branches_in_temperature(Z, 2, loss, bounds, random_key(15, "starts"), num_starts=6)
    np.testing.assert_allclose(np.ptp(together.states, axis=1), 0, atol=1e-9)
    assert together.kinds[:2] == ("saddle",) * 2
    assert together.kinds[-2:] == ("stable",) * 2
    (change,) = together.bifurcations
    assert change.kind == "branch point"
    assert change.parameter == pytest.approx(T, rel=1e-9)
    split = [b for b in others if set(b.kinds) == {"stable"}]
    assert len(split) == 1  # in either order
    first, last = split[0].states[[0, -1], :, 0]
    assert np.ptp(first) > 0.5
    np.testing.assert_allclose(last, first[::-1], atol=1e-8)  # it ends at its mirror image
    (turn,) = split[0].bifurcations
    assert turn.kind == "branch point"  # where it crosses the first branch
    assert turn.parameter == pytest.approx(T, rel=1e-6)
    assert np.ptp(turn.state) < 1e-3
    potential = lambda q, y: PrototypeFlow(Z, y, loss=loss).potential(0.0, q)
    slope, curvature = jax.jit(jax.grad(potential)), jax.jit(jax.hessian(potential))
    for b in (together, *split):
        for p, y, values in zip(b.states, b.parameters, b.eigenvalues, strict=True):
            np.testing.assert_allclose(slope(jnp.asarray(p), y), 0, atol=1e-8)
            H = np.asarray(curvature(jnp.asarray(p), y)).reshape(2, 2)
            np.testing.assert_allclose(values, -np.linalg.eigvalsh(H), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("z", "gradient", "factor", "reduction"),
    [
        pytest.param(Z, "frozen", 32, "sum", id="frozen-line", marks=pytest.mark.slow),
        pytest.param(PLANE, "full", 128, "mean", id="full", marks=pytest.mark.slow),
        pytest.param(PLANE, "frozen", 32, "sum", id="frozen"),
        pytest.param(Z, "full", 128, "mean", id="full-line", marks=pytest.mark.slow),
    ],
)
def test_the_pitchfork_of_two_prototypes_is_supercritical(z, gradient, factor, reduction):
    loss = PrototypeLoss(gradient, reduction=reduction)
    found = pitchfork(z, loss)
    y = np.asarray(z - jnp.mean(z, axis=0)[None]) @ found.direction
    scale = 1 if reduction == "sum" else len(z)
    assert found.coefficient == pytest.approx(factor * np.sum(y**4) / found.temperature**3 / scale, rel=1e-9)
    assert found.kind == "supercritical"
    assert found.temperature == critical_temperature(z, loss)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", [pytest.param("full", marks=pytest.mark.slow), "frozen"])
def test_the_split_prototypes_have_the_distance_of_the_normal_form(gradient):
    """The potential is phi_2 s^2 / 2 + phi_4 s^4 / 24 with phi_2 = 2 h, h < 0 the splitting eigenvalue of collapse."""
    loss = PrototypeLoss(gradient, reduction="sum" if gradient == "frozen" else "mean")
    found = pitchfork(Z, loss)
    for below, error in ((1e-2, 3e-2), (1e-4, 3e-4)):
        T = found.temperature * (1 - below)
        h = float(collapse_spectrum(Z, 2, T, loss).splitting[0])
        s = np.sqrt(-12 * h / found.coefficient)
        start = jnp.mean(Z) + s * jnp.asarray([[-1.0], [1.0]])
        split, speed = newton(PrototypeFlow(Z, T, loss=loss), start)
        assert speed < 1e-12
        assert float(jnp.ptp(split)) / 2 == pytest.approx(s, rel=error)


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_the_coefficient_is_the_fourth_derivative_of_the_least_potential_at_a_given_distance(ridge):
    """Of prototypes c + w - s and c + w + s with the w of the least free energy, in 40 digits.

    With a ridge collapse is not at the mean embedding, so that w is of the order of the square of s.
    """
    z, loss = np.array([[-1.0], [0.2], [0.5], [2.4]]), PrototypeLoss("frozen", ridge=ridge)
    found = pitchfork(z, loss)
    with mpmath.workdps(40):
        points, T, rho = [mpmath.mpf(float(x)) for x in z[:, 0]], mpmath.mpf(found.temperature), mpmath.mpf(ridge)
        centre = sum(points) / (len(points) + rho)  # the factor of the squares is 2 N / K = N

        def potential(w, s):
            p = [centre + w - s, centre + w + s]
            sums = (sum(mpmath.exp(-((x - q) ** 2) / T) for q in p) for x in points)
            return -T * sum(map(mpmath.log, sums)) + rho / 2 * sum(q**2 for q in p)

        def least(s):
            w = mpmath.findroot(lambda w: mpmath.diff(lambda u: potential(u, s), w), mpmath.mpf(0))
            return potential(w, s)

        h = mpmath.mpf("0.01")
        values = [least(k * h) for k in range(3)]
        fourth = 2 * (values[2] - 4 * values[1] + 3 * values[0]) / h**4  # of an even function
    assert found.coefficient == pytest.approx(float(fourth), rel=2e-3)


def test_the_branch_of_collapse_spans_the_bounds_in_steps_of_a_20th_of_them():
    z = np.array([[-1.0], [0.2], [1.1]])
    (together,) = branches_in_temperature(
        z, 2, PrototypeLoss("frozen"), (2.0, 3.0), random_key(0, "none"), num_starts=0
    )
    assert together.parameters[[0, -1]].tolist() == [2.0, 3.0]
    steps = np.diff(together.parameters)
    assert (steps[0], np.max(steps)) == pytest.approx((0.05 / 4, 0.05))  # a tenth of the deviation of z is longer
    np.testing.assert_allclose(together.states[:, :, 0], 0.1, rtol=1e-9)
    (fine,) = branches_in_temperature(
        0.1 * z, 2, PrototypeLoss("frozen"), (2.0, 2.5), random_key(0, "none"), num_starts=0
    )
    assert np.max(np.diff(fine.parameters)) == pytest.approx(0.1 * (0.1 * np.std(z) + 1e-3))


BAD = [
    (lambda: pitchfork(jnp.ones((3, 1)), PrototypeLoss()), "Argument `z` must have two embeddings that differ, but"),
    (lambda: pitchfork(jnp.asarray([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), PrototypeLoss()), "Argument `z` must have a"),
    (
        lambda: branches_in_temperature(Z, 2, PrototypeLoss(), (0, 1), random_key(0, "a")),
        "Argument `bounds` must be a pos",
    ),
    (
        lambda: branches_in_temperature(Z, 2, PrototypeLoss(), (2, 1), random_key(0, "a")),
        "Argument `bounds` must be a positive temperature and a higher one, but are (2, 1)",
    ),
    (
        lambda: branch_in_temperature(Parameter(PrototypeFlow(Z, Annealing()), "ridge", 0, 1), Z[:2]),
        "Argument `temperature` must be the constant temperature of a `PrototypeFlow`, but is Parameter ridge of",
    ),
    (
        lambda: branch_in_temperature(Parameter(PrototypeFlow(Z, 1.0), "ridge", 0, 1), Z[:2]),
        "Argument `temperature` must be the constant temperature of a `PrototypeFlow`, but is Parameter ridge of",
    ),
]


@pytest.mark.parametrize(("act", "says"), BAD, ids=[says for _, says in BAD])
def test_bad_input_is_one_sentence(act, says):
    with pytest.raises(ValueError, match="Argument") as error:
        act()
    assert str(error.value).startswith(says)


@functools.cache
def candidates(gradient, barrier, annealed=False, end=1.0):
    temperature = Annealing(2.0, 0.3, 1.0) if annealed else 0.6
    loss = PrototypeLoss(gradient, barrier=barrier)
    flow = PrototypeFlow(PLANE, temperature, loss=loss, rate=0.3)
    start = jnp.asarray([[0.3, 0.1], [0.1, -0.4], [3.0, 0.2]])
    path = simulate(flow, start, np.linspace(0, end, 201), integrator=Scipy())
    return path, lyapunov_candidates(path)


@pytest.mark.parametrize("gradient", [pytest.param("full", marks=pytest.mark.slow), "frozen"])
def test_the_potential_falls_at_the_rate_of_the_squared_gradient(gradient):
    path, found = candidates(gradient, 0.2)
    flow = path.system
    assert not found["potential"].increases
    slopes = jax.jit(jax.vmap(lambda p: flow.gradient(0.0, p)))(path.ys)
    wanted = -0.3 * np.sum(np.asarray(slopes) ** 2, axis=(1, 2))
    np.testing.assert_allclose(found["potential"].rates, wanted, rtol=1e-9)
    for name in ("L", "F", "R", "V", "W", "potential"):
        assert found[name].error < 1e-4 * np.ptp(found[name].values), name
    if gradient == "full":
        np.testing.assert_allclose(found["potential"].values, found["W"].values)


@pytest.mark.slow
def test_a_candidate_that_rises_is_told_from_numerical_error():
    _, found = candidates("full", 0.2)
    assert found["V"].increases or found["R"].increases
    rising = found["V"] if found["V"].increases else found["R"]
    assert rising.rise > 100 * rising.error
    assert np.max(rising.rates) > 0


@pytest.mark.slow
def test_annealing_adds_the_change_of_the_temperature():
    path, found = candidates("frozen", 0.0, annealed=True)
    flow = path.system

    def rates(t, p):
        T = flow.temperature(t)
        cooling = -T  # dT/dt with the time constant 1
        H = len(PLANE) * entropy(soft(PLANE, p, T))
        at_rest = PrototypeFlow(PLANE, T, loss=flow.loss, rate=0.3)
        by_state = rate_along(at_rest, lambda t, p: PrototypeLoss().value(PLANE, p, T), t, p)
        change = distance_variance(PLANE, p, T) / T**2 * cooling
        return -0.3 * jnp.sum(flow.gradient(t, p) ** 2) - H * cooling, by_state + change

    F, L = jax.jit(jax.vmap(rates))(path.ts, path.ys)
    np.testing.assert_allclose(found["F"].rates[:-1], F[:-1], rtol=1e-10)
    np.testing.assert_allclose(found["L"].rates[:-1], L[:-1], rtol=1e-10)
