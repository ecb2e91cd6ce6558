"""The modes of a hybrid system of equations as text, and the switches between them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.theorems.algebra import is_zero
from analysis.theorems.switching.multiple_lyapunov import Switch
from dynsim._core.checked import checked
from dynsim.equations.flows import EquationFlow
from dynsim.errors import ArgumentError
from dynsim.simulation.hybrid_equations import HybridSystem
from dynsim.systems.named import changed

MOST = 16
"""Largest number of modes."""


@checked
def hybrid_modes(hybrid: HybridSystem) -> tuple[list[EquationFlow], list[Switch]]:
    """List the modes of a hybrid system of equations as text, and its switches, for `multiple_lyapunov`.

    A mode is a set of values of the parameters that transitions set; the first is that of the system as it is given.
    Transitions that end a run are left out.

    Args:
        hybrid: a system of `ds.hybrid_system` whose transitions set parameters to numbers.

    Returns:
        The flows of the modes, and the switches.

    Raises:
        ValueError: for a transition that sets a parameter to a value that depends on the state, guards or values that
            depend on time, or too many modes.

    Example:
        >>> import dynsim as ds
        >>> from analysis.theorems import hybrid_modes
        >>> relay = ds.hybrid_system("x' = y; y' = -k*x - y; when(x > 0, k = 2); when(x < 0, k = 1)", k=1.0)
        >>> flows, switches = hybrid_modes(relay)
        >>> [float(flow.parameters["k"]) for flow in flows], [one[:2] for one in switches]
        ([1.0, 2.0], [(0, 1), (1, 0)])
    """
    statements = [one for one in hybrid.transitions.statements if not one.terminal]
    names = sorted({name for one in statements for name in one.targets} - set(hybrid.flow.names))
    key = lambda flow: tuple(float(np.asarray(flow.parameters[name])) for name in names)
    flows, switches, known = [hybrid.flow], [], {key(hybrid.flow): 0}
    for source, flow in enumerate(flows):  # grows while it is walked
        for one in statements:
            moved = {name: _constant(flow, f"{one.name}_{name}", name) for name in one.targets if name in names}
            after = changed(flow, moved) if moved else flow
            target = known.setdefault(key(after), len(known))
            if target == len(flows):
                flows.append(after)
            if len(flows) > MOST:
                raise ArgumentError("hybrid", f"have at most {MOST} modes", "has more")
            kept = [(flow.names.index(name), name) for name in one.targets if name not in names]
            reset = _reset(flow, one.name, kept) if kept else None
            if kept or target != source:
                switches.append(Switch(source, target, _quantity(flow, one.name), reset, one.direction))
    return flows, switches


def _quantity(flow: EquationFlow, name: str) -> Callable[[Any], Any]:
    """A quantity of a flow as a function of the state; one that is a number is a parameter."""
    if name in flow.parameters:
        return lambda x: jnp.asarray(flow.parameters[name], float)
    value = lambda z: jnp.reshape(flow.quantity(name, z[0], z[1:]), ())
    if not is_zero(lambda z: jax.grad(value)(z)[:1], 1 + len(flow.names)):
        raise ArgumentError("hybrid", "have guards and values without time", f"has `{name}`, which may depend on it")
    return lambda x: value(jnp.append(jnp.zeros(1), x))


def _constant(flow: EquationFlow, quantity: str, name: str) -> np.ndarray:
    value, n = _quantity(flow, quantity), len(flow.names)
    if not is_zero(lambda x: jax.grad(value)(x), n):
        raise ArgumentError(
            "hybrid", "set parameters to numbers", f"sets `{name}` to a value that depends on the state"
        )
    return np.asarray(value(jnp.zeros(n)))


def _reset(flow: EquationFlow, statement: str, kept: list[tuple[int, str]]) -> Callable[[Any], Any]:
    values = [(k, _quantity(flow, f"{statement}_{name}")) for k, name in kept]

    def reset(x: Any) -> Any:
        after = [x[k] for k in range(len(flow.names))]
        for k, value in values:
            after[k] = value(x)
        return jnp.stack(after)

    return reset
