"""Theorems about the plane and about symmetries: where they apply, near misses, and what rounding gets wrong."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import failing, flow

pytest.importorskip("flint")

BOX = [(-2.0, 2.0), (-2.0, 2.0)]
MIRROR = np.diag([1.0, -1.0])
CYCLE = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
SWAP = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
CELLS = "x' = {0}*x - x^3 - y - z; y' = {0}*y - y^3 - x - z; z' = {0}*z - z^3 - x - y"


def lienard(text):
    return th.lienard(flow(text))


def branching(text, symmetries, value=0.05):
    return th.equivariant_branching(
        ds.Parameter(flow(text, a=0.25), "a", -2.0, 2.0), value, np.zeros(text.count("'")), symmetries
    )


@pytest.mark.parametrize(
    ("text", "zero"),
    [
        ("x'' = 5*(1 - x^2)*x' - x", 3**0.5),  # van der Pol
        ("x' = 10*(y - (x^3/3 - x)); y' = -x/10", 3**0.5),  # in Lienard's plane
        ("x' = y - (x^3/3 - x) + 0.25; y' = -x", 3**0.5),  # of any integral of f, the one that is 0 at 0 counts
        ("x' = y; y' = -x - x^3 - (x^6 - 1)*y", 7 ** (1 / 6)),
        ("x' = y - x*(x^2 - 1)^3; y' = -x^3", 1.0),  # the damping touches zero where its integral vanishes
    ],
)
def test_an_oscillator_of_lienard_has_one_periodic_orbit(text, zero):
    found = lienard(text)
    assert failing(found) == []
    assert found.is_certified
    assert found.numbers["a"] == pytest.approx(zero, abs=1e-14)


def test_the_flow_of_a_pendulum_near_its_saddle_and_its_focus():
    pendulum = flow("x' = y; y' = -sin(x) - 0.5*y")
    focus, saddle = (th.hartman_grobman(pendulum, near) for near in ([0.1, 0.0], [3.0, 0.0]))
    assert failing(focus) == failing(saddle) == []
    assert "a stable focus" in focus.conclusion
    assert "a saddle with 1 stable and 1 unstable directions" in saddle.conclusion
    assert "a stable focus" in th.hartman_grobman(flow("x' = y - x; y' = -0.3*x - 2*y"), [0.0, 0.0]).conclusion
    assert "an unstable node" in th.hartman_grobman(flow("x' = 2*x; y' = y + x^2"), [0.0, 0.0]).conclusion


def test_rivals_of_which_one_dies_out_have_no_periodic_orbit():
    found = th.index_theory(flow("x' = x*(3 - x - 2*y); y' = y*(2 - x - y)"), [(0.1, 3.5), (0.1, 2.5)])
    assert failing(found) == []
    assert found.numbers == {"equilibria": 1.0, "index": -1.0}


def test_an_involution_that_is_no_matrix():
    """In the coordinates (x, u) with u = y + x^2 the flow x' = y, y' = -x turns back under y to -y."""
    turned = flow("x' = u - x^2; u' = -x + 2*x*(u - x^2)")
    turn = lambda s: jnp.stack([s[0], 2 * s[0] ** 2 - s[1]])
    assert failing(th.reversible(turned, turn, BOX)) == []


def test_cells_that_inhibit_each_other_branch_with_the_symmetry_of_two():
    """The eigenvalue is double, with one direction that the exchange of two cells fixes."""
    text = CELLS.format("(a - 1)")
    assert failing(th.equivariant(flow(text, a=0.1), [CYCLE, SWAP], [(-1.0, 1.0)] * 3)) == []
    found = branching(text, SWAP)
    assert failing(found) == []
    assert found.numbers == {"a": 0.0, "speed": 1.0}
    assert failing(branching(text, np.eye(3))) == [
        "an eigenvalue is zero, and only one, among the 3 directions that the symmetries fix"
    ]


def test_predators_and_prey_stay_nonnegative_everywhere():
    found = th.positivity(flow("x' = x*(1 - x) - x*y/(1 + x); y' = x*y/(1 + x) - 0.3*y"), [(0.0, 2.0), (0.0, 2.0)])
    assert failing(found) == []
    assert "as long as" not in found.conclusion
    inside = th.positivity(flow("x' = y - x; y' = x*(2 - x) - y"), [(0.0, 2.0), (0.0, 2.0)])
    assert failing(inside) == []
    assert "as long as they are in the box" in inside.conclusion


def test_the_witness_of_damping_that_is_lost_is_where_its_integral_falls():
    F = np.polynomial.Polynomial([0.0, -82.0, 0.0, 100.0, 0.0, -19.0, 0.0, 1.0])
    found = lienard("x' = y - x*(x^2 - 1)*((x^2 - 9)^2 + 1); y' = -x")
    ((witness,),) = [one.witness for one in found.hypotheses if one.status == "fails"]
    assert witness > 1
    assert F.deriv()(witness) < -1


MISSES = {
    "a matrix with an entry of -1e-30": (
        lambda: th.positivity(flow("x' = 2*y - x; y' = -1e-30*x - 3*y"), [(0.0, 1.0), (0.0, 1.0)]),
        "component 1 does not fall where it is zero",
    ),
    "a force that is not odd": (lambda: lienard("x'' = (1 - x^2)*x' - x - 0.1*x^2"), "the restoring force is odd"),
    "a force with another zero": (lambda: lienard("x'' = (1 - x^2)*x' - x + x^3"), "the restoring force pulls back"),
    "damping that is not even": (lambda: lienard("x'' = (1 + 0.001*x - x^2)*x' - x"), "the damping is even"),
    "damping everywhere": (
        lambda: lienard("x'' = -(0.1 + x^2)*x' - x"), "the integrated damping has exactly one positive zero a",
    ),
    "damping that ends far away": (
        lambda: lienard("x'' = (1 - x^2 + 1e-30*x^4)*x' - x"), "the integrated damping has exactly one positive zero a",
    ),
    "damping that is lost for a while": (
        lambda: lienard("x' = y - x*(x^2 - 1)*((x^2 - 9)^2 + 1); y' = -x"),
        "the integrated damping grows without bounds beyond a",
    ),
    "no damping": (lambda: lienard("x'' = -x"), "the integrated damping has exactly one positive zero a"),
    "quadratic damping": (lambda: lienard("x'' = -x - x'^2"), "the flow is a Lienard system"),
    "a centre": (
        lambda: th.hartman_grobman(flow("x' = y; y' = -x - x^3"), [0.0, 0.0]),
        "no eigenvalue is on the imaginary axis",
    ),
    "an eigenvalue zero": (
        lambda: th.hartman_grobman(flow("x' = x^2; y' = -y"), [0.0, 0.0]),
        "no eigenvalue is on the imaginary axis",
    ),
    "no equilibrium": (
        lambda: th.hartman_grobman(flow("x' = 1 + x^2; y' = -y"), [0.1, 0.0]),
        "there is an equilibrium, regular or with exact coordinates",
    ),
    "an equilibrium of index one": (
        lambda: th.index_theory(flow("x' = y; y' = -x - y"), BOX), "no equilibrium has index one",
    ),
    "an equilibrium on the boundary": (
        lambda: th.index_theory(flow("x' = x - 2; y' = -y"), BOX), "the field is not zero on the boundary",
    ),
    "friction of 1e-30": (
        lambda: th.reversible(flow("x' = y; y' = -x - 1e-30*y"), MIRROR, BOX), "R turns the field back",
    ),
    "a matrix that is no involution": (
        lambda: th.reversible(flow("x' = 0*y; y' = 0*x"), [[1.0, 1.0], [0.0, -2.0]], BOX), "R is an involution",
    ),
    "one cell that differs": (
        lambda: th.equivariant(flow(CELLS.format("0.5") + "+ 1e-30*z"), SWAP[::-1], [(-1.0, 1.0)] * 3),
        "the field commutes with symmetry",
    ),
    "an eigenvalue that only touches zero": (
        lambda: branching("x' = a^2*x + x^2 - y^2; y' = a^2*y - 2*x*y", MIRROR, 0.0), "the eigenvalue crosses zero",
    ),
    "a symmetry that is broken": (
        lambda: branching("x' = a*x + x^2 - y^2; y' = a*y - 2*x*y + 1e-30*x^2", MIRROR),
        "the field commutes with the symmetries",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSES)
def test_a_near_miss_names_the_one_condition(name):
    call, words = MISSES[name]
    assert failing(call()) == [words]


def test_real_parts_below_rounding_errors_are_told_from_zero():
    found = th.hartman_grobman(flow("x' = y; y' = -x - 1e-40*y"), [0.0, 0.0])
    assert failing(found) == []
    assert "a stable focus" in found.conclusion


def test_bad_input_is_named():
    centre = flow("x' = y; y' = -x")
    with pytest.raises(ValueError, match="`R` must be a matrix"):
        th.reversible(centre, np.eye(3), BOX)
    with pytest.raises(ValueError, match="`symmetries` must be matrices"):
        th.equivariant(centre, np.eye(3), BOX)
    with pytest.raises(ValueError, match="`symmetries` must be regular"):
        th.equivariant(centre, np.diag([1.0, 0.0]), BOX)
    with pytest.raises(ValueError, match="`symmetries` must fix a direction"):
        branching("x' = a*x - x^3", [[-1.0]])
    with pytest.raises(ValueError, match="`flow` must be in the plane for index theory"):
        th.index_theory(centre, [(0.0, 1.0)])
    with pytest.raises(ValueError, match="`sides` must be a box that begins at 0"):
        th.positivity(centre, BOX)
