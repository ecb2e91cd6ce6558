"""Bifurcations of periodic orbits that others published are found by default options: each once, and no other one."""

import numpy as np
import pytest

import dynsim as ds
from analysis.dynamics import (
    attracting_orbit,
    bifurcation_diagram,
    continue_connection,
    continue_equilibria,
    continue_orbits,
    homoclinic_orbit,
    orbit_of,
    orbits_from_hopf,
    period_limit,
    periodic_orbit,
    with_orbits,
)
from tests.dynamics.published.test_published_equilibria import Point, agree, cases, parameter, point


@pytest.mark.parametrize("row", cases("cycles.toml"))
def test_orbits_have_the_published_bifurcations_and_no_other_one(row):
    varied = parameter(row)
    if "period" in row:
        orbits = [continue_orbits(varied, periodic_orbit(varied.system, row["start"], row["period"], segments=4))]
    else:
        orbits = with_orbits(
            bifurcation_diagram(varied, [row["start"]], levels=0), varied, max_period=row.get("max_period")
        ).orbits
    marks = [b for one in orbits for b in one.bifurcations]
    agree([Point(b.kind, b.parameter, 0.0) for b in marks], [point(text) for text in row["points"]])
    if row["periods"]:
        agree(
            [Point("period", float(b.state.period), 0.0) for b in marks],
            [point(f"period: {text}") for text in row["periods"]],
        )
    if "coefficients" in row:
        assert [b.coefficient for b in marks] == pytest.approx(row["coefficients"], rel=1e-5)


@pytest.mark.slow
def test_the_cycles_of_scheffer_end_on_the_saddle_node_from_which_homcont_begins():
    """AUTO's demo mtn: the saddle-node on a cycle lies at 0.06729762, at which the period grows without bound."""
    model = ds.system(
        "u' = 0.5*u*(1 - u/6) - v*p + 0.06; v' = 0.6*p*v - 0.15*v - g*v^2/(v^2 + 0.25); p = 0.4*u/(0.6 + u); g = 0.06"
    )
    g = ds.Parameter(model, "g", 0.05, 0.08)
    orbit = attracting_orbit(model, [5.0, 0.5])
    cycles = continue_orbits(g, orbit)
    limit = period_limit(cycles)
    assert limit.kind == "saddle-node on a cycle"
    assert limit.parameter == pytest.approx(0.06729762, abs=1e-4)  # by periods of up to 1000 units


@pytest.mark.slow
def test_the_loops_of_shimizu_and_morioka_have_a_neutral_saddle():
    """A. L. Shilnikov, Physica D 62 (1993): near alpha = 0.608, l = 1.044 the saddle quantity of the loop vanishes.

    The leading eigenvalues of the saddle are -alpha and (-l + sqrt(l^2 + 4)) / 2.
    """
    model = ds.system("x' = y; y' = x - l*y - x*z; z' = -alpha*z + x^2; l = 1.3; alpha = 0.65")
    l, alpha = ds.Parameter(model, "l", 0.5, 1.5), ds.Parameter(model, "alpha", 0.59, 0.7)
    (hopf,) = continue_equilibria(l, [0.65**0.5, 0.0, 1.0]).bifurcations
    cycles = orbits_from_hopf(l, hopf, max_period=100.0)
    assert cycles.ends == ("Hopf point", "period")
    long = int(np.argmin(np.abs(np.asarray(cycles.states.period) - 60)))
    curve = continue_connection((l, alpha), homoclinic_orbit(l, orbit_of(l, cycles, long)))
    (found,) = curve.degeneracies
    assert found.kind == "neutral saddle"
    assert (found.first, found.second) == pytest.approx((1.044, 0.608), abs=3e-3)
    assert found.second == pytest.approx((-found.first + np.sqrt(found.first**2 + 4)) / 2, abs=1e-6)
