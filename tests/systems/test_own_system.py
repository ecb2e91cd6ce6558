"""A function of time and state with a space can be simulated, measured, stored and drawn without subclassing."""

import math
import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from analysis.dynamics import Steps, bifurcation_diagram
from analysis.dynamics.convergence import worst_increase
from analysis.dynamics.equilibria.newton import equilibria, random_starts
from analysis.dynamics.equilibria.settling import settle
from analysis.dynamics.portraits.curved import circle_portrait
from analysis.ledger.check import check
from analysis.ledger.claim import claim
from analysis.ledger.evidence import SOLVER, Trial, at_least, at_most
from analysis.ledger.findings import find
from analysis.ledger.verdict import Verdict
from dynsim import (
    Event,
    FunctionFlow,
    FunctionMap,
    Parameter,
    Scipy,
    Sphere,
    iterate,
    load,
    random_key,
    rerun,
    save,
    simulate_until,
)
from dynsim.__main__ import main
from dynsim.errors import ArgumentError
from dynsim.papers import Paper
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate
from dynsim.systems.catalogue.maps import Henon
from dynsim.systems.euler import EulerMap
from dynsim.systems.master_equation.rates import DrivenRates
from figures.figure import figure
from figures.panels import circle_portrait as draw_circle
from figures.style import canvas
from tests.support.own_system import compass, rotor, twin_wells

NEEDLE = FunctionFlow(compass, Sphere())
WELLS = FunctionFlow(twin_wells)
MINE = Paper("mine", "Notes on two wells", "A. User")


def test_simulate_with_both_integrators_against_the_closed_form():
    ts = np.linspace(0.0, 3.0, 7)
    for integrator in (None, Scipy()):
        options = {} if integrator is None else {"integrator": integrator}
        path = simulate(FunctionFlow(rotor, fastest_period=np.pi), jnp.array([1.0, 0.0]), ts, **options)
        np.testing.assert_allclose(path.ys, np.stack([np.cos(2 * ts), np.sin(2 * ts)], 1), atol=1e-8)


def _filled(t, x):
    out = np.zeros(2)
    out[0], out[1] = x[1], -np.sin(x[0])
    return out


def _copied(t, x):
    out = x.copy()
    out[0], out[1] = x[1], -np.sin(x[0])
    return out


def _changed(t, x):
    x[0], x[1] = x[1], -np.sin(x[0])
    return x


def _listed(t, x):
    return [x[1], -math.sin(x[0])]


@pytest.mark.parametrize("rhs", [_filled, _copied, _changed, _listed, lambda t, x: (x[1], -jnp.sin(x[0]))])
@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_any_numpy_function_runs_with_scipy(rhs, method):
    """Right-hand sides written for SciPy: they fill an array, change their argument, or return parts."""
    exact = solve_ivp(lambda t, x: [x[1], -np.sin(x[0])], (0.0, 3.0), [1.0, 0.5], rtol=1e-10, atol=1e-12).y[:, -1]
    path = simulate(FunctionFlow(rhs), jnp.array([1.0, 0.5]), [0.0, 3.0], integrator=Scipy(method, 1e-8, 1e-10))
    np.testing.assert_allclose(path.final, exact, atol=1e-6)


def _complex(t, x):
    out = np.zeros(2, complex)
    out[0] = x[1]
    return out


def test_numpy_functions_that_fit_no_solver_are_refused_in_one_sentence():
    x = jnp.array([1.0, 0.5])
    with pytest.raises(ArgumentError, match="`flow` must use jax.numpy .`Scipy... takes NumPy"):
        simulate(FunctionFlow(_filled), x, [0.0, 1.0])
    with pytest.raises(ArgumentError, match="`rhs` must return the shape of its state, .2,., but returns .3,."):
        simulate(FunctionFlow(lambda t, x: np.append(_filled(t, x), 0.0)), x, [0.0, 1.0], integrator=Scipy())
    with pytest.raises(ArgumentError, match="`flow` must have a real velocity"):
        simulate(FunctionFlow(_complex), x, [0.0, 1.0], integrator=Scipy())


def test_ensemble():
    y0s = Sphere().sample(random_key(0, "needles"), (9, 2))
    run = ensemble(NEEDLE, y0s, [0.0, 5.0, 10.0], lambda t, x: x[0], integrator=Scipy())
    np.testing.assert_allclose(run.values[:, -1], 1.0, atol=1e-3)
    assert "9 of 9 members finished" in str(run)


@pytest.mark.slow
def test_events():
    flow = FunctionFlow(rotor, fastest_period=np.pi)
    stop = simulate_until(flow, jnp.array([1.0, 0.0]), [0.0, 5.0], [Event(lambda t, x: x[0], -1)])
    assert float(stop.path.ts[-1]) == pytest.approx(np.pi / 4, abs=1e-9)


def test_a_map_of_it():
    path = iterate(EulerMap(WELLS, 0.1), jnp.array([0.5, 1.0]), 200)
    np.testing.assert_allclose(path.final, [1.0, 0.0], atol=1e-9)


