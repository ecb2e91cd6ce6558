"""Attractors of stiff flows by implicit solvers: periods, a second integrator, and what is said without one."""

import diffrax as dfx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from analysis.dynamics.attractors import search as attractor_search
from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.classification import TrajectoryRecord
from analysis.dynamics.attractors.fractions import FractionCurves, Fractions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.options import SHARE, Search, _slow_interval, set_up
from analysis.dynamics.attractors.perturbation import RADII, Line, _are_decided
from analysis.dynamics.attractors.sampling import LONGER, adapted, hold_back, relieved
from analysis.dynamics.attractors.search import ESCAPED, NOT_SETTLED, Attractors, find_attractors
from analysis.dynamics.flow_maps.time_map import TimeMap, state_itself
from analysis.dynamics.flow_maps.variational import Linearised
from analysis.dynamics.lyapunov import lyapunov_spectrum
from dynsim.cli import lyapunov, section
from dynsim.cli.basins import against as basins_against
from dynsim.cli.basins.command import search_of, tell
from dynsim.cli.basins.options import BasinsOptions
from dynsim.integrators import Diffrax, stiff
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.catalogue.oscillators import VanDerPol
from tests.support.searches import accurate

IMPLICIT = Diffrax(dfx.Kvaerno4(), rtol=1e-6)
FAST = FunctionFlow(lambda t, x: jnp.asarray([-1000.0, -0.1, 0.0]) * x)


def oregonator(t, x):
    """Return the field of the Oregonator in the scaling of Field and Noyes, J. Chem. Phys. 60 (1974)."""
    del t
    a, b, c = x
    return jnp.stack([77.27 * (b + a * (1 - 8.375e-6 * a - b)), (c - (1 + a) * b) / 77.27, 0.161 * (a - c)])


def map_of(flow=FAST, integrator=IMPLICIT, interval=None):
    search = Search(interval=interval, rtol=1e-8, integrator=integrator)
    return set_up(flow, jnp.ones((2, 3)), search)[0]


@pytest.mark.slow
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
        find_attractors(Henon(), jnp.zeros((2, 2)), search=accurate(integrator=IMPLICIT))


@pytest.mark.slow
def test_a_relaxation_oscillation_is_one_attractor_from_all_starts():
    starts = [[2.0, 0.0], [-1.0, 3.0], [0.5, 0.5]]
    found = find_attractors(VanDerPol(mu=100.0), starts, search=Search(integrator=Diffrax(dfx.Kvaerno4(), rtol=1e-8)))
    assert found.labels.tolist() == [0, 0, 0]
    assert (len(found.attractors), found.others) == (1, ())
    assert found.attractors[0].period == pytest.approx(162.837, abs=1e-3)


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert float(longer.interval) == pytest.approx(LONGER**2 * 0.02)
    assert float(adapted(implicit, still[::2], 0.9 * one).interval) == pytest.approx(LONGER * 0.02)
    assert relieved(longer.over(1e6), np.ones((2, 3))) is not None
    assert float(relieved(longer.over(1e6), np.ones((2, 3))).interval) == pytest.approx(LONGER**2 * 2e4)


def test_perturbations_are_decided_once_they_are_back_or_have_escaped():
    limit = LimitSet("equilibrium", "stable", np.zeros((1, 1)), np.zeros((1, 1)), 0.0, np.array([-1.0 + 0j]))
    time_map = TimeMap(FunctionFlow(lambda t, x: -x), jnp.zeros(1), state_itself, 1.0, 1e-6, 100.0)
    states = np.repeat(0.4 * np.repeat(RADII, 32)[None, :, None], 8, axis=0)
    line, half = Line(limit, np.ones(1)), np.array(RADII) / 2
    assert _are_decided(time_map, line, states, half)
    states[:, 5], states[-1, 5] = 0.06, 1e9
    assert _are_decided(time_map, line, states, half)
    states[:, 6] = 0.06
    assert not _are_decided(time_map, line, states, half)


