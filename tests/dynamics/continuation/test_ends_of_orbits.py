"""Branches of periodic orbits end where they are no longer resolved; vertical ones say so and have no folds."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.curve import CurvePoint
from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.equilibrium_curve import FAMILY
from analysis.dynamics.continuation.orbit_curve import Cycle, OrbitCurve
from analysis.dynamics.continuation.orbits import continue_orbits, forcing_in, orbits_from_hopf
from analysis.dynamics.continuation.steps import Steps
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from analysis.dynamics.scaling.units import made_units
from dynsim._core.printing import printed, size_of
from dynsim.cli.continuation.ends import say_ends
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import VanDerPol
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.parameter import Parameter

P = lambda flow: flow.p
RHO = lambda flow: flow.rho


class Pendulum(AbstractFlow):
    """A pendulum with negative damping p: at p = 0 all of its orbits are periodic."""

    p: object = parameter("p", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return the velocities of angle and rate."""
        return jnp.stack([x[1], self.p * x[1] - jnp.sin(x[0])])


@pytest.mark.slow
def test_a_family_of_orbits_at_one_value_is_vertical_and_has_no_folds(capsys):
    orbit = periodic_orbit(Pendulum(), jnp.asarray([1.0, 0.0]), 6.7, segments=4)
    found = continue_orbits(Parameter(Pendulum(), P, -1.0, 1.0), orbit, steps=Steps(points=20, first=0.2, largest=0.2))
    assert found.vertical
    assert found.bifurcations == ()
    assert np.ptp(found.states.period) > 1
    assert "vertical" in str(found)
    say_ends("p", Diagram("p", (), (), (found,)))
    assert "a branch is vertical: it is a family of solutions at the single value p = 0" in capsys.readouterr().out


@pytest.mark.parametrize("method", [pytest.param("collocation", marks=pytest.mark.slow), "shooting"])
def test_orbits_that_shrink_to_another_hopf_point_have_no_fold_there(method):
    def arch(t, x, mu=-2.0):  # orbits r^2 = 1 - mu^2 with the multiplier exp(2e-4 r^2 T), which tends to 1 at both ends
        r = x[0] ** 2 + x[1] ** 2
        growth, speed = 1e-4 * (r - (1 - mu**2)), 1 + r
        return jnp.stack([growth * x[0] - speed * x[1], speed * x[0] + growth * x[1]])

    mu = Parameter(FunctionFlow(arch, parameters={"mu": -2.0}), "mu", -2.0, 2.0)
    hopf = continue_equilibria(mu, jnp.zeros(2)).bifurcations
    assert np.allclose([one.parameter for one in hopf], [-1.0, 1.0], atol=1e-9)
    found = orbits_from_hopf(mu, hopf[0], method=method, steps=Steps(largest=0.2))
    assert found.ends == ("Hopf point", "equilibrium")
    assert found.bifurcations == () == found.undetermined
    assert found.kinds[-1] == "undecided"
    assert set(found.kinds[5:-5]) == {"unstable"}


class Stretch(AbstractFlow):
    """x' = p x: at p = 0 every state is an equilibrium, and x = 0 is one at every p."""

    p: object = parameter("p", 0.0)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return p x."""
        return self.p * x


def test_a_family_of_equilibria_is_vertical_and_crossed_by_a_branch_and_ends_before_the_cap(capsys):
    """The line x = p = 0 of equilibria of x' = p x has no end."""
    found = continue_equilibria(Parameter(Stretch(), P, -1.0, 1.0), jnp.asarray([1.0]))
    assert found.vertical
    assert (found.ends, len(found.parameters)) == (("family", "family"), 2 * FAMILY + 1)
    assert [str(b) for b in found.bifurcations] == ["branch point at 0 (degenerate: the cubic coefficient is 0)"]
    say_ends("p", Diagram("p", (found, found), (1, 1)))
    family = (
        "a branch is vertical: it is a family of solutions at the single value p = 0, of which the diagram shows a part"
    )
    assert capsys.readouterr().out.splitlines() == [family]


