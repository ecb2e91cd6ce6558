"""Enclosed multipliers without the known ones, stability by enclosures, and periods that are certainly the least."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.scaling.units import Units
from analysis.dynamics.validated import orbits
from analysis.dynamics.validated.ball_operations import ball, flint
from analysis.dynamics.validated.enclosures import certified_kind
from analysis.dynamics.validated.equilibria import _Subdivision
from analysis.dynamics.validated.orbits import OrbitEquations, _real, _stability, _without
from analysis.dynamics.validated.taylor import arithmetic
from dynsim.systems.base import FunctionFlow

pytestmark = pytest.mark.untraced  # what is replaced is no function of JAX

pytest.importorskip("flint")


def unchecked(function) -> Any:
    """The function without the checks of its annotations, so that it takes stand-ins."""
    return getattr(function, "__wrapped__", function)


def enclosed(real, imag=0.0, radius=1e-6):
    return flint().acb(ball(real, radius), ball(imag, radius))


def middles(values):
    return [complex(float(v.real.mid()), float(v.imag.mid())) for v in values]


def test_a_known_multiplier_is_removed_once_and_the_others_are_sorted_by_size():
    one = flint().acb(1)
    found = _without((enclosed(0.5), enclosed(1.0), enclosed(-3.0)), [one])
    assert middles(found) == pytest.approx([-3.0, 0.5])
    assert _without((enclosed(1.0),), [one]) == ()
    assert middles(_without((enclosed(0.5), enclosed(2.0)), [])) == pytest.approx([2.0, 0.5])
    close = _without((enclosed(1.0, radius=0.1), enclosed(1.05, radius=0.1), enclosed(3.0)), [one])
    assert len(close) == 2
    assert (float(close[1].real.lower()), float(close[1].real.upper())) == pytest.approx((0.9, 1.15), abs=1e-6)
    three = _without(tuple(enclosed(x, radius=0.1) for x in (1.0, 1.05, 0.95)), [one])
    assert len(three) == 2
    assert all(float(v.real.upper()) == pytest.approx(1.15, abs=1e-6) for v in three)


def test_an_enclosure_that_no_other_one_meets_beside_the_axis_is_real():
    alone, pair = enclosed(0.5, 1e-7), (enclosed(2.0, 1e-7), enclosed(2.0, -1e-7))
    values = (alone, *pair, enclosed(3.0, 4.0))
    assert _real(alone, values).imag.is_zero()
    assert not _real(pair[0], values).imag.is_zero()
    assert not _real(values[-1], values).imag.is_zero()
    assert not _real(enclosed(3.0, 4.0), (enclosed(3.0, 4.0),)).imag.is_zero()


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [((0.5, 0.9), "stable"), ((2.0, 0.5), "saddle"), ((2.0, 3.0), "unstable"), ((1.0, 0.5), "undecided"),
     ((1.0, 2.0), "undecided"), ((), "stable"), ((-0.5,), "stable"), ((-2.0,), "unstable")],
)  # fmt: skip
def test_stability_is_decided_by_all_moduli(sizes, kind):
    assert _stability(tuple(enclosed(size, radius=1e-3) for size in sizes)) == kind


def test_a_period_is_the_least_one_if_its_fractions_and_the_first_step_exclude_shorter_ones(monkeypatch):
    """The first step is 0.3 of the period: one half and one third of it are longer."""
    asked: list[int] = []
    differs = {2: True, 3: True}
    monkeypatch.setattr(orbits, "_differs", lambda equations, proof, k: asked.append(k) or differs[k])
    equations = SimpleNamespace(
        windings=None, shares=[ball(0.3)], size=2, with_time=lambda box, time: (box, time),
        steps=SimpleNamespace(field=lambda during: velocity),
    )  # fmt: skip
    proof = SimpleNamespace(swept=SimpleNamespace(during=["first"]))
    least = lambda: unchecked(orbits._is_least)(equations, proof)
    velocity = [ball(0.0, 1.0), ball(2.0, 1.0), ball(9.0)]
    assert (least(), asked) == (True, [2, 3])
    differs[3] = False
    assert not least()
    velocity = [ball(0.0, 1.0), ball(2.0, 3.0), ball(9.0)]
    assert not least()  # the third entry is no component of the state
    asked.clear()
    differs.update({3: True, 6: True})
    equations.windings = 6
    assert (least(), asked) == (True, [2, 3, 6])
    differs[6] = False
    assert not least()
    equations.windings = 1
    assert least()
    equations.windings = 0
    assert not least()


def test_a_state_differs_after_a_fraction_if_its_enclosure_misses_the_first_one():
    """Four steps of a quarter; after half of the period the second one is complete, and nothing is left of it."""
    asked = []

    def step(start, left):
        asked.append((start, float(left.mid())))
        return ends.pop(0)

    equations = SimpleNamespace(shares=[ball(0.25)] * 4, turn=6.0, steps=SimpleNamespace(step=step),
                                with_time=lambda box, done: (box, float(done.mid())))  # fmt: skip

    first = SimpleNamespace(values=[ball(0.0, 0.1), ball(5.0, 0.1)])

    class Box:
        def __add__(self, turn):
            return [value + turn for value in first.values]

    proof = SimpleNamespace(period=ball(8.0), boxes=[Box(), "second", "third", "fourth"])
    differs = lambda k: unchecked(orbits._differs)(equations, proof, k)
    end = lambda *values: SimpleNamespace(end=[ball(value, 0.1) for value in values])
    ends = [end(2.0, 7.0), end(2.0, 7.5), None]
    assert (differs(3), asked[-1]) == (False, (("second", 0.25), pytest.approx(8 * (1 / 3 - 0.25))))
    assert differs(3)
    assert not differs(3)


@pytest.mark.parametrize("forced", [False, True])
def test_an_operator_without_an_inverse_maps_every_box_to_itself(forced):
    """The image is that of 1 - C F', which is one for C = 0."""
    period = 2 * flint().arb.pi() if forced else None
    flow = FunctionFlow(lambda t, x: jnp.cos(t) - x if forced else 3.0 - x**2)
    orbit = PeriodicOrbit(np.ones(1), 2.0, np.ones((1, 1)), np.zeros(0, complex), 0.0, 0.0, "undecided")
    with arithmetic(106, 24):
        equations = OrbitEquations(Units(flow, (), np.ones(1), 1.0, ()), orbit, period, None)
        size, zeros = equations.count + (not forced), flint().arb_mat
        equations._inverse, equations._columns = zeros(size, size), [zeros(size, 1)] * size
        radii = [ball(2.0 ** -(20 + k)) for k in range(size)]
        found = equations._krawczyk(zeros(size, 1), radii, 1.0)
    assert [float(v) for v in found.reached] == pytest.approx([float(v.mid()) for v in radii], rel=1e-6)
    assert found.period.contains(equations.period)
    assert float(found.period.rad()) == pytest.approx(0 if forced else float(radii[-1].mid()), abs=1e-15)


