"""What results print: one line as `repr`, a report as `str`."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import analysis
import dynsim.integrators
import dynsim.simulation
from analysis.chains.stationary import stationary_distributions
from analysis.dynamics.attractors.limit_set import LimitSet
from analysis.dynamics.continuation.bifurcations import Bifurcation
from analysis.dynamics.continuation.branches import Branch
from analysis.dynamics.convergence import decay_rate
from analysis.dynamics.diagrams import Diagram
from analysis.dynamics.equilibria.newton import equilibria
from analysis.dynamics.linearisation import spectrum
from analysis.dynamics.lyapunov import LyapunovSpectrum
from analysis.dynamics.orbit_diagrams import OrbitDiagram
from analysis.dynamics.periodic_orbits.shooting import PeriodicOrbit
from analysis.dynamics.poincare import Section
from analysis.hardmax.certificate import certify
from analysis.ledger.evidence import Trial, at_least
from dynsim._core.printing import one_line
from dynsim.integrators import Event, Scipy
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.hybrid import Transition, simulate_hybrid
from dynsim.simulation.simulate import iterate, simulate, simulate_until
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.catalogue.oscillators import Pendulum
from dynsim.systems.hardmax.hypotheses import hypotheses
from dynsim.systems.hardmax.maps import ExactHardmaxMap

PACKAGES = (analysis, dynsim.simulation, dynsim.integrators)
NOT_OF_RESULTS = ("analysis.verifiers", "analysis.claims", "analysis.experiments")
PARTS = {
    "base.Event", "Bounds", "Rightmost", "TakenStep", "curve.Equations", "EndConditions", "LienardFunctions",
    "FlowParts", "special_points.Ends", "Shots", "Lane", "TrialStep", "Recorded", "Solved", "March", "Marched",
    "Moment", "Ways", "FlowForm", "SlidingStates", "FollowedStates", "Path", "Critical", "CurvePoint", "BranchLine",
    "Rest", "TimeMap", "Form", "Units", "Curve", "Candidates", "Gap", "Motion", "Echelon", "Facets", "Claim",
    "Statement", "brackets.Bracket", "Unravel", "InOrder", "Transition", "Points", "Intervals", "Collocated",
    "Solutions", "RestingPoint", "meshes.Part", "FlowChart", "Folded",
}  # fmt: skip
"""Classes that functions return and that are no results: systems, solvers, options, and parts of a computation."""


def classes_of(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, type):
        yield annotation
    for part in typing.get_args(annotation):
        yield from classes_of(part)


def returned_classes() -> Iterator[Any]:
    """The named tuples and dataclasses of these packages that their public functions return."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith(NOT_OF_RESULTS):
                continue
            for name, function in vars(importlib.import_module(module.name)).items():
                if inspect.isfunction(function) and function.__module__ == module.name and not name.startswith("_"):
                    for kind in classes_of(inspect.signature(function).return_annotation):
                        own = kind.__module__.startswith(tuple(p.__name__ for p in PACKAGES))
                        fields = hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__")
                        if own and fields and not kind.__name__.startswith("_"):
                            yield kind


def runs() -> list[Any]:
    """Results of simulations."""
    path = simulate(Pendulum(), jnp.asarray([1.0, 0.0]), np.linspace(0.0, 5.0, 501), integrator=Scipy())
    fall = FunctionFlow(lambda t, x: jnp.stack([x[1], -jnp.ones(())]))
    bounce = Transition("hit", Event(lambda t, x: x[0], -1), lambda flow, t, x: (flow, -x))
    jumped = simulate_hybrid(fall, [0.5, 0.0], [0.0, 1.5], [bounce], integrator=Scipy())
    stop = simulate_until(Pendulum(), [1.0, 0.0], [0.0, 4.0], [Event(lambda t, x: x[0])], integrator=Scipy())
    members = ensemble(Pendulum(), jnp.ones((2, 2)), [0.0, 0.5], lambda t, x: x[0], integrator=Scipy(), shown=False)
    return [
        path, path.stats, stop, jumped, jumped.jumps[0], members, members.stats, iterate(Logistic(), [0.3], 20),
    ]  # fmt: skip


