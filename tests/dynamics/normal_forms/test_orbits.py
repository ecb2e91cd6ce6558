"""Normal forms on branches of periodic orbits: closed forms in solid tori, of forced flows, on a sphere; folds."""

import functools
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.integrate import solve_ivp

from analysis.dynamics.continuation import section_coefficients
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.cycle_equations import OrbitSegments
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import continue_orbits, switch_orbits
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.normal_forms.charts import second_derivative, third_derivative
from analysis.dynamics.normal_forms.cycles import Sections, cycle_cusp, cycle_flip, cycle_fold, cycle_neimark_sacker
from analysis.dynamics.normal_forms.return_maps import ReturnChart
from analysis.dynamics.periodic_orbits.floquet_vectors import along_orbit, mean_square
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.programs import without_compiling
from dynsim.spaces import Euclidean, Sphere
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.chaotic import Roessler
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter
from tests.dynamics.continuation.test_orbits import Bautin

P = lambda flow: flow.p


def across(p, q, half, c, s, v):
    """Return the velocity of what is across a circle at the angle with the cosine c and the sine s.

    With `half` it grows at the rate p + q |v|^2 along a direction that makes half a turn while the circle makes one,
    and shrinks across: after a turn the direction is reversed. Without it grows so everywhere and turns by .3 a turn.
    """
    turned = jnp.stack([-v[1], v[0]])
    if not half:
        return (p + q * (v @ v)) * v + 0.3 * turned
    along = (v + jnp.stack([c * v[0] + s * v[1], s * v[0] - c * v[1]])) / 2
    return (p + q * (along @ along)) * along - 0.4 * (v - along) + turned / 2


class Torus(AbstractFlow):
    """The unit circle in space, gone round in 2 pi, with `across` for the distance from it and the height above it.

    The height is measured from a parabola, which gives the return map quadratic terms and does not change its class.
    The velocity depends on the place, so that trajectories return at different times, by the same map.
    """

    p: object = parameter("p", -0.05)
    q: object = parameter("q", -0.3)
    bend: object = parameter("bend", 0.7)
    half: bool = True
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        r = jnp.sqrt(x[0] ** 2 + x[1] ** 2)
        c, s, out = x[0] / r, x[1] / r, r - 1
        rate, rise = across(self.p, self.q, self.half, c, s, jnp.stack([out, x[2] - self.bend * out**2]))
        velocity = jnp.stack([rate * c - x[1], rate * s + x[0], rise + 2 * self.bend * out * rate])
        return (1 + 0.6 * out + 0.9 * x[2] + 0.3 * x[1]) * velocity


class Driven(AbstractFlow):
    """The same in a plane about the point (c, 0), with time as the angle, which runs `speed` times as fast."""

    p: object = parameter("p", -0.05)
    q: object = parameter("q", -0.3)
    bend: object = parameter("bend", 0.7)
    speed: object = parameter("speed", 1.0)
    half: bool = True
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        c, s = jnp.cos(self.speed * t), jnp.sin(self.speed * t)
        out = x[0] - c
        v = jnp.stack([out, x[1] - self.bend * out**2])
        rate, rise = self.speed * across(self.p, self.q, self.half, c, s, v)
        return jnp.stack([rate - self.speed * s, rise + 2 * self.bend * out * rate])


class OnSphere(AbstractFlow):
    """The torus in half of a sphere, by central projection."""

    p: object = parameter("p", -0.05)
    q: object = parameter("q", -0.3)
    space: Sphere = Sphere()

    def velocity(self, t, x):
        moved = lambda y: self.space.project(jnp.append(y, 1.0))
        y = x[:3] / x[3]
        return jax.jvp(moved, (y,), (Torus(p=self.p, q=self.q).velocity(t, y),))[1]


