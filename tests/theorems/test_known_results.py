"""Results from books and papers on stability, repeated, and random linear flows whose answers are known."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th


def flow(text, **values) -> Any:
    return ds.system(text, **values)


def not_holding(found):
    return [(one.words, one.status) for one in found.hypotheses if one.status != "holds"]


@pytest.mark.slow
def test_an_epidemic_with_births_tends_to_its_endemic_equilibrium():
    """Goh's function; A. Korobeinikov and G. Wake, Applied Mathematics Letters 15 (2002) 955."""
    epidemic = flow("s' = 1 - 4*s*i - s; i' = 4*s*i - 2*i")
    goh = lambda x: x[0] - 0.5 * jnp.log(x[0]) + x[1] - 0.25 * jnp.log(x[1])
    least = goh(jnp.array([0.5, 0.25]))
    below = th.where([(0.1, 1.5), (0.02, 1.0)], lambda x: least + 0.12 - goh(x), label="{V <= V* + 0.12}", bounds=False)
    found = th.lasalle(epidemic, goh, below, [0.5, 0.25])
    assert not_holding(found) == []
    assert found.is_certified


SEIR = "s' = 1 - s - b*s*i; e' = b*s*i - 2*e; i' = e - 2*i"  # the reproduction number is b / 4


@pytest.mark.slow
def test_an_epidemic_with_a_latent_time_dies_out_below_its_threshold():
    """A. Korobeinikov, Mathematical Medicine and Biology 21 (2004) 75; M. Li and J. Muldowney 1995."""
    V = lambda x: x[0] - jnp.log(x[0]) + x[1] + 2 * x[2]
    trap = [(0.2, 1.1), (0.0, 1.8), (0.0, 1.0)]
    below, above = (th.lasalle(flow(SEIR, b=b), V, trap, [1.0, 0.0, 0.0], derivatives=1) for b in (3.0, 4.5))
    assert not_holding(below) == []
    assert below.is_certified
    assert ("V does not grow along solutions", "fails") in not_holding(above)


@pytest.mark.slow
def test_an_epidemic_with_a_latent_time_stays_above_its_threshold():
    """The function of Korobeinikov rests on a line, where only the inequality of means keeps V' from being positive."""
    goh = lambda x: x[0] - 0.5 * jnp.log(x[0]) + x[1] - 0.25 * jnp.log(x[1]) + 2 * x[2] - 0.25 * jnp.log(x[2])
    least = goh(jnp.array([0.5, 0.25, 0.125]))
    sides = [(0.15, 1.2), (0.05, 0.8), (0.02, 0.45)]
    inside = th.where(sides, lambda x: least + 0.1 - goh(x), label="{V <= V* + 0.1}", bounds=False)
    check = lambda b, along: th.lasalle(
        flow(SEIR, b=b), goh, inside, [0.5, 0.25, 0.125], rests_along=along, budget=100_000
    )
    found = check(8.0, [0.0, 0.25, 0.125])
    assert not_holding(found) == []
    assert found.is_certified
    assert "V rests on the line" in dict(not_holding(check(8.0, [0.0, 1.0, 1.0])))


@pytest.mark.slow
def test_two_phase_oscillators_synchronise_from_almost_half_a_turn():
    found = th.lyapunov(flow("d' = -2*k*sin(d)", k=0.5), lambda x: 1 - jnp.cos(x[0]), [(-3.1, 3.1)], [0.0])
    assert not_holding(found) == []
    assert found.numbers["c"] == pytest.approx(1 - np.cos(3.1), rel=1e-2)
    beyond = th.lyapunov(
        flow("d' = -2*k*sin(d)", k=0.5), lambda x: 1 - jnp.cos(x[0]), [(-3.2, 3.2)], [0.0], budget=2000
    )
    assert not_holding(beyond) == [("V falls along solutions", "undecided")]  # it is 0 at pi, which is no float


@pytest.mark.slow
def test_three_phase_oscillators_synchronise_up_to_the_splay_state():
    """The order parameter of Kuramoto's model of equal oscillators, in the differences x and y to the third phase."""
    three = flow("x' = -2*sin(x) - sin(y) - sin(x - y); y' = -sin(x) - 2*sin(y) + sin(x - y)")
    potential = lambda z: 3 - jnp.cos(z[0]) - jnp.cos(z[1]) - jnp.cos(z[0] - z[1])
    found = th.lyapunov(three, potential, th.ball([0.0, 0.0], 2.5), [0.0, 0.0])
    assert not_holding(found) == []
    splay = th.lyapunov(three, potential, th.ball([0.0, 0.0], 3.0), [0.0, 0.0], budget=20_000)
    assert "V falls along solutions" in dict(not_holding(splay))  # (2 pi / 3, -2 pi / 3) is at the distance 2.96


@pytest.mark.slow
def test_the_trapping_ellipsoid_of_lorenz():
    """E. Lorenz's ellipsoid; C. Sparrow, The Lorenz Equations, Springer 1982, appendix C."""
    size = lambda x: 28 * x[0] ** 2 + 10 * x[1] ** 2 + 10 * (x[2] - 56) ** 2
    sides = [(-40.0, 40.0), (-65.0, 65.0), (-10.0, 121.0)]
    for level, status in ((40_000.0, "holds"), (25_000.0, "fails")):
        ellipsoid = th.where(sides, lambda x, c=level: c - size(x), bounds=False)
        lorenz: Any = ds.catalogue.Lorenz()
        assert th.nagumo(lorenz, ellipsoid, strictly=True).status == status


@pytest.mark.slow
def test_random_linear_flows_are_stable_as_their_eigenvalues_say():
    rng = np.random.default_rng(5)
    for case in range(40):
        n = 2 + case % 2
        A = rng.integers(-4, 5, (n, n)) / 2.0 - np.eye(n)
        largest = float(np.max(np.linalg.eigvals(A).real))
        linear: Any = ds.FunctionFlow(lambda t, x, A=A: jnp.asarray(A) @ x)
        if abs(largest) < 1e-6 or abs(np.linalg.det(A)) < 1e-9:
            continue
        found = th.lyapunov_quadratic(linear, np.zeros(n), reach=1.0)
        assert found.status == ("holds" if largest < 0 else "fails")


@pytest.mark.slow
def test_random_polynomial_flows_are_never_shown_to_be_stable_where_they_are_not():
    pytest.importorskip("clarabel", reason="sums of squares need clarabel, of the extra `certificates`")
    rng = np.random.default_rng(6)
    proved = 0
    for _ in range(60):
        a = rng.integers(-3, 4, 8) / 2.0
        text = f"x' = {a[0]}*x + {a[1]}*y + {a[2]}*x^3 + {a[3]}*x*y^2; y' = {a[4]}*x + {a[5]}*y + {a[6]}*y^3"
        text += f" + {a[7]}*x^2*y"
        found = th.lyapunov_polynomial(flow(text), [0.0, 0.0])
        proved += found.applies
        values = np.linalg.eigvals(np.array([[a[0], a[1]], [a[4], a[5]]]))
        if found.applies:  # the origin attracts, and a start far out comes back
            assert np.max(values.real) <= 1e-12
            end = ds.simulate(flow(text), jnp.array([2.0, -3.0]), [0.0, 200.0]).ys[-1]
            assert np.linalg.norm(end) < 1
        if found.status == "fails":
            assert np.max(values.real) > 0
    assert proved > 0
