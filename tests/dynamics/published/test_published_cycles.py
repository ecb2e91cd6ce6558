"""Bifurcations of periodic orbits that others published are found by default options: each once, and no other one."""

import pytest

from analysis.dynamics import bifurcation_diagram, continue_orbits, periodic_orbit, with_orbits
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
