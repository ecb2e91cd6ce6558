"""Transcritical and pitchfork bifurcations of an equilibrium that rests, and near misses of one condition."""

import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import failing

TURN = np.diag([-1.0, -1.0, 1.0])


def parameter(text):
    return ds.Parameter(ds.system(text, a=0.25), "a", -2.0, 2.0)


def test_an_epidemic_begins_at_a_transcritical_point():
    found = th.transcritical(parameter("s' = 0.5 - 0.5*(s + 1) - a*(s + 1)*i; i' = a*(s + 1)*i - i"), 0.9, [0.0, 0.0])
    assert failing(found) == []
    assert found.numbers["a"] == pytest.approx(1, abs=1e-12)
    assert found.is_certified


def test_lorenz_has_a_supercritical_pitchfork_at_one():
    lorenz = ds.Parameter(ds.catalogue.Lorenz(), "rho", 0.0, 2.0)
    found = th.pitchfork(lorenz, 0.9, [0.0, 0.0, 0.0], symmetry=TURN)
    assert failing(found) == []
    assert found.numbers["rho"] == pytest.approx(1, abs=1e-12)
    # On the centre manifold z = x^2 / beta, so u' = sigma / (sigma + 1) ((rho - 1) u - u^3 / beta) for u = x, and
    # |q| = 1 makes x = u / sqrt(2).
    assert found.numbers["speed"] == pytest.approx(10 / 11, rel=1e-10)
    assert found.numbers["cubic"] == pytest.approx(-(10 / 11) / (8 / 3) / 2, rel=1e-10)
    assert "supercritical" in found.conclusion
    odd = th.pitchfork(lorenz, 0.9, [0.0, 0.0, 0.0])
    assert failing(odd) == ["the field is symmetric"]


@pytest.mark.parametrize(
    ("theorem", "text", "words"),
    [
        (th.transcritical, "x' = a*x - x^3; y' = -y", "the quadratic coefficient is not zero"),
        (th.transcritical, "x' = a^2*x - x^2; y' = -y", "the eigenvalue crosses zero"),
        (th.transcritical, "x' = -x^3; y' = a*y - y^2", "an eigenvalue is zero, and only one"),
        (th.transcritical, "x' = a*x - x^2 + 1e-30*a; y' = -y", "the state is an equilibrium for all parameters"),
        (th.pitchfork, "x' = a*x - x^5; y' = -y", "the cubic coefficient is not zero"),
        (th.pitchfork, "x' = a*x - x^3 + 1e-30*x^2; y' = -y", "the field is symmetric"),
    ],
)
def test_a_near_miss_names_the_one_condition(theorem, text, words):
    assert failing(theorem(parameter(text), 0.0, [0.0, 0.0])) == [words]


def test_a_symmetry_must_be_its_own_inverse():
    with pytest.raises(ValueError, match="`symmetry` must be a matrix"):
        th.pitchfork(parameter("x' = a*x - x^3"), 0.0, [0.0], symmetry=[[2.0]])
