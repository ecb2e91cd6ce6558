"""Print and draw the results of `dynsim simulate prototypes`."""

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.experiments.prototypes.kmeans import nearest
from analysis.experiments.prototypes.scores import contingency, scores
from analysis.prototypes.boundedness import growth
from analysis.prototypes.certificates import bounding_radius, escaping_prototypes
from analysis.prototypes.collapse import critical_temperature
from dynsim._core.types import State, Time
from dynsim.cli.parsing.options import say
from dynsim.cli.simulate.prototypes.options import Prototypes
from dynsim.errors import Outcome
from dynsim.simulation.trajectory import Trajectory, last_finite
from dynsim.systems.prototypes.assignments import (
    Embeddings,
    assignments,
    entropy,
    prototype_variance,
    separation,
    utilisation,
)
from dynsim.systems.prototypes.assignments import Prototypes as Bank
from dynsim.systems.prototypes.flow import CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevelFlow
from dynsim.systems.prototypes.temperatures import Annealing

TOGETHER = 1e-6  # prototypes this close count as one; relative to the largest coordinate if that exceeds 1
PAIRS = 10**7  # largest number of pairs of embeddings times prototypes for the escape certificate; more take too long
NAMES = ("loss", "separation S", "entropy H (nats)", "V / N", "utilisation", "largest |p|")


def describe(o: Prototypes, path: Trajectory, labels: np.ndarray | None) -> None:
    """Print the measures at the start and at the last time reached, and the fate of the prototypes."""
    flow: Any = path.system
    last = last_finite(path)
    _say_clocks(o, path)
    begin, end = (jax.tree.map(lambda a, at=at: a[at], path.ys) for at in (0, last))
    t0, t1 = float(path.ts[0]), float(path.ts[last])
    measured = [_measures(flow, jnp.asarray(t), x) for t, x in ((t0, begin), (t1, end))]
    for number, (first, second) in enumerate(zip(*(np.asarray(m) for m in measured), strict=True)):
        level = f", level {number + 1}" if isinstance(flow, TwoLevelFlow) else ""
        say(f"{'mode ' + flow.loss.gradient + level:<26}{f't = {t0:g}':>14}{f't = {t1:g}':>14}")
        for name, *values in zip(NAMES, first, second, strict=True):
            say(f"  {name:<24}" + "".join(f"{value:>14.6g}" for value in values))
    found = list(zip(levels(flow, jnp.asarray(t0), begin), levels(flow, jnp.asarray(t1), end), strict=True))
    for number, ((z0, p0), (z1, p1)) in enumerate(found):
        said = (*coincidences(np.asarray(p0), np.asarray(p1), t1), *surplus(z0, p0, z1, p1, t1))
        for sentence in said:
            say(f"level {number + 1}: {sentence}" if len(found) > 1 else sentence)
    if labels is not None:
        _say_scores(flow, begin, end, labels)
    if isinstance(flow, PrototypeFlow | CoupledFlow):
        for sentence in (*collapse_of(flow), _growth(flow, begin) if o.growth else fate(flow, begin, end, t1)):
            say(sentence)


def _say_scores(flow: Any, begin: State, end: State, labels: np.ndarray) -> None:
    """Print how well the nearest first-level prototypes separate the labels, at the start and at the end."""
    classes, numbers = np.unique(labels, return_inverse=True)
    for when, x in (("start", begin), ("end", end)):
        p = flow.prototypes(x)
        table = contingency(numbers, np.asarray(nearest(flow.embed(x), p)), len(classes), len(p))
        accuracy, information, rand = scores(table)
        say(f"labels at the {when}: accuracy {accuracy:.4f} (best matching), NMI {information:.4f}, ARI {rand:.4f}")


def collapse_of(flow: PrototypeFlow | CoupledFlow) -> list[str]:
    """Report the critical temperature of collapse to the mean, for fixed embeddings without barrier or ridge."""
    count = 2  # number of prototypes; without a ridge the critical temperature does not depend on it
    if isinstance(flow, CoupledFlow) or float(flow.loss.barrier) > 0 or float(flow.loss.ridge) > 0:
        return []
    critical = critical_temperature(flow.embeddings, flow.loss, count)
    mode = flow.loss.gradient
    return [f"collapse to the mean is stable above T = {critical:.6g} and a saddle below (mode {mode})"]


