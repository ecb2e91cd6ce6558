"""Folds and Hopf points in two parameters: closed forms, cusp and Bogdanov-Takens points, stability maps, errors."""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation import continue_equilibria
from analysis.dynamics.two_parameters import critical_curve, stability_map
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.oscillators import DoubleWell
from dynsim.systems.catalogue.parameters import parameter
from dynsim.systems.catalogue.populations import Brusselator

WELL = (lambda flow: flow.h, lambda flow: flow.a)


class BogdanovTakens(AbstractFlow):
    """The normal form x' = y, y' = p + q y + x^2 + x y: folds at p = 0, Hopf points at p = -q^2 with q > 0."""

    p: object = parameter("p", -1.0)
    q: object = parameter("q", 0.5)
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        del t
        return jnp.stack([x[1], self.p + self.q * x[1] + x[0] ** 2 + x[0] * x[1]])


@pytest.fixture(scope="module")
def fold():
    return continue_equilibria(DoubleWell(h=-1.0), WELL[0], jnp.asarray([-1.4]), (-1.0, 1.0)).bifurcations[0]


def test_the_folds_of_the_double_well_meet_in_a_cusp(fold):
    found = critical_curve(DoubleWell(), WELL, fold, ((-2.0, 2.0), (-1.0, 1.5)), step=0.1)
    assert np.allclose(found.first**2, 4 * (found.second / 3) ** 3, atol=1e-9)
    ((kind, h, a),) = [(d.kind, d.first, d.second) for d in found.degeneracies]
    assert (kind, h, a) == ("cusp", pytest.approx(0.0, abs=1e-9), pytest.approx(0.0, abs=1e-9))
    assert found.ends == ("bounds", "bounds")
    assert "curve of fold points" in repr(found)


def test_hopf_points_of_the_brusselator_are_at_one_plus_the_square():
    flow = Brusselator(a=1.0, b=1.0)
    at = continue_equilibria(flow, lambda f: f.b, jnp.ones(2), (0.5, 5.0)).bifurcations[0]
    found = critical_curve(flow, (lambda f: f.b, lambda f: f.a), at, ((1.0, 5.0), (0.8, 1.5)), step=0.1)
    assert np.allclose(found.first, 1 + found.second**2, atol=1e-9)
    assert np.allclose(found.frequencies, found.second, atol=1e-9)


def test_folds_and_hopf_points_meet_at_a_bogdanov_takens_point():
    where, bounds = (lambda f: f.p, lambda f: f.q), ((-2.0, 1.0), (-0.5, 1.0))
    line = continue_equilibria(BogdanovTakens(), where[0], jnp.asarray([-1.0, 0.0]), (-2.0, 1.0))
    at = {b.kind: b for b in line.bifurcations}
    assert at["Hopf point"].parameter == pytest.approx(-0.25, abs=1e-8)
    folds, hopfs = (critical_curve(BogdanovTakens(), where, at[k], bounds, step=0.1) for k in ("fold", "Hopf point"))
    assert np.allclose(folds.first, 0.0, atol=1e-9)
    assert np.allclose(hopfs.first, -(hopfs.second**2), atol=1e-9)
    assert np.all(hopfs.second > 0)
    assert "Bogdanov-Takens point" in hopfs.ends
    for curve in (folds, hopfs):
        ((kind, p, q),) = [(d.kind, d.first, d.second) for d in curve.degeneracies]
        assert (kind, p, q) == ("Bogdanov-Takens point", pytest.approx(0.0, abs=1e-7), pytest.approx(0.0, abs=1e-7))


def test_a_stability_map_counts_equilibria_on_both_sides_of_the_folds():
    starts = [jnp.asarray([v]) for v in (-1.0, 0.1, 1.0)]
    found = stability_map(DoubleWell(), WELL, [-0.5, 0.0, 0.1], [-1.0, 0.9], starts)
    assert found.found.tolist() == [[1, 1, 1], [1, 3, 3]]
    assert found.stable.tolist() == [[1, 1, 1], [1, 2, 2]]


def test_bad_input_is_one_sentence(fold):
    bounds = ((-1.0, 1.0), (-1.0, 1.5))
    with pytest.raises(ValueError, match="Argument `at` must be a fold or a Hopf point, but is a branch point"):
        critical_curve(DoubleWell(), WELL, fold._replace(kind="branch point"), bounds)
    with pytest.raises(ValueError, match="DoubleWell has no `b`"):
        critical_curve(DoubleWell(), (WELL[0], lambda f: f.b), fold, bounds)