def bifurcation(flow, start, *, segments=1, forcing=None, step=0.05):
    """Return the only bifurcation between p = -.05 and .05 of the orbits through a state, of periods near 2 pi."""
    first = periodic_orbit(flow, jnp.asarray(start), 2 * np.pi, segments=segments, forced=forcing is not None)
    found = continue_orbits(Parameter(flow, P, -0.05, 0.05), first, steps=Steps(first=step), forcing=forcing)
    (point,) = found.bifurcations
    assert point.parameter == pytest.approx(0.0, abs=1e-7)
    return point


def square_of(flow, start, period, vector, multiplier, sizes=1.0):
    """Return the mean square of the Floquet vector whose part across the velocity at the start is a given one.

    Components are multiplied by `sizes`.
    By another integrator, and by the trapezium rule, which is exact to all orders for a periodic function.
    """
    field = jax.jit(lambda x: flow.velocity(0.0, x))
    derivative, n = jax.jit(jax.jacfwd(field)), len(start)
    fall = lambda t, y: np.append(field(y[:n]), np.asarray(derivative(y[:n])) @ y[n:].reshape(n, n))
    times = np.linspace(0.0, period, 201)
    run = solve_ivp(fall, (0, period), np.append(start, np.eye(n)), "DOP853", times, rtol=1e-11, atol=1e-13)
    matrices, velocity = run.y[n:].T.reshape(-1, n, n), np.asarray(field(start))
    gap = matrices[-1] @ vector - multiplier * vector
    whole = vector + velocity * (gap @ velocity) / (velocity @ velocity) / (multiplier - 1)
    return float(np.mean(np.sum(np.abs(sizes * (matrices[:-1] @ whole)) ** 2, axis=1)))


def across_torus(node):
    """Return the critical unit vector of a torus at a state: it makes half a turn while the circle makes one."""
    angle = np.arctan2(node[1], node[0])
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    return np.array([c * np.cos(angle), c * np.sin(angle), s])


@pytest.mark.slow
@pytest.mark.parametrize(("q", "criticality"), [(-0.3, "supercritical"), (0.2, "subcritical")])
def test_a_doubling_of_a_cycle_has_the_coefficient_of_its_return_map(q, criticality):
    """A turn takes u to -u exp(2 pi p) (1 + 2 pi q u^2 + ...) at small p: c = 2 pi q / T, over the mean square."""
    point = bifurcation(Torus(q=q), [np.cos(2.0), np.sin(2.0), 0.0], segments=2)
    assert (point.kind, point.criticality) == ("period doubling", criticality)
    node, period = np.asarray(point.state.nodes[0]), float(point.state.period)
    square = square_of(Torus(p=0.0, q=q), node, period, across_torus(node), -1.0)
    assert point.coefficient == pytest.approx(2 * np.pi * q / period / square, rel=1e-6)
    assert str(point).endswith(f"({criticality})")


@pytest.mark.slow
def test_the_coefficient_of_a_cycle_depends_neither_on_the_first_node_nor_on_the_number_of_nodes():
    """An adaptive control system, whose doubling MatCont's manual has at a = 0.630302, of the period 6.364071."""
    flow = FunctionFlow(
        lambda t, x, a: jnp.stack([x[1], x[2], -a * x[2] - x[1] - x[0] + x[0] ** 2]), parameters={"a": 0.63}
    )
    where, found = Parameter(flow, "a", 0.6, 0.66), []
    first = periodic_orbit(flow, jnp.asarray([0.7, 0.0, -0.4]), 6.36)
    for segments, time in ((1, 0.0), (1, 2.0), (3, 1.0), (8, 4.0)):
        later = solve_ivp(lambda t, x: np.asarray(flow.velocity(t, x)), (0, time), first.state, rtol=1e-9).y[:, -1]
        orbit = periodic_orbit(flow, jnp.asarray(later), first.period, segments=segments)
        (point,) = continue_orbits(where, orbit, steps=Steps(first=0.02)).bifurcations
        assert (point.kind, point.criticality) == ("period doubling", "supercritical")
        assert point.parameter == pytest.approx(0.6303020, abs=1e-7)
        assert float(point.state.period) == pytest.approx(6.364071, abs=1e-6)
        found.append(point.coefficient)
    assert np.allclose(found, found[0], rtol=1e-7)