def test_without_an_implicit_solver_the_answer_says_what_held_it_back(capsys):
    empty, time_map = np.empty(0), map_of(interval=0.1)
    found = Attractors((), (), np.array([NOT_SETTLED]), empty, empty, 0.1, 256, 64, time_map, np.ones(3), True)
    assert str(found).endswith("use one for stiff flows, such as `Search(integrator=Diffrax(Kvaerno4()))`")
    assert "stiff" not in str(found._replace(is_stiff=False))
    assert "stiff" not in str(found._replace(labels=np.array([ESCAPED])))
    labels = np.array([NOT_SETTLED, NOT_SETTLED])
    tell(Basins(labels, (np.arange(2.0),), ("x",), (), (), 0.1, 256, np.ones(1), True))
    assert "use one for stiff flows by `--integrator stiff`" in capsys.readouterr().out
    tell(Basins(labels, (np.arange(2.0),), ("x",), (), (), 0.1, 256, np.ones(1)))
    assert "`--longest 1024` integrates them for longer" in capsys.readouterr().out


def test_the_option_of_the_command_is_an_implicit_solver():
    chosen = search_of(BasinsOptions("double-well", integrator="stiff", rtol=1e-5)).integrator
    assert isinstance(chosen, Diffrax)
    assert isinstance(chosen.solver, dfx.Kvaerno4)
    assert float(chosen.rtol) == 1e-5
    assert search_of(BasinsOptions("double-well")).integrator is None


@pytest.mark.slow
def test_the_limit_cycle_of_the_oregonator_is_found():
    """Its period is 302.9 (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II)."""
    starts = jnp.asarray([[1.0, 2.0, 3.0], [4.0, 1.1, 4.0]])
    found = find_attractors(FunctionFlow(oregonator), starts, search=accurate(integrator=IMPLICIT))
    assert found.labels.tolist() == [0, 0]
    assert found.attractors[0].stability == "stable"
    up = lambda t, x: x[0] - 1000.0
    up.direction = 1  # pyright: ignore[reportFunctionMemberAccess]
    field = lambda t, x: np.asarray(oregonator(t, x))
    seen = solve_ivp(field, (0, 1300), [4.0, 1.1, 4.0], "Radau", rtol=1e-8, atol=1e-9, events=up).t_events
    assert found.attractors[0].period == pytest.approx(float(np.diff(seen[0])[-1]), rel=1e-5)
    assert found.attractors[0].period == pytest.approx(302.9, abs=0.05)


def relaxation(t, x, mu=10.0):
    """Return the field of van der Pol's relaxation oscillator."""
    del t
    return jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])


@pytest.mark.slow
def test_exponents_by_an_implicit_solver_are_those_of_the_closed_form():
    found = lyapunov_spectrum(FAST, jnp.asarray([0.1, 0.5, 0.7]), 10.0, interval=0.02, integrator=IMPLICIT)
    np.testing.assert_allclose(found.exponents[:2], [0.0, -0.1], atol=1e-3)
    assert found.resolved == (True, True, False)  # steps of the slow motion are longer than 1/1000
    assert -1000 < found.exponents[2] < -75  # two steps in each interval
    assert found.bounds(3)[2].endswith("(it acts within a step of the implicit solver)")
    short = lyapunov_spectrum(
        FAST, jnp.asarray([0.1, 0.5, 0.7]), 0.02, interval=5e-4, transient=5e-4, integrator=IMPLICIT
    )
    assert short.exponents[2] == pytest.approx(-1000, rel=2e-2)
    assert all(short.resolved)
    with pytest.raises(ValueError, match="Argument `integrator` must be left out for a map, but is Diffrax"):
        lyapunov_spectrum(Henon(), jnp.zeros(2), integrator=IMPLICIT)
    with pytest.raises(ValueError, match="Argument `integrator` must solve many starts in one program"):
        lyapunov_spectrum(FAST, jnp.ones(3), integrator=stiff())


