r"""Compute the piecewise free energy of a growing system and its rate of change on a dwell interval.

$\mathcal W_j = \sum_h (L_q^{(h)} + \text{penalty}^{(h)}) + \lambda_\theta R(\theta) + \sum_h \Phi(T^{(h)})$ over the
active heads. As printed $\Phi = (T_{init}^3 - T^3) / (3 \eta_T)$, whose derivative along the temperatures is $+\sigma$;
repaired it is $(T^3 - T_{min}^3) / (3 \eta_T)$, with the derivative $-\sigma$ until the clip and 0 after it.

Source: GROWING, Definition 2.
"""

import itertools
from typing import Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dynsim._core.checked import checked
from dynsim._core.printing import one_line, report
from dynsim._core.types import Scalar
from dynsim._core.validation import choice
from dynsim.errors import ArgumentError
from dynsim.simulation.growing import flow_of
from dynsim.simulation.hybrid_trajectory import HybridTrajectory
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.prototypes.losses import PrototypeLoss

Potential = Literal["printed", "repaired", "none"]
Heads = Float[Array, " heads"]


class Terms(NamedTuple):
    """Terms of the functional: one for each head, zero if it is inactive, and one for the encoder."""

    losses: Heads
    penalties: Heads
    potentials: Heads
    regulariser: Scalar

    __repr__ = one_line
    __str__ = report

    @property
    def heads(self) -> Heads:
        """Sum of the terms of each head."""
        return self.losses + self.penalties + self.potentials

    @property
    def total(self) -> Scalar:
        """The functional W."""
        return jnp.sum(self.heads) + self.regulariser


class FunctionalDerivative(NamedTuple):
    r"""The derivative of the functional along a flow, in the three terms of the proof, and what it consists of.

    `state` is (I), the part due to encoder and prototypes; `temperatures` is (II), by the dependence of the losses on
    the temperatures; `potentials` is (III). `encoder` and `prototypes` are the squared derivatives of the functional
    by theta and by P, and `activity` is sigma of each head that is active and not clipped, else zero.
    """

    state: Scalar
    temperatures: Scalar
    potentials: Scalar
    encoder: Scalar
    prototypes: Scalar
    activity: Heads

    __repr__ = one_line
    __str__ = report

    @property
    def total(self) -> Scalar:
        """The derivative of the functional."""
        return self.state + self.temperatures + self.potentials

    @property
    def dissipation(self) -> Scalar:
        r"""The sum of the squared derivatives and of the activities, the bracket of (58)."""
        return self.encoder + self.prototypes + jnp.sum(self.activity)


@checked
def temperature_potential(flow: GrowingFlow, x: Growing, potential: str) -> Heads:
    r"""Compute $\Phi(T^{(h)})$ of each head: `printed`, `repaired`, or `none`, which is zero.

    Args:
        flow: the growing flow, with a positive temperature rate.
        x: its state.
        potential: `printed`, `repaired` or `none`.

    Raises:
        ValueError: for an unknown potential.

    Source: GROWING, eq. (43).

    Example:
        >>> import dynsim as ds
        >>> from analysis.growing import temperature_potential
        >>> rules = ds.growing.GrowthRules(capacity=1, initial_temperature=2.0, least_temperature=1.0)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules, temperature_rate=1.0)
        >>> x = flow.start(ds.random_key(0, "state"))
        >>> temperature_potential(flow, x, "repaired").round(4).tolist()  # (2**3 - 1**3) / 3
        [2.3333]
    """
    kind = choice("potential", potential, get_args(Potential))
    rules, cubes = flow.rules, x.cubes
    if kind == "none":
        return jnp.zeros_like(cubes)
    if kind == "printed":
        return (rules.initial_temperature**3 - cubes) / (3 * flow.temperature_rate)
    return (cubes - rules.least_temperature**3) / (3 * flow.temperature_rate)


@checked
@eqx.filter_jit
def free_energy_terms(
    flow: GrowingFlow, x: Growing, *, potential: str = "printed", loss: PrototypeLoss | None = None
) -> Terms:
    """Compute the terms of the functional at a state.

    `loss` has the barrier, ridge and reduction of the functional; by default it is that of the flow, which then
    descends the sum of the terms other than the potentials in the mode `full`.

    Args:
        flow: the growing flow.
        x: its state.
        potential: potential of the temperatures, as in `temperature_potential`.
        loss: the loss of the functional; by default that of the flow.

    Raises:
        ValueError: for an unknown potential.

    Source: GROWING, eq. (42).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import free_energy_terms
        >>> rules = ds.growing.GrowthRules(first="random", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> x = flow.start(ds.random_key(0, "state"))._replace(prototypes=jnp.zeros((1, 1, 2)))
        >>> terms = free_energy_terms(flow, x)  # at the initial temperature the potential is zero
        >>> terms.losses.tolist(), terms.potentials.tolist()
        ([2.0], [0.0])
    """
    used = flow.loss if loss is None else loss
    bare = PrototypeLoss("full", reduction=used.reduction)
    losses = jax.vmap(bare.value)(flow.head_inputs(x), x.prototypes, flow.temperatures(x))
    on = lambda values: jnp.where(flow.active, values, 0.0)
    penalties = on(jax.vmap(used.penalty)(x.prototypes))
    return Terms(on(losses), penalties, on(temperature_potential(flow, x, potential)), flow.penalty(x.encoder))


