"""Folds and branch points of boundary value problems are found by default options: each once, and no other one."""

import jax.numpy as jnp
import pytest

from analysis.dynamics import BoundaryValueProblem, continue_solutions, switch_solutions
from tests.dynamics.published.test_published_equilibria import Point, agree, cases, parameter, point


@pytest.mark.parametrize("row", cases("boundary_values.toml"))
def test_solutions_have_the_published_points_and_no_other_one(row):
    varied = parameter(row)
    names = varied.system.names

    def conditions(first, last, flow):
        at = {name: lambda x, k=k: (first, last)[x][k] for k, name in enumerate(names)}
        return jnp.stack([eval(text, at) for text in row["conditions"]])

    problem = BoundaryValueProblem(varied.system, conditions)
    branch = continue_solutions(problem, varied, problem.solve(jnp.zeros(len(names))))
    _has([branch], row["points"])
    assert branch.ends == ("bounds", "bounds")
    if "beyond" in row:
        leaving = [switch_solutions(problem, varied, at) for at in branch.bifurcations]
        assert [[one.ends for one in both] for both in leaving] == [[("branch point", "bounds")] * 2] * len(leaving)
        _has([one for both in leaving for one in both], row["beyond"])


def _has(branches, points):
    """Check that branches have the expected points and no other one."""
    found = [Point(b.kind, b.parameter, 0.0) for one in branches for b in one.bifurcations]
    agree(found, [point(text) for text in points])