@pytest.mark.parametrize(
    ("values", "kind"),
    [((-1.0, -2.0), "stable"), ((1.0, -2.0), "saddle"), ((1.0, 2.0), "unstable"), ((0.0, -2.0), "undecided"),
     ((0.0, 2.0), "undecided"), ((), "undecided")],
)  # fmt: skip
def test_the_kind_of_an_equilibrium_is_open_where_an_eigenvalue_may_be_imaginary(values, kind):
    given = tuple(enclosed(value, 1.0) for value in values)
    assert certified_kind(given) == (given, kind)
    assert certified_kind((*given, enclosed(-1.0)), normals=1)[1] == (kind if given else "stable")


def test_a_place_is_inside_or_outside_a_box_or_open():
    """The box is the unit square; each case gives the ends of an enclosure in one direction."""
    box, middle = SimpleNamespace(sides=np.array([[0.0, 0.0], [1.0, 1.0]])), (0.4, 0.6)
    place = lambda *ends: unchecked(_Subdivision._place)(box, SimpleNamespace(enclosure=np.array(ends)))
    for ends, said in (
        (middle, "inside"), ((0.0, 1.0), "inside"), ((-0.1, 0.1), "boundary"), ((0.9, 1.1), "boundary"),
        ((1.0, 1.1), "boundary"), ((-0.1, 0.0), "boundary"), ((-0.2, -0.1), "outside"), ((1.1, 1.2), "outside"),
    ):  # fmt: skip
        assert place(ends, middle) == place(middle, ends) == said
