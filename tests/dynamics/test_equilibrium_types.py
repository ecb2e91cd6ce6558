"""Names of equilibria and fixed points, held against textbooks and against changes of coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.equilibria.search import find_equilibria
from analysis.dynamics.equilibrium_types import entry_errors, equal_eigenvalues, equilibrium_type, fixed_point_type
from analysis.dynamics.linearisation import eigenvalues, kind, spectrum
from analysis.dynamics.periodic_orbits.shooting import periodic_orbit
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.catalogue.populations import LotkaVolterra


def name(A) -> str:
    A = np.asarray(A, float)
    values, least = eigenvalues(A), 1e-7 * float(np.linalg.norm(A, 2))
    return equilibrium_type(A, values, kind(values, least), least, entry_errors(A))


TYPES = {
    "stable node": [[-1, 0], [0, -2]],
    "unstable focus": [[1, 3], [-3, 1]],
    "stable star node": [[-2, 0], [0, -2]],
    "unstable degenerate node": [[1, 1], [0, 1]],
    "saddle": [[1, 0], [0, -1]],
    "centre of the linearisation": [[0, 1], [-2, 0]],
    "not hyperbolic (1 zero eigenvalue)": [[0, 1], [0, -1]],
    "unstable, not hyperbolic (1 zero eigenvalue)": [[0, 1], [0, 1]],
    "not hyperbolic (1 zero eigenvalue and 1 imaginary pair)": [[0, 0, 0], [0, 0, 2], [0, -2, 0]],
    "saddle-focus of index 1": [[1, 0, 0], [0, -1, 2], [0, -2, -1]],
    "saddle-focus of index 2": [[-1, 0, 0], [0, 1, 2], [0, -2, 1]],
    "stable focus-node": [[-3, 0, 0], [0, -1, 2], [0, -2, -1]],
    "saddle of index 2": [[1, 0, 0], [0, 1, 0], [0, 0, -1]],
    "stable degenerate node": [[-1, 1, 0], [0, -1, 1], [0, 0, -1]],
}


@pytest.mark.parametrize("words", TYPES)
def test_a_type_does_not_depend_on_the_coordinates(words):
    A, rng = np.array(TYPES[words], float), np.random.default_rng(0)
    found = {name(A)}
    for _ in range(30):
        frame = rng.normal(size=A.shape) * 10 ** rng.uniform(-1, 1, size=len(A))
        if np.linalg.cond(frame) < 1e3:
            found.add(name(frame @ A @ np.linalg.inv(frame)))
    assert found == {words}


@pytest.mark.parametrize("d", [3, 4])
def test_equal_pairs_are_foci_and_one_repeated_eigenvalue_of_several_is_a_node(d):
    pair = np.array([[-1.0, 2.0], [-2.0, -1.0]])
    assert name(np.kron(np.eye(2), pair)) == "stable focus"
    assert name(np.diag([-1.0] * (d - 1) + [-2.0])) == "stable node"
    assert name(-np.eye(d)) == "stable star node"


def test_two_eigenvalues_are_equal_within_their_errors_only():
    """Those of the damped oscillator are -(1 + g) +- sqrt(2 g) nearly, which errors of 1e-10 blur below g = 1e-9."""
    oscillator = lambda g: name([[0, 1], [-1, -2 * (1 + g)]])
    for gap in (1e-2, 1e-5, 1e-7):
        assert (oscillator(gap), oscillator(-gap)) == ("stable node", "stable focus")
    assert {oscillator(gap) for gap in (1e-11, 0.0, -1e-11)} == {"stable degenerate node"}
    assert name([[-1, 1e-7], [0, -1]]) == "stable degenerate node"
    assert name([[-1, 1e-15], [0, -1]]) == "stable star node"


@pytest.mark.parametrize(
    ("multipliers", "word", "words"),
    [
        ([-1.5, 0.3], "saddle", "flip saddle"),
        ([1.5, -0.3], "saddle", "saddle"),
        ([0.5, -0.3], "stable", "stable node with reflection"),
        ([0.3 + 0.4j, 0.3 - 0.4j], "stable", "stable focus"),
        ([2.0, 0.3 + 0.4j, 0.3 - 0.4j], "saddle", "saddle-focus of index 1"),
        ([0.9, 0.3 + 0.4j, 0.3 - 0.4j], "stable", "stable focus-node"),
        ([-1.0, 0.3], "undecided", "not hyperbolic (1 multiplier -1)"),
        ([2.0, 1.0], "saddle", "unstable, not hyperbolic (1 multiplier 1)"),
        ([0.6 + 0.8j, 0.6 - 0.8j], "undecided", "not hyperbolic (1 pair on the unit circle)"),
        ([-0.5], "stable", "stable with reflection"),
        ([], "stable", "stable"),
    ],
)
def test_types_of_fixed_points(multipliers, word, words):
    assert fixed_point_type(np.array(multipliers), word, 1e-6) == words


def test_strogatz_rabbits_and_sheep():
    """Section 6.4: x' = x (3 - x - 2 y), y' = y (2 - x - y)."""
    flow = FunctionFlow(lambda t, x: jnp.stack([x[0] * (3 - x[0] - 2 * x[1]), x[1] * (2 - x[0] - x[1])]))
    found = find_equilibria(flow, jax.random.key(0), box=[(-0.5, 4.0)] * 2).found
    types = {tuple(np.round(np.asarray(e.state)).astype(int).tolist()): e for e in found}
    words = {place: e.description for place, e in types.items()}
    assert words == {(0, 0): "unstable node", (0, 2): "stable node", (3, 0): "stable node", (1, 1): "saddle"}
    vectors = types[1, 1].spectrum.vectors  # of the eigenvalues -1 +- sqrt(2)
    assert vectors[1] / vectors[0] == pytest.approx([-1 / np.sqrt(2), 1 / np.sqrt(2)], abs=1e-9)
    assert words[0, 0] in str(types[0, 0])


def test_predators_and_prey_have_a_centre_since_area_in_logarithms_is_conserved():
    (found,) = find_equilibria(LotkaVolterra(), jax.random.key(0), box=[(0.1, 3.0)] * 2).found
    assert (found.description, found.kind) == ("centre (area in logarithms is conserved)", "undecided")


def test_eigenvectors_have_the_units_of_the_components():
    units = np.array([1e6, 1e-6])
    A = np.array([[-1.0, 2.0], [1.0, -1.5]])
    flow = FunctionFlow(lambda t, x: units * (A @ (x / units)))
    (found,) = find_equilibria(flow, jax.random.key(0), box=[(-u, u) for u in units]).found
    J, vectors, values = units[:, None] * A / units, found.spectrum.vectors, found.spectrum.values
    np.testing.assert_allclose(J @ vectors, vectors * values, rtol=1e-9)
    assert found.description == "saddle"


def test_a_token_has_eigenvectors_in_the_ambient_space():
    flow = FunctionFlow(lambda t, x: jnp.array([3.0, 2.0, 1.0]) * x, Sphere())
    found = spectrum(flow, [1.0, 0.0, 0.0])
    assert (found.vectors.shape, found.description) == ((3, 2), "stable node")
    np.testing.assert_allclose(found.vectors, [[0, 0], [1, 0], [0, 1]], atol=1e-12)


def test_a_flip_saddle_of_a_map_is_printed():
    found = periodic_orbit(FunctionMap(lambda k, x: jnp.stack([-2 * x[0], 0.5 * x[1]])), [1e-9, 1e-9], 1)
    assert str(found).endswith("(flip saddle)")


def test_two_flips_are_no_flip_and_the_index_counts_all_that_grow():
    assert fixed_point_type(np.array([-1.5, -2.0, 0.3]), "saddle", 1e-6) == "saddle of index 2"
    assert fixed_point_type(np.array([-1.5, 2.0, 0.3]), "saddle", 1e-6) == "flip saddle of index 2"


def test_a_defective_eigenvalue_is_not_taken_for_one_far_away():
    A = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -5.0]])
    assert [one.members for one in equal_eigenvalues(A, entry_errors(A))] == [(0, 1), (2,)]