@checked
def piecewise_free_energy(
    flow: GrowingFlow, x: Growing, *, potential: str = "printed", loss: PrototypeLoss | None = None
) -> Scalar:
    """Compute the functional W_j at a state of a dwell interval.

    Args:
        flow: the growing flow.
        x: its state.
        potential: potential of the temperatures, as in `temperature_potential`.
        loss: the loss of the functional; by default that of the flow.

    Raises:
        ValueError: for an unknown potential.

    Source: GROWING, eq. (42).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import piecewise_free_energy
        >>> rules = ds.growing.GrowthRules(first="random", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> x = flow.start(ds.random_key(0, "state"))._replace(prototypes=jnp.zeros((1, 1, 2)))
        >>> float(piecewise_free_energy(flow, x))  # squared distances 1 and 1
        2.0
    """
    return free_energy_terms(flow, x, potential=potential, loss=loss).total


@checked
@eqx.filter_jit
def rate_of_change(
    flow: GrowingFlow, x: Growing, *, potential: str = "printed", loss: PrototypeLoss | None = None
) -> FunctionalDerivative:
    """Compute the derivative of the functional along the flow, term by term.

    Args:
        flow: the growing flow.
        x: its state.
        potential: potential of the temperatures, as in `temperature_potential`.
        loss: the loss of the functional; by default that of the flow.

    Raises:
        ValueError: for an unknown potential.

    Source: GROWING, Lemma 20 (proof).

    Example:
        >>> import dynsim as ds
        >>> import jax.numpy as jnp
        >>> from analysis.growing import rate_of_change
        >>> rules = ds.growing.GrowthRules(first="random", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [-1.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> x = flow.start(ds.random_key(0, "state"))._replace(prototypes=jnp.array([[[0.0, 1.0]]]))
        >>> round(float(rate_of_change(flow, x).total), 4)  # the gradient is 4 p
        -16.0
    """
    v = flow.velocity(0.0, x)
    static = lambda y: piecewise_free_energy(flow, y, potential="none", loss=loss)
    slopes = jax.grad(static)(x)
    squares = lambda part: sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(part)), jnp.zeros(()))
    along = lambda part, w: sum(
        (jnp.sum(a * b) for a, b in zip(jax.tree.leaves(part), jax.tree.leaves(w), strict=True)), jnp.zeros(())
    )
    state = along((slopes.encoder, slopes.prototypes), (v.encoder, v.prototypes))
    lifted = lambda cubes: jnp.sum(
        jnp.where(flow.active, temperature_potential(flow, x._replace(cubes=cubes), potential), 0.0)
    )
    moving = flow.active & ~flow.clipped
    return FunctionalDerivative(
        state,
        jnp.sum(slopes.cubes * v.cubes),
        jax.jvp(lifted, (x.cubes,), (v.cubes,))[1],
        squares(slopes.encoder),
        squares(slopes.prototypes),
        jnp.where(moving, flow.activity(x), 0.0),
    )


class EnergyPath(NamedTuple):
    """A functional along a hybrid trajectory: its values at the times of each phase, and its jumps between phases.

    Transition times occur twice, before and after the transition. `names` lists the transitions at the time of each
    jump. `rises` is the largest increase between successive times of each phase.
    """

    times: Float[np.ndarray, " times"]
    values: Float[np.ndarray, " times"]
    rises: Float[np.ndarray, " phases"]
    jump_times: Float[np.ndarray, " jumps"]
    jumps: Float[np.ndarray, " jumps"]
    names: tuple[tuple[str, ...], ...]

    __repr__ = one_line
    __str__ = report


@checked
def energy_along(
    path: HybridTrajectory, *, potential: str = "printed", loss: PrototypeLoss | None = None
) -> EnergyPath:
    """Evaluate the functional along a run of the growing system, each phase with its own heads.

    Args:
        path: the run, from `simulate_growing` or `descend`.
        potential: potential of the temperatures, as in `temperature_potential`.
        loss: the loss of the functional; by default that of the flow.

    Raises:
        ValueError: for an unknown potential, or a run of another system, or one without steps.

    Source: GROWING, Theorem 8.

    Example:
        >>> import dynsim as ds
        >>> from analysis.growing import energy_along
        >>> rules = ds.growing.GrowthRules(gate="ideal", capacity=1, prototypes=1)
        >>> flow = ds.growing.GrowingFlow([[1.0, 0.0], [3.0, 0.0]], [[0.0, 1.0], [-1.0, 0.0]], rules=rules)
        >>> path = ds.growing.simulate_growing(flow, flow.start(ds.random_key(0, "state")), [0.0, 0.1])
        >>> energy_along(path).values.round(4).tolist()  # the only prototype is born at the mean of the tokens
        [2.0, 2.0]
    """
    if not path.phases:
        raise ArgumentError("path", "have a phase of positive length", "has none")
    values = [_values(phase, potential, loss) for phase in path.phases]
    starts = np.array([float(phase.ts[0]) for phase in path.phases[1:]])
    names = tuple(tuple(jump.name for jump in path.jumps if jump.time == start) for start in starts)
    jumps = np.array([after[0] - before[-1] for before, after in itertools.pairwise(values)])
    rises = np.array([np.max(np.diff(v), initial=-np.inf) for v in values])
    times = np.concatenate([np.asarray(phase.ts) for phase in path.phases])
    return EnergyPath(times, np.concatenate(values), rises, starts, jumps, names)


def _values(phase: Trajectory, potential: str, loss: PrototypeLoss | None) -> Float[np.ndarray, " times"]:
    """Evaluate the functional at the times of a phase, by one program for phases of all lengths."""
    states = [jax.tree.map(lambda y, k=k: y[k], phase.ys) for k in range(len(phase.ts))]
    return np.array([float(_value(flow_of(phase), x, potential, loss)) for x in states])


@eqx.filter_jit
def _value(flow: GrowingFlow, x: Growing, potential: str, loss: PrototypeLoss | None) -> Scalar:
    return piecewise_free_energy(flow, x, potential=potential, loss=loss)
