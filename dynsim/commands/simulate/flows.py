"""`dynsim simulate SYSTEM` for a flow: one start or an ensemble, a run file, a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._types import Time
from dynsim.commands.options import check_outputs, parse, say
from dynsim.commands.simulate.systems import Simulate, build
from dynsim.commands.tables import array
from dynsim.errors import argument_error
from dynsim.initial_distributions import initial
from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy
from dynsim.keys import stream
from dynsim.simulation import simulate
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.trajectory import Trajectory

TOKENS = 10


def main(words: Sequence[str]) -> int:
    """Simulate, say what came out, and write what was asked for."""
    o = parse(Simulate, words, "simulate")
    if o.system.endswith(".npz"):
        return again(Path(o.system), o.trust)
    if min(TOKENS if o.tokens is None else o.tokens, o.dimension, o.heads, o.members) < 1:
        raise argument_error("tokens`, `dimension`, `heads` or `members", "be at least 1", "is not")
    if o.frames < 2:
        raise argument_error("frames", "be at least 2", f"is {o.frames}")
    check_outputs(o.out, o.figure)
    flow = build(o)
    if isinstance(flow, FunctionFlow):
        check_function(flow, start(o, flow, 0))
    ts = np.linspace(0.0, o.end, o.frames)
    return one(o, flow, ts) if o.members == 1 else many(o, flow, ts)


def one(o: Simulate, flow: AbstractFlow, ts: np.ndarray) -> int:
    """Follow one start."""
    from dynsim.storage import save

    path = simulate(flow, start(o, flow, 0), ts, integrator=integrator(o))
    say(path.stats.explain())
    say(f"states {tuple(path.ys.shape)}, largest defect {float(path.stats.max_defect):.2g}")
    if path.ys.ndim == 3:
        first, last = (float(measures(x)[0]) for x in (path.initial, path.final))
        say(f"diameter {first:.6g} at t = 0, {last:.6g} at t = {o.end:g}")
    if o.out is not None:
        save(o.out, path, seed=o.seed)
        say(f"run file {o.out}")
    if o.figure is not None:
        draw(o.figure, path.ts, *_curves(path))
        say(f"figure {o.figure}")
    return 0


def many(o: Simulate, flow: AbstractFlow, ts: np.ndarray) -> int:
    """Follow an ensemble; one failed member is named and spoils no other."""
    from dynsim.ensembles import ensemble
    from dynsim.storage import save

    starts = jnp.stack([start(o, flow, k) for k in range(o.members)])
    folder = None if o.out is None else o.out.with_suffix(".members")
    found = ensemble(flow, starts, ts, observed, integrator=integrator(o), folder=folder)
    say(found.explain())
    diameter = np.asarray(found.values)[:, :, 0]
    middle, most = np.nanmedian(diameter[:, -1]), np.nanmax(diameter[:, -1])
    say(f"diameter at t = {o.end:g}: median {middle:.6g}, largest {most:.6g}")
    if o.out is not None:
        save(o.out, found, seed=o.seed)
        say(f"run file {o.out}")
    if o.figure is not None:
        draw(o.figure, found.ts, diameter, "diameter")
        say(f"figure {o.figure}")
    return 0 if bool(np.all(np.asarray(found.stats.succeeded))) else 1


def observed(t: Time, x: jax.Array) -> jax.Array:
    """Return what an ensemble keeps of a state."""
    del t
    return measures(x)


def measures(x: jax.Array) -> jax.Array:
    """Return diameter and E of (25) of tokens; of a single vector, its entries' range twice."""
    from analysis.tokens.consensus import diameter, misalignment

    if x.ndim != 2:
        return jnp.stack([jnp.max(x) - jnp.min(x)] * 2)
    return jnp.stack([diameter(x), misalignment(x)])


def _curves(path: Trajectory) -> tuple[np.ndarray, str]:
    if path.ys.ndim == 3:
        return np.asarray(path.along(measures))[None, :, 0], "diameter"
    return np.asarray(path.ys).T, "state"


def again(path: Path, trust: tuple[str, ...]) -> int:
    """Run a stored run once more and say whether it agrees bit for bit."""
    from dynsim.storage import load, rerun

    made = rerun(path, trust=trust)
    stored: Any = load(path, trust=trust)
    both = zip(jax.tree.leaves(stored.ys), jax.tree.leaves(made.ys), strict=True)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in both]
    same = all(np.array_equal(a, b, equal_nan=a.dtype != object) for a, b in pairs)
    gap = max(float(np.max(np.abs(a - b))) for a, b in pairs)
    say(f"{path}: the same to the bit" if same else f"{path}: differs by {gap:.3g}, other versions or another machine")
    return 0 if same else 1


def check_function(flow: FunctionFlow, x: jax.Array) -> None:
    """Raise `ValueError`, in one sentence, if a user's function does not take a time and a state of this shape."""
    try:
        jax.eval_shape(flow.velocity, 0.0, x)
    except (TypeError, IndexError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        must = f"take (t, x) with x of shape {x.shape} (see `--tokens`, `--dimension`, `--initial`), in JAX"
        raise argument_error("system", must, f"raised {type(error).__name__}: {reason}") from None


def start(o: Simulate, flow: AbstractFlow, member: int) -> jax.Array:
    """Return the start of a member: from a file, or from the law of that name."""
    dtype = jnp.dtype(o.precision)
    if o.initial.endswith((".npy", ".csv")):
        if o.members > 1:
            raise argument_error("initial", "be a law for an ensemble", "is a file")
        return jnp.asarray(array(Path(o.initial), "initial"), dtype)
    d = getattr(getattr(flow, "query_key", None), "shape", (1, 0, o.dimension))[-1]
    vector = o.tokens is None and isinstance(flow, FunctionFlow)
    tokens = 1 if vector else TOKENS if o.tokens is None else o.tokens
    x = initial(o.initial, stream(o.seed, "start", member), (tokens, d), flow.space).astype(dtype)
    return x[0] if vector else x


def integrator(o: Simulate) -> AbstractIntegrator:
    """Return the solver of the options."""
    make = Diffrax if o.integrator == "diffrax" else Scipy
    return make(rtol=o.rtol, atol=o.rtol / 100)


def draw(path: Path, ts: jax.Array | np.ndarray, values: np.ndarray, label: str) -> None:
    """Draw one curve over time, or the band of many."""
    from figures.files import write_figure
    from figures.panels.curves import bands, over_time
    from figures.style import canvas, settings

    with settings():
        drawn, (ax,) = canvas()
        if len(values) == 1:
            over_time(ax, np.asarray(ts), values[0], role="token", ylabel=label)
        else:
            bands(ax, np.asarray(ts), values, ylabel=label)
        write_figure(drawn, path, f"{label} over time")