@pytest.mark.slow
def test_the_derivatives_of_a_return_map_are_those_of_its_differences_by_another_integrator():
    flow = Torus(p=0.05, q=0.3)
    orbit = periodic_orbit(flow, jnp.asarray([np.cos(2.0), np.sin(2.0), 0.0]), 2 * np.pi)
    x = np.asarray(orbit.state)
    velocity = np.asarray(flow.velocity(0.0, orbit.state))
    basis = np.linalg.svd(velocity[None])[2][1:].T
    field = jax.jit(lambda x: flow.velocity(0.0, x))
    section = lambda t, y: velocity @ (y - x) if t > 1 else 1.0
    section.terminal, section.direction = True, 1
    along = np.array([0.6, 0.8])

    def returned(h):
        fall = lambda t, y: np.asarray(field(y))
        run = solve_ivp(fall, (0, 20), x + basis @ (h * along), "DOP853", rtol=1e-13, atol=1e-14, events=section)
        return basis.T @ (run.y_events[0][0] - x)

    h, chart = 0.01, ReturnChart(flow, orbit.state, basis, orbit.period, 1e-11, forced=False)
    values = {k: returned(k * h) for k in (-4, -2, -1, 0, 1, 2, 4)}
    second = lambda k: (values[k] - 2 * values[0] + values[-k]) / (k * h) ** 2
    third = lambda k: (values[2 * k] - 2 * values[k] + 2 * values[-k] - values[-2 * k]) / (2 * (k * h) ** 3)
    found = second_derivative(chart, along, along).value.real, third_derivative(chart, along, along, along).value.real
    assert np.allclose(found[0], (4 * second(1) - second(2)) / 3, rtol=1e-4)
    assert np.allclose(found[1], (4 * third(1) - third(2)) / 3, rtol=1e-2)


