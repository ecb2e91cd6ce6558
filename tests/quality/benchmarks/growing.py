"""Experiment 2 of the growing system, until every temperature is at its least value or at rest, against SciPy."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import diffrax as dfx
import jax
import numpy as np
import scipy.integrate

from dynsim.integrators import RKC2, Diffrax
from dynsim.keys import random_key
from dynsim.simulation.growing import simulate_growing
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.prototypes.losses import PrototypeLoss
from tests.quality.benchmarks.harness import Contender, Row, race

REST = 1e-5  # of the speed of a temperature: a head that is slower counts as stalled
LATER = 30.0  # times the tolerance: no saddle is passed any more, where errors grow
TARGET = 1e-3  # of the temperatures at the end
TOLERANCES = 10.0 ** -np.arange(4.0, 8.0)


class Problem(NamedTuple):
    """Tokens, and an interaction whose singular values fall geometrically."""

    data: np.ndarray
    interaction: np.ndarray
    heads: int
    prototypes: int = 4
    temperature_rate: float = 0.01
    least: float = 0.1
    smooth: float = 100.0
    end: float = 5000.0


class Answer(NamedTuple):
    """The last temperatures, the largest of their speeds, and the times of growth and of clipping."""

    temperatures: np.ndarray
    speed: float
    grown: np.ndarray
    clipped: np.ndarray


def problem(n: int = 500, d: int = 64, heads: int = 8, **options: float) -> Problem:
    """Return the setting of Section 7.1: standard normal tokens, singular values 2 times powers of 0.7."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(random_key(0, "growing benchmark"))))
    m = np.zeros((d, d))
    for k in range(d // 2):
        m[2 * k, 2 * k + 1], m[2 * k + 1, 2 * k] = -2 * 0.7**k, 2 * 0.7**k
    q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return Problem(rng.normal(size=(n, d)), q @ m @ q.T, heads, **options)


def flow(p: Problem) -> GrowingFlow:
    """Return the flow that ships: mean loss, gradient through the assignments, ideal gate."""
    rules = GrowthRules(capacity=p.heads, prototypes=p.prototypes, least_temperature=p.least)
    loss = PrototypeLoss("full", reduction="mean")
    return GrowingFlow(p.data, p.interaction, rules=rules, loss=loss, temperature_rate=p.temperature_rate)


def dynsim(p: Problem, rtol: float, *solvers: Any) -> Answer:
    """Solve by this package; by a second solver, at `LATER` times the tolerance, from the time `p.smooth` on."""
    f = flow(p)
    x, begin, grown, clipped = f.start(random_key(0, "start")), 0.0, [], []
    ends = [p.smooth, p.end] if len(solvers) > 1 else [p.end]
    for solver, end, tolerance in zip(solvers, ends, (rtol, LATER * rtol), strict=False):
        path = simulate_growing(f, x, [begin, end], integrator=Diffrax(solver, tolerance, tolerance))
        f, x, begin = path.phases[-1].system, path.final, end
        grown, clipped = [*grown, *path.times("grow")], [*clipped, *path.times("clip")]
    temperatures = np.cbrt(np.asarray(x.cubes))
    moving = np.asarray(f.active & ~f.clipped)
    speeds = np.where(moving, p.temperature_rate * np.asarray(f.activity(x)) / temperatures**2, 0)
    return Answer(temperatures, float(np.max(speeds)), np.array(grown), np.array(clipped))


class NumpyField:
    """The same equations for heads that exist, of flat states: distances and gradients are matrix products."""

    def __init__(self, p: Problem, heads: int, warm: np.ndarray):
        self.p, self.shape, self.warm = p, (heads, p.prototypes, p.data.shape[1]), warm
        self.size = heads * p.prototypes * p.data.shape[1]

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the velocities of prototypes and cubes of temperatures."""
        heads, k, m = self.shape
        rows, n = y[: self.size].reshape(-1, m), len(self.p.data)
        T = np.cbrt(np.maximum(y[self.size :], (self.p.least / 2) ** 3))[:, None, None]
        d = rows @ self.p.data.T
        d *= -2
        d += np.sum(rows**2, axis=1)[:, None]  # less |z|^2, which the assignments and their variance do not see
        d = d.reshape(heads, k, n)
        q = d - np.min(d, axis=1, keepdims=True)
        q /= -T
        np.exp(q, out=q)
        q /= np.sum(q, axis=1, keepdims=True)
        d -= np.sum(q * d, axis=1, keepdims=True)
        w = d / -T
        w += 1
        w *= q
        velocity = np.empty_like(y)
        flat = w.reshape(-1, n)
        gradient = np.sum(flat, axis=1)[:, None] * rows - flat @ self.p.data
        np.multiply(gradient, -2 / n, out=velocity[: self.size].reshape(-1, m))
        d *= d
        d *= q
        velocity[self.size :] = np.where(self.warm, -3 * self.p.temperature_rate / n * np.sum(d, axis=(1, 2)), 0)
        return velocity

    def events(self) -> list[Any]:
        """Return the events: a temperature at its least value, for each head that moves."""
        least = self.p.least**3
        found: list[Any] = [lambda t, y, h=h: y[self.size + h] - least for h in np.flatnonzero(self.warm)]
        for event in found:
            event.terminal, event.direction = True, -1
        return found


def scipy_solver(p: Problem, method: str, rtol: float) -> Answer:
    """Solve by `solve_ivp` with events, from one growth or clip to the next."""
    line = np.linspace(-1.0, 1.0, p.prototypes)[None, :, None] * heads_of(p)[:, None]
    start, y, t = np.mean(p.data, axis=0) + line, np.empty(0), 0.0
    warm, grown, clipped = np.empty(0, bool), [], []
    while t < p.end:
        if len(warm) < p.heads and t == len(warm):  # the dwell time is over
            banks, cubes = y[: len(y) - len(warm)], y[len(y) - len(warm) :]
            y, warm = np.concatenate([banks, start[len(warm)].ravel(), cubes, [1.0]]), np.append(warm, True)
            grown.append(t)
        field, end = NumpyField(p, len(warm), warm), p.end if len(warm) == p.heads else float(len(warm))
        events = field.events()
        found = scipy.integrate.solve_ivp(field, (t, end), y, method=method, rtol=rtol, atol=rtol, events=events)
        t, y = float(found.t[-1]), found.y[:, -1].copy()
        if not found.success:
            return Answer(np.full(p.heads, np.nan), np.nan, np.array(grown), np.array(clipped))
        if found.status == 1:
            which = np.flatnonzero(warm)[next(k for k, times in enumerate(found.t_events) if times.size)]
            warm[which], y[field.size + which] = False, p.least**3
            clipped.append(t)
    cubes = y[field.size :]
    speed = np.max(-field(t, y)[field.size :] / (3 * np.cbrt(cubes) ** 2))
    return Answer(np.cbrt(cubes), float(speed), np.array(grown), np.array(clipped))


def heads_of(p: Problem) -> np.ndarray:
    """Return the directions of the heads, as the flow that ships captures them."""
    f = flow(p)
    x = f.start(random_key(0, "start"))
    for _ in range(p.heads):
        f, x = grow(f, 0.0, x)
    return np.asarray(f.frames[:, 0])


def loosest(name: str, solve: Callable[[float], Answer], error: Callable[[Answer], float]) -> float:
    """Return the loosest of the tolerances from which on the error is below the target."""
    errors = [error(solve(float(rtol))) for rtol in TOLERANCES]
    said = ", ".join(f"{rtol:.0e}: {found:.1e}" for rtol, found in zip(TOLERANCES, errors, strict=True))
    print(f"  {name}: {said}", file=sys.stderr, flush=True)
    good = np.array(errors) <= TARGET
    first = next((k for k in range(len(good)) if np.all(good[k:])), None)
    if first is None:
        raise RuntimeError(f"{name} does not reach the error {TARGET:g}")
    return float(TOLERANCES[first])


def race_to_rest(title: str, p: Problem, *, rounds: int, aim: float) -> list[Row]:
    """Race all contenders, each at the loosest tolerance that reaches the target."""
    reference = dynsim(p, 1e-10, dfx.Tsit5())

    def error(answer: Answer) -> float:
        if answer.grown.size != reference.grown.size or answer.clipped.size != reference.clipped.size:
            return np.nan
        return float(np.max(np.abs(answer.temperatures - reference.temperatures)))

    if len(reference.clipped) < p.heads and reference.speed > REST:
        raise RuntimeError(f"a temperature still moves at the end, by {reference.speed:.1e}")
    print(
        f"  {len(reference.clipped)} of {p.heads} temperatures clipped, the others stalled at {reference.temperatures}"
    )
    solvers: dict[str, Callable[[float], Answer]] = {
        f"dynsim, Tsit5, RKC2 from t = {p.smooth:g} on": lambda rtol: dynsim(p, rtol, dfx.Tsit5(), RKC2()),
        "dynsim, Tsit5": lambda rtol: dynsim(p, rtol, dfx.Tsit5()),
        **{f"SciPy, {method}": partial(scipy_solver, p, method) for method in ("RK45", "DOP853", "RK23")},
    }
    contenders = []
    for name, solve in solvers.items():
        rtol = loosest(name, solve, error)
        contenders.append(Contender(f"{name}, rtol {rtol:.0e}", partial(solve, rtol)))
    rows = race(title, contenders, error, rounds=rounds, warm=False)
    ours, best = rows[0], min(rows[2:], key=lambda row: row.seconds)
    load = "/".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"  {best.seconds / ours.seconds:.1f} x as fast as {best.name} (aim {aim:g}); load {load}")
    return rows


def everything(rounds: int, *, quick: bool = False) -> dict[str, object]:
    """Race the size of Experiment 2, or a small one."""
    if quick:
        small = problem(50, 8, 3)
        return {"small": [row._asdict() for row in race_to_rest("growing, small", small, rounds=rounds, aim=1)]}
    full = race_to_rest("growing, Experiment 2", problem(), rounds=rounds, aim=5)
    return {"full": [row._asdict() for row in full]}