@pytest.fixture(scope="module")
def lorenz():
    flow = Lorenz(rho=14.5)
    orbit = periodic_orbit(flow, jnp.asarray([0.22732822, 0.38027463, 1.40181344]), 1.79456698, segments=4)
    return orbit, continue_orbits(Parameter(flow, RHO, 0.0, 14.6), orbit, steps=Steps(first=0.5), rtol=1e-8)


@pytest.mark.slow
def test_orbits_end_beside_a_homoclinic_orbit_at_its_parameter(lorenz, capsys):
    _, found = lorenz
    assert set(found.ends) == {"bounds", "homoclinic"}
    last = 0 if found.ends[0] == "homoclinic" else -1
    assert found.bifurcations == ()
    assert found.parameters[last] == pytest.approx(13.926557, abs=2e-3)  # Sparrow (1982): 13.926
    assert found.states.period[last] > 2 * found.states.period[-1 - last]
    say_ends("rho", Diagram("rho", (), (), (found,)))
    said = capsys.readouterr().out
    assert "a branch of periodic orbits ends near a homoclinic orbit at about rho = 13.92" in said


def again(found: Branch, rtol: float):
    """Integrate every interval of all orbits of Lorenz's equations by another solver: gaps and logarithms of growth."""
    x, period, rho = found.states.nodes, found.states.period[:, None], found.parameters[:, None]
    times = period * np.diff(found.states.times, axis=1, append=1 + found.states.times[:, :1])

    def field(s, flat):
        (a, b, c), V = (rows := flat.reshape(4, 3, *times.shape))[0], rows[1:].swapaxes(0, 1)
        velocity = [10 * (b - a), a * (rho - c) - b, a * b - 8 / 3 * c]
        slopes = [10 * (V[1] - V[0]), (rho - c) * V[0] - V[1] - a * V[2], b * V[0] + a * V[1] - 8 / 3 * V[2]]
        return (times * np.concatenate([[velocity], np.stack(slopes, 1)])).ravel()

    units = np.broadcast_to(np.eye(3)[..., None, None], (3, 3, *times.shape))
    first = np.concatenate([np.moveaxis(x, -1, 0)[None], units]).ravel()
    rows = solve_ivp(field, (0, 1), first, "DOP853", rtol=rtol, atol=rtol / 100).y[:, -1].reshape(4, 3, *times.shape)
    gaps = np.max(np.abs(np.moveaxis(rows[0], 0, -1) - np.roll(x, -1, axis=1)), axis=(1, 2))
    v, growth = np.ones((len(x), 3)), np.zeros(len(x))
    for _ in range(10):
        growth[:] = 0
        for k in range(x.shape[1]):
            v = np.einsum("jin,nj->ni", rows[1:, :, :, k], v)
            size = np.linalg.norm(v, axis=1, keepdims=True)
            v, growth = v / size, growth + np.log(size[:, 0])
    return gaps, growth


@pytest.mark.slow
def test_every_orbit_of_a_branch_is_confirmed_by_a_stricter_solver(lorenz):
    _, found = lorenz
    gaps, growth = again(found, 1e-10)
    assert np.max(gaps / (1 + np.max(np.abs(found.states.nodes), axis=(1, 2)))) < 1e-5  # 1e3 rtol, that of meshes
    first = np.log(np.abs([values[0] for values in found.eigenvalues]))
    resolved = first < 12  # beyond, rounding of the states beside the saddle spoils products of derivatives
    assert np.sum(resolved) > 20
    assert np.allclose(growth[resolved], first[resolved], atol=1e-4)
    # towards the homoclinic orbit the logarithm grows by the sum of the leading eigenvalues of the saddle
    last = slice(0, 6) if found.ends[0] == "homoclinic" else slice(-6, None)
    leading = (np.sqrt(121 + 40 * (13.926557 - 1)) - 11) / 2 - 8 / 3
    slope = np.polyfit(found.states.period[last], first[last], 1)[0]
    assert slope == pytest.approx(leading, rel=0.01)


