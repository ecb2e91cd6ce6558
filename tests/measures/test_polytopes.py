"""Hulls, faces and the candidate set: closed forms, exact against float, brute force over all sets of vertices."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.hardmax.candidates import candidate_set, projection_of_origin, support_gap
from analysis.hardmax.exact_geometry import determinant, facets, in_hull, row_echelon, solved
from analysis.hardmax.polytopes import (
    MAX_HULL,
    contains,
    distinct_limits,
    faces,
    nested,
    outside,
    polytope,
    vertices,
    volume,
)
from dynsim.exact import rationals
from dynsim.simulation.simulate import iterate
from dynsim.systems.hardmax.maps import ExactHardmaxMap

HALF = Fraction(1, 2)
SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [HALF, HALF], [HALF, 0], [0, 0]], object)


def lattice(d, low=1, high=7, size=3):
    row = st.lists(st.integers(-size, size), min_size=d, max_size=d)
    return st.lists(row, min_size=low, max_size=high).map(np.array)


@pytest.mark.parametrize("points", [SQUARE, SQUARE.astype(float)], ids=["exact", "float"])
def test_a_square_with_points_inside_on_an_edge_and_twice(points):
    body = polytope(points)
    assert body.vertices == vertices(points) == (0, 1, 2, 3)
    assert set(body.facets) == {(0, 1), (1, 2), (2, 3), (0, 3)}
    assert faces(body) == (((0,), (1,), (2,), (3,)), ((0, 1), (0, 3), (1, 2), (2, 3)), ((0, 1, 2, 3),))
    assert volume(body) == 1


@pytest.mark.parametrize("kind", [int, float])
def test_cubes_and_cross_polytopes_have_their_faces_and_volumes(kind):
    cube = polytope(np.array(list(itertools.product([0, 1], repeat=4)), kind))
    assert [len(group) for group in faces(cube)] == [16, 32, 24, 8, 1]
    assert len(cube.facets) == len(set(cube.facets)) == len(cube.normals) == 8  # Qhull has six simplices on each
    cross = polytope(np.concatenate([np.eye(4), -np.eye(4)]).astype(kind))
    assert [len(group) for group in faces(cross)] == [8, 24, 32, 16, 1]
    assert (volume(cube), volume(cross)) == pytest.approx((1, 16 / 24))


def test_the_volume_of_a_rational_simplex_is_a_fraction():
    body = polytope(np.array([[0, 0, 0], [HALF, 0, 0], [0, Fraction(1, 3), 0], [7, 5, Fraction(1, 5)]], object))
    assert volume(body) == Fraction(1, 180)


@pytest.mark.parametrize(
    ("points", "dimension", "corners"),
    [
        ([[2, 3]], 0, (0,)),
        ([[2, 3], [2, 3]], 0, (0,)),
        ([[1, 1], [0, 0], [3, 3], [2, 2]], 1, (1, 2)),
        ([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], 2, (0, 1, 2, 3)),
        ([[-1], [4], [2]], 1, (0, 1)),
    ],
)
def test_flat_inputs_have_a_hull_too(points, dimension, corners):
    for found in (polytope(np.array(points)), polytope(np.array(points, float))):
        assert (found.dimension, found.vertices) == (dimension, corners)
        assert len(faces(found)[0]) == len(corners)
        assert bool(volume(found) == 0) == (dimension < len(points[0]))
        assert all(contains(found, point) for point in points)
        assert not contains(found, np.full(len(points[0]), 5))
    if len(points[0]) == 2:
        assert not contains(polytope(np.array(points)), [1, Fraction(10**9 + 1, 10**9)])


def test_exact_and_float_hulls_agree_on_many_lattice_clouds():
    rng = np.random.default_rng(20)
    for trial in range(300):
        d, n = rng.integers(1, 5), rng.integers(1, 9)
        x = rng.integers(-3, 4, (n, d))
        x[:, -1] = x[:, 0] if trial % 3 == 0 else x[:, -1]
        exact, rounded = polytope(x), polytope(x.astype(float))
        assert (exact.vertices, exact.dimension) == (rounded.vertices, rounded.dimension)
        assert set(exact.facets) == set(rounded.facets)
        assert float(volume(exact)) == pytest.approx(volume(rounded), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(lattice(3), st.lists(st.integers(-3, 3), min_size=3, max_size=3).map(np.array))
def test_facets_and_linear_programs_agree_on_what_is_inside(cloud, x):
    body, exact = polytope(cloud), rationals("cloud", cloud)
    assert contains(body, x) == in_hull(rationals("x", x), exact) == (not outside(x[None], cloud)[0])
    assert outside(x[None].astype(float), cloud.astype(float))[0] == (not contains(body, x))
    assert all(
        in_hull(exact[i], exact[[j for j in body.vertices if tuple(cloud[j]) != tuple(cloud[i])]])
        is (not any(tuple(cloud[i]) == tuple(cloud[j]) for j in body.vertices))
        for i in range(len(cloud))
        if len(body.vertices) > 1
    )


def test_beyond_the_reach_of_facets_linear_programs_find_the_vertices():
    rng = np.random.default_rng(1)
    corners = np.concatenate([np.eye(9, dtype=int), -np.eye(9, dtype=int)])
    cloud = np.concatenate([corners, np.zeros((1, 9), int)])
    assert vertices(cloud) == vertices(cloud.astype(float)) == tuple(range(18))
    inside = (rng.dirichlet(np.ones(18), 4) @ corners) * 0.99
    assert not np.any(outside(inside, corners.astype(float)))
    assert np.all(outside(1.01 * corners[:3], corners.astype(float)))
    assert vertices(np.concatenate([cloud[:5], cloud[:5]])) == (0, 1, 2, 3, 4)


def test_the_hulls_of_layers_are_nested_exactly_and_not_the_other_way():
    rng = np.random.default_rng(3)
    layer = ExactHardmaxMap(HALF)
    path = iterate(layer, layer.rule.tokens(rng.integers(-5, 6, (12, 3))), 4).ys
    assert all(nested(after, before) for before, after in itertools.pairwise(path))
    assert not nested(path[0], path[-1])
    assert nested(path[3].astype(float), path[0].astype(float))


def test_elimination_is_exact():
    rng = np.random.default_rng(4)
    matrix = rationals("matrix", rng.integers(-5, 6, (4, 4)))
    right = rationals("right", rng.integers(-5, 6, (4, 2)))
    assert np.all(matrix @ solved(matrix, right) == right)
    assert float(determinant(matrix)) == pytest.approx(np.linalg.det(matrix.astype(float)))
    assert determinant(rationals("matrix", [[0, 1], [1, 0]])) == -1
    assert determinant(rationals("matrix", [[1, 2], [2, 4]])) == 0
    assert row_echelon(rationals("matrix", [[0, 2, 4], [0, 1, 2]])).pivots == [1]
    with pytest.raises(ValueError, match="singular"):
        solved(rationals("matrix", [[1, 2], [2, 4]]), rationals("right", [1, 1]))


def test_a_degenerate_linear_program_ends():
    points = rationals("points", [[0, 0], [0, 0], [1, 0], [2, 0], [1, 0], [-1, 0], [0, 1]])
    assert in_hull(points[0], points[1:])
    assert not in_hull(rationals("x", [0, -1]), points)


METRICS = [None, [[2, 1], [1, 1]], [[Fraction(5, 2), -1], [-1, 3]]]


@pytest.mark.parametrize("attention", METRICS)
def test_the_projection_of_the_origin_is_orthogonal_to_its_face(attention):
    A = np.eye(2, dtype=int) if attention is None else np.array(attention, object)
    points = np.array([[3, 1], [1, 2], [5, 0]])[:2]
    x = projection_of_origin(points, attention)
    assert (points[1] - points[0]) @ A @ x == 0
    assert np.all(projection_of_origin(points[:1], attention) == points[0])
    assert np.all(projection_of_origin([[1, 0], [0, 1], [2, 2]], attention) == 0)
    rounded = projection_of_origin(points.astype(float), attention)
    assert rounded == pytest.approx(x.astype(float), abs=1e-13)


def candidates_by_brute_force(body, A):
    """Return S from the projections on all sets of vertices, inside by a linear program."""
    found = set()
    for size in range(1, len(body.vertices) + 1):
        for chosen in itertools.combinations(body.vertices, size):
            x = projection_of_origin(body.points[list(chosen)], A)
            if in_hull(x, body.points) and max((body.vertex_points - x) @ (A @ x)) == 0:
                found.add(tuple(x))
    return found


@settings(max_examples=40, deadline=None)
@given(lattice(2, high=6), st.sampled_from(METRICS))
def test_the_candidate_set_is_that_of_brute_force_in_the_plane(cloud, attention):
    A = rationals("A", np.eye(2, dtype=int) if attention is None else np.array(attention, object))
    body = polytope(cloud)
    found = candidate_set(body, attention)
    assert {tuple(x) for x in found.points} == candidates_by_brute_force(body, A)
    assert len({tuple(x) for x in found.points}) == len(found.points)
    assert all(support_gap(body, x, attention) == 0 for x in found.points)
    rounded = candidate_set(polytope(cloud.astype(float)), attention)
    assert rounded.faces == found.faces
    assert rounded.points == pytest.approx(found.points.astype(float), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(lattice(3, high=6, size=2))
def test_the_candidate_set_is_that_of_brute_force_in_space(cloud):
    found = candidate_set(polytope(cloud))
    assert {tuple(x) for x in found.points} == candidates_by_brute_force(polytope(cloud), rationals("A", np.eye(3)))


def test_the_origin_is_a_candidate_whenever_it_lies_in_the_polytope():
    inside = candidate_set(polytope(np.array([[2, 0], [-2, 2], [-2, -2]])))
    assert ((0, 0), (0, 1, 2)) in [(tuple(x), face) for x, face in zip(inside.points, inside.faces, strict=True)]
    assert {tuple(x) for x in inside.points} == {(2, 0), (-2, 2), (-2, -2), (-2, 0), (0, 0)} | {
        (Fraction(2, 5), Fraction(4, 5)), (Fraction(2, 5), Fraction(-4, 5)),
    }  # fmt: skip
    away = candidate_set(polytope(np.array([[2, 1], [-2, 1], [0, 3]])))
    assert (0, 0) not in {tuple(x) for x in away.points}


def test_limits_are_counted_by_exact_equality():
    values, numbers = distinct_limits(rationals("x", [["1/3", 1], [0, 0], ["1/3", 1]]))
    assert values.tolist() == [[Fraction(1, 3), 1], [0, 0]]
    assert numbers.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="`limits` must be exact"):
        distinct_limits([[0.1]])


def test_what_is_no_cloud_is_refused():
    with pytest.raises(ValueError, match=r"`points` must have shape \(n, d\)"):
        polytope(np.zeros((0, 2)))
    with pytest.raises(ValueError, match="`points` must be finite"):
        polytope([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="at most 7 dimensions, or be exact"):
        polytope(np.concatenate([np.eye(8), -np.eye(8)]))
    with pytest.raises(ValueError, match="`points` must have dimension 2 to match `hull_of`"):
        outside(np.zeros((1, 3)), np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"`x` must have shape \(2,\)"):
        contains(polytope(SQUARE), [1, 2, 3])
    with pytest.raises(ValueError, match=r"`attention` must have shape \(2, 2\)"):
        candidate_set(polytope(SQUARE), np.eye(3))
    with pytest.raises(ValueError, match="span 2 dimensions, but span 1"):
        facets(rationals("points", [[0, 0], [1, 1], [2, 2]]))


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e8])
def test_the_candidates_do_not_depend_on_the_unit_of_the_attention(factor):
    """Of random polytopes beside the origin and around it, with a metric that is not a multiple of the identity."""
    rng, metric = np.random.default_rng(8), np.array([[2.0, 0.6], [0.6, 0.5]])
    for _ in range(6):
        body = polytope(rng.normal(size=(7, 2)) + rng.uniform(0, 2, 2))
        found, scaled = candidate_set(body, metric), candidate_set(body, factor * metric)
        assert found.faces == scaled.faces
        np.testing.assert_allclose(found.points, scaled.points, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_points_of_many_components_are_outside_by_a_share_of_the_extent(unit):
    d = MAX_HULL + 1
    corners = unit * np.vstack([np.zeros(d), np.eye(d)])
    face = unit * np.full(d, 1 / d)
    moved = [face * (1 + share) for share in (-1e-3, 1e-11, 1e-7)]
    assert outside(np.array(moved), corners).tolist() == [False, False, True]
