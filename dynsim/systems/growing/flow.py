"""The growing system between two events: gate, prototypes, temperatures and encoder on one dwell interval."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dynsim._core.checked import checked
from dynsim._core.host import as_array
from dynsim._core.types import ArrayLike, Key, Scalar, State, Time
from dynsim._core.validation import function, instance, not_negative, real
from dynsim.errors import ArgumentError
from dynsim.keys import random_key
from dynsim.spaces import AbstractSpace, Euclidean, Product
from dynsim.systems.base import AbstractFlow
from dynsim.systems.growing.forces import head_forces
from dynsim.systems.growing.gate import gate_velocity
from dynsim.systems.growing.residual import (
    antisymmetric_part,
    dominant_plane,
    dominant_value,
    outside,
    square_root,
    uncaptured,
)
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.assignments import Embeddings, distance_variance
from dynsim.systems.prototypes.encoders import AbstractEncoder, Data
from dynsim.systems.prototypes.flow import as_points
from dynsim.systems.prototypes.losses import PrototypeLoss, as_loss

NOT_SYMMETRIC = 1e-12  # below this relative size, an interaction counts as having no antisymmetric part


class Growing(NamedTuple):
    """A state: encoder parameters, gate (d,), prototypes (heads, k, d), cubed temperatures (heads,), and clock.

    Unused slots for heads hold placeholders that do not move. The clock is the time since the last growth or pruning.
    """

    encoder: State
    gate: State
    prototypes: State
    cubes: State
    clock: State


class FixedEmbeddings(AbstractEncoder):
    """The data themselves as embeddings, with an empty array of parameters."""

    def embed(self, parameters: State, x: Data) -> Embeddings:
        """The data, unchanged."""
        return x

    def draw(self, key: Key) -> State:
        """An empty array of parameters."""
        return jnp.zeros(0)

    @property
    def space(self) -> AbstractSpace:
        """Euclidean space."""
        return Euclidean()


class GrowingFlow(AbstractFlow):
    r"""Gate, prototypes, temperatures and encoder of the existing heads on one dwell interval.

    $$
        \dot w = \eta_+ f(w), \quad \dot P_h = -\eta_P\, \partial_{P_h} L, \quad
        \frac{d}{dt} T_h^3 = -3 \eta_T\, c \sum_n \mathrm{Var}_{q_n}[d_{nk}], \quad
        \dot\theta = -\eta_\theta\, \partial_\theta L
    $$

    L is the sum over heads of a `PrototypeLoss`, and c is 1 or 1/N according to its reduction. In the last equation L
    also contains the task's loss and (lambda_theta / 2)|theta|^2. A clipped temperature stays constant. The derivative
    of the loss by the temperature is always taken through the assignments, because it vanishes at fixed ones. The
    residual matrix is constant between events, because the interaction and the captured directions are.

    Arrays have room for `rules.capacity` heads, so an event changes values but no shapes. `simulate_growing` integrates
    across events.

    Source: GROWING, eq. (45)-(48), (22).
    """

    data: Data
    interaction: Float[Array, "d d"]
    rules: GrowthRules
    loss: PrototypeLoss
    encoder: AbstractEncoder
    encoder_rate: Float[Array, ""]
    prototype_rate: Float[Array, ""]
    temperature_rate: Float[Array, ""]
    gate_rate: Float[Array, ""]
    regulariser: Float[Array, ""]
    task: Callable[[Embeddings], Scalar] | None
    root: Float[Array, "d d"]
    probe: Float[Array, " d"]
    active: Bool[Array, " heads"]
    clipped: Bool[Array, " heads"]
    frames: Float[Array, "heads 2 d"]
    retained: Float[Array, "d d"]
    levels: Float[Array, " heads"]
    order: Int[Array, " heads"]
    last_level: Float[Array, ""]
    residual: Float[Array, "s s"]
    tracked: Float[Array, "d d"]
    plane: Float[Array, "2 d"]
    dominant: Float[Array, ""]
    space: Product

    def __init__(
        self,
        data: ArrayLike,
        interaction: ArrayLike,
        *,
        rules: GrowthRules | None = None,
        loss: PrototypeLoss | None = None,
        encoder: AbstractEncoder | None = None,
        encoder_rate: Any = 0.0,
        prototype_rate: Any = 1.0,
        temperature_rate: Any = 0.01,
        gate_rate: Any = 1.0,
        regulariser: Any = 0.0,
        task: Callable[[Embeddings], Scalar] | None = None,
    ):
        """Store the tokens (n, d), the attention product M (d, d) and the rates, before the first head is added.

        Only the antisymmetric part of M matters. Without an encoder the tokens are the embeddings; an encoder must map
        to dimension d, in which the captured directions live. `task` is an additional loss of the embeddings, a
        function of an (n, d) array with a scalar value. The rates of encoder, prototypes and temperatures may be zero,
        which freezes them.

        Raises:
            ValueError: for shapes that do not match, an interaction without an antisymmetric part, or a negative rate.
        """
        self.data = as_points("data", data)
        self.rules = GrowthRules() if rules is None else instance("rules", rules, GrowthRules, "`GrowthRules(...)`")
        self.loss = as_loss(loss)
        n, d = self.data.shape
        full = np.asarray(as_points("interaction", interaction), float)
        if full.shape != (d, d):
            raise ArgumentError("interaction", f"have shape ({d}, {d}) to match `data`", f"has {full.shape}")
        directed = antisymmetric_part(full)
        if np.linalg.norm(directed) <= NOT_SYMMETRIC * max(np.linalg.norm(full), np.finfo(float).tiny):
            raise ArgumentError("interaction", "have an antisymmetric part", "is symmetric")
        self.interaction = jnp.asarray(directed)
        if encoder is None:
            encoder = FixedEmbeddings()
        self.encoder = instance("encoder", encoder, AbstractEncoder, "an encoder such as `LinearEncoder(d, d)`")
        outputs, inputs = getattr(encoder, "outputs", d), getattr(encoder, "inputs", d)
        if (inputs, outputs) != (d, d):
            raise ArgumentError("encoder", f"map dimension {d} to {d}", f"maps {inputs} to {outputs}")
        self.encoder_rate = not_negative("encoder_rate", encoder_rate)
        self.prototype_rate = not_negative("prototype_rate", prototype_rate)
        self.temperature_rate = not_negative("temperature_rate", temperature_rate)
        self.gate_rate = real("gate_rate", gate_rate, positive=True)
        self.regulariser = not_negative("regulariser", regulariser)
        self.task = None if task is None else function("task", task, "the embeddings (n, d)")
        heads = self.rules.capacity
        x = np.asarray(self.data, float)
        self.root = as_array(square_root(x.T @ x))
        self.probe = jax.random.normal(random_key(0, "start of the gate"), (d,))
        active, order = np.zeros(heads, bool), np.full(heads, -1)
        if self.rules.first == "random":
            active[0], order[0] = True, 0
        self.active, self.order, self.clipped = as_array(active), as_array(order), as_array(np.zeros(heads, bool))
        self.frames, self.retained = as_array(np.zeros((heads, 2, d))), as_array(np.zeros((d, d)))
        self.levels, self.last_level = as_array(np.full(heads, np.nan)), jnp.asarray(jnp.inf)
        self.residual, self.tracked, self.plane, self.dominant = self._residuals(self.frames, self.retained)
        self.space = Product(Growing(self.encoder.space, *[Euclidean() for _ in range(4)]))

    @checked
    def start(self, key: Key) -> Growing:
        """Initial state: random encoder, initial gate, and no head or one random head, as the rules say."""
        first, second = jax.random.split(key)
        encoder = self.encoder.draw(first)
        z = self.encoder.embed(encoder, self.data)
        prototypes = placeholders(self.rules, self.data.shape[1])
        if self.rules.first == "random":
            noise = jax.random.normal(second, prototypes.shape[1:])
            prototypes = prototypes.at[0].set(jnp.mean(z, axis=0)[None] + jnp.std(z, axis=0)[None] * noise)
        cubes = jnp.full(self.rules.capacity, self.rules.initial_temperature**3)
        clock = 2 * self.rules.dwell + 1  # no event has happened yet, so there is no dwell time to wait for
        return Growing(encoder, self.gate_start(), prototypes, cubes, clock)

    def gate_start(self) -> Float[Array, " d"]:
        """Initial gate: in the dominant plane if the gate is ideal, otherwise a generic residual direction."""
        if self.rules.gate == "ideal":
            return self.plane[0]
        w = jnp.asarray(self.uncaptured()) @ self.probe
        norm = jnp.linalg.norm(w)
        return jnp.where(norm > 0, w / jnp.where(norm > 0, norm, 1.0), 0.0)

    def velocity(self, t: Time, x: State) -> State:
        """Time derivatives of encoder, gate, prototypes, cubed temperatures and clock."""
        dtype = x.prototypes.dtype
        z, pull = jax.vjp(lambda theta: self.encoder.embed(theta, self.data.astype(dtype)), x.encoder)
        inputs = z if self.rules.head_input == "shared" else self._inputs(z)
        forces = head_forces(self.loss, inputs, x.prototypes, self.temperatures(x).astype(dtype))
        by_inputs, by_prototypes, variances = forces
        shown = self.active[:, None, None]
        prototypes = jnp.where(shown, -self.prototype_rate.astype(dtype) * by_prototypes, 0)
        encoder = self._encoder_velocity(x.encoder, z, pull, jnp.where(shown, by_inputs, 0))
        warm = self.active & ~self.clipped
        factor = 3 * self.temperature_rate * (z.shape[0] if self.loss.reduction == "sum" else 1)
        cubes = jnp.where(warm, -factor.astype(dtype) * variances / z.shape[0], 0)
        gate = jnp.zeros_like(x.gate)
        if self.rules.gate != "ideal":
            gate = self.gate_rate.astype(dtype) * gate_velocity(self.tracked.astype(dtype), x.gate, self.rules.gate)
        return Growing(encoder, gate, prototypes, cubes, jnp.ones_like(x.clock))

    def temperatures(self, x: State) -> Float[Array, " heads"]:
        """Temperatures of all slots; T_init for heads that do not exist."""
        least = (self.rules.least_temperature / 2).astype(x.cubes.dtype)  # keeps a trial step beyond the clip defined
        return jnp.maximum(jnp.cbrt(jnp.maximum(x.cubes, 0)), least)

    def embed(self, x: State) -> Embeddings:
        """Embeddings of the tokens, (n, d)."""
        return self.encoder.embed(x.encoder, self.data.astype(x.prototypes.dtype))

    def head_inputs(self, x: State) -> Float[Array, "heads n d"]:
        """Inputs of each head: the embeddings, or their projection on the head's frame."""
        return self._inputs(self.embed(x))

    def activity(self, x: State) -> Float[Array, " heads"]:
        r"""Activity $\sigma_h = \frac1N \sum_n \mathrm{Var}_{q_n}[d_{nk}]$ of each head; zero in unused slots.

        Source: GROWING, eq. (21).
        """
        z, T = self.head_inputs(x), self.temperatures(x).astype(x.prototypes.dtype)
        return jnp.where(self.active, jax.vmap(distance_variance)(z, x.prototypes, T) / z.shape[1], 0)

    def head_losses(self, x: State) -> Float[Array, " heads"]:
        """Loss of each head with its barrier and ridge; zero for heads that do not exist."""
        values = jax.vmap(self.loss.value)(self.head_inputs(x), x.prototypes, self.temperatures(x))
        return jnp.where(self.active, values, 0)

    def value(self, t: Time, x: State) -> Scalar:
        """Total loss: all heads, the task, and the regulariser of the encoder."""
        task = 0.0 if self.task is None else self.task(self.embed(x))
        return jnp.sum(self.head_losses(x)) + task + self.penalty(x.encoder)

    def penalty(self, theta: State) -> Scalar:
        r"""Regulariser of the encoder, $(\lambda_\theta / 2) |\theta|^2$."""
        return self.regulariser / 2 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))

    def uncaptured(self) -> np.ndarray:
        """Projection (d, d) on the directions that are neither captured nor retained, in NumPy."""
        return _uncaptured(self.frames, self.retained)

    def with_heads(self, **changed: Array) -> "GrowingFlow":
        """The flow with other heads, given as arrays by name, and the residual of the new captured directions.

        Evaluated in NumPy, so it cannot be called under `jit`.
        """
        residuals = self._residuals(changed.get("frames", self.frames), changed.get("retained", self.retained))
        names = ("residual", "tracked", "plane", "dominant")
        found = {**changed, **dict(zip(names, residuals, strict=True))}
        return eqx.tree_at(lambda f: [getattr(f, name) for name in found], self, [*found.values()])

    def _residuals(self, frames: Array, retained: Array) -> tuple[Array, Array, Array, Array]:
        """Residual matrix of the reading, the matrix (d, d) that the gate tracks, its dominant plane, and its value."""
        m, x = np.asarray(self.interaction, float), np.asarray(self.data, float)
        projection = _uncaptured(frames, retained)
        residual = outside(m, projection, tokens=x, reading=self.rules.reading)
        tracked = residual
        if self.rules.reading == "tokens":  # it has the same singular values, in feature space
            root = np.asarray(self.root, float)
            tracked = root @ projection @ m @ projection @ root
        value = dominant_value(tracked)
        # only rounding error remains of a zero residual
        small = value <= 1e-13 * max(np.linalg.norm(m), np.finfo(float).tiny)
        plane = np.zeros((2, len(m))) if small else dominant_plane(tracked)
        made = lambda found: jnp.asarray(found, float)
        return made(residual), made(tracked), made(plane), made(0.0 if small else value)

    def _inputs(self, z: Embeddings) -> Float[Array, "heads n d"]:
        if self.rules.head_input == "shared":
            return jnp.broadcast_to(z, (self.rules.capacity, *z.shape))
        frames = self.frames.astype(z.dtype)
        own = jnp.einsum("nd,hfd,hfe->hne", z, frames, frames)
        captures = jnp.any(frames != 0, axis=(1, 2))  # a random first head captures nothing and sees all inputs
        return jnp.where(captures[:, None, None], own, z[None])

    def _encoder_velocity(self, theta: State, z: Embeddings, pull: Any, by_inputs: Array) -> State:
        _, back = jax.vjp(self._inputs, z)
        by_embeddings = back(by_inputs)[0]
        if self.task is not None:
            by_embeddings = by_embeddings + jax.grad(self.task)(z)
        by_parameters = jax.tree.map(jnp.add, pull(by_embeddings)[0], jax.grad(self.penalty)(theta))
        return jax.tree.map(lambda g: -self.encoder_rate.astype(g.dtype) * g, by_parameters)


def placeholders(rules: GrowthRules, dimension: int) -> Float[Array, "heads k d"]:
    """Distinct points that fill the slots of heads that do not exist."""
    row = np.arange(rules.prototypes, dtype=float)[:, None] * np.ones((1, dimension))
    return as_array(np.broadcast_to(row, (rules.capacity, *row.shape)))


def _uncaptured(frames: Any, retained: Any) -> np.ndarray:
    rows = np.asarray(frames, float)
    captured = uncaptured(rows.reshape(-1, rows.shape[-1]), rows.shape[-1])
    kept = np.asarray(retained, float)
    return captured - kept