def test_a_number_that_is_zero_within_its_error_is_printed_as_zero():
    assert [printed(v) for v in (1e-20, -3e-13, 2e-12, 0.5)] == ["0", "0", "2e-12", "0.5"]
    assert printed(1e-7, 1e6) == "0"
    assert printed(1e-20, 1e-18) == "1e-20"
    assert (size_of([1e-32, -1e-31]), size_of([]), size_of([2e-6, -3e-6])) == (1.0, 1.0, 3e-6)
    assert [printed(v) for v in (1 + 1e-14j, 1e-15 + 2j, -1.5 - 0.25j, 1j * 1e-30)] == ["1", "2j", "-1.5-0.25j", "0"]
    assert printed(float("nan")) == "nan"


def test_a_coefficient_that_is_not_computed_has_its_reason(monkeypatch):
    state, values = Cycle(np.zeros((4, 3)), np.asarray(1.0)), np.array([2e7, -1.001], complex)
    curve = OrbitCurve(Parameter(Lorenz(), RHO, 0.0, 14.6), jnp.ones(3), 4, None, 1e3, 1e-9)
    point = CurvePoint(state, 2.0, *[np.empty(0)] * 4, lambda: values, np.empty(0))
    why = curve.coefficient("period doubling", point, 0.0).why
    doubling = Bifurcation("period doubling", state, 2.0, values, 0.0, 1.0, np.zeros(13), unknown=why)
    assert str(doubling) == "period doubling at 2 (coefficient unknown: the critical multiplier is 0.001 off)"
    errors = iter([1e-5, 3e-4])
    monkeypatch.setattr(curve, "trivial_error", lambda point: next(errors))
    critical = point._replace(spectrum=lambda: np.array([2e7, -1.00001]))
    assert curve.doubt_of_critical("period doubling", critical) == ""
    told = "the multiplier 1 along the orbit is 0.0003 off"
    assert curve.doubt_of_critical("period doubling", critical) == told
    pair = np.array([50.0, 0.64 + 0.39j, 0.64 - 0.39j])
    off = curve.doubt_of_critical("fold", point._replace(spectrum=lambda: pair))
    assert off == "the critical multiplier is 0.53 off"
    off = curve.doubt_of_critical(
        "Neimark-Sacker point", point._replace(spectrum=lambda: 1.5 * np.exp(np.array([1j, -1j])))
    )
    assert off == "the critical multiplier is 0.5 off"
    assert curve.doubt_of_critical("branch point", point) == ""


