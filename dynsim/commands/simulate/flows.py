"""`dynsim simulate SYSTEM` for a flow: one trajectory or an ensemble, a run file, a figure."""

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
from dynsim.errors import argument_error, check_at_least, reason
from dynsim.initial_distributions import initial
from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy
from dynsim.keys import stream
from dynsim.simulation import simulate
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.tokens.flow import ProjectedValueFlow, TokenFlow
from dynsim.systems.tokens.scalar_driven import OjaFlow
from dynsim.trajectory import Trajectory

TOKENS = 10  # of a start, by default


def main(words: Sequence[str]) -> int:
    """Simulate the system, print a summary, and write the run file and the figure if they are asked for."""
    o = parse(Simulate, words, "simulate")
    if o.system.endswith(".npz"):
        return rerun_file(Path(o.system), o.trust)
    tokens = TOKENS if o.tokens is None else o.tokens
    check_at_least(1, tokens=tokens, dimension=o.dimension, heads=o.heads, members=o.members)
    check_at_least(2, frames=o.frames)
    check_outputs(o.force, out=o.out, figure=o.figure)
    flow = build(o)
    if isinstance(flow, FunctionFlow):
        check_function(flow, start(o, flow, 0))
    ts = np.linspace(0.0, o.end, o.frames)
    return one(o, flow, ts) if o.members == 1 else many(o, flow, ts)


def one(o: Simulate, flow: AbstractFlow, ts: np.ndarray) -> int:
    """Simulate one trajectory."""
    from dynsim.storage import save

    path = simulate(flow, start(o, flow, 0), ts, integrator=integrator(o))
    say(path.stats.explain())
    say(f"states {tuple(path.ys.shape)}, largest defect {float(path.stats.max_defect):.2g}")
    if path.ys.ndim == 3:
        first, last = (float(measurements(x)[0]) for x in (path.initial, path.final))
        say(f"diameter {first:.6g} at t = 0, {last:.6g} at t = {o.end:g}")
    if o.out is not None:
        save(o.out, path, seed=o.seed)
        say(f"run file {o.out}")
    if o.figure is not None:
        draw(o.figure, path.ts, *_curves(path))
        say(f"figure {o.figure}")
    return 0


def many(o: Simulate, flow: AbstractFlow, ts: np.ndarray) -> int:
    """Simulate an ensemble; a member that fails is reported, and the others are kept."""
    from dynsim.ensembles import ensemble
    from dynsim.storage import save

    starts = jnp.stack([start(o, flow, k) for k in range(o.members)])
    folder = None if o.out is None else o.out.with_suffix(".members")
    found = ensemble(flow, starts, ts, observed, integrator=integrator(o), folder=folder)
    say(found.explain())
    label = "diameter" if starts.ndim == 3 else "range of entries"
    first = np.asarray(found.values)[:, :, 0]
    say(f"{label} at t = {o.end:g}: median {np.nanmedian(first[:, -1]):.6g}, largest {np.nanmax(first[:, -1]):.6g}")
    if o.out is not None:
        save(o.out, found, seed=o.seed)
        say(f"run file {o.out}")
    if o.figure is not None:
        draw(o.figure, found.ts, first, label)
        say(f"figure {o.figure}")
    return 0 if bool(np.all(np.asarray(found.stats.succeeded))) else 1


def observed(t: Time, x: jax.Array) -> jax.Array:
    """Return the measurements that an ensemble keeps at each time."""
    del t
    return measurements(x)


def measurements(x: jax.Array) -> jax.Array:
    """Return the diameter and E of (25) of tokens (n, d), shape (2,); of a vector the range of its entries, shape (1,).

    Source: CONSENSUS, eq. (25), for E.
    """
    from analysis.tokens.consensus import diameter, misalignment

    if x.ndim != 2:
        return (jnp.max(x) - jnp.min(x))[None]
    return jnp.stack([diameter(x), misalignment(x)])


def _curves(path: Trajectory) -> tuple[np.ndarray, str]:
    """Return the curves to draw over time, (curves, times), and their label."""
    if path.ys.ndim == 3:
        return np.asarray(path.along(measurements))[None, :, 0], "diameter"
    return np.asarray(path.ys).T, "state"


def rerun_file(path: Path, trust: tuple[str, ...]) -> int:
    """Repeat the run of a run file and print whether the states agree bit for bit; return 1 if they do not."""
    from dynsim.storage import load, rerun

    made = rerun(path, trust=trust)
    stored: Any = load(path, trust=trust)
    both = zip(jax.tree.leaves(stored.ys), jax.tree.leaves(made.ys), strict=True)
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in both]
    same = all(np.array_equal(a, b, equal_nan=a.dtype != object) for a, b in pairs)
    gap = max(float(np.max(np.abs(a - b))) for a, b in pairs)
    say(
        f"{path}: identical bit for bit"
        if same
        else f"{path}: differs by {gap:.3g} (other versions or another machine)"
    )
    return 0 if same else 1


def check_function(flow: FunctionFlow, x: jax.Array) -> None:
    """Raise `ValueError` if a user's function fails for a time and a state of the shape of `x`."""
    try:
        jax.eval_shape(flow.velocity, 0.0, x)
    except (TypeError, IndexError) as error:
        must = f"take (t, x) with x of shape {x.shape} (see `--tokens`, `--dimension`, `--initial`), in JAX"
        raise argument_error("system", must, f"raised {type(error).__name__}: {reason(error)}") from None


def start(o: Simulate, flow: AbstractFlow, member: int) -> jax.Array:
    """Return the initial state of a member: from a file, or drawn from the named distribution."""
    dtype = jnp.dtype(o.precision)
    if o.initial.endswith((".npy", ".csv")):
        if o.members > 1:
            raise argument_error("initial", "name a distribution for an ensemble", "is a file")
        return jnp.asarray(array(Path(o.initial), "initial"), dtype)
    vector = o.tokens is None and isinstance(flow, FunctionFlow)
    tokens = 1 if vector else TOKENS if o.tokens is None else o.tokens
    x = initial(o.initial, stream(o.seed, "start", member), (tokens, columns(o, flow)), flow.space).astype(dtype)
    return x[0] if vector else x


def columns(o: Simulate, flow: AbstractFlow) -> int:
    """Return the number of columns of an initial state: fixed by the matrices of the flow if it has any."""
    if isinstance(flow, TokenFlow):
        return flow.query_key.shape[-1]
    return flow.matrix.shape[-1] if isinstance(flow, ProjectedValueFlow | OjaFlow) else o.dimension


def integrator(o: Simulate) -> AbstractIntegrator:
    """Return the integrator that the options name, with the absolute tolerance a hundredth of the relative one."""
    make = Diffrax if o.integrator == "diffrax" else Scipy
    return make(rtol=o.rtol, atol=o.rtol / 100)


def draw(path: Path, ts: jax.Array | np.ndarray, values: np.ndarray, label: str) -> None:
    """Draw one curve over time, or the quantile bands of many."""
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
