"""Parts of an ensemble: the arguments that determine its numbers, how some members are solved, and a digest of all."""

import hashlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from dynsim._core.padding import filled
from dynsim._core.types import State, Time
from dynsim._core.validation import returned
from dynsim.errors import argument_error
from dynsim.integrators import AbstractIntegrator, Stats
from dynsim.integrators.base import masked
from dynsim.integrators.fixed_step.stochastic import of_members
from dynsim.outcome import Outcome
from dynsim.simulation.checks import traceable
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import fields

Observable = Callable[[Time, State], PyTree]
Part = tuple[PyTree, State, Stats]  # values, last states and statuses of some members


class Work(eqx.Module):
    """The arguments of an ensemble that determine its numbers."""

    flows: tuple[AbstractFlow, ...]
    integrator: AbstractIntegrator
    y0s: State
    ts: Array
    fn: Observable
    numbers: np.ndarray | None = None

    @property
    def members(self) -> int:
        """The number of members."""
        return len(jax.tree.leaves(self.y0s)[0])

    def start(self, member: Any) -> State:
        """Return the start of a member, or those of several, taken on the host, where nothing is compiled."""
        return jax.tree.map(lambda y: np.asarray(y)[member], self.y0s)

    def flow(self, member: int) -> AbstractFlow:
        """Return the flow of a member."""
        return self.flows[member % len(self.flows)]

    def part(self, members: np.ndarray) -> "Work":
        """Return the arguments of some members alone."""
        flows = self.flows if len(self.flows) == 1 else tuple(self.flows[k] for k in members)
        return Work(flows, self.integrator, self.start(members), self.ts, self.fn, members)

    def number(self, member: Any) -> Any:
        """Return the number of a member, or those of several, in the whole ensemble."""
        return member if self.numbers is None else self.numbers[member]

    def solver(self, member: Any) -> AbstractIntegrator:
        """Return the integrator of one member or several: one for flows with noise holds the keys of their paths."""
        return of_members(self.integrator, self.number(member))


def kept_values(work: Work) -> Any:
    """Return the shapes and types of what is kept at each time."""
    return returned("fn", work.fn, np.asarray(work.ts)[0], work.start(0))


def together(work: Work, part: np.ndarray, width: int) -> Part:
    """Solve the members of a part under `vmap`, the last one repeated up to the common width."""
    padded = filled(part, width)
    flows = work.flows if len(work.flows) == 1 else tuple(work.flows[k] for k in padded)
    found = work.solver(padded).observe(flows, work.start(padded), work.ts, work.fn)
    return found if len(part) == width else jax.tree.map(lambda a: np.asarray(a)[: len(part)], found)


def alone(work: Work, part: np.ndarray, width: int) -> Part:
    """Solve one member by itself; an integrator that raises fails for this member only."""
    del width
    member = int(part[0])
    flow, y0 = work.flow(member), work.start(member)
    try:
        ys, stats = work.solver(member).integrate(flow, y0, work.ts)
    except (ArithmeticError, ValueError, RuntimeError) as error:
        warnings.warn(f"Member {work.number(member)} of the ensemble raised: {error}", RuntimeWarning, stacklevel=2)
        ys, stats = _lost(work, y0)
    values = masked(_watched(work.fn, work.ts, ys), work.ts, stats)
    final = jax.tree.map(lambda y: jnp.where(stats.succeeded, y[-1], jnp.nan), ys)
    return jax.tree.map(lambda a: jnp.asarray(a)[None], (values, final, stats))


@eqx.filter_jit
def _watched(fn: Observable, ts: Array, ys: State) -> PyTree:
    return jax.vmap(fn)(ts, ys)


def _lost(work: Work, y0: State) -> tuple[State, Stats]:
    """Return the states and statistics of a member that was not integrated at all: NaN after its start."""
    ys = jax.tree.map(lambda y: jnp.full((len(work.ts), *y.shape), jnp.nan, y.dtype).at[0].set(y), y0)
    outcome, none = jnp.asarray(Outcome.NON_FINITE), jnp.asarray(0)
    zero = jnp.zeros((), work.ts.dtype)
    return ys, Stats(jnp.asarray(False), outcome, none, none, zero, work.ts[0])


def structure(work: Work) -> Any:
    """Return the tree structure of a part."""
    values = kept_values(work)
    return jax.tree.structure((values, work.start(0), _lost(work, work.start(0))[1]))


def digest(work: Work, parts: list[np.ndarray]) -> str:
    """Return a digest of the traced functions, of all numbers, of the division into parts, and of versions."""
    found = hashlib.sha256(f"{jax.__version__} {dfx.__version__} {[part.tolist() for part in parts]}".encode())
    t0, t1 = float(work.ts[0]), float(work.ts[-1])
    if not traceable(work.flow(0), work.start(0), work.ts[0]):
        raise argument_error(
            "folder", "be left out for a flow that calls NumPy, whose code cannot be compared", "is given"
        )
    for flow in work.flows:
        look = lambda t, y, flow=flow: (*fields(flow, t, y), flow.space.project(y), work.fn(t, y))
        traced = jax.make_jaxpr(look)(work.ts[0], work.start(0))
        times = [*flow.breakpoints(t0, t1), flow.step_limit()]
        program = traced.jaxpr.pretty_print(use_color=False)  # `str` would colour it on a terminal
        found.update(f"{_without_addresses(program)} {times}".encode())
        for leaf in traced.consts:
            found.update(_bytes(leaf))
    found.update(_without_addresses(work.integrator).encode())
    for leaf in jax.tree.leaves(eqx.filter((work.flows, work.integrator, work.y0s, work.ts), eqx.is_array)):
        found.update(_bytes(leaf))
    return found.hexdigest()


def _without_addresses(thing: Any) -> str:
    return re.sub("0x[0-9a-f]+", "", str(thing))


def _bytes(leaf: Any) -> bytes:
    """Return type, shape and bits of an array or a random key."""
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    leaf = np.asarray(leaf)
    return f"{leaf.dtype} {leaf.shape}".encode() + leaf.tobytes()
