"""Training by stochastic gradient descent, with checkpoints from which it resumes bit for bit."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from dynsim._core.types import Key, Scalar
from dynsim._runtime.progress import progress
from dynsim.errors import ArgumentError, TrainingError, UnavailableError, check_at_least
from dynsim.io.npz import read_arrays, writable_folder, write_arrays

if TYPE_CHECKING:
    import optax

Model = Any
"""An equinox module, or another PyTree, whose floating-point arrays are the parameters."""

Loss = Callable[[Model, PyTree, Key], Scalar]
"""A function of the model, a batch and a random key."""

Batches = Callable[[Int[Array, ""], Key], PyTree]
"""A function of the step and a random key that returns the batch of the step."""

Callback = Callable[[int, Model], None]
"""A function of the number of steps done and the model."""

Revision = Callable[[int, Model], Model]
"""A function of the number of steps done and the model that returns a model of the same structure."""


class Trained(NamedTuple):
    """The model after the last step, and the loss of each batch before its step."""

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
    callback: Callback | None = None,
    revise: Revision | None = None,
    shown: bool | None = None,
) -> Trained:
    """Minimise a loss by stochastic gradient descent, with checkpoints.

    The keys of step k, for its batch and its loss, are derived from `key` and k, so a resumed run uses the same keys.

    Args:
        model: the model; its floating-point arrays are trained, everything else is constant.
        loss: a function of the model, the batch and a key, in JAX.
        batches: a function of the step and a key that returns the batch, in JAX.
        key: the random key.
        num_steps: the total number of steps, including the steps before a run is resumed.
        optimiser: an optimiser from optax; by default Adam with learning rate 1e-3.
        every: the number of steps between two checkpoints, which run in one compiled loop.
        folder: the folder of the checkpoint, if any; the same call with the same folder resumes, bit for bit.
        callback: called with the number of steps done and the model when the run starts or resumes, and after each
            checkpoint. When a run resumes, it receives the state of the last checkpoint a second time.
        revise: called with the number of steps done and the model before each checkpoint; training continues with the
            model that it returns and an unchanged optimiser state.
        shown: whether to show a progress bar; by default if stderr is a terminal.

    Raises:
        ValueError: if optax is not installed, a number is not positive, or the folder has a checkpoint of another run.
        TrainingError: if the loss is not finite; the last checkpoint is kept.
    """
    check_at_least(1, num_steps=num_steps, every=every)
    optimiser = _adam() if optimiser is None else optimiser
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    state = (weights, optimiser.init(weights))
    file = None if folder is None else writable_folder("folder", Path(folder)) / "checkpoint.npz"
    digest = _digest(state, key, every)
    losses = np.empty(0)
    if file is not None and file.exists():
        state, losses = _load(file, state, digest)
        if len(losses) > num_steps:
            raise ArgumentError(
                "num_steps", f"be at least {len(losses)}, the number of steps in the checkpoint", f"is {num_steps}"
            )
    with progress(num_steps, "training", unit="steps", shown=shown) as bar:
        bar.update(len(losses))
        if callback is not None:
            callback(len(losses), eqx.combine(state[0], rest))
        while len(losses) < num_steps:
            count = min(every, num_steps - len(losses))
            steps = jnp.arange(len(losses), len(losses) + count)
            state, found = _steps(state, steps, key, rest, loss, batches, optimiser)
            if not np.all(np.isfinite(found)):
                bad = len(losses) + int(np.argmin(np.isfinite(found)))
                kept = f"; the checkpoint of step {len(losses)} is kept" if file is not None and len(losses) else ""
                raise TrainingError(f"The loss at step {bad} is not finite: try a smaller learning rate{kept}.")
            losses = np.append(losses, np.asarray(found, float))
            if revise is not None:
                revised = revise(len(losses), eqx.combine(state[0], rest))
                state = (eqx.filter(revised, eqx.is_inexact_array), state[1])
            if file is not None:
                _save(file, state, losses, digest)
            if callback is not None:
                callback(len(losses), eqx.combine(state[0], rest))
            bar.update(count)
    return Trained(eqx.combine(state[0], rest), losses)


@functools.cache  # a new object would trigger a new compilation
def _adam() -> "optax.GradientTransformation":
    return module_of_optimisers().adam(1e-3)


def module_of_optimisers() -> Any:
    """Import optax; raise `UnavailableError` if it is not installed."""
    try:
        import optax
    except ImportError:
        must = "Without an `optimiser` the training needs optax (`pip install dynsim[train]`)."
        raise UnavailableError(must) from None
    return optax


@eqx.filter_jit
def _steps(
    state: Any, steps: Int[Array, " steps"], key: Key, rest: Model, loss: Loss, batches: Batches, optimiser: Any
) -> tuple[Any, Array]:
    """State and losses after `steps`; equal loss, batches and optimiser share one compiled program."""

    def step(state: Any, k: Array) -> tuple[Any, Array]:
        weights, moments = state
        draw, noise = jax.random.split(jax.random.fold_in(key, k))
        batch = batches(k, draw)
        value, gradient = jax.value_and_grad(lambda w: loss(eqx.combine(w, rest), batch, noise))(weights)
        with jax.numpy_dtype_promotion("standard"):  # optax raises floats to integer powers
            change, moments = optimiser.update(gradient, moments, weights)
        return (eqx.apply_updates(weights, change), moments), value

    return jax.lax.scan(step, state, steps)


def _digest(state: Any, key: Key, every: int) -> str:
    """Digest that identifies a run: initial weights, optimiser state, key, and steps between checkpoints."""
    found = hashlib.sha256(f"{jax.random.key_impl(key)} {every}".encode())
    found.update(np.asarray(jax.random.key_data(key)).tobytes())
    for leaf in jax.tree.leaves(state):
        array = np.asarray(leaf)
        found.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def _save(file: Path, state: Any, losses: np.ndarray, digest: str) -> None:
    leaves = {f"leaf-{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    write_arrays(file, {"digest": np.array(digest), "losses": losses, **leaves})


def _load(file: Path, state: Any, digest: str) -> tuple[Any, np.ndarray]:
    arrays = read_arrays(file)
    if str(arrays.get("digest")) != digest:
        must = "be empty or hold a checkpoint of this very run (same initial weights, optimiser, key and `every`)"
        raise ArgumentError("folder", must, f"`{file.parent}` holds one of another run")
    leaves, structure = jax.tree.flatten(state)
    kept = [jnp.asarray(arrays[f"leaf-{k}"]) for k in range(len(leaves))]
    return jax.tree.unflatten(structure, kept), arrays["losses"]