def test_the_multiplier_along_the_orbit_is_that_of_the_velocities():
    """Segments take the velocities (1, 0), (0, 2) and (3, 3) to each other, up to an error of 1e-3 in the last one."""
    curve = OrbitCurve(Parameter(VanDerPol(), "mu", -1.0, 2.0), jnp.zeros(2), 3, None, 1e3, 1e-9)
    velocities, J = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]), np.zeros((7, 7))
    for k, end in enumerate((1, 2, 0)):
        J[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = np.outer(velocities[end], velocities[k]) / (
            velocities[k] @ velocities[k]
        )
        J[2 * k : 2 * k + 2, -1] = velocities[end] / 3
    J[4:6, 4:6] *= 1.001
    state = Cycle(np.zeros((3, 2)), np.asarray(1.0))
    point = CurvePoint(state, 0.0, *[np.empty(0)] * 6)._replace(J=J)
    assert curve.trivial_error(point) == pytest.approx(1e-3)


@pytest.mark.parametrize(("times", "end"), [((-9, -1, 0, 1), "homoclinic"), ((-1, -0.5, 0.5, 1), "lost")])
def test_orbits_that_pass_an_equilibrium_end_as_homoclinic_and_are_not_lost(times, end):
    """On the homoclinic orbit x = sqrt(2) / cosh t of x'' = x - x^3 + p x'."""
    flow = FunctionFlow(lambda t, x, p: jnp.stack([x[1], x[0] - x[0] ** 3 + p * x[1]]), parameters={"p": 0.0})
    curve = OrbitCurve(Parameter(flow, "p", -1.0, 1.0), jnp.zeros(2), 4, None, 1e3, 1e-9)
    t, none = np.array(times, float), np.empty(0)
    nodes = np.sqrt(2) * np.stack([1 / np.cosh(t), -np.sinh(t) / np.cosh(t) ** 2], axis=1)
    point = CurvePoint(Cycle(nodes, np.asarray(10.0)), 0.0, *[none] * 6)
    assert curve.stuck_at(point, kink=True) == end
    assert curve.unconfirmed(nodes, 0.0) == ("homoclinic" if end == "homoclinic" else "accuracy")
    for slope, found in ((1e-6, end), (0.1, "lost")):  # of the parameter by the period; the first one settles
        moved = point._replace(tangent=np.append(np.zeros(9), [1.0, slope])[-11:])
        assert curve.stuck_at(moved, kink=False) == found
        assert curve.unconfirmed(nodes, 0.0, moved) == ("homoclinic" if found == "homoclinic" else "accuracy")


def test_relaxation_oscillations_are_not_taken_for_homoclinic():
    """Of van der Pol's equation, with a node in a jump: the speed is 1e-4 of the largest, far from 0."""
    mu = 100.0
    curve = OrbitCurve(Parameter(VanDerPol(mu=mu), "mu", 1.0, 200.0), jnp.zeros(2), 4, None, 1e3, 1e-9)
    x = np.array([2.0, 1.2, -2.0, -1.2])
    nodes = np.stack([x, -x / (mu * (x**2 - 1))], axis=1)
    nodes[1, 1] = -100.0
    assert curve.unconfirmed(nodes, mu) == "accuracy"
    forced = OrbitCurve(
        Parameter(VanDerPol(), "mu", 1.0, 200.0), jnp.zeros(2), 4, lambda flow: 6.0 + flow.mu, 1e3, 1e-9
    )
    assert forced.unconfirmed(0.0 * nodes, mu) == "accuracy"


def test_orbits_of_a_forced_flow_have_the_periods_of_the_forcing():
    """In units of 4 for the parameter and of 8 for time, in which the orbits' own periods are stale."""
    mu = Parameter(VanDerPol(mu=1.0), "mu", 0.0, 8.0)
    units = made_units(mu.system, (mu,), 1.0, 8.0, (4.0,))
    forcing = forcing_in(units, lambda flow: 3.0 + flow.mu)
    curve = OrbitCurve(units.varied[0], jnp.zeros(2), 4, forcing, 1e3, 1e-9, units)
    found = curve.with_periods(Cycle(np.zeros((2, 4, 2)), np.ones(2)), np.array([1.0, 6.0]))
    assert found.period == pytest.approx([4.0, 9.0])
    assert curve.with_periods(Cycle(np.zeros((4, 2)), 1.0), 2.0).period == pytest.approx(5.0)


@pytest.mark.slow
def test_relaxation_oscillations_of_van_der_pol_are_continued_to_mu_100():
    """The period at mu = 100 is 162.837, as integration of the stiff equation gives."""
    flow = VanDerPol(mu=1.0)
    orbit = periodic_orbit(flow, [2.0, 0.0], 6.6, segments=12)
    cycles = continue_orbits(Parameter(flow, "mu", 0.9, 100.0), orbit, steps=Steps(points=400))
    assert cycles.ends == ("bounds", "bounds")
    assert set(cycles.kinds) == {"stable"}
    assert not cycles.bifurcations
    assert cycles.states.period[-1] == pytest.approx(162.837, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "unit"), [(0.0, 1.0), (1e3, 1.0), (0.0, 1e3), (-1e3, 1e-3)])
def test_a_branch_towards_a_homoclinic_orbit_ends_alike_in_all_units(shift, unit):
    """Cycles of the Bogdanov-Takens normal form end at a loop of its saddle at x = 1."""

    def field(t, s, mu=0.9):
        x, y = (s - shift) / unit
        return unit * jnp.stack([y, x * x - 1 + mu * y + x * y])

    mu = Parameter(FunctionFlow(field, parameters={"mu": 0.9}), "mu", 0.0, 1.5)
    (hopf,) = continue_equilibria(mu, [shift - unit, shift]).bifurcations
    found = orbits_from_hopf(mu, hopf, method="collocation")
    assert found.ends == ("Hopf point", "period")
    assert found.parameters[-1] == pytest.approx(0.7434443, abs=1e-6)
