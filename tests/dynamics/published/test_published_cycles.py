"""Bifurcations of periodic orbits that others published are found by default options: each once, and no other one."""

import pytest

import dynsim as ds
from analysis.dynamics import (
    attracting_orbit,
    bifurcation_diagram,
    continue_orbits,
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