def made() -> list[Any]:
    """Results of analyses; those that take long to compute are put together by hand."""
    many = np.linspace(0.0, 1.0, 300)
    states, values = many[:, None], -many[:, None] + 0j
    fold = Bifurcation("fold", np.zeros(1), 0.5, np.zeros(1, complex), 0.0, 0.5, np.zeros(1))
    branch = Branch(states, many, many, values, ("stable",) * 300, (fold,) * 40, ("bounds", "lost"))
    chain, tokens = np.array([[-1.0, 0.0], [1.0, 0.0]]), [[Fraction(1), Fraction(0)], [Fraction(1, 3), Fraction(2)]]
    clustering = ExactHardmaxMap(1)
    return [
        fold, branch, Diagram("r", (branch,) * 30, (1,) * 30),
        LimitSet("equilibrium", "stable", np.zeros((1, 200)), np.zeros((1, 200)), 0.0, np.zeros(200, complex)),
        LyapunovSpectrum(many, many, many, np.ones((300, 300)), True, ""),
        PeriodicOrbit(np.zeros(2), 6.0, states, np.array([0.1 + 0j]), 0.0, 0.0, "stable"),
        Section(many, np.ones((300, 2)), np.ones(300), 0.01, True), OrbitDiagram(many, np.ones((300, 8))),
        *equilibria(Pendulum(), jnp.zeros((1, 2))), spectrum(Pendulum(), jnp.zeros(2)),
        decay_rate(many, np.exp(-many)), stationary_distributions(chain), certify(clustering, tokens),
        hypotheses(clustering, tokens), Trial((), (at_least("a gap", 0.1, 0.0, tolerance=0.0),)),
    ]  # fmt: skip


@pytest.mark.parametrize("results", [runs, made])
def test_a_result_is_a_line_and_a_report(results):
    for result in results():
        line, text = repr(result), str(result)
        assert line.startswith(f"{type(result).__name__}("), line
        assert len(line) < 200, line
        assert "\n" not in line
        assert "array(" not in line
        assert "..., " not in line  # as NumPy shortens long arrays
        assert text not in ("", line)
        assert text == text.rstrip()
        assert "explain" not in dir(result)


def test_every_class_that_a_function_returns_prints_itself_so():
    found = set(returned_classes())
    assert len(found) > 80
    other = {f"{kind.__module__}.{kind.__name__}" for kind in found if kind.__repr__ is not one_line}
    assert {name for name in other if not name.endswith(tuple(f".{part}" for part in PARTS))} == set()
    assert all(any(name.endswith(f".{part}") for name in other) for part in PARTS)


def test_a_line_shows_numbers_and_words_and_the_sizes_of_the_rest():
    cycle = PeriodicOrbit(np.zeros(2), 6.25, np.zeros((3, 2)), np.array([0.1 + 0j]), 0.0, 1e-9, "stable")
    assert repr(cycle) == (
        "PeriodicOrbit(state=float64[2], period=6.25, nodes=float64[3, 2], multipliers=complex128[1], "
        "trivial_error=0, gap=1e-09, stability='stable', times=None)"
    )


def test_a_report_holds_a_line_for_each_field_and_the_ends_of_long_arrays():
    fit = decay_rate(np.linspace(0.0, 1.0, 300), np.exp(-2 * np.linspace(0.0, 1.0, 300)))
    head, *rows = str(fit).splitlines()
    assert head == "Fit"
    assert [row.split(":")[0] for row in rows] == ["  rate", "  error", "  law", "  num_points"]
    assert rows[0] == "  rate: 2"
    trial = Trial((), (at_least("a gap", 0.1, 0.0, tolerance=0.0),))
    assert "\n  conclusions: \n    - Measurement\n      " in str(trial)
