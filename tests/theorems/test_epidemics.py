"""LaSalle's theorem for an epidemic with births and a latent time, below and above its threshold."""

import jax.numpy as jnp
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import not_holding

SEIR = "s' = 1 - s - b*s*i; e' = b*s*i - 2*e; i' = e - 2*i"  # the reproduction number is b / 4


@pytest.mark.slow
def test_an_epidemic_with_a_latent_time_dies_out_below_its_threshold():
    """A. Korobeinikov, Mathematical Medicine and Biology 21 (2004) 75; M. Li and J. Muldowney 1995."""
    V = lambda x: x[0] - jnp.log(x[0]) + x[1] + 2 * x[2]
    trap = [(0.2, 1.1), (0.0, 1.8), (0.0, 1.0)]
    below, above = (th.lasalle(ds.system(SEIR, b=b), V, trap, [1.0, 0.0, 0.0], derivatives=1) for b in (3.0, 4.5))
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
        ds.system(SEIR, b=b), goh, inside, [0.5, 0.25, 0.125], rests_along=along, budget=100_000
    )
    found = check(8.0, [0.0, 0.25, 0.125])
    assert not_holding(found) == []
    assert found.is_certified
    assert "V rests on the line" in dict(not_holding(check(8.0, [0.0, 1.0, 1.0])))
