"""What grows: fields in n and d, ensembles in their members, runs in T, 1/tolerance and 1/eps, each beside a peer."""

import importlib.util
import math
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.integrate

from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy, stiff
from dynsim.keys import random_key
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import AbstractFlow
from dynsim.systems.fast_slow.examples import van_der_pol_flow
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.base import AbstractInteraction
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.harmonic import Harmonic

BETA = 5.0
ROWS = 512  # queries in a block of the NumPy field
SMALL = (12, 6)  # tokens and dimension of the runs
TOLERANCE = 1e-6  # of the runs in which it does not grow
KEPT = 5  # times kept for each unit of time


class Work(NamedTuple):
    """A call to time, which returns an array to compare, and one that returns the bytes it needs, if it is known."""

    run: Callable[[], np.ndarray]
    size: Callable[[], int] | None = None


class Way(NamedTuple):
    """A way to the answer: the work for every value of the parameter. The first way of a case is the peer."""

    name: str
    work: Callable[[float], Work]


class Case(NamedTuple):
    """A parameter that grows: its symbol, what is computed, its values, the ways to the answer, and a value's index.

    At that value, the first one or the last, the answers are compared.
    """

    symbol: str
    title: str
    values: Sequence[float]
    ways: Sequence[Way]
    compared: int = 0


def planned(compiled: Any) -> int:
    """Return the bytes of a compiled program beside its arguments, as the compiler plans them."""
    plan = compiled.memory_analysis()
    return plan.temp_size_in_bytes + plan.output_size_in_bytes


def allocated(run: Callable[[], Any]) -> Callable[[], int]:
    """Return a function of nothing: the largest number of bytes that Python and NumPy hold more while `run` runs."""

    def peak() -> int:
        tracemalloc.start()
        try:
            run()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak


def tokens(*shape: int) -> jax.Array:
    """Return uniformly distributed tokens."""
    return Sphere().sample(random_key(0, "growth", sum(shape)), shape)


def turning(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return P = beta I and U = I + a rotation of every plane, under which clusters go round and never rest."""
    U = np.eye(d)
    for k in range(0, d - 1, 2):
        U[k, k + 1], U[k + 1, k] = -3.0, 3.0
    return BETA * np.eye(d), U


def numpy_field(P: np.ndarray, U: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the field of self-attention on the sphere in NumPy, in blocks of queries, with nothing copied twice."""
    x = y / np.linalg.norm(y, axis=1, keepdims=True)
    v, means = x @ P, np.empty_like(x)
    for k in range(0, len(x), ROWS):
        scores = v[k : k + ROWS] @ x.T
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        means[k : k + ROWS] = scores @ x
        means[k : k + ROWS] /= scores.sum(axis=1, keepdims=True)
    m = means @ U.T / math.sqrt(x.shape[1])
    return m - np.sum(x * m, axis=1, keepdims=True) * x


def _fields(ways: dict[str, AbstractInteraction], flow_and_tokens: Callable[[float], tuple]) -> list[Way]:
    """Return the field in NumPy, in torch where it is installed, and by interactions."""

    def by_numpy(value: float) -> Work:
        P, U, x = (np.asarray(a) for a in flow_and_tokens(value))
        run = lambda: numpy_field(P, U, x)
        return Work(run, allocated(run))

    def by_torch(value: float) -> Work:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)
        P, U, x = (torch.as_tensor(np.array(a)) for a in flow_and_tokens(value))

        def attend() -> np.ndarray:
            with torch.no_grad():
                k = x[None, None]
                means = torch.nn.functional.scaled_dot_product_attention(k @ P, k, k, scale=1.0)[0, 0]
                m = means @ U.T / math.sqrt(x.shape[1])
                return (m - (x * m).sum(1, keepdim=True) * x).numpy()

        return Work(attend)

    def by(way: AbstractInteraction) -> Callable[[float], Work]:
        def work(value: float) -> Work:
            P, U, x = flow_and_tokens(value)
            flow = TokenFlow(P, U, interaction=way)
            field = jax.jit(lambda x: flow.vector_field(0.0, x)).lower(x).compile()
            return Work(lambda: np.asarray(field(x)), lambda: planned(field))

        return work

    peers = [Way("NumPy", by_numpy)] + [Way("torch SDPA", by_torch)] * bool(importlib.util.find_spec("torch"))
    return peers + [Way(name, by(way)) for name, way in ways.items()]