@pytest.mark.slow
def test_the_torus_of_a_cycle_has_the_coefficient_of_its_return_map():
    """A turn takes u to u exp(i theta) (1 + 4 pi q |u|^2), for the vector (1, i) / sqrt 2: Re d is 4 pi q / T."""
    point = bifurcation(Torus(q=-0.3, half=False), [1.0, 0.0, 0.0])
    assert (point.kind, point.criticality) == ("Neimark-Sacker point", "supercritical")
    assert point.frequency == pytest.approx(0.6 * np.pi, abs=1e-6)
    node, period = np.asarray(point.state.nodes[0]), float(point.state.period)
    out = np.array([node[0], node[1], 0.0]) / np.hypot(node[0], node[1])
    vector = (out - 1j * np.array([0.0, 0.0, 1.0])) / np.sqrt(2)
    square = square_of(Torus(p=0.0, q=-0.3, half=False), node, period, vector, np.exp(0.6j * np.pi))
    assert point.coefficient == pytest.approx(-1.2 * np.pi / period / square, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("half", [True, False])
def test_forced_orbits_have_the_coefficients_of_the_map_over_a_period(half):
    flow, forcing = Driven(q=0.25, speed=2.0, half=half), lambda flow: 2 * jnp.pi / flow.speed
    first = periodic_orbit(flow, jnp.asarray([1.0, 0.0]), np.pi, segments=2, forced=True)
    (point,) = continue_orbits(Parameter(flow, P, -0.05, 0.05), first, forcing=forcing).bifurcations
    assert (point.kind, point.criticality) == ("period doubling" if half else "Neimark-Sacker point", "subcritical")
    assert point.coefficient == pytest.approx((1 if half else 2) * 2.0 * 0.25, rel=1e-6)  # in time, of unit vectors


@pytest.mark.slow
def test_on_a_sphere_a_doubling_has_the_coefficient_that_belongs_to_its_units():
    """The coefficient is 2 pi q / T over the mean square of the image of the critical unit vector."""
    flow = OnSphere(q=-0.3)
    start = flow.space.project(jnp.asarray([1.0, 0.0, 0.0, 1.0]))
    point = bifurcation(flow, start)
    node, period = jnp.asarray(point.state.nodes[0]), float(point.state.period)
    y = node[:3] / node[3]
    moved = lambda y: flow.space.project(jnp.append(y, 1.0))
    image = np.asarray(jax.jvp(moved, (y,), (jnp.asarray(across_torus(y)),))[1])
    square = square_of(OnSphere(p=0.0, q=-0.3), np.asarray(node), period, image, -1.0)
    assert (point.kind, point.criticality) == ("period doubling", "supercritical")
    assert point.coefficient == pytest.approx(-0.6 * np.pi / period / square, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("segments", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_fold_of_cycles_has_its_curvature_in_the_length_of_the_branch(segments):
    """The branch is p = r^4 - 2 r^2, whose fold at r = 1 is p + 1 = 4 (r - 1)^2, and the distance is |r - 1|."""
    flow = Bautin(p=-0.9)
    r = (1 + 0.1**0.5) ** 0.5
    first = periodic_orbit(flow, jnp.asarray([r, 0.0]), 2 * np.pi, segments=segments)
    (fold,) = continue_orbits(Parameter(flow, P, -1.1, -0.9), first, steps=Steps(first=0.2, largest=0.4)).bifurcations
    assert (fold.kind, fold.criticality) == ("fold", "")
    assert fold.coefficient == pytest.approx(4, rel=1e-6)


def test_a_coefficient_is_unknown_where_no_multiplier_is_critical():
    curve = OrbitCurve(Parameter(Bautin(), P, -1.5, 0.5), jnp.ones(2), 1, None, 10.0, 1e-9)
    point = CurvePoint(
        Cycle(np.ones((1, 2)), np.asarray(6.0)), 0.0, *[np.empty(0)] * 4, lambda: np.array([1e9, -1.001]), np.empty(0)
    )
    assert np.isnan(curve.coefficient("period doubling", point, 0.0).value)


class Cubic(eqx.Module):
    """A map of the plane with terms up to third order."""

    terms: tuple[Array, Array, Array]

    def __call__(self, u):
        """Return the image."""
        A, B, C = self.terms
        return A @ u + jnp.einsum("ijk,j,k->i", B, u, u) / 2 + jnp.einsum("ijkl,j,k,l->i", C, u, u, u) / 6


class Composed(eqx.Module):
    """Maps one after the other."""

    parts: list

    def __call__(self, u):
        """Return the image."""
        return functools.reduce(lambda v, part: part(v), self.parts, u)


ANGLE = 0.8
FORMS = {
    "fold": cycle_fold,
    "cusp": lambda at, _: cycle_cusp(at),
    "period doubling": lambda at, _: cycle_flip(at),
    "Neimark-Sacker point": lambda at, _: cycle_neimark_sacker(at, ANGLE),
}


@pytest.mark.parametrize("kind", FORMS)
def test_coefficients_of_three_maps_are_those_of_their_composition_from_every_one(kind):
    random, turn = np.random.default_rng(5), np.array([[0, -np.sin(ANGLE)], [np.sin(ANGLE), 0]])
    whole = {"period doubling": np.diag([-1.0, 40.0]), "Neimark-Sacker point": turn + np.cos(ANGLE) * np.eye(2)}
    change = random.normal(size=(2, 2))
    A = [random.normal(size=(2, 2)) for _ in range(2)]
    A.append(change @ whole.get(kind, np.diag([1.0, 40.0])) @ np.linalg.inv(change) @ np.linalg.inv(A[1] @ A[0]))
    B = (0.0 if kind == "cusp" else 1.0) * random.normal(size=(3, 2, 2, 2))
    C, slopes = random.normal(size=(3, 2, 2, 2, 2)), list(random.normal(size=(3, 2)))
    maps = [Cubic((jnp.asarray(A[k]), jnp.asarray(B[k]), jnp.asarray(C[k]))) for k in range(3)]
    for k in range(3):
        turned = lambda parts, k=k: [*parts[k:], *parts[:k]]
        many = FORMS[kind](Sections(turned(maps), np.stack(turned(A))), np.stack(turned(slopes)))
        (a, b, c), (x, y, z) = turned(A), turned(slopes)
        one = FORMS[kind](Sections([Composed(turned(maps))], (c @ b @ a)[None]), (z + c @ y + c @ b @ x)[None])
        values = [found.coefficient.value / np.linalg.norm(found.vectors[0]) ** 2 for found in (many, one)]
        assert values[0] == pytest.approx(values[1], rel=1e-8)
        assert abs(values[0]) > 1e-4


def test_the_vector_of_a_fold_has_no_shift_in_time_and_lets_the_period_change():
    """Circles of radius r that are passed in the time 6 - r; the states at r = 1 in two segments, across and along."""
    period, speed = 5.0, 2 * np.pi / 5

    def frames(share):
        angles = (np.arange(2) + share) * np.pi
        return np.stack([np.cos(angles), np.sin(angles)], 1), np.stack([-np.sin(angles), np.cos(angles)], 1)

    def passed(share):  # the angular velocity grows with r by 2 pi / 25
        (out, along), (first, before) = frames(share), frames(0.0)
        moved = out + 2 * np.pi / period**2 * share * period / 2 * along
        return np.einsum("ki,kj->kij", moved, first) + np.einsum("ki,kj->kij", along, before), speed * along

    out, along = frames(0.0)
    vectors, drift = along_orbit(out, passed(1.0)[0], speed * along, 1.0, period)
    assert np.allclose(vectors, out)
    assert drift == pytest.approx(-1 / period)  # for each unit of the radius the period is shorter by one
    square = lambda vectors, phase: mean_square(passed, vectors, drift, period / 2, np.ones(2), phase=phase)
    shifted = vectors + 0.3 * speed * along
    assert [square(vectors, True), square(shifted, True)] == pytest.approx([1.0, 1.0])
    assert square(shifted, False) == pytest.approx(1 + (0.3 * speed) ** 2)
    spike = lambda share: ((1 + 1e3 * np.exp(-(((share - 0.4) / 1e-2) ** 2))) * np.stack([np.eye(2)] * 2), along)
    for size in (1.0, 1e-6):
        assert np.isnan(mean_square(spike, size * vectors, 0.0, period / 2, np.ones(2), phase=False))


@pytest.mark.parametrize("multiplier", [-1.0, np.exp(0.7j)])
def test_vectors_across_the_velocities_are_completed_to_floquet_vectors(multiplier):
    """Segments take the velocities, the Floquet vectors and a third direction to each other."""
    random = np.random.default_rng(3)
    turn = np.array([[np.real(multiplier), -np.imag(multiplier)], [np.imag(multiplier), np.real(multiplier)]])
    frames, change = random.normal(size=(3, 3, 3)), np.eye(3)
    change[1:, 1:] = turn if np.iscomplexobj(multiplier) else np.diag([multiplier, 0.5])
    targets = [frames[1], frames[2], frames[0] @ change]
    maps = np.stack([there @ np.linalg.inv(here) for here, there in zip(frames, targets, strict=True)])
    velocities = frames[:, :, 0]
    wanted = frames[:, :, 1] - (1j * frames[:, :, 2] if np.iscomplexobj(multiplier) else 0.0)
    share = np.sum(wanted * velocities, axis=1) / np.sum(velocities**2, axis=1)
    found, drift = along_orbit(wanted - share[:, None] * velocities, maps, velocities, multiplier, 2.0)
    np.testing.assert_allclose(found, wanted)
    assert drift == 0


@pytest.mark.parametrize("kind", ["fold", "cusp", "period doubling", "Neimark-Sacker point"])
def test_the_coefficient_of_an_orbit_is_that_of_its_map_per_period_for_a_vector_of_mean_square_one(monkeypatch, kind):
    """A period of 5 units of time, which are 2 long, a mean square of 4, and a parameter in units of 3."""
    turn, c = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]]), 0.3
    A = {"period doubling": np.diag([-1.0, 0.5]), "Neimark-Sacker point": turn}.get(kind, np.diag([1.0, 0.5]))
    square = jnp.array([-0.9, 0.0]) if kind == "fold" else jnp.zeros(2)
    chart = lambda u: A @ u + square * u[0] ** 2 + c * jnp.sum(u**2) * (A @ u if kind.startswith("N") else u)
    shot = OrbitSegments(5.0, *np.zeros((2, 1, 2)), A[None], np.zeros((1, 2)), np.array([[1.5, 0.0]]), np.zeros((1, 2)))
    curve = SimpleNamespace(
        _shot=lambda state, p: shot, _bases=lambda state: [np.eye(2)], forced=True, unit=3.0,
        units=SimpleNamespace(time=2.0),
    )  # fmt: skip
    point = CurvePoint(np.zeros(2), 0.0, *[np.empty(0)] * 6)
    monkeypatch.setattr(section_coefficients, "_maps", lambda *given: [chart])
    monkeypatch.setattr(section_coefficients, "_mean_square", lambda *given: 4.0)
    with without_compiling():
        found = section_coefficients.section_coefficient(curve, kind, point, 0.7)
    # the unit vector of a pair is (1, -i) / sqrt 2, which moves states by sqrt 2 times its amplitude
    expected = {"fold": 0.9 / 1.5 * 3, "cusp": c / 10, "period doubling": -c / 10}.get(kind, 2 * c / 10) / 4
    assert found.value == pytest.approx(expected)
    assert found.size >= abs(expected) * (1 - 1e-9)