def fate(flow: PrototypeFlow | CoupledFlow, begin: State, end: State, t: float) -> str:
    """Report whether a certificate bounds the prototypes, or proves that some of them escape."""
    radius, reason = bounding_radius(flow, begin)
    if np.isfinite(radius):
        by = {"ridge": "by the ridge", "hull": "by the data and the start"}[reason]
        return f"bounded: |p| never exceeds {radius:.6g}, {by}"
    z, p = flow.embed(end), flow.prototypes(end)
    lost = escaping_prototypes(flow, end, t) if len(z) ** 2 * len(p) <= PAIRS else np.zeros(len(p), bool)
    if np.any(lost):
        return f"escaping: prototypes {_listed(np.flatnonzero(lost))} provably never return"
    return "bounded or escaping: no certificate decides; `--growth` estimates their growth rate"


def _growth(flow: Any, x: State) -> str:
    found = growth(flow, jax.tree.map(lambda a: a.astype(float), x))
    rate = ", ".join(f"{value:.4g}" for value in found.exponents)
    what = f"after {found.times[-1]:.3g} time units the largest distance is {found.radii[-1]:.6g}"
    return f"{found.verdict} ({found.reason}): {what}, and its growth exponents in the last two decades are {rate}"


def _say_clocks(o: Prototypes, path: Any) -> None:
    """Print when the temperature reaches its floor, the fast and slow times, and advice after a failure."""
    flow, reached = path.system, float(path.stats.last_time)
    if isinstance(flow.temperature, Annealing):
        arrival, T = flow.temperature.arrival(), float(flow.temperature(reached))
        if arrival <= reached:
            say(f"the temperature reaches its floor {o.floor:g} at t = {arrival:.6g}")
        else:
            say(f"the temperature is {T:.6g} at the end, and would reach its floor {o.floor:g} at t = {arrival:.6g}")
    if not isinstance(flow, PrototypeFlow):
        fast = o.prototype_rate * reached
        say(f"ratio of rates {o.ratio:g}: the run covers {fast:.6g} time units of the prototypes and "
            f"{o.ratio * fast:.6g} of the encoder")  # fmt: skip
    if Outcome(int(path.stats.outcome)) is Outcome.MAX_STEPS:
        say("the flow is too stiff for this integrator over this time: take `--integrator rkc2` or "
            "`--integrator stiff`, a larger `--ratio` or an earlier `--end`")  # fmt: skip


def levels(flow: Any, t: Time, x: State) -> Iterator[tuple[Embeddings, Bank]]:
    """Yield the embeddings and the prototypes of each level."""
    yield flow.embed(x), flow.prototypes(x)
    if isinstance(flow, TwoLevelFlow):
        yield flow.inputs(t, x), x.second


@eqx.filter_jit
def _measures(flow: Any, t: Time, x: State) -> jax.Array:
    """Compute the measures `NAMES` of each level, (levels, measures)."""
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
        jnp.max(jnp.sqrt(jnp.sum(p**2, axis=1))),
    )
    return jnp.stack([jnp.asarray(value, p.dtype) for value in found])


def coincidences(p0: np.ndarray, p1: np.ndarray, t: float) -> list[str]:
    """Report prototypes that coincide at the start, and prototypes that have merged by time `t`."""
    at_start, at_end = _same(p0, 0.0), _same(p1, TOGETHER * max(1.0, float(np.max(np.abs(p1)))))
    sentences = []
    for members in _sets(at_start):
        apart = float(np.max(np.linalg.norm(p1[members, None] - p1[None, members], axis=-1)))
        end = "they still do" if apart == 0 else f"they are {apart:.3g} apart, separated by rounding alone"
        sentences.append(f"prototypes {_listed(members)} coincide at the start, and at t = {t:g} {end}")
    for members in _sets(at_end):
        if not np.all(at_start[np.ix_(members, members)]):
            sentences.append(f"prototypes {_listed(members)} have merged by t = {t:g}")
    return sentences


def surplus(z0: Embeddings, p0: Bank, z1: Embeddings, p1: Bank, t: float) -> list[str]:
    """Report how many prototypes are nearest to no point, if there are more prototypes than points."""
    n, k = len(z0), len(p0)
    if k <= n:
        return []
    idle = [k - len(np.unique(np.asarray(nearest(z, p)))) for z, p in ((z0, p0), (z1, p1))]
    return [
        f"{k} prototypes for {n} points: {idle[0]} are idle (nearest to no point) at the start, {idle[1]} at t = {t:g}"
    ]


def _same(p: np.ndarray, distance: float) -> np.ndarray:
    """Test which pairs of prototypes are at most this far apart, (k, k)."""
    return np.linalg.norm(p[:, None] - p[None], axis=-1) <= distance


def _sets(same: np.ndarray) -> list[np.ndarray]:
    """Group prototypes that coincide, in sets of at least two."""
    firsts = np.argmax(same, axis=1)
    sets = [np.flatnonzero(firsts == first) for first in np.unique(firsts)]
    return [members for members in sets if len(members) > 1]


def _listed(members: np.ndarray) -> str:
    words = [str(number) for number in members]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
