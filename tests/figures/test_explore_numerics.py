"""The numerical methods of a page beside those of the library, run by Node.js: solver, equilibria, types, curves."""

import functools
import json

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibrium_types import entry_errors, equilibrium_type, fixed_point_type
from analysis.dynamics.linearisation import kind
from dynsim import FunctionFlow, Scipy, iterate, simulate, system
from dynsim.programs import without_compiling
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from figures.explore.model import model
from figures.explore.scripts import methods
from tests.support.node import NODE, WHY_NOT, in_node

pytestmark = pytest.mark.skipif(NODE is None, reason=WHY_NOT)
PLANAR = sorted(name for name, e in CATALOGUE.items() if len(e.start) == 2 and isinstance(e.system(), AbstractFlow))
TOLERANCES = "{rtol: 1e-10, atol: 1e-12}"  # those of the page
LISTS = "const lists = run => run.x.map(one => Array.from(one));"
NEAR_ZERO = 1e-7


def asked(made, value, given=None):
    """The value of an expression with the functions of a model; `p` holds its parameters."""
    numbers = [one["value"] for one in made.described["parameters"]]
    told = json.dumps({key: made.described[key] for key in ("isMap", "periods")})
    facts = f"const MODEL = {{field, jacobian, ...{told}}};"
    return in_node("\n".join([methods(), made.script, LISTS, facts, f"const p = {numbers};"]), value, given)


@functools.cache
def catalogue(name):
    return model(CATALOGUE[name].system())


@pytest.mark.parametrize("name", PLANAR)
def test_trajectories_agree_with_those_of_the_library(name):
    entry, ts = CATALOGUE[name], np.linspace(0.0, 20.0, 101)
    run = f"lists(trajectory(field, p, 0, given, 20, 101, {TOLERANCES}))"
    with without_compiling():
        exact = simulate(entry.system(), entry.start, ts, integrator=Scipy(rtol=1e-12, atol=1e-14)).ys
    assert np.max(np.abs(np.array(asked(catalogue(name), run, [*entry.start])).T - exact)) < 1e-8


def test_backwards_forwards_and_to_a_pole():
    made = model(system("x' = x^2", {}), [1.0])
    back, there, ends = asked(
        made,
        f"""[lists(trajectory(field, p, 0, [1], -3, 4, {TOLERANCES})),
             lists(trajectory(field, p, -3, [0.25], 0, 4, {TOLERANCES})),
             [trajectory(field, p, 0, [1], 2, 41, {{far: 1e3}}), trajectory(field, p, 0, [1], 2, 41)].map(
               run => [run.end, run.t.length, run.x[0].every(Number.isFinite)])]""",
    )
    times = np.array([0.0, -1.0, -2.0, -3.0])
    assert np.allclose(back[0], 1 / (1 - times), rtol=1e-9)
    assert np.allclose(there[0], 1 / (1 - times[::-1]), rtol=1e-9)
    assert ends == [["escaped", 20, 1], ["singular", 20, 1]]


def test_orbits_of_maps_and_strobed_states_of_forced_flows():
    entry = CATALOGUE["ikeda"]
    mine = asked(catalogue("ikeda"), "lists(orbit(field, p, 0, given, 12))", [*entry.start])
    assert np.allclose(np.array(mine).T, iterate(entry.system(), entry.start, 12).ys, rtol=1e-9)
    ts = 2 * np.pi * np.arange(4)
    mine = asked(
        catalogue("duffing"),
        f"stroboscopic(field, p, [0.7, -0.2], 2 * Math.PI, 2, 1, {TOLERANCES}).map(a => Array.from(a))",
    )
    with without_compiling():
        exact = simulate(CATALOGUE["duffing"].system(), (0.7, -0.2), ts, integrator=Scipy(rtol=1e-12, atol=1e-14)).ys
    assert np.allclose(np.array(mine).T, exact[2:], atol=1e-7)


def test_equilibria_and_fixed_points_with_their_types():
    grid = "[...Array(49).keys()].map(k => [k % 7 - 3, Math.floor(k / 7) - 3].map(a => 1.3 * a))"
    call = "equilibria(MODEL, 0, p, {}, {}, () => true).map(one => [one.x, one.type])"
    found = asked(catalogue("pendulum"), call.format(grid, "[8, 6]"))
    near = [[round(a / np.pi, 9) + 0.0 for a in x] + [name] for x, name in found if abs(x[0]) < 4]
    assert near == [[-1, 0, "saddle"], [0, 0, "centre of the linearisation"], [1, 0, "saddle"]]
    starts = "[...Array(27).keys()].map(k => [k % 3 * 8 - 8, k % 9 - 4, k])"
    found = asked(catalogue("lorenz"), call.format(starts, "[40, 60, 50]"))
    side = np.sqrt(72.0)
    assert np.allclose([x for x, _ in found], [[-side, -side, 27], [0, 0, 0], [side, side, 27]], atol=1e-9)
    assert [name for _, name in found] == ["saddle-focus of index 2", "saddle of index 1", "saddle-focus of index 2"]
    found = asked(catalogue("logistic"), call.format("[[0.1], [0.8]]", "[1]"))
    assert found == [[[0], "unstable"], [[0.75], "unstable with reflection"]]
    found = asked(catalogue("standard"), call.format("[[3, 6.2], [3, 0.1]]", "[6, 6]"))
    assert np.allclose([x for x, _ in found], [[np.pi, 0], [np.pi, 2 * np.pi]])  # up to whole turns


