"""Attractors of stiff flows by implicit solvers: periods, a second integrator, and what is said without one."""

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from analysis.dynamics.attractor_search import ESCAPED, NOT_SETTLED, Attractors
from analysis.dynamics.attractors import SHARE, _slow_interval, find_attractors, prepared
from analysis.dynamics.basins import Basins
from analysis.dynamics.intervals import LONGER, adapted, hold_back, relieved
from analysis.dynamics.limit_sets import LimitSet
from analysis.dynamics.returns import RADII, Line, _are_decided
from analysis.dynamics.time_maps import TimeMap, state_itself
from analysis.dynamics.variations import Linearised
from dynsim.commands.basins import BasinsOptions, search_of, tell
from dynsim.integrators import Diffrax, stiff
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.named import Components

IMPLICIT = Diffrax(dfx.Kvaerno4(), rtol=1e-6)
FAST = FunctionFlow(lambda t, x: jnp.asarray([-1000.0, -0.1, 0.0]) * x)


def oregonator(t, x):
    """Return the field of the Oregonator in the scaling of Field and Noyes, J. Chem. Phys. 60 (1974)."""
    del t
    a, b, c = x
    return jnp.stack([77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)])


def map_of(flow=FAST, integrator=IMPLICIT, interval=None):
    return prepared(flow, jnp.ones((2, 3)), None, interval, None, None, None, 1e-8, integrator)[0]


def test_the_solver_and_the_tolerance_are_those_of_the_integrator():
    assert isinstance(map_of().solver, dfx.Kvaerno4)
    assert float(map_of().rtol) == 1e-6
    explicit = map_of(integrator=Diffrax(rtol=1e-5))
    assert (explicit.solver, float(explicit.rtol)) == (None, 1e-5)
    assert float(map_of(integrator=None).rtol) == 1e-8
    with pytest.raises(
        ValueError, match=r"Argument `integrator` must solve many starts in one program, such as `Diffr"
    ):
        map_of(integrator=stiff())
    with pytest.raises(ValueError, match="Argument `integrator` must be left out for a map, but is Diffrax"):
        find_attractors(Henon(), jnp.zeros((2, 2)), integrator=IMPLICIT)


def test_states_and_vectors_are_those_of_the_closed_form():
    rates = np.array([-1000.0, -0.1, 0.0])
    states = map_of(interval=0.5).window(np.array([[1.0, 1.0, 1.0], [-2.0, 3.0, 0.5]]), 0)
    ts = 0.5 * np.arange(1, len(states) + 1)
    exact = np.exp(ts[:, None] * rates)
    np.testing.assert_allclose(states, exact[:, None] * [[1.0, 1.0, 1.0], [-2.0, 3.0, 0.5]], atol=2e-5)
    ends = [jnp.asarray(v) for v in (0.0, 2.0, 1e-3)]
    start = jnp.asarray([0.1, 0.5, 0.7])
    x, V, *_, failed = Linearised(FAST, start, dfx.Kvaerno4()).over(
        *ends, start, jnp.eye(3)[:, ::-1], jnp.asarray(1e-6)
    )
    assert not failed
    np.testing.assert_allclose(x, np.exp(2 * rates) * start, atol=2e-5)
    np.testing.assert_allclose(V, np.diag(np.exp(2 * rates))[:, ::-1], atol=2e-5)


def test_the_interval_of_an_implicit_solver_is_a_share_of_the_slowest_time():
    assert _slow_interval(FAST, jnp.ones((2, 3))) == pytest.approx(SHARE / 0.1)
    assert float(map_of().interval) == pytest.approx(0.5)
    assert float(map_of(integrator=None).interval) < 1e-3
    assert _slow_interval(FunctionFlow(lambda t, x: 0 * x), jnp.ones((1, 3))) == 1.0