def solve_ivp(field: Callable, y0: np.ndarray, ts: np.ndarray, method: str, rtol: float) -> np.ndarray:
    """Return the states at `ts` by SciPy, with the tolerances of the other ways."""
    solved = scipy.integrate.solve_ivp(
        lambda t, y: field(y.reshape(y0.shape)).ravel(), (ts[0], ts[-1]), y0.ravel(), method=method, t_eval=ts,
        rtol=rtol, atol=rtol / 100,
    )  # fmt: skip
    if not solved.success:
        raise RuntimeError(solved.message)
    return solved.y.T


def _tolerances(rtol: float) -> dict[str, Any]:
    return {"rtol": rtol, "atol": rtol / 100}


def _run(flow: AbstractFlow, y0: Any, ts: np.ndarray, integrator: AbstractIntegrator, memory: bool) -> Work:
    """Return a simulation, and the bytes of its program, or what SciPy holds."""
    joined = lambda ys: np.concatenate([np.asarray(a).reshape(len(ts), -1) for a in jax.tree.leaves(ys)], axis=1)
    states = lambda y0: simulate(flow, y0, ts, integrator=integrator, throw=False).ys
    run = lambda: joined(states(y0))
    size = allocated(run) if isinstance(integrator, Scipy) else lambda: planned(jax.jit(states).lower(y0).compile())
    return Work(run, size if memory else None)


def in_tokens(values: Sequence[float]) -> Case:
    """Return the field of n tokens on the sphere of R^3."""
    ways: dict[str, AbstractInteraction] = {"blocked": Blocked(), "harmonic": Harmonic(1e-10)}
    at = lambda n: (*turning(3), tokens(int(n), 3))
    return Case("n", "one field of n tokens in R^3", values, _fields(ways, at))


def in_dimensions(values: Sequence[float]) -> Case:
    """Return the field of as many tokens in R^d."""
    at = lambda d: (*turning(int(d)), tokens(1024, int(d)))
    return Case("d", "one field of 1,024 tokens in R^d", values, _fields({"blocked": Blocked()}, at))


def in_members(values: Sequence[float], *, memory: bool) -> Case:
    """Return an ensemble of M members."""
    n, d = SMALL
    (P, U), ts, flow = turning(d), np.linspace(0.0, 2.0, 11), TokenFlow(*turning(d))
    solver, seen = Diffrax(**_tolerances(TOLERANCE)), lambda t, x: x[0]

    def by_scipy(members: float) -> Work:
        starts = np.asarray(tokens(int(members), n, d))
        field = lambda y: numpy_field(P, U, y)
        one = lambda x: solve_ivp(field, x, ts, "RK45", TOLERANCE).reshape(-1, n, d)[:, 0]
        run = lambda: np.stack([one(x) for x in starts])
        return Work(run, allocated(run) if memory else None)

    def by_ensemble(members: float) -> Work:
        starts = tokens(int(members), n, d)
        run = lambda: np.asarray(ensemble(flow, starts, ts, seen, integrator=solver, shown=False).values)
        program = lambda: jax.jit(lambda y0s: solver.observe([flow], y0s, ts, seen)).lower(starts).compile()
        return Work(run, (lambda: planned(program())) if memory else None)

    return Case("M", "an ensemble of M members", values, [Way("SciPy RK45", by_scipy), Way("ensemble", by_ensemble)])


