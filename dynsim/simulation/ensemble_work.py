"""The arguments of an ensemble, how its members are solved, and a digest by which a folder knows its own results."""

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Any

import diffrax as dfx
import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from dynsim._core.shared_functions import shared
from dynsim._core.types import State, Time
from dynsim._core.validation import returned
from dynsim.errors import ArgumentError
from dynsim.integrators import AbstractIntegrator, Event
from dynsim.integrators.fixed_step.stochastic import of_members
from dynsim.integrators.in_lanes import Ways
from dynsim.io.checkpoints import array_bytes, without_addresses
from dynsim.simulation.checks import traceable
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.noisy import fields

Observable = Callable[[Time, State], PyTree]


@dataclasses.dataclass(frozen=True)
class Work:
    """The arguments of an ensemble that determine its results.

    It is no module of equinox, whose methods take 0.1 ms each to be looked up.
    """

    flows: tuple[Any, ...]  # flows, or maps
    integrator: AbstractIntegrator
    y0s: State
    ts: Array
    fn: Observable
    numbers: np.ndarray | None = None
    way: Ways | str | None = None  # None: not asked yet, as in another process
    events: tuple[Event, ...] = ()
    alike: bool = True  # whether one program serves all flows

    @property
    def observable(self) -> Observable:
        """The function to compile; an equal one compiles nothing anew. `fn` itself can be sent to other processes."""
        return shared(self.fn)

    @property
    def members(self) -> int:
        """Number of members."""
        return len(jax.tree.leaves(self.y0s)[0])

    def start(self, member: Any) -> State:
        """Initial state of a member, or of several, selected on the host to avoid compilation."""
        return jax.tree.map(lambda y: np.asarray(y)[member], self.y0s)

    def flow(self, member: int) -> Any:
        """The flow or map of a member."""
        return self.flows[member % len(self.flows)]

    def part(self, members: np.ndarray) -> "Work":
        """The arguments restricted to some members."""
        flows = self.flows if len(self.flows) == 1 else tuple(self.flows[k] for k in members)
        return Work(flows, self.integrator, self.start(members), self.ts, self.fn, members, None, self.events)

    def number(self, member: Any) -> Any:
        """Number of a member, or numbers of several, within the whole ensemble."""
        return member if self.numbers is None else self.numbers[member]

    def solver(self, member: Any) -> AbstractIntegrator:
        """The integrator of one member or several; for flows with noise it holds the keys of their paths."""
        return of_members(self.integrator, self.number(member))


def kept_values(work: Work) -> Any:
    """Shapes and dtypes of the observable at one time."""
    t, y, fn = np.asarray(work.ts)[0], work.start(0), work.observable
    try:
        key = fn, t.dtype, jax.tree.structure(y), tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(y))
        hash(key)
    except TypeError:  # of a function that cannot be compared
        return returned("fn", fn, t, y)
    if key not in _kept:
        _kept[key] = returned("fn", fn, t, y)
        if len(_kept) > REMEMBERED:
            _kept.pop(next(iter(_kept)))
    return _kept[key]


REMEMBERED = 64  # most observables whose values are described
_kept: dict[Any, Any] = {}


def way(work: Work) -> Ways | str:
    """Find out how the members are solved in lanes, or say in a sentence why they are not."""
    if not work.alike:
        return "the flows differ in more than numbers"
    return work.integrator.lanes(work.flows, work.y0s, work.ts, work.events)


def alike(flows: tuple[AbstractFlow | AbstractMap, ...]) -> bool:
    """Whether one program serves all flows, because only the numbers in their arrays differ."""
    shapes = [jax.tree.map(lambda a: (a.shape, a.dtype), eqx.filter(flow, eqx.is_array)) for flow in flows]
    static = [eqx.filter(flow, eqx.is_array, inverse=True) for flow in flows]
    try:
        return all(
            a == shapes[0] and bool(eqx.tree_equal(b, static[0])) for a, b in zip(shapes[1:], static[1:], strict=True)
        )
    except (TypeError, ValueError):
        return False


def work_digest(work: Work, parts: list[np.ndarray]) -> str:
    """Digest of the traced functions, all numbers, the division into parts, and versions."""
    found = hashlib.sha256(f"{jax.__version__} {dfx.__version__} {[part.tolist() for part in parts]}".encode())
    t0, t1 = float(work.ts[0]), float(work.ts[-1])
    if not traceable(work.flow(0), work.start(0), work.ts[0]):
        raise ArgumentError(
            "folder", "be left out for a flow that calls NumPy, whose code cannot be compared", "is given"
        )
    for flow in work.flows:
        look = lambda t, y, flow=flow: (
            *fields(flow, t, y), flow.space.project(y), work.fn(t, y), [event.fn(t, y) for event in work.events]
        )  # fmt: skip
        traced = jax.make_jaxpr(look)(work.ts[0], work.start(0))
        times = [(e.direction, e.samples) for e in work.events]
        if isinstance(flow, AbstractFlow):
            times = [*flow.breakpoints(t0, t1), flow.step_limit(), *times]
        program = traced.jaxpr.pretty_print(use_color=False)  # `str` would colour it on a terminal
        found.update(f"{without_addresses(program)} {times}".encode())
        for leaf in traced.consts:
            found.update(array_bytes(leaf))
    found.update(without_addresses(jax.tree.flatten(work.integrator)).encode())  # its `repr` rounds, and leaves out
    for leaf in jax.tree.leaves(
        eqx.filter((work.flows, work.integrator, work.y0s, work.ts, work.events), eqx.is_array)
    ):
        found.update(array_bytes(leaf))
    return found.hexdigest()
