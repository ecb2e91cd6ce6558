"""One training loop: progress, checkpoints, and the same bits after a kill as without."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from dynsim._types import Key, Scalar
from dynsim.errors import TrainingError, argument_error, check_at_least
from dynsim.io.npz import read_arrays, writable_folder, write_arrays
from dynsim.progress import progress

if TYPE_CHECKING:
    import optax

Model = Any  # an equinox module, or any PyTree with floating arrays
Loss = Callable[[Model, PyTree, Key], Scalar]
Batches = Callable[[Int[Array, ""], Key], PyTree]
Watcher = Callable[[int, Model], None]


class Trained(NamedTuple):
    """The model after the last step, and the loss before each step, in the loss's own unit."""

    model: Model
    losses: Float[np.ndarray, " steps"]


def train(
    model: Model,
    loss: Loss,
    batches: Batches,
    key: Key,
    *,
    num_steps: int,
    optimiser: "optax.GradientTransformation | None" = None,
    every: int = 100,
    folder: str | Path | None = None,
    watcher: Watcher | None = None,
    shown: bool | None = None,
) -> Trained:
    """Minimise a loss by stochastic gradients.

    Step k draws its batch, and what the loss draws, from keys made of `key` and k, so that a resumed run sees the same.

    Args:
        model: its floating arrays are trained, the rest is left alone.
        loss: a function of model, batch and key, in JAX.
        batches: a function of step and key that returns the batch of the step, in JAX.
        key: of everything that is random.
        num_steps: how many steps in all, those of the run that is resumed included.
        optimiser: from optax; Adam with rate 1e-3 by default.
        every: steps between two checkpoints, compiled as one loop.
        folder: where the checkpoint is kept; the same call with the same folder resumes, to the same bits.
        watcher: called with the number of steps done and the model, first as the run begins or resumes, then after each
            checkpoint: a watcher that keeps what it found misses none, and may see one twice.
        shown: a progress bar; None shows it on terminals only.

    Raises:
        ValueError: if optax is missing, a number is not positive, or the folder holds a checkpoint of another run.
        TrainingError: if the loss is not finite; the checkpoint before is kept.
    """
    check_at_least(1, num_steps=num_steps, every=every)
    rule = _adam() if optimiser is None else optimiser
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    state = (weights, rule.init(weights))
    place = None if folder is None else writable_folder("folder", Path(folder)) / "checkpoint.npz"
    digest = _digest(state, key, every)
    losses = np.empty(0)
    if place is not None and place.exists():
        state, losses = _restored(place, state, digest)
        if len(losses) > num_steps:
            raise argument_error("num_steps", f"be at least {len(losses)}, which the checkpoint has", f"is {num_steps}")
    with progress(num_steps, "training", unit="steps", shown=shown) as bar:
        bar.update(len(losses))
        if watcher is not None:
            watcher(len(losses), eqx.combine(state[0], rest))
        while len(losses) < num_steps:
            count = min(every, num_steps - len(losses))
            steps = jnp.arange(len(losses), len(losses) + count)
            state, found = _steps(state, steps, key, rest, loss, batches, rule)
            if not np.all(np.isfinite(found)):
                bad = len(losses) + int(np.argmin(np.isfinite(found)))
                kept = f"; the checkpoint of step {len(losses)} is kept" if place is not None and len(losses) else ""
                raise TrainingError(f"The loss at step {bad} is not finite: try a smaller learning rate{kept}.")
            losses = np.append(losses, np.asarray(found, float))
            if place is not None:
                _keep(place, state, losses, digest)
            if watcher is not None:
                watcher(len(losses), eqx.combine(state[0], rest))
            bar.update(count)
    return Trained(eqx.combine(state[0], rest), losses)


def _adam() -> "optax.GradientTransformation":
    try:
        import optax
    except ImportError:
        raise argument_error(
            "optimiser", "be given where optax is missing (`pip install dynsim[train]`)", "is not"
        ) from None
    return optax.adam(1e-3)


@eqx.filter_jit
def _steps(
    state: Any, steps: Int[Array, " steps"], key: Key, rest: Model, loss: Loss, batches: Batches, rule: Any
) -> tuple[Any, Array]:
    """Return state and losses after some steps; runs with the same loss, batches and optimiser share one program."""

    def step(state: Any, k: Array) -> tuple[Any, Array]:
        weights, memory = state
        draw, noise = jax.random.split(jax.random.fold_in(key, k))
        batch = batches(k, draw)
        value, slope = jax.value_and_grad(lambda w: loss(eqx.combine(w, rest), batch, noise))(weights)
        with jax.numpy_dtype_promotion("standard"):  # optax takes floats to whole powers
            change, memory = rule.update(slope, memory, weights)
        return (eqx.apply_updates(weights, change), memory), value

    return jax.lax.scan(step, state, steps)


def _digest(state: Any, key: Key, every: int) -> str:
    """Return a digest of where a run begins: weights, memory of the optimiser, key and block length."""
    found = hashlib.sha256(f"{jax.random.key_impl(key)} {every}".encode())
    found.update(np.asarray(jax.random.key_data(key)).tobytes())
    for leaf in jax.tree.leaves(state):
        array = np.asarray(leaf)
        found.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def _keep(place: Path, state: Any, losses: np.ndarray, digest: str) -> None:
    leaves = {f"leaf-{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    write_arrays(place, {"digest": np.array(digest), "losses": losses, **leaves})


def _restored(place: Path, state: Any, digest: str) -> tuple[Any, np.ndarray]:
    arrays = read_arrays(place)
    if str(arrays.get("digest")) != digest:
        must = "be empty or hold a checkpoint of this very run (the same first weights, optimiser, key and `every`)"
        raise argument_error("folder", must, f"`{place.parent}` holds one of another")
    leaves, structure = jax.tree.flatten(state)
    kept = [jnp.asarray(arrays[f"leaf-{k}"]) for k in range(len(leaves))]
    return jax.tree.unflatten(structure, kept), arrays["losses"]
