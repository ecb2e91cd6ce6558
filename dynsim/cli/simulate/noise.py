"""Choose the integrator of `dynsim simulate`, with or without noise, and check the options of noise."""

from typing import Any

from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.own_code import imported
from dynsim.cli.parsing.options import refuse_unused
from dynsim.cli.parsing.solvers import integrator
from dynsim.errors import ArgumentError
from dynsim.integrators import EulerHeun, EulerMaruyama, Symplectic
from dynsim.keys import random_key
from dynsim.systems.base import AbstractFlow
from dynsim.systems.noisy import NoisyFlow

RTOL = 1e-9  # default relative tolerance without noise


def check_noise(o: Simulate, flow: Any, *, density: bool) -> None:
    """Raise `ValueError` for options without effect with or without noise, and for noise where none is possible."""
    noisy = isinstance(flow, NoisyFlow)
    if noisy:
        refuse_unused(o, ("noise",), "for equations with noise")
    if o.noise is None and not noisy:
        refuse_unused(o, ("calculus",), "without noise")
        if o.integrator != "symplectic":
            refuse_unused(o, ("step_size",), "without `--noise` or `--integrator symplectic`")
            return
        refuse_unused(o, ("max_steps", "rtol", "atol"), "with `--integrator symplectic`, which has fixed steps")
        if density:
            refuse_unused(o, ("integrator",), "where the density is kept")
        return
    refuse_unused(o, ("integrator", "max_steps", "rtol", "atol", "error_estimate"), "with noise")
    if density or not isinstance(flow, AbstractFlow):
        refuse_unused(o, ("noise",), "where the density is kept" if density else "for a map")


def solved(o: Simulate, flow: AbstractFlow) -> tuple[AbstractFlow, dict[str, Any]]:
    """Build the flow with the requested noise, and the integrator (and key) to solve it with."""
    if isinstance(flow, NoisyFlow):
        return flow, _with_noise(o, flow)
    if o.noise is None and o.integrator == "symplectic":
        return flow, {"integrator": Symplectic(o.step)}
    if o.noise is None:
        return flow, {"integrator": integrator(o.method, RTOL if o.rtol is None else o.rtol, o.max_steps, o.atol)}
    if isinstance(o.noise, str) and ":" not in o.noise:
        raise ArgumentError("noise", "be a number, or `file.py:name` of a function", f"is `{o.noise}`")
    noise = imported(o.noise, "noise", beside=o.system) if isinstance(o.noise, str) else o.noise
    noisy = NoisyFlow(flow, noise, calculus=o.calculus or "stratonovich")
    return noisy, _with_noise(o, noisy)


def _with_noise(o: Simulate, flow: NoisyFlow) -> dict[str, Any]:
    """Integrator and random key of a flow with noise."""
    scheme = EulerMaruyama if flow.calculus == "ito" else EulerHeun
    return {"integrator": scheme(o.step), "key": random_key(o.seed, "noise")}