def test_what_hardly_moves_holds_an_explicit_solver_back():
    still = np.ones((9, 2, 3)) + 1e-3 * np.arange(9)[:, None, None]
    explicit, one = map_of(integrator=None, interval=0.02), np.ones(3)
    assert hold_back(explicit, still, one)
    assert adapted(explicit, still, one) is explicit
    assert not hold_back(explicit, 100 * still, one)  # it moves
    assert not hold_back(map_of(integrator=None), still, one)  # in a short interval
    implicit = map_of(interval=0.02)
    assert not hold_back(implicit, still, one)
    longer = adapted(implicit, still, one)
    assert float(longer.interval) == pytest.approx(LONGER * 0.02)
    assert relieved(longer.over(1e6), np.ones((2, 3))) is not None
    assert float(relieved(longer.over(1e6), np.ones((2, 3))).interval) == pytest.approx(LONGER * 2e4)


def test_perturbations_are_decided_once_they_are_back_or_have_escaped():
    limit = LimitSet("equilibrium", "stable", np.zeros((1, 1)), np.zeros((1, 1)), 0.0, np.array([-1.0 + 0j]))
    time_map = TimeMap(FunctionFlow(lambda t, x: -x), jnp.zeros(1), state_itself, 1.0, 1e-6, 100.0)
    states = np.repeat(0.4 * np.repeat(RADII, 32)[None, :, None], 8, axis=0)
    line = Line(limit, np.ones(1))
    assert _are_decided(time_map, line, states)
    states[:, 5] = 1e9
    assert _are_decided(time_map, line, states)
    states[:, 6] = 0.06
    assert not _are_decided(time_map, line, states)


def test_without_an_implicit_solver_the_answer_says_what_held_it_back(capsys):
    empty, time_map = np.empty(0), map_of(interval=0.1)
    found = Attractors((), (), np.array([NOT_SETTLED]), empty, empty, 0.1, 256, 64, time_map, np.ones(3), True)
    assert repr(found).endswith("take one for stiff flows, such as `integrator=Diffrax(Kvaerno4())`")
    assert "stiff" not in repr(found._replace(is_stiff=False))
    assert "stiff" not in repr(found._replace(labels=np.array([ESCAPED])))
    labels = np.array([NOT_SETTLED, NOT_SETTLED])
    tell(Basins(labels, (np.arange(2.0),), ("x",), (), (), 0.1, 256, np.ones(1), True))
    assert "take one for stiff flows by `--integrator stiff`" in capsys.readouterr().out


def test_the_option_of_the_command_is_an_implicit_solver():
    known = Components(("x",), ("",))
    chosen = search_of(BasinsOptions("double-well", integrator="stiff", rtol=1e-5), known).integrator
    assert isinstance(chosen, Diffrax)
    assert isinstance(chosen.solver, dfx.Kvaerno4)
    assert float(chosen.rtol) == 1e-5
    assert search_of(BasinsOptions("double-well"), known).integrator is None


@pytest.mark.slow
def test_the_limit_cycle_of_the_oregonator_is_found():
    """Its period is 302.9 (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II)."""
    starts = jnp.asarray([[1.0, 2.0, 3.0], [4.0, 1.1, 4.0]])
    found = find_attractors(FunctionFlow(oregonator), starts, integrator=IMPLICIT)
    assert found.labels.tolist() == [0, 0]
    assert found.attractors[0].stability == "stable"
    up = lambda t, x: x[0] - 1000.0
    up.direction = 1  # pyright: ignore[reportFunctionMemberAccess]
    field = lambda t, x: np.asarray(oregonator(t, x))
    seen = solve_ivp(field, (0, 1300), [4.0, 1.1, 4.0], "Radau", rtol=1e-8, atol=1e-9, events=up).t_events
    assert found.attractors[0].period == pytest.approx(float(np.diff(seen[0])[-1]), rel=1e-5)
    assert found.attractors[0].period == pytest.approx(302.9, abs=0.05)