@pytest.mark.slow
def test_the_doubled_orbits_of_roessler_are_as_large_as_the_coefficient_says():
    """Near the doubling the multiplier is -(1 + m T): the doubled orbit has the amplitude u^2 = -m / c."""
    flow, where = Roessler(a=0.2, b=0.2, c=2.7), (lambda flow: flow.c)
    first = periodic_orbit(flow, jnp.asarray([-2.0, -3.0, 0.1]), 5.8)
    single = continue_orbits(Parameter(flow, where, 2.7, 2.9), first, steps=Steps(first=0.1))
    (point,) = single.bifurcations
    assert point.criticality == "supercritical"
    (double,) = switch_orbits(Parameter(flow, where, 2.7, 2.9), point, steps=Steps(first=0.02, largest=0.02, points=3))
    c = double.parameters[1]
    alone = periodic_orbit(Roessler(a=0.2, b=0.2, c=c), jnp.asarray(point.state.nodes[0]), float(point.state.period))
    growth = float(np.max(np.abs(alone.multipliers))) - 1
    nodes = np.asarray(double.states.nodes[1])
    half = (nodes[0] - nodes[1]) / 2
    velocity = np.asarray(flow.velocity(0.0, jnp.asarray(point.state.nodes[0])))
    half = half - (half @ velocity) / (velocity @ velocity) * velocity
    vector, growth = half / np.linalg.norm(half), growth / float(point.state.period)
    there = Roessler(a=0.2, b=0.2, c=point.parameter)
    square = square_of(there, np.asarray(point.state.nodes[0]), float(point.state.period), vector, -1.0)
    assert half @ half == pytest.approx(-growth / (point.coefficient * square), rel=0.02)


@pytest.mark.slow
def test_a_period_that_depends_on_the_parameter_moves_the_times_of_all_segments():
    """The multipliers of a forced orbit do not change with its frequency; its folds and doublings lie where they do."""
    where, forcing = (lambda flow: flow.speed), (lambda flow: 2 * jnp.pi / flow.speed)
    first = periodic_orbit(Driven(p=-0.2), jnp.asarray([1.0, 0.0]), 2 * np.pi, segments=3, forced=True)
    found = continue_orbits(
        Parameter(Driven(p=-0.2), where, 0.5, 2.0), first, steps=Steps(first=0.3, largest=1.0), forcing=forcing
    )
    assert np.allclose(np.abs(found.eigenvalues[:, 0]), np.exp(-0.4 * np.pi), rtol=1e-6)
    assert not found.bifurcations