def in_time(values: Sequence[float], *, memory: bool) -> Case:
    """Return runs until T, with times kept in proportion."""
    n, d = SMALL
    (P, U), flow, x = turning(d), TokenFlow(*turning(d)), tokens(n, d)
    times = lambda T: np.linspace(0.0, T, KEPT * int(T) + 1)

    def by_scipy(T: float) -> Work:
        run = lambda: solve_ivp(lambda y: numpy_field(P, U, y), np.asarray(x), times(T), "RK45", TOLERANCE)
        return Work(run, allocated(run) if memory else None)

    def by(integrator: AbstractIntegrator) -> Callable[[float], Work]:
        return lambda T: _run(flow, x, times(T), integrator, memory)

    tight = _tolerances(TOLERANCE)
    ways = [Way("SciPy RK45", by_scipy), Way("Diffrax", by(Diffrax(**tight))), Way("Scipy", by(Scipy(**tight)))]
    return Case("T", "a run until T", values, ways)


def in_tolerance(values: Sequence[float], *, memory: bool) -> Case:
    """Return runs at smaller and smaller tolerances, by methods of order five."""
    n, d = SMALL
    (P, U), flow, x, ts = turning(d), TokenFlow(*turning(d)), tokens(n, d), np.linspace(0.0, 50.0, 11)

    def by_scipy(inverse: float) -> Work:
        run = lambda: solve_ivp(lambda y: numpy_field(P, U, y), np.asarray(x), ts, "RK45", 1 / inverse)
        return Work(run, allocated(run) if memory else None)

    by_diffrax = lambda inverse: _run(flow, x, ts, Diffrax(**_tolerances(1 / inverse)), memory)
    title = "a run at the tolerance 1/value, order 5"
    return Case("1/tolerance", title, values, [Way("SciPy RK45", by_scipy), Way("Diffrax", by_diffrax)], -1)


def in_time_scales(values: Sequence[float], *, memory: bool) -> Case:
    """Return van der Pol's oscillator with time scales farther and farther apart, explicit and implicit."""
    ts, y0 = np.linspace(0.0, 2.0, 11), FastSlow(jnp.asarray(2.0), jnp.asarray(0.0))

    def by_scipy(method: str) -> Callable[[float], Work]:
        def work(inverse: float) -> Work:
            field = lambda z: np.array([(z[1] - (z[0] ** 3 / 3 - z[0])) * inverse, -z[0]])
            run = lambda: solve_ivp(field, np.array([2.0, 0.0]), ts, method, TOLERANCE)
            return Work(run, allocated(run) if memory else None)

        return work

    def by(integrator: AbstractIntegrator) -> Callable[[float], Work]:
        return lambda inverse: _run(van_der_pol_flow(1 / inverse), y0, ts, integrator, memory)

    tight = _tolerances(TOLERANCE)
    ways = [Way("SciPy RK45", by_scipy("RK45")), Way("SciPy Radau", by_scipy("Radau")),
            Way("Diffrax", by(Diffrax(**tight))), Way("stiff", by(stiff(TOLERANCE)))]  # fmt: skip
    return Case("1/eps", "van der Pol's oscillator until T = 2, eps x' = f", values, ways)


def cases(*, quick: bool) -> list[Case]:
    """Return all cases; `quick` ones are small, and know the bytes of fields only, whose programs are at hand."""
    fine = lambda low, high, count: list(np.geomspace(low, high, count).round(10))
    memory = not quick
    return [
        in_tokens([256, 512, 1024] if quick else [2048, 4096, 8192, 16384]),
        in_dimensions([16, 32, 64] if quick else [64, 128, 256, 512, 1024]),
        in_members([2, 4, 8] if quick else [64, 128, 256, 512, 1024], memory=memory),
        in_time([2, 4, 8] if quick else [20, 40, 80, 160, 320, 640], memory=memory),
        in_tolerance(fine(1e4, 1e6, 3) if quick else fine(1e5, 1e10, 6), memory=memory),
        in_time_scales(fine(10, 100, 3) if quick else fine(1e3, 1e5, 5), memory=memory),
    ]