@pytest.mark.slow  # the folder tests/dynamics has equilibria and limits of functions
def test_equilibria_and_limits():
    found = equilibria(WELLS, random_starts(WELLS, random_key(0, "wells"), (2,), 32))
    assert [(e.kind, round(float(e.state[0]), 9)) for e in found if e.kind == "saddle"] == [("saddle", 0.0)]
    assert sorted(round(float(e.state[0]), 9) for e in found if e.kind == "stable") == [-1.0, 1.0]
    limit = settle(WELLS, jnp.array([0.3, 2.0]))
    assert limit.settled
    np.testing.assert_allclose(limit.state, [1.0, 0.0], atol=1e-7)


@pytest.mark.slow
def test_a_portrait_and_a_figure_of_it(tmp_path):
    @figure("mine/needle", MINE.at("Figure 1"))
    def needle(key):
        """The needle's portrait."""
        return circle_portrait(NEEDLE, 60).arrays()

    @needle.with_drawing
    def needle(data):
        """Draw it."""
        drawn, (ax,) = canvas()
        angles = np.unwrap(np.arctan2(data["points"][:, 1], data["points"][:, 0]))
        places = data["equilibrium_points"]
        draw_circle(ax, angles, np.sum(data["field"] * np.stack([-np.sin(angles), np.cos(angles)], 1), axis=1),
            limits=data["limits"], equilibrium_angles=np.arctan2(places[:, 1], places[:, 0]),
            kinds=data["kinds"].tolist())  # fmt: skip
        return drawn

    numbers = needle.data(tmp_path)
    rest = numbers["kinds"].tolist().index("stable")
    np.testing.assert_allclose(numbers["equilibrium_points"][rest], [1.0, 0.0], atol=1e-9)
    assert np.all(np.delete(numbers["limits"], 30) == rest)  # all but the start on the unstable rest
    assert sorted(numbers["kinds"].tolist()) == ["stable", "unstable"]
    assert needle.drawn(numbers).axes[0].get_xlabel() == "$y_1$"


def test_a_run_file_is_made_again_once_the_reader_trusts_the_function(tmp_path, capsys):
    path = simulate(WELLS, jnp.array([0.5, 1.0]), [0.0, 1.0, 2.0])
    save(tmp_path / "run.npz", path)
    with pytest.raises(ValueError, match="trust` must name `tests.support.own_system:twin_wells`"):
        load(tmp_path / "run.npz")
    again = rerun(tmp_path / "run.npz", trust=["tests.support.own_system:twin_wells"])
    np.testing.assert_array_equal(again.ys, path.ys)
    assert main(["simulate", str(tmp_path / "run.npz")]) == 2
    assert "trust" in capsys.readouterr().err
    assert main(["simulate", str(tmp_path / "run.npz"), "--trust", "tests.support.own_system"]) == 0
    assert "identical bit for bit" in capsys.readouterr().out


def twin_hills(t, x):
    return -twin_wells(t, x)


@pytest.mark.slow  # tests/ledger/test_own_claims.py checks claims of files
def test_a_claim_about_it():
    def trial(key, integrator, flow):
        x0 = random_starts(WELLS, key, (2,), 1)[0]
        path = simulate(flow, x0, [0.0, 0.2, 0.4], integrator=integrator)
        rise = worst_increase(path, lambda x: x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2)
        distance = float(jnp.linalg.norm(twin_wells(0.0, x0)))
        return Trial(
            hypotheses=(at_least("speed at the start", distance, 0.0, tolerance=SOLVER),),
            conclusions=(at_most("rise of the energy", rise.amount, 0.0, tolerance=rise.error),),
            witness={"x0": np.asarray(x0)},
        )

    @claim("mine/energy-falls", MINE.at("Lemma 1"), num_trials=4)
    def falls(key, integrator):
        """The energy x^4/4 - x^2/2 + y^2 never rises."""
        return trial(key, integrator, WELLS)

    falls = falls.with_control(lambda key, integrator: trial(key, integrator, FunctionFlow(twin_hills)))
    found = check(falls)
    assert (found.verdict, found.control, found.applied) == (Verdict.SUPPORTED, Verdict.REFUTED, 4)
    assert find([found]).name == "HOLDS"


def test_a_function_of_another_shape_is_refused_by_name():
    wrong = FunctionFlow(lambda t, x: x[:1])
    with pytest.raises(ValueError, match=r"rhs` must return the shape of its state, \(2,\), but returns \(1,\)"):
        simulate(wrong, jnp.zeros(2), [0.0, 1.0])


