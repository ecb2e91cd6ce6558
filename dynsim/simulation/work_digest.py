"""Digest of the arguments of an ensemble, by which a folder of results knows whether they are its own."""

import hashlib
from typing import TYPE_CHECKING

import diffrax as dfx
import equinox as eqx
import jax
import numpy as np

from dynsim.errors import ArgumentError
from dynsim.io.checkpoints import array_bytes, without_addresses
from dynsim.simulation.checks import traceable
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import fields

if TYPE_CHECKING:
    from dynsim.simulation.ensemble import Work


def work_digest(work: "Work", parts: list[np.ndarray]) -> str:
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
    found.update(without_addresses(work.integrator).encode())
    for leaf in jax.tree.leaves(
        eqx.filter((work.flows, work.integrator, work.y0s, work.ts, work.events), eqx.is_array)
    ):
        found.update(array_bytes(leaf))
    return found.hexdigest()
