"""Parts of sums of squares by hand: monomials, their pairs, affine weights, and Gram matrices."""

from fractions import Fraction

import numpy as np
import pytest

from analysis.theorems import squares
from analysis.theorems.squares import MatrixFamily, along, degree_of, derivative, monomials

F = Fraction
X2, XY, Y2 = (2, 0), (1, 1), (0, 2)
X, Y = (1, 0), (0, 1)


def test_derivatives_and_degrees_of_polynomials():
    V = {(3, 0): F(2), (1, 1): F(5), (0, 0): F(7)}
    assert derivative(V, 0) == {(2, 0): 6, (0, 1): 5}
    assert derivative(V, 1) == {(1, 0): 5}
    assert along({X2: F(1), Y2: F(3)}, [{Y: F(1)}, {X: F(-1), Y: F(-2)}]) == {XY: -4, Y2: -12}
    assert degree_of(V, {(2, 2): F(1)}) == 4
    assert degree_of() == degree_of({(0, 0): F(1)}) == 0
    assert monomials(2, 1, 2) == [X, Y, X2, XY, Y2]
    assert monomials(3, 0, 0) == [(0, 0, 0)]


def test_monomials_of_the_squares_are_those_that_something_may_cancel():
    quartic = MatrixFamily({(4, 0): F(1), (0, 4): F(1), (2, 2): F(-1)})
    assert squares._basis(quartic, 2) == [X2, XY, Y2]
    assert squares._basis(MatrixFamily({(2, 0): F(1), (0, 4): F(1)}, ({(1, 2): F(1)},)), 2) == [X, (0, 2)]
    assert squares._basis(MatrixFamily({(4, 0): F(1)}, ({(1, 1): F(1)}, {(0, 2): F(1)})), 2) == [Y, X2]
    assert squares._basis(MatrixFamily({}), 2) == []
    assert squares._is_definite_basis([X, Y], 2)
    assert squares._is_definite_basis([X2, XY, (0, 3)], 2)
    assert not squares._is_definite_basis([X, XY], 2)
    assert not squares._is_definite_basis([(0, 0), X, Y], 2)
    assert squares._pairs([X, Y, XY]) == {
        X2: [(0, 0)],
        XY: [(0, 1)],
        Y2: [(1, 1)],
        (2, 1): [(0, 2)],
        (1, 2): [(1, 2)],
        (2, 2): [(2, 2)],
    }
    G = np.diag([2.0, 1.9e-4, 2.1e-4])
    assert squares._occurring([X, Y, XY], G) == [X, XY]


def test_weights_with_which_only_products_of_the_basis_occur_are_a_point_and_directions():
    family = MatrixFamily({X2: F(1), Y: F(3)}, ({Y: F(1)}, {XY: F(1)}, {Y: F(2), X2: F(1)}))
    start, ways = squares._representable([family], [{X2: []}])
    assert start == [-3, 0, 0]
    assert ways == [[-2, 0, 1]]
    assert squares._representable([MatrixFamily({Y: F(1)}, ({X2: F(1)},))], [{X2: []}]) is None
    assert squares._representable([MatrixFamily({X2: F(1)}, ({X2: F(1)},))], [{X2: []}]) == ([0], [[1]])


def test_matrices_are_rounded_and_then_give_the_polynomial_exactly():
    assert squares._rounded(1 / 3, 4, 1.0) == F(5, 16)
    assert squares._rounded(1 / 3, 4, 5.0) == F(1, 2)  # a unit of 8 / 16
    assert squares._rounded(0.75, 3, 0.0) == 1
    p = {(4, 0): F(1), (2, 2): F(-1), (0, 4): F(1)}
    pairs = squares._pairs([X2, XY, Y2])
    found = squares._gram(p, np.array([[1.01, 0.02, -0.6], [0.02, 0.3, 0.0], [-0.6, 0.0, 0.99]]), pairs, 6)
    assert (found[0, 0], found[2, 2], found[0, 1], found[1, 2]) == (1, 1, 0, 0)
    assert found[1, 1] + 2 * found[0, 2] == -1
    assert abs(float(found[1, 1]) - 0.3 + 0.1 / 3) < 2**-5  # what is missing is shared by the three entries
    assert abs(float(found[0, 2]) + 0.6 + 0.1 / 3) < 2**-5
    assert np.all(found == found.T)


@pytest.mark.parametrize(
    ("families", "least", "steps"),
    [
        ([MatrixFamily({X2: F(2), XY: F(2), Y2: F(2)})], 1.0, []),
        ([MatrixFamily({X2: F(1), XY: F(1), Y2: F(1)})], 0.5, []),
        ([MatrixFamily({X2: F(1), XY: F(1), Y2: F(1)}, ({XY: F(2)},))], 1.0, [-0.5]),
        ([MatrixFamily({(4, 0): F(1), (2, 2): F(-1), (0, 4): F(1)})], 1 / 3, []),
        (
            [MatrixFamily({X2: F(1), Y2: F(1)}, ({X2: F(1)},)), MatrixFamily({X2: F(2), Y2: F(1)}, ({X2: F(-1)},))],
            1.0, None,
        ),
        ([MatrixFamily({X2: F(1), XY: F(4), Y2: F(1)})], None, []),
    ],
)  # fmt: skip
def test_the_least_eigenvalue_of_gram_matrices_is_as_large_as_it_can_be(families, least, steps):
    pytest.importorskip("clarabel")
    bases = [squares._basis(one, 2) for one in families]
    pairs = [squares._pairs(basis) for basis in bases]
    affine = squares._representable(families, pairs)
    assert affine is not None
    solved = squares._solved(families, bases, pairs, *affine)
    if least is None:
        assert solved is None
        return
    assert solved is not None
    assert solved.least == pytest.approx(least, abs=1e-6)
    assert len(solved.steps) == len(families[0].slopes)
    if steps is not None:
        np.testing.assert_allclose(solved.steps, steps, atol=1e-6)
    values = [np.linalg.eigvalsh(G)[0] for G in solved.grams]
    assert min(values) >= least - 1e-5
