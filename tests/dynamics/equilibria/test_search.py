"""All equilibria by deflated multistart: counts in closed form, symmetries, families, boxes that hold none, caps."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria import field_rows
from analysis.dynamics.equilibria.field_rows import FieldRows
from analysis.dynamics.equilibria.search import _Search, find_equilibria, token_permutations
from analysis.dynamics.linearisation import rotations
from analysis.dynamics.scaling.units import made_units
from dynsim.keys import random_key
from dynsim.programs import without_compiling
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import TokenFlow

KEY = random_key(0, "all equilibria")
SINES = FunctionFlow(lambda t, x: jnp.sin(3 * x))
BOX = [[-1.2, 1.2], [-1.2, 1.2]]


@pytest.fixture(scope="module")
def sines():
    return find_equilibria(SINES, KEY, box=BOX, num_starts=40)


@pytest.mark.slow
def test_nine_equilibria_of_nine_are_found(sines):
    kinds = [e.kind for e in sines.found]
    assert [kinds.count(k) for k in ("stable", "saddle", "unstable")] == [4, 4, 1]
    assert sines.families == ()
    assert all(e.speed < 1e-9 for e in sines.found)
    assert "9 equilibria: 4 stable star node, 4 saddle, 1 unstable star node" in str(sines)


@pytest.mark.slow
def test_of_equilibria_that_a_symmetry_maps_to_each_other_one_is_kept():
    group = [lambda x: x[::-1], lambda x: -x, lambda x: -x[::-1]]
    found = find_equilibria(SINES, KEY, box=BOX, num_starts=40, group=group)
    assert [e.kind for e in found.found] == ["stable", "stable", "saddle", "unstable"]


def test_known_equilibria_drive_starts_to_others():
    """Of x (x - 1), once 1 is known."""
    starts, known = np.array([[0.9], [0.8]]), np.ones((1, 1))
    with without_compiling():
        rows = FieldRows(made_units(FunctionFlow(lambda t, x: x * (x - 1))), starts)
        np.testing.assert_allclose(rows.least(starts, known[:0]), 1.0, atol=1e-7)
        np.testing.assert_allclose(rows.least(starts, known), 0.0, atol=1e-7)


def test_the_derivatives_of_the_deflated_speed_are_those_of_differences(monkeypatch):
    asked, h = [], 1e-6
    monkeypatch.setattr(field_rows, "least_squares", lambda residuals, starts: asked.append(residuals) or starts)
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] ** 2 - x[1], x[0] * x[1] - 1]))
    point, known = np.array([[0.7, 1.3]]), np.array([[1.0, 1.0], [-0.5, 2.0]])
    with without_compiling():
        FieldRows(made_units(flow), point).least(point, known)
        ((residuals,),) = (asked,)
        value, slopes = residuals(point)
        change = [(residuals(point + step)[0] - residuals(point - step)[0])[0] / (2 * h) for step in h * np.eye(2)]
    np.testing.assert_allclose(slopes[0], np.transpose(change), rtol=1e-7)
    factors = 1 + 1 / np.sum((point - known) ** 2, axis=1)
    np.testing.assert_allclose(value[0], np.prod(factors) * np.array([0.49 - 1.3, 0.91 - 1]))


def test_fields_are_in_units_of_states_and_of_time_whether_they_are_compiled_or_not():
    flow, points = FunctionFlow(lambda t, x: jnp.stack([x[1], -3 * x[0]])), np.array([[1.0, 2.0], [0.5, -1.0]])
    exact = np.stack([points[:, 1] * 8 / 2, -3 * points[:, 0] * 2 / 8], axis=1) * 4
    units = made_units(flow, scale=np.array([2.0, 8.0]), time=4.0)
    np.testing.assert_allclose(FieldRows(units, points).field(points), exact)
    with without_compiling():
        np.testing.assert_allclose(FieldRows(units, points).field(points), exact)


def test_a_direction_without_pull_that_no_symmetry_explains_is_a_family():
    ring = FunctionFlow(lambda t, x: (1 - jnp.sum(x**2)) * x)
    on, origin, own = np.array([0.6, 0.8]), np.zeros(2), made_units(ring)
    families = [
        _Search(own, on[None], symmetries=symmetries)._is_family(x)
        for symmetries in ((), rotations(2))
        for x in (on, origin)
    ]
    assert families == [True, False, False, False]


@pytest.mark.slow
def test_a_box_that_holds_none_says_so():
    found = find_equilibria(SINES, KEY, box=[[0.2, 0.9], [0.2, 0.9]], num_starts=40, max_rounds=1)
    assert found.found == ()
    assert "0 equilibria: none in the box" in str(found)
    assert found.outside > 0


@pytest.mark.slow
def test_caps_are_reported():
    assert find_equilibria(SINES, KEY, box=BOX, num_starts=40, max_rounds=1).end == "rounds"
    found = find_equilibria(SINES, KEY, box=BOX, num_starts=40, max_count=2)
    assert found.end == "count"
    assert "the cap on equilibria was reached" in str(found)


@pytest.mark.slow
def test_a_circle_of_equilibria_is_one_family_that_is_not_isolated():
    ring = FunctionFlow(lambda t, x: (1 - jnp.sum(x**2)) * x)
    found = find_equilibria(ring, KEY, box=[[-2.0, 2.0]] * 2, num_starts=16)
    assert [e.kind for e in found.found] == ["unstable"]
    (family,) = found.families
    assert float(jnp.linalg.norm(family.state)) == pytest.approx(1.0)
    assert "1 not isolated (a symmetry, or zero modes)" in str(found)
    known = find_equilibria(
        ring, KEY, box=[[-2.0, 2.0]] * 2, num_starts=16, symmetries=rotations(2), invariant=lambda x: x @ x
    )
    assert [e.kind for e in known.found] == ["stable", "unstable"]
    assert known.families == ()


@pytest.mark.slow  # other flows are compiled
def test_families_that_cross_or_have_other_spectra_are_each_one():
    cross = FunctionFlow(lambda t, x: -x * x[::-1] ** 2)  # both axes, along which the eigenvalue changes
    found = find_equilibria(cross, KEY, box=[[-2.0, 2.0]] * 2, num_starts=16)
    assert sorted(np.argmax(np.abs(np.asarray(e.state))) for e in found.families) == [0, 1]
    assert len(found.found) <= 1  # the point in both, from which a step along one leads off the other
    rings = FunctionFlow(lambda t, x: (1 - jnp.sum(x**2)) * (2 - jnp.sum(x**2)) * x)
    families = find_equilibria(rings, KEY, box=[[-2.0, 2.0]] * 2, num_starts=16).families
    assert sorted(float(e.state @ e.state) for e in families) == pytest.approx([1.0, 2.0])


@pytest.mark.slow  # a flow of tokens is compiled
def test_three_tokens_on_a_circle_have_three_equilibria_up_to_symmetry():
    flow = TokenFlow(2.0 * np.eye(2)[None])
    gram = lambda x: jnp.sort((x @ x.T).ravel())
    found = find_equilibria(flow, KEY, shape=(3, 2), num_starts=24, symmetries=rotations(2), invariant=gram)
    assert [e.kind for e in found.found] == ["stable", "saddle", "unstable"]
    sums = sorted(float(jnp.linalg.norm(jnp.sum(e.state, axis=0))) for e in found.found)
    assert sums == pytest.approx([0.0, 1.0, 3.0], abs=1e-6)  # a triangle, two against one, one cluster
    assert len(token_permutations(3)) == 5


def test_bad_input_is_one_sentence():
    with pytest.raises(ValueError, match=r"`box` must have shape \(d, 2\), \(low, high\) for each component, but has"):
        find_equilibria(SINES, KEY, box=[-1.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        find_equilibria(SINES, KEY, box=[[-1.0] * 3, [1.0] * 3])
    with pytest.raises(ValueError, match="Argument `box` must hold finite .* low before high, but is"):
        find_equilibria(SINES, KEY, box=[[-1.0, -1.0], [1.0, 1.0]])  # all lower bounds, then all upper ones
    with pytest.raises(ValueError, match="Arguments `box` and `shape` must be given, one of them"):
        find_equilibria(SINES, KEY)
    with pytest.raises(ValueError, match="Argument `n` must be at most 6"):
        token_permutations(7)


def test_an_equilibrium_without_a_derivative_has_no_zero_eigenvalues():
    """Predators that need prey in proportion to their number (Leslie): y^2 / x has no derivative at the origin."""
    leslie = FunctionFlow(
        lambda t, x: jnp.stack([x[0] - x[0] ** 2 / 10 - x[0] * x[1], 0.2 * x[1] - x[1] ** 2 / (4 * x[0])])
    )
    found = find_equilibria(leslie, random_key(0, "starts"), box=[[0.0, 12.0], [0.0, 6.0]])
    kinds = {tuple(np.round(np.asarray(e.state), 6) + 0.0): e.description for e in found.found}
    inside = 10 / 9, 8 / 9
    assert kinds.pop((0.0, 0.0), "undecided").startswith("undecided")
    assert kinds == {(10.0, 0.0): "saddle", tuple(np.round(inside, 6)): "stable focus"}