def test_functions_of_ones_own_keep_the_type_of_the_state():
    """Parameters are cast to it, and numbers of Python have no type."""
    turning = FunctionFlow(
        lambda t, x, w: jnp.stack([x[1].astype(float), -w * x[0].astype(float)]), parameters={"w": 2.0}
    )
    x = np.array([1.0, 0.0], np.float32)
    assert turning.velocity(0.0, jnp.asarray(x)).dtype == jnp.float32
    logistic = FunctionMap(lambda k, x, r: r * x * (1 - x), parameters={"r": 3.5})
    assert iterate(logistic, np.asarray(0.3, np.float32), 5).ys.dtype == jnp.float32
    assert FunctionFlow(lambda t, x: -1).velocity(0.0, jnp.ones(())).dtype == jnp.float64
    np.testing.assert_array_equal(iterate(FunctionMap(lambda k, x: [x[1], -x[0]]), [1.0, 0.0], 2).ys[-1], [-1.0, 0.0])
    assert jnp.iscomplexobj(FunctionFlow(lambda t, x: x.astype(complex)).velocity(0.0, jnp.ones(2)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: iterate(FunctionMap(lambda k, x: x[:1]), [5.0, 1.0], 3), "`step_function` must return the shape of"),
        (lambda: iterate(FunctionMap(lambda k, x: np.sin(x)), [1.0], 3), "`map` must use jax.numpy in its step"),
        (lambda: iterate(FunctionMap(lambda k, x: x / 2 if x > 1 else x), 5.0, 3), "`map` must use jax.numpy in its"),
        (lambda: iterate(FunctionMap(lambda k, x: x.astype(complex)), 5.0, 3), "`map` must have a real step .*, but"),
        (lambda: iterate(Henon(), [0.1], 3), "`x0` must have .* this Henon keeps, but is float64 of shape"),
        (lambda: iterate(Henon(), 0.1, 3), "`x0` must have a shape that this Henon takes, but is float64 of shape"),
        (lambda: iterate(Henon(), [0.1, np.nan], 3), "`x0` must be finite, but has an entry that is not"),
        (lambda: FunctionFlow(lambda x: -x), "`rhs` must take time, state and nothing else, but does not"),
        (lambda: FunctionFlow(lambda t, x, a: -x), "`rhs` must take .*; `parameters` gives values to a"),
        (lambda: FunctionFlow(lambda x, t: -x), "`rhs` must take time first, then the state, but takes \\(x, t\\)"),
        (lambda: FunctionFlow(lambda t, x: x, parameters={"a": 1.0}), "`rhs` must take time, state and a, but"),
        (lambda: FunctionMap(lambda k, x, t: x, parameters={"k": 1.0}), "`step_function` must take time, state and k"),
    ],
)  # fmt: skip
def test_functions_of_ones_own_that_do_not_fit_are_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"Argument {sentence}"):
        call()


def _unpacked(t, x):
    v, w = x
    return [w, -v]


@pytest.mark.parametrize("rhs", [_unpacked, lambda t, x: [x[1], -x[0]], _filled])
@pytest.mark.parametrize("start", [1.0, [1.0]])
def test_a_state_with_too_few_components_is_named_by_its_shape(rhs, start):
    must = f"`rhs` must take the state that it is given, of shape {re.escape(str(np.shape(start)))}, but raises"
    with pytest.raises(ArgumentError, match=must) as caught:
        FunctionFlow(rhs).velocity(0.0, np.asarray(start))
    assert caught.value.__cause__ is not None


def test_the_errors_of_a_functions_own_are_not_taken_for_those_of_its_state():
    def fails(t, x):
        raise ValueError("no data for this year")

    with pytest.raises(ValueError, match="^no data for this year$"):
        FunctionFlow(fails).velocity(0.0, jnp.ones(2))


def test_a_diagram_takes_starts_as_lists_and_rows():
    fold = Parameter(FunctionFlow(lambda t, x, p: [p - x[0] ** 2, -x[1]], parameters={"p": 1.0}), "p", -1.0, 2.0)
    for starts in ([[1.0, 0.0]], np.array([[1.0, 0.0]])):
        assert [b.kind for b in bifurcation_diagram(fold, starts, steps=Steps(0.3)).branches[0].bifurcations] == [
            "fold"
        ]
    with pytest.raises(ArgumentError, match="`rhs` must take the state that it is given, of shape .., but raises"):
        bifurcation_diagram(fold, [1.0, 0.0])


def test_jumps_at_the_ends_are_not_between_them():
    flow = FunctionFlow(lambda t, x: x, breaks=(3.0, 1.0, 2.0))
    np.testing.assert_array_equal(flow.breakpoints(1.0, 3.0), [2.0])
    np.testing.assert_array_equal(
        DrivenRates(lambda t: jnp.ones((2, 2)), breaks=(1, 2, 3)).breakpoints(1.0, 3.0), [2.0]
    )


def test_functions_without_a_signature_are_taken_as_they_are():
    assert float(FunctionFlow(math.hypot).velocity(3.0, jnp.asarray(4.0))) == 5.0
    with pytest.raises(ValueError, match="`rhs` must take time first, then the state, but takes"):
        FunctionFlow(lambda x, t: x)
