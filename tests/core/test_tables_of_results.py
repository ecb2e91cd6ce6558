"""The rows of each kind of result as a table: every number stands in its own row and column."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import xarray

from analysis.dynamics.attractors.basins import Basins
from analysis.dynamics.attractors.fractions import FractionCurves, Fractions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.attractors.search import Attractors
from analysis.dynamics.boundary_values.connecting import ConnectingOrbit
from analysis.dynamics.boundary_values.curve import Profile
from analysis.dynamics.boundary_values.problem import BoundarySolution
from analysis.dynamics.codim2.curves import CriticalCurve
from analysis.dynamics.codim2.planes import StabilityMap
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.continuation.orbit_curve import Cycle
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.newton import Equilibrium
from analysis.dynamics.equilibria.search import AllEquilibria
from analysis.dynamics.linearisation import Spectrum
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import HysteresisDiagram, OrbitDiagram
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.phase.isochrons import Isochrons
from analysis.dynamics.phase.locking import LockingRange
from analysis.dynamics.phase.response import PhaseResponse
from analysis.dynamics.portraits.curved import Portrait
from analysis.dynamics.portraits.plane import PhasePlane
from analysis.dynamics.series.chaos_test import ZeroOneTest
from analysis.dynamics.series.power_spectra import PowerSpectrum
from analysis.dynamics.series.recurrence import RecurrencePlot
from analysis.dynamics.series.return_maps import ReturnMap
from analysis.tables import along_parameter, branch_table
from dynsim.integrators import Scipy
from dynsim.results import table
from dynsim.simulation.ensemble import Ensemble
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory
from dynsim.simulation.simulate import iterate
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.named import Components
from dynsim.systems.parameter import Parameter

FLOW = FunctionFlow(lambda t, x: -x, time_unit="ms")
NONE: Any = None  # a part of a result that its table does not read
RUN = iterate(FunctionMap(lambda k, x: x / 2), jnp.array([4.0]), 1)
RUNS = jnp.zeros((2, 1)), jnp.zeros((2, 1)), RUN.stats


def attractor(state: float, period: float, exponent: float) -> LimitSet:
    states = np.array([[state, -state], [7.0, 8.0]])
    return LimitSet("cycle", "stable", states, states, period, np.zeros(2, complex), exponent=exponent)


def rest(*values: complex) -> Equilibrium:
    spectrum = Spectrum(np.array(values, complex), 0, 1, 0.0, "saddle", description="a saddle")
    return Equilibrium(np.array([1.0, 2.0]), 0.125, spectrum, 1)


CIRCLE = np.array([[1.0, 0.0], [0.0, 3.0], [-2.0, -1.0]])
PLANE = PhasePlane(
    NONE, NONE, NONE, (rest(2.0, -1.0),), np.array([[1.0, 2.0]]), (), (CIRCLE,), ("stable",), (4.0,),
    NONE, NONE, NONE, False, NONE, names=("u", "v"), units=("mV", ""), time_unit="ms",
)  # fmt: skip
ORBIT = PeriodicOrbit(np.zeros(1), 8.0, np.array([[1.0], [2.0], [3.0], [4.0]]), NONE, 0.0, 0.0, "stable")
SPECTRUM = LyapunovSpectrum(np.array([0.5, -2.0]), np.array([0.1, 0.2]), NONE, NONE, False, "", (True, False))
BASINS = Basins(
    np.array([[1, 0, -1], [0, 0, 1]]), (np.array([5.0, 6.0]), np.arange(3.0)), ("x", "y"),
    (attractor(1.0, 2.0, 3.0), attractor(2.0, 2.0, 3.0)), (), 1.0, 1, np.ones(2), components=Components(("x",), ("m",)),
)  # fmt: skip


def test_states_far_below_one_are_printed_relative_to_the_window():
    side = np.array([0.0, 1e-10])
    small = PLANE._replace(xs=side, ys=side, points=np.array([[3e-11, 1e-22]]), cycles=(), periods=(), cycle_kinds=())
    assert str(small).startswith("a saddle (3e-11, 0)")


SHARES = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
TIMES, LABELS = np.arange(3.0), np.full(3, -1)


@pytest.mark.parametrize(
    ("result", "columns", "units"),
    [
        (Ensemble(TIMES, np.arange(6.0).reshape(2, 3), *RUNS, FLOW, Scipy()),
         {"member": [0, 0, 0, 1, 1, 1], "t": [0, 1, 2, 0, 1, 2], "value": [0, 1, 2, 3, 4, 5]}, {"t": "ms"}),
        (Ensemble(TIMES[:2], np.arange(4.0).reshape(1, 2, 2), *RUNS, (FLOW,), Scipy()),
         {"member": [0, 0], "value_1": [0, 2], "value_2": [1, 3]}, {"t": "ms"}),
        (HybridTrajectory((RUN, RUN), (), Ending.FINISHED),
         {"phase": [1, 1, 2, 2], "k": [0, 1, 0, 1], "x_1": [4, 2, 4, 2]}, {}),
        (PLANE,
         {"object": ["equilibrium", "limit cycle"], "u": [1, np.nan], "u_min": [1, -2], "u_max": [1, 1],
          "v_min": [2, -1], "v_max": [2, 3], "type": ["a saddle", "stable"], "kind": ["saddle", "stable"],
          "period": [np.nan, 4], "frequency": [np.nan, 0.25], "eigenvalue_2": [-1, np.nan]},
         {"u": "mV", "u_min": "mV", "u_max": "mV", "period": "ms", "frequency": "1/ms"}),
        ([rest(2.0, -1.0), rest(3.0)],
         {"index": [1, 1], "speed": [0.125, 0.125], "eigenvalue_1": [2, 3], "eigenvalue_2": [-1, np.nan]}, {}),
        (rest(3.0), {"x_1": [1], "x_2": [2], "speed": [0.125], "eigenvalue_1": [3]}, {}),
        (attractor(4.0, 5.0, 6.0), {"x_1": [4], "period": [5], "exponent": [6]}, {}),
        (xarray.Dataset({"y": ("a", [1.0, 2.0], {"units": "m"})}, {"a": [5.0, 6.0]}), {"a": [5, 6], "y": [1, 2]},
         {"y": "m"}),
        (Portrait(np.zeros((1, 2)), NONE, np.eye(2), ("stable", "saddle"), NONE, types=("stable node", "saddle")),
         {"x_1": [1, 0], "x_2": [0, 1], "type": ["stable node", "saddle"], "kind": ["stable", "saddle"]}, {}),
        (ORBIT, {"t": [0, 2, 4, 6], "x_1": [1, 2, 3, 4]}, {}),
        (ORBIT._replace(times=np.array([0.0, 0.125, 0.25, 0.75])), {"t": [0, 1, 2, 6], "x_1": [1, 2, 3, 4]}, {}),
        (SPECTRUM, {"number": [1, 2], "exponent": [0.5, -2], "error": [0.1, 0.2], "resolved": [True, False],
                    "converged": [False, False]}, {}),
        (along_parameter("r", [3.0, 4.0], [SPECTRUM, SPECTRUM._replace(converged=True)]),
         {"r": [3, 4], "exponent_1": [0.5, 0.5], "exponent_2": [-2, -2], "error_2": [0.2, 0.2],
          "converged": [False, True]}, {}),
        (CriticalCurve("Hopf", TIMES, 2 * TIMES, NONE, 3 * TIMES, (), ("", "")),
         {"first": [0, 1, 2], "second": [0, 2, 4], "frequency": [0, 3, 6]}, {}),
        (HysteresisDiagram(OrbitDiagram(np.array([1.0]), np.array([[5.0, 6.0]]), "r", "A", "V", "mV"),
                           OrbitDiagram(np.array([2.0]), np.array([[7.0, 8.0]]), "r", "A", "V", "mV")),
         {"direction": [1, 1, -1, -1], "r": [1, 1, 2, 2], "step": [0, 1, 0, 1], "V": [5, 6, 7, 8]},
         {"r": "A", "V": "mV"}),
        (ReturnMap(np.array([[1.0, 2.0], [2.0, 5.0]]), "v"), {"v": [1, 2], "v_next": [2, 5]}, {}),
        (PowerSpectrum(TIMES, 2 * TIMES, 0.1, unit="mV"), {"frequency": [0, 1, 2], "density": [0, 2, 4]},
         {"density": "mV^2"}),
        (BoundarySolution(TIMES, np.arange(6.0).reshape(3, 2), NONE, {}, 0.0, ("u", "v"), ("K", "")),
         {"x": [0, 1, 2], "u": [0, 2, 4], "v": [1, 3, 5]}, {"u": "K"}),
        (ConnectingOrbit("homoclinic", 0.0, TIMES, np.arange(6.0).reshape(3, 2), np.zeros(2), NONE, NONE, 0.0,
                         ("u", "v"), ("K", ""), "s"),
         {"t": [0, 1, 2], "u": [0, 2, 4], "v": [1, 3, 5]}, {"u": "K", "t": "s"}),
        (PhaseResponse(TIMES, np.arange(6.0).reshape(3, 2), -np.arange(6.0).reshape(3, 2), 1.0, 0.0, ("u", "v"),
                       ("mV", ""), "ms"),
         {"phase": [0, 1, 2], "u": [0, -2, -4], "v": [-1, -3, -5], "Z_u": [0, 2, 4], "Z_v": [1, 3, 5]},
         {"u": "mV", "Z_u": "ms/mV", "Z_v": "ms"}),
        (Isochrons(np.array([0.0, 0.5]), (np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]])), NONE, NONE,
                   ("u", "v")),
         {"phase": [0, 0.5, 0.5], "u": [1, 3, 5], "v": [2, 4, 6]}, {}),
        (LockingRange(TIMES, 2 * TIMES, 1.0, (1, 1)), {"shift": [0, 1, 2], "change": [0, 2, 4]}, {}),
        (RecurrencePlot(TIMES, np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], bool), 0.1, time_unit="s"),
         {"t": [0, 2], "t_recurrent": [1, 0]}, {"t": "s", "t_recurrent": "s"}),
        (ZeroOneTest(TIMES, np.array([0.0, 0.9, 1.0]), 1, 3), {"c": [0, 1, 2], "K_c": [0, 0.9, 1], "K": [0.9] * 3}, {}),
        ([attractor(1.0, 2.0, 3.0), attractor(4.0, 5.0, 6.0)],
         {"x_1": [1, 4], "x_2": [-1, -4], "period": [2, 5], "exponent": [3, 6]}, {}),
        (BASINS, {"x": [5, 5, 5, 6, 6, 6], "y": [0, 1, 2, 0, 1, 2], "label": [1, 0, -1, 0, 0, 1]}, {"x": "m"}),
        (Fractions(np.array([0, 1]), np.array([2, 6]), 10, np.array([0.1, 0.5]), np.array([0.3, 0.7]), 0.95, {}),
         {"label": [0, 1], "share": [0.2, 0.6], "low": [0.1, 0.5], "high": [0.3, 0.7], "count": [2, 6]}, {}),
        (FractionCurves(TIMES, np.array([0, -1]), SHARES, SHARES - 0.05, SHARES + 0.05, ({},) * 3, False, "r", "A"),
         {"r": [0, 0, 1, 1, 2, 2], "label": [0, -1] * 3, "share": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
          "low": [0.05, 0.15, 0.25, 0.35, 0.45, 0.55], "high": [0.15, 0.25, 0.35, 0.45, 0.55, 0.65]}, {"r": "A"}),
        (StabilityMap(TIMES[:2], TIMES, np.arange(6).reshape(3, 2), np.arange(6, 0, -1).reshape(3, 2),
                      np.zeros((3, 2), int)),
         {"first": [0, 1] * 3, "second": [0, 0, 1, 1, 2, 2], "found": [0, 1, 2, 3, 4, 5],
          "stable": [6, 5, 4, 3, 2, 1]}, {}),
    ],
)  # fmt: skip
def test_each_number_has_its_row_and_column(result, columns, units):
    found = table(result)
    for name, expected in columns.items():
        if isinstance(expected[0], str):
            assert found[name].tolist() == expected
        else:
            assert found[name] == pytest.approx(np.array(expected, float), rel=1e-14, nan_ok=True), name
    assert {name: unit for name, unit in found.units.items() if "eigenvalue" not in name} == units


@pytest.mark.parametrize(
    "result",
    [
        PLANE._replace(equilibria=(), points=np.empty((0, 2)), cycles=(), cycle_kinds=(), periods=()),
        HybridTrajectory((), (), Ending.CAPPED), Portrait(np.zeros((1, 2)), NONE, np.empty((0, 2)), (), NONE),
        RecurrencePlot(TIMES, np.zeros((3, 3), bool), 0.1), ReturnMap(np.empty((0, 2))),
        Fractions(np.empty(0, int), np.empty(0, int), 0, np.empty(0), np.empty(0), 0.95, {}),
        Diagram("r", (), (), ()), AllEquilibria((), (), 0, 1, 1, ""),
        Attractors((), (), LABELS, LABELS, np.zeros(3), 1.0, 1, 1, NONE, np.ones(1)),
    ],
    ids=lambda result: type(result).__name__,
)  # fmt: skip
def test_a_result_in_which_nothing_was_found_is_a_table_without_rows(result):
    assert len(table(result)) == 0


def test_rows_without_an_attractor_say_so():
    assert table(BASINS)["attractor"].tolist() == [
        str(BASINS.attractors[k]) if k >= 0 else "none" for k in (1, 0, -1, 0, 0, 1)
    ]
    shares = Fractions(np.array([2, -1]), np.ones(2, int), 2, np.zeros(2), np.ones(2), 0.95, {2: BASINS.attractors[0]})
    assert table(shares)["attractor"].tolist() == [str(BASINS.attractors[0]), "none"]


def test_orbits_of_a_known_system_have_the_extremes_of_the_whole_orbit(monkeypatch):
    monkeypatch.setattr("analysis.tables.orbit_ranges", lambda of, found, k: np.array([[k - 1.0, 3.0 * k + 2.0]]))
    cycle = Cycle(CIRCLE[None], np.array([2.0]))
    branch = Branch(cycle, TIMES[:1], TIMES[:1], np.ones((1, 2)), ("stable",), (), ("", ""), name="a")
    flow = FunctionFlow(lambda t, x, a: a * x, names=("u", "v"), units=("mV", ""), parameters={"a": 1.0})
    found = branch_table(branch, Parameter(flow, "a", 0.0, 1.0, unit="nA"))
    assert [found[f"{name}_{end}"].tolist() for name in "uv" for end in ("min", "max", "amplitude")] == [
        [-1.0], [2.0], [1.5], [0.0], [5.0], [2.5],
    ]  # fmt: skip
    assert (found.units["u_min"], found.units["a"], found["period"].tolist()) == ("mV", "nA", [2.0])


def test_branches_list_extremes_of_solutions_and_the_number_of_steps_of_a_cycle():
    profiles = Profile(np.array([[[0.0, 5.0], [3.0, -1.0]], [[2.0, 2.0], [1.0, 4.0]]]), NONE, NONE)
    branch = Branch(profiles, TIMES[:2], TIMES[:2], np.ones((2, 1)), ("stable", "stable"), (), ("", ""))
    found = table(branch._replace(states=profiles._replace(unknowns=np.zeros((2, 0)), x=np.zeros((2, 2)))))
    assert [found[name].tolist() for name in ("x_1_min", "x_1_max", "x_2_min", "x_2_max", "x_2_amplitude")] == [
        [0, 1], [3, 2], [-1, 2], [5, 4], [3, 1],
    ]  # fmt: skip
    points = branch._replace(states=np.zeros((2, 1)))
    assert table(Diagram("r", (points,), (3,), ()))["solution"].tolist() == ["cycle of 3 steps"] * 2
    fold = Bifurcation("fold", Cycle(CIRCLE, np.array(5.0)), 1.5, np.ones(2, complex), 0.0, 1.5, np.zeros(7))
    assert table(fold)["period"].tolist() == [5.0]
