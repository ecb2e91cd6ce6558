"""Random linear and polynomial flows, whose stability is known."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th
from tests.theorems.reports import flow


@pytest.mark.slow
def test_random_linear_flows_are_stable_as_their_eigenvalues_say():
    rng = np.random.default_rng(5)
    for case in range(40):
        n = 2 + case % 2
        A = rng.integers(-4, 5, (n, n)) / 2.0 - np.eye(n)
        largest = float(np.max(np.linalg.eigvals(A).real))
        linear: Any = ds.FunctionFlow(lambda t, x, A=A: jnp.asarray(A) @ x)
        if abs(largest) < 1e-6 or abs(np.linalg.det(A)) < 1e-9:
            continue
        found = th.lyapunov_quadratic(linear, np.zeros(n), reach=1.0)
        assert found.status == ("holds" if largest < 0 else "fails")


@pytest.mark.slow
def test_random_polynomial_flows_are_never_shown_to_be_stable_where_they_are_not():
    pytest.importorskip("clarabel", reason="sums of squares need clarabel, of the extra `certificates`")
    rng = np.random.default_rng(6)
    proved = 0
    for _ in range(60):
        a = rng.integers(-3, 4, 8) / 2.0
        text = f"x' = {a[0]}*x + {a[1]}*y + {a[2]}*x^3 + {a[3]}*x*y^2; y' = {a[4]}*x + {a[5]}*y + {a[6]}*y^3"
        text += f" + {a[7]}*x^2*y"
        found = th.lyapunov_polynomial(flow(text), [0.0, 0.0])
        proved += found.applies
        values = np.linalg.eigvals(np.array([[a[0], a[1]], [a[4], a[5]]]))
        if found.applies:  # the origin attracts, and a start far out comes back
            assert np.max(values.real) <= 1e-12
            end = ds.simulate(flow(text), jnp.array([2.0, -3.0]), [0.0, 200.0]).ys[-1]
            assert np.linalg.norm(end) < 1
        if found.status == "fails":
            assert np.max(values.real) > 0
    assert proved > 0
