"""Relaxation and stationary distributions of chains, against the solvers that a user would otherwise call."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate
import scipy.sparse
import scipy.sparse.linalg

from analysis.chains.relaxation import relaxation
from analysis.chains.stationary import stationary_distribution
from dynsim.systems.master_equation.generators import birth_death, walk_in_potential
from tests.quality.benchmarks.harness import Contender, Row, race

RTOL, ATOL = 1e-8, 1e-12  # of the solvers: errors of 1e-8 and worse, where ours are below 1e-12


def everything(rounds: int, *, quick: bool) -> list[dict[str, Any]]:
    """Run the three races."""
    rows = [*line(200 if quick else 1000, rounds), *grid(20 if quick else 100, rounds)]
    rows += law(40 if quick else 200, rounds)
    return [row._asdict() for row in rows]


def line(k: int, rounds: int) -> list[Row]:
    """Race for a queue of k states, started in the middle, at the time when it has relaxed to 1e-6."""
    birth, death = np.full(k - 1, 1.0), np.full(k - 1, 1.02)
    Q = birth_death(birth, death)
    start = np.eye(k)[k // 2]
    end = 14 / (birth[0] + death[0] - 2 * math.sqrt(birth[0] * death[0]) * math.cos(math.pi / k))
    exact = relaxation(Q, start, [end], method="dense").final
    banded = np.zeros((3, k))
    banded[0, 1:], banded[1], banded[2, :-1] = death, Q.diagonal(), birth
    field = lambda t, p: Q @ p
    options = {"rtol": RTOL, "atol": ATOL, "t_eval": [end]}

    def lsoda() -> np.ndarray:
        jacobian = lambda t, p: banded
        solve = scipy.integrate.solve_ivp
        return solve(field, (0, end), start, method="LSODA", jac=jacobian, lband=1, uband=1, **options).y[:, -1]

    def bdf() -> np.ndarray:
        return scipy.integrate.solve_ivp(field, (0, end), start, method="BDF", jac=Q, **options).y[:, -1]

    return race(
        f"birth-death chain, {k} states, to t = {end:.4g}; largest error of a probability",
        [
            Contender("SciPy LSODA, banded", lsoda),
            Contender("SciPy BDF, sparse Jacobian", bdf),
            Contender("SciPy expm_multiply", lambda: scipy.sparse.linalg.expm_multiply(Q * end, start)),
            Contender("dynsim", lambda: relaxation(Q, start, [end]).final, 50.0),
        ],
        _gap(exact),
        rounds=rounds,
    )


def grid(side: int, rounds: int) -> list[Row]:
    """Race for a walk in a rough potential on a square, from its middle, at two times."""
    rows = []
    rng = np.random.default_rng(0)
    Q = walk_in_potential(rng.normal(size=(side, side)))
    start = np.eye(side**2)[side**2 // 2 + side // 2]
    for end in (side**2 / 100, side**2 / 10):
        exact = relaxation(Q, start, [end], method="uniformisation").final
        rows += race(
            f"walk on a grid of {side**2} states, to t = {end:g}; largest error of a probability",
            [
                Contender("SciPy expm_multiply", lambda end=end: scipy.sparse.linalg.expm_multiply(Q * end, start)),
                Contender("dynsim", lambda end=end: relaxation(Q, start, [end]).final, 15.0),
            ],
            _gap(exact),
            rounds=rounds,
        )
    return rows


def law(side: int, rounds: int) -> list[Row]:
    """Race for the stationary distribution of a walk in two wells, whose closed form is Gibbs'; relative errors."""
    x = np.linspace(-2.0, 2.0, side)
    V = 2 * (x[:, None] ** 2 - 1) ** 2 + x[None] ** 2
    Q = walk_in_potential(V)
    exact = np.exp(-V.ravel())
    exact /= exact.sum()

    def eigs() -> np.ndarray:
        _, vectors = scipy.sparse.linalg.eigs(Q, k=1, sigma=1e-9, v0=np.ones(side**2))
        p = vectors[:, 0].real
        return p / p.sum()

    return race(
        f"stationary distribution of {side**2} states; largest relative error",
        [
            Contender("SciPy eigs, shift-invert", eigs),
            Contender("dynsim, LU", lambda: stationary_distribution(Q, method="lu").probabilities),
            Contender("dynsim", lambda: stationary_distribution(Q).probabilities, 15.0, "SciPy eigs, shift-invert"),
        ],
        lambda p: float(np.max(abs(p / exact - 1))),
        rounds=rounds,
    )


def _gap(exact: np.ndarray) -> Callable[[np.ndarray], float]:
    return lambda p: float(np.max(abs(p - exact)))
