"""What `dynsim simulate prototypes` says of a run and draws of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim._types import State, Time
from dynsim.commands.options import say
from dynsim.commands.simulate.prototypes import Prototypes
from dynsim.outcome import Outcome
from dynsim.systems.prototypes.assignments import (
    Embeddings,
    assignments,
    entropy,
    prototype_variance,
    separation,
    utilisation,
)
from dynsim.systems.prototypes.assignments import Prototypes as Bank
from dynsim.systems.prototypes.flow import PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevelFlow
from dynsim.systems.prototypes.temperatures import Annealing
from dynsim.trajectory import Trajectory

NAMES = ("loss", "separation S", "entropy H (nats)", "V / N", "utilisation", "largest |p|")


def describe(o: Prototypes, path: Trajectory, labels: np.ndarray | None) -> None:
    """Print the measures at both ends of what was reached, and what the options leave open."""
    del labels
    flow: Any = path.system
    last = _last_finite(path)
    _say_clocks(o, path, float(path.ts[last]))
    begin, end = (jax.tree.map(lambda a, at=at: a[at], path.ys) for at in (0, last))
    t0, t1 = float(path.ts[0]), float(path.ts[last])
    measured = [_measures(flow, jnp.asarray(t), x) for t, x in ((t0, begin), (t1, end))]
    for number, (first, second) in enumerate(zip(*(np.asarray(m) for m in measured), strict=True)):
        level = f", level {number + 1}" if isinstance(flow, TwoLevelFlow) else ""
        say(f"{'mode ' + flow.loss.gradient + level:<26}{f't = {t0:g}':>14}{f't = {t1:g}':>14}")
        for name, *values in zip(NAMES, first, second, strict=True):
            say(f"  {name:<24}" + "".join(f"{value:>14.6g}" for value in values))
    for p0, p1 in zip(banks(flow, begin), banks(flow, end), strict=True):
        for sentence in coincidences(np.asarray(p0), np.asarray(p1), t1):
            say(sentence)


def _last_finite(path: Trajectory) -> int:
    """Return the number of the last kept time at which the state is known."""
    finite = [np.isfinite(np.asarray(a)).reshape(len(path.ts), -1).all(axis=1) for a in jax.tree.leaves(path.ys)]
    return int(np.flatnonzero(np.all(finite, axis=0))[-1])


def _say_clocks(o: Prototypes, path: Trajectory, reached: float) -> None:
    """Print the temperature against its floor, the times of encoder and prototypes, and advice after a failure."""
    flow: Any = path.system
    if isinstance(flow.temperature, Annealing):
        arrival, T = flow.temperature.arrival(), float(flow.temperature(reached))
        if arrival <= reached:
            say(f"the temperature reaches its floor {o.floor:g} at t = {arrival:.6g}")
        else:
            say(f"the temperature is {T:.6g} at the end: it would reach its floor {o.floor:g} at t = {arrival:.6g}")
    if not isinstance(flow, PrototypeFlow):
        fast = o.prototype_rate * reached
        say(f"ratio of rates {o.ratio:g}: prototypes moved for {fast:.6g}, the encoder for {o.ratio * fast:.6g}, in "
            "the time of each")  # fmt: skip
    if Outcome(int(path.stats.outcome)) is Outcome.MAX_STEPS:
        say("the ratio of rates is out of reach of this integrator over this time: take `--integrator rkc2` or "
            "`--integrator stiff`, a larger `--ratio` or an earlier `--end`")  # fmt: skip


def banks(flow: Any, x: State) -> list[Bank]:
    """Return the prototypes of each level."""
    if isinstance(flow, TwoLevelFlow):
        return [x.first, x.second]
    return [flow.prototypes(x)]


def levels(flow: Any, t: Time, x: State) -> Iterator[tuple[Embeddings, Bank]]:
    """Yield the embeddings and the prototypes of each level."""
    inputs = [flow.embed(x), *([flow.inputs(t, x)] if isinstance(flow, TwoLevelFlow) else [])]
    yield from zip(inputs, banks(flow, x), strict=True)


@eqx.filter_jit
def _measures(flow: Any, t: Time, x: State) -> jax.Array:
    """Return the measures `NAMES` of each level, (levels, measures)."""
    return jnp.stack([_of_level(flow, flow.temperature(t), z, p) for z, p in levels(flow, t, x)])


def _of_level(flow: Any, temperature: Any, z: Embeddings, p: Bank) -> jax.Array:
    T = temperature.astype(p.dtype)
    q = assignments(z, p, T)
    found = (
        flow.loss.value(z, p, T),
        separation(p),
        entropy(q),
        prototype_variance(z, p, T) / z.shape[0],
        utilisation(q),
        jnp.max(jnp.sqrt(jnp.sum(p**2, axis=-1))),
    )
    return jnp.stack([jnp.asarray(value, p.dtype) for value in found])


def coincidences(p0: np.ndarray, p1: np.ndarray, t: float) -> list[str]:
    """Return a sentence for each set of prototypes that coincide at the start: what became of them by time `t`."""
    _, group = np.unique(p0, axis=0, return_inverse=True)
    sentences = []
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group.ravel() == number)
        if len(members) < 2:
            continue
        apart = float(np.max(np.linalg.norm(p1[members, None] - p1[None, members], axis=-1)))
        end = "they still do" if apart == 0 else f"they are {apart:.3g} apart: rounding alone has separated them"
        names = f"{', '.join(map(str, members[:-1]))} and {members[-1]}"
        sentences.append(f"prototypes {names} coincide at the start, and at t = {t:g} {end}")
    return sentences


def draw(file: Path, path: Trajectory) -> None:
    """Draw the embeddings at the end and the ways of the prototypes, of two levels those of the first."""
    from figures import panels
    from figures.files import write_figure
    from figures.style import canvas, settings

    flow: Any = path.system
    last = _last_finite(path)
    z = flow.embed(jax.tree.map(lambda a: a[last], path.ys))
    ways = banks(flow, path.ys)[0]
    with settings():
        drawn, (ax,) = canvas(aspect=0.9)
        panels.prototype_paths(ax, np.asarray(z), np.asarray(ways), np.asarray(path.ts))
        write_figure(drawn, file, "embeddings and prototypes")