@pytest.mark.slow
def test_the_exponent_of_a_set_is_by_the_solver_of_its_search(monkeypatch):
    taken = []

    def spectrum(system, start, duration, **options):
        taken.append(options["integrator"])
        return lyapunov_spectrum(Henon(), jnp.zeros(2), 100)

    monkeypatch.setattr(attractor_search, "lyapunov_spectrum", spectrum)
    for time_map in (map_of(), map_of(integrator=None)):
        record = TrajectoryRecord(time_map, np.ones((1, 3)), np.ones((1, 3)), np.ones(3), False, 1, ())
        attractor_search._largest_exponent(record)
    assert isinstance(taken[0].solver, dfx.Kvaerno4)
    assert float(taken[0].rtol) == 1e-6
    assert taken[1] is None


def test_commands_take_the_stiff_integrator_by_one_word():
    taken = lyapunov._options(lyapunov.Lyapunov("mine", integrator="stiff", rtol=1e-5))["integrator"]
    assert isinstance(taken.solver, dfx.Kvaerno4)
    assert float(taken.rtol) == 1e-5
    assert lyapunov._options(lyapunov.Lyapunov("mine"))["integrator"] is None


def test_a_section_takes_the_stiff_integrator(monkeypatch):
    def located(*given, integrator, **options):
        raise ValueError(f"{integrator.method} {integrator.rtol}")

    monkeypatch.setattr("analysis.dynamics.poincare.poincare_section", located)
    with pytest.raises(ValueError, match="Radau 1e-05"):
        section.main(["van-der-pol", "--surface", "x=0", "--returns", "y", "--integrator", "stiff", "--rtol", "1e-5"])
    with pytest.raises(ValueError, match="Argument `integrator` must be left out for a map"):
        section.main(["henon", "--integrator", "stiff"])


@pytest.mark.slow
def test_a_section_of_a_stiff_flow_is_that_of_the_other_integrator(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import jax.numpy as jnp\n\ndef relaxation(t, x, mu=10.0):\n"
        "    return jnp.stack([x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]])\n"
    )
    words = [f"{tmp_path}/mine.py:relaxation", "--start", "2", "0", "--surface", "1=0", "--names", "0", "1", "--count"]
    words += ["4", "--transient", "20", "--rtol", "1e-8", "--returns", "0", "--figure", str(tmp_path / "s.png")]
    apart = []
    for more in ([], ["--integrator", "stiff"]):
        assert section.main([*words, *more]) == 0
        apart.append(float(capsys.readouterr().out.split(", ")[1].split()[0]))
    assert apart[0] == pytest.approx(19.0784, abs=1e-3)  # the period at mu = 10, Urabe (1960)
    assert apart[1] == pytest.approx(apart[0], rel=1e-5)


def test_shares_of_a_stiff_flow_say_which_option_helps(capsys):
    labels, one = np.array([NOT_SETTLED]), np.ones(1)
    found = Fractions(labels, np.array([3]), 3, one, one, 0.95, {}, True)
    assert str(found).endswith("use one for stiff flows, such as `Search(integrator=Diffrax(Kvaerno4()))`")
    assert "stiff" not in str(found._replace(is_stiff=False))
    curves = FractionCurves(np.zeros(1), labels, np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), ({},), True)
    basins_against._tell("k", curves, 3, 256)
    assert "use one for stiff flows by `--integrator stiff`" in capsys.readouterr().out
    basins_against._tell("k", curves._replace(is_stiff=False), 3, 256)
    out = capsys.readouterr().out
    assert "stiff" not in out
    assert "some starts have not settled: `--longest 1024` integrates them for longer" in out
    basins_against._tell("k", curves._replace(is_stiff=False, labels=np.array([ESCAPED])), 3, 256)
    assert "longest" not in capsys.readouterr().out