def matrices():
    draw = np.random.default_rng(0)
    special = [
        [[-1, 0], [0, -1]], [[-1, 5], [0, -1]], [[2, 0], [0, 2]], [[0, 1], [-1, 0]], [[0, 1], [0, 0]],
        [[-1, 1e-3], [0, -1.00001]], [[-1, 0], [0, -1.0001]], [[0, 0], [0, 3]], [[1, 2], [2, -3]], [[-3, 0], [1, 1]],
    ]  # fmt: skip
    return [np.array(A, float) for A in special] + [draw.normal(size=(2, 2)) for _ in range(20)]


def test_types_are_named_as_by_the_library():
    small = matrices()
    draw = np.random.default_rng(1)
    large = [draw.normal(size=(d, d)) - shift * np.eye(d) for d in (3, 4, 5) for shift in (0.0, 2.5, -2.5)]
    named = in_node(
        methods(),
        "given.map(A => [equilibriumType, fixedPointType].map(name => name(A.flat(), A.length).type))",
        [A.tolist() for A in small + large],
    )
    for A, (of_flow, of_map) in zip(small + large, named, strict=True):
        values = np.linalg.eigvals(A)
        tolerance = NEAR_ZERO * max(1.0, np.linalg.norm(A, 2))
        assert of_flow == equilibrium_type(A, values, kind(values, tolerance), tolerance, entry_errors(A)), A
        assert of_map == fixed_point_type(values, kind(np.abs(values) - 1, tolerance), tolerance), A


def test_eigenvalues_are_those_of_lapack():
    draw = np.random.default_rng(2)
    many = [draw.normal(size=(d, d)) for d in (1, 2, 3, 5, 8, 12)] + [
        np.eye(4, k=1) + np.eye(4, k=-3),
        np.eye(3),
        np.zeros((3, 3)),
    ]
    found = in_node(methods(), "given.map(A => eigenvalues(A.flat(), A.length))", [A.tolist() for A in many])
    for A, mine in zip(many, found, strict=True):
        left, right = np.linalg.eigvals(A), [complex(*pair) for pair in mine]
        assert max(min(abs(a - b) for b in right) for a in left) < 1e-11 * max(1, np.linalg.norm(A)), len(A)
        assert abs(sum(right) - np.trace(A)) < 1e-11 * len(A)


def test_nullclines_lie_on_the_curve_and_poles_are_left_out():
    ask = """(() => {
      const evaluate = (x, y, out) => { out[0] = x * x + y * y - 1; out[1] = 1 / (x - 0.123) - y; };
      const xs = linspace(-2, 2, 81), values = onGrid(evaluate, xs, xs, 2);
      return [0, 1].map(c => zeroCurves(values[c], xs, xs, evaluate, c));
    })()"""
    circle, hyperbola = in_node(methods(), ask)
    assert np.allclose(np.hypot(circle["x0"], circle["y0"]), 1, atol=1e-3)
    length = np.hypot(np.subtract(circle["x1"], circle["x0"]), np.subtract(circle["y1"], circle["y0"])).sum()
    assert length == pytest.approx(2 * np.pi, rel=1e-3)
    x, y = np.array(hyperbola["x0"]), np.array(hyperbola["y0"])
    assert np.allclose(y * (x - 0.123), 1, atol=0.05)  # and nothing at the pole, x = 0.123


def test_potentials_and_extrema():
    xs = np.linspace(-2.0, 2.0, 101)
    V = asked(catalogue("double-well"), "Array.from(potential(x => x - x ** 3, given))", xs.tolist())
    assert np.allclose(V, xs**4 / 4 - xs**2 / 2 + 0.25, atol=1e-9)
    flow = FunctionFlow(lambda t, s: jnp.stack([s[1], -s[0]]), names=("x", "y"))
    tops = asked(
        model(flow, [1.0, 0.0]), f"extrema(field, p, 0.5, [Math.cos(0.5), -Math.sin(0.5)], 10, 0, {TOLERANCES}).found"
    )
    assert np.allclose(tops, [-1, 1, -1], atol=1e-6)
