r"""Evaluate the coupling condition of the three time scales, (55) and (60), from the derivatives of a growing flow.

$C_1 \varepsilon_1 + C_2 \varepsilon_2 + C_3 \varepsilon_3 < c_0 = \min(\eta_\theta \mu_\theta, \eta_P \mu_P / 2)$, with
$C_3 \varepsilon_3 = \eta_\theta |H_{\theta P}| / L_\theta$: the third part does not depend on the ratio of the rates.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim.errors import ArgumentError
from dynsim.systems.growing.flow import Growing, GrowingFlow

# Curvatures below this share of the largest belong to symmetries.
NEUTRAL = 1e-8


class Curvatures(NamedTuple):
    r"""Second derivatives of the loss of a flow at a state: the norm of the mixed ones, and bounds of the others.

    `cross` is $|H_{\theta P}|_2$; `encoder` and `prototypes` hold the least and the largest eigenvalue by theta and by
    P, leaving out those of symmetries, which are zero.
    """

    cross: float
    encoder: tuple[float, float]
    prototypes: tuple[float, float]

    __repr__ = one_line
    __str__ = report

    @property
    def needs(self) -> float:
        r"""The quotient $3 |H_{\theta P}| / (L_\theta \mu_\theta)$, below 1 if rates exist for which (60) holds."""
        return 3 * self.cross / (self.encoder[1] * self.encoder[0])


class LearningRates(NamedTuple):
    r"""The rates $\eta_+$, $\eta_P$, $\eta_T$ and $\eta_\theta$."""

    gate: float
    prototypes: float
    temperatures: float
    encoder: float

    __repr__ = one_line
    __str__ = report


@checked
def curvatures(flow: GrowingFlow, x: Growing) -> Curvatures:
    """Compute the curvatures of the loss of all heads, which the flow descends, at a state.

    Args:
        flow: the growing flow, with at least one head.
        x: its state.

    Raises:
        ValueError: for an encoder without parameters.

    Source: GROWING, eq. (56), (57).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import curvatures
        >>> rules = ds.growing.GrowthRules(first="random", capacity=1, prototypes=1)
        >>> cross, turned = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[0.0, 1.0], [-1.0, 0.0]]
        >>> flow = ds.growing.GrowingFlow(cross, turned, rules=rules, encoder=ds.prototypes.LinearEncoder(2, 2))
        >>> x = flow.start(ds.random_key(0, "state"))
        >>> found = curvatures(flow, x)  # the loss is 2 |theta|**2 + 4 |p|**2
        >>> round(found.cross, 4), [round(value, 4) for value in found.encoder + found.prototypes]
        (0.0, [4.0, 4.0, 8.0, 8.0])
    """
    size = ravel_pytree(x.encoder)[0].size
    if size == 0:
        raise ArgumentError("flow", "have an encoder with parameters", "has one without")
    full = np.asarray(_hessian(flow, x))
    ends = [_range(full[:size, :size]), _range(full[size:, size:])]
    return Curvatures(float(np.linalg.norm(full[:size, size:], 2)), *ends)


@checked
def couplings(
    found: Curvatures, rates: LearningRates, gate: float, temperature: float
) -> tuple[float, float, float, float]:
    r"""Compute the coupling terms $C_i \varepsilon_i$, i = 1, 2, 3, and $c_0$, which bounds their sum in (55).

    Args:
        found: the curvatures at an equilibrium.
        rates: the rates.
        gate: $C_1 / \eta_P$, which the paper does not determine.
        temperature: $C_2 / \eta_P$, likewise.

    Source: GROWING, eq. (55)-(57).

    Example:
        >>> from analysis.growing import Curvatures, LearningRates, couplings
        >>> rates = LearningRates(gate=2.0, prototypes=1.0, temperatures=0.5, encoder=0.125)
        >>> couplings(Curvatures(2.0, (1.0, 4.0), (2.0, 8.0)), rates, gate=1.0, temperature=1.0)
        (0.5, 0.5, 0.0625, 0.125)
    """
    least = min(rates.encoder * found.encoder[0], rates.prototypes * found.prototypes[0] / 2)
    first = gate * rates.prototypes * (rates.prototypes / rates.gate)
    second = temperature * rates.prototypes * (rates.temperatures / rates.prototypes)
    third = rates.prototypes * found.cross / found.encoder[1] * (rates.encoder / rates.prototypes)
    return first, second, third, least


@eqx.filter_jit
def _hessian(flow: GrowingFlow, x: Growing) -> Float[Array, "unknowns unknowns"]:
    flat, back = ravel_pytree((x.encoder, x.prototypes))
    value = lambda v: flow.value(0.0, x._replace(encoder=back(v)[0], prototypes=back(v)[1]))
    return jax.hessian(value)(flat)


def _range(block: np.ndarray) -> tuple[float, float]:
    """Compute the smallest and largest nonzero eigenvalue of a symmetric matrix."""
    values = np.linalg.eigvalsh(block)
    kept = values[np.abs(values) > NEUTRAL * np.max(np.abs(values))]
    return float(kept[0]), float(kept[-1])
