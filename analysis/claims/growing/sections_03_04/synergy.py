"""Claims of Section 3.4 and Corollary 2 on the interplay of growth and prototypes, in runs of the Algorithm."""

from functools import partial
from typing import NamedTuple, cast, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.expansions import along_dominant, expansion_computed, force_of, separated
from analysis.claims.growing.instances.lines import LINE, centred, falling, symmetric_expansion
from analysis.claims.growing.instances.residuals import DWELL, Planted, planted
from analysis.growing.separation import expanded, separation_force
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import SOLVER, Measurement, Trial, agrees, at_least, equal, holds
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import descend
from dynsim.simulation.hybrid_trajectory import Jump
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.residual import Reading, dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import bank_along, grow, prune

STEPS = 60


class AlgorithmRun(NamedTuple):
    """A run of the Algorithm: the system between the first two growth events, these, and the system after them."""

    between: GrowingFlow
    first: Jump
    second: Jump
    after: GrowingFlow


def _run(key: Key, at: Planted) -> AlgorithmRun:
    """Run the Algorithm from the first head until after the second one."""
    flow = at.flow()
    path = descend(flow, flow.start(key), STEPS, every=STEPS)
    first, second = path.jumps[:2]
    between, after = (cast(GrowingStep, phase.system).flow for phase in path.phases[:2])
    return AlgorithmRun(between, first, second, after)


def _recomputed(at: Planted, run: AlgorithmRun, reading: str) -> tuple[float, float]:
    """Return lambda_max of (3) in a reading before and after the updates of prototypes between the growth events."""
    M, frames = at.interaction.astype(float), np.asarray(run.between.frames).reshape(-1, at.axes.shape[1])
    tokens = [np.asarray(run.between.embed(x)) for x in (run.first.after, run.second.before)]
    first, second = (dominant_value(residual_matrix(M, frames, tokens=z, reading=reading)) for z in tokens)
    return first, second


def _steps(run: AlgorithmRun) -> float:
    """Return the number of steps between the first two growth events."""
    return run.second.time - run.first.time


def _with_rules(flow: GrowingFlow, at: Planted, **rules: str) -> GrowingFlow:
    """Return the system with the heads of a flow under other rules."""
    names = ("active", "clipped", "frames", "retained", "levels", "order", "last_level")
    return at.flow(**rules).with_heads(**{name: getattr(flow, name) for name in names})


def _moved(run: AlgorithmRun) -> float:
    """Return the largest displacement of a prototype of the first head between the first two growth events."""
    before, after = (np.asarray(x.prototypes[0]) for x in (run.first.after, run.second.before))
    return float(np.max(np.abs(after - before)))


@certified(
    "growing/claim-prototypes-raise-residual",
    num_trials=2,
    note="(3) is made of tokens, M and captured directions, of which the prototypes change none. With embeddings in "
    "place of tokens the encoder's update changes it in the readings `data` and `tokens`; if the span of prototypes "
    "were captured, a larger span would lower lambda_max. no control: it is measured in `equation-3/events`",
)
def updates_of_prototypes_raise_the_residual(key: Key) -> Trial:
    """The updates of prototypes in Step 2 spread them and raise A_res, as recomputed in Step 3: lambda_max rises."""
    at = planted(key, "features")
    run = _run(key, at)
    captured = np.asarray(run.between.frames)[0, 0]
    exact = at.residual(at.axes[:1])  # for any vector of the plane of which one has been captured
    found = {reading: _recomputed(at, run, reading) for reading in get_args(Reading)}
    s = at.strengths[1]
    gram = exact.T @ exact
    return Trial(
        (
            at_least("displacement of prototypes", _moved(run), 0.1, tolerance=SOLVER),
            agrees(
                "the captured direction in the top plane", np.linalg.norm(at.axes[:2].astype(float) @ captured), 1.0
            ),
            agrees("the residual that ships", run.between.residual, exact),
            agrees("its dominant value before and after the updates", found["features"], [float(s)] * 2),
            holds("the singular values of A_res: s_2, s_3", bool(np.all(gram @ at.axes[2] == s**2 * at.axes[2]))),
        ),
        (holds("lambda_max increases in some reading", any(end > start for start, end in found.values())),),
        {**at.witness(), "prototypes": np.asarray(run.second.before.prototypes[0])},
        parameters={"n": len(at.tokens), "d": len(captured), "steps": int(run.second.time)},
    )


def _change_trial(key: Key, release: str) -> Trial:
    """Measure lambda_max along growth, updates of prototypes, growth, and pruning of the first head."""
    at = planted(key, "features")
    run = _run(key, at)
    pruned, left = prune(_with_rules(run.after, at, release=release), 0.0, run.second.after, 0)
    again = grow(pruned, 0.0, left)[0]
    both = at.flow(pruning=1e6)  # whenever a head may be added, one may be removed, too
    due = descend(both, both.start(key), STEPS, every=STEPS).jumps
    found = [float(flow.dominant) for flow in (at.flow(), run.between, run.after, pruned)]
    wanted = [float(s) for s in at.strengths]
    return Trial(
        (at_least("displacement of prototypes", _moved(run), 0.1, tolerance=SOLVER),),
        (
            agrees("lambda_max at the start and after each growth", found[:3], wanted),
            agrees("lambda_max after the updates of prototypes", _recomputed(at, run, at.reading), wanted[1:2] * 2),
            agrees("lambda_max after pruning of the first head", found[3], wanted[0]),
            equal("steps from the first growth to the second, less N_min", _steps(run) - DWELL, 0, tolerance=0.0),
            holds("a head added in its place is the last in the order", int(again.order[0]) == 2),
            holds("growth comes first where both are due", [jump.name for jump in due] == ["grow", "grow"]),
        ),
        {**at.witness(), "lambda_max": found},
        parameters={"n": len(at.tokens), "d": at.axes.shape[1]},
    )


@claim(
    "growing/equation-3/events",
    control=partial(_change_trial, release="retain"),  # Pruning that retains the direction.
    variant="reading",
    num_trials=4,
    note="reading `features`; the encoder is fixed. In the reading `tokens` growth may raise lambda_max too",
)
def events_alone_change_the_residual(key: Key) -> Trial:
    """Read: along the Algorithm lambda_max changes at events alone. Updates of prototypes leave A_res as it is; growth
    lowers lambda_max to the value of the next pair, and pruning raises it, to that of the pruned head, if it gives the
    direction back. Growth comes before pruning, and again after N_min steps, no sooner.
    """
    return _change_trial(key, "release")


@certified(
    "growing/corollary-2",
    num_trials=4,
    note=f"as Theorem 1, whatever the residual; in the Algorithm growth does not act on F_sep at all, see `algorithm`. "
    f"{LINE}",
)
def every_expansion_amplifies_the_force(key: Key) -> Trial:
    """Every architectural expansion guided by lambda_max(A_res) > theta_w preserves and amplifies the separation force.

    Read: F_sep(P, Z^(K+1)) > F_sep(P, Z^(K)), with or without a component of Z^(K) along u.
    """
    at = symmetric_expansion(key, projected=bool(numpy_rng(key, "reading").integers(2)))
    start, end = force_of(at.bank), force_of(at.end)
    return Trial(
        (
            *along_dominant(at),
            *separated(at),
            *centred(at),
            *falling(at),
            *expansion_computed(at),
            holds("lambda_max exceeds theta_w = 1", at.strength > 1),
        ),
        (holds("F_sep increases", end > start),),
        {**at.witness(), "before": start, "after": end},
        parameters=at.parameters,
    )


@eqx.filter_jit
def _forces(flow: GrowingFlow, x: Growing) -> jax.Array:
    """Return F_sep of all slots of heads."""
    return jax.vmap(separation_force)(x.prototypes, flow.head_inputs(x), flow.temperatures(x))


@certified(
    "growing/corollary-2/algorithm",
    variant="reading",
    num_trials=2,
    note="the equality is exact, since neither prototypes, embeddings nor temperatures of a head depend on other "
    "heads: the same numbers enter",
)
def growth_amplifies_the_force_of_heads(key: Key) -> Trial:
    """The same. Read: in the Algorithm, where z_n = f_theta(x_n) does not depend on heads: the force of the heads that
    exist increases when one is added.
    """
    at = planted(key, "features")
    run = _run(key, at)
    before = float(_forces(run.between, run.second.before)[0])
    after = float(_forces(run.after, run.second.after)[0])
    same = [
        np.array_equal(a, b)
        for a, b in (
            (run.second.before.prototypes[0], run.second.after.prototypes[0]),
            (run.second.before.cubes[0], run.second.after.cubes[0]),
            (run.between.head_inputs(run.second.before)[0], run.after.head_inputs(run.second.after)[0]),
        )
    ]
    return Trial(
        (
            at_least("F_sep of the first head before growth", before, 0.0, tolerance=SOLVER),
            holds("prototypes, temperature and inputs of the first head are the same", all(same)),
            holds("the second head is there", bool(run.after.active[1]) and not bool(run.between.active[1])),
        ),
        (holds("F_sep of the first head increases", after > before),),
        {**at.witness(), "before": before, "after": after},
        parameters={"n": len(at.tokens), "d": at.axes.shape[1]},
    )


def _new_banks(key: Key) -> tuple[Measurement, ...]:
    """Measure the bank with which a head begins, for each rule on its scale, and at quantiles of the tokens."""
    rng = numpy_rng(key, "banks")
    inputs, spread, level = rng.normal(size=(7, 3)) + 2.0, rng.uniform(0.4, 0.9), rng.uniform(1.5, 2.5)
    u = rng.normal(size=3)
    u = u / np.linalg.norm(u)
    along = (inputs - inputs.mean(axis=0)) @ u
    places = {
        word: size * np.linspace(-1.0, 1.0, 4)
        for word, size in {"fixed": 1.0, "tokens": np.sqrt(np.mean(along**2)), "eigenvalue": level}.items()
    }
    places["quantiles"] = np.quantile(along, [1 / 8, 3 / 8, 5 / 8, 7 / 8])
    found = {word: bank_along(inputs, u, _rules(word, spread), level) for word in places}
    return tuple(
        agrees(f"the bank of a new head, {word}", found[word], inputs.mean(axis=0) + spread * np.outer(steps, u))
        for word, steps in places.items()
    ) + _random_head(key, inputs)


def _random_head(key: Key, inputs: np.ndarray) -> tuple[Measurement, ...]:
    """Measure that a random first head has the mean and the deviations of the tokens as its own, and sees all of them.

    A head that is grown beside it sees, if inputs are projected, the tokens' components along its direction.
    """
    rng = numpy_rng(key, "random head")
    scale, shift, m = rng.uniform(0.5, 2.0, 3), rng.normal(size=3), rng.normal(size=(3, 3))
    rules = GrowthRules(first="random", head_input="projected", capacity=2)
    started = lambda z: (flow := GrowingFlow(z, m, rules=rules), flow.start(key))
    moved = inputs * scale + shift
    (_, first), (flow, x) = started(inputs), started(moved)
    expected = moved.mean(axis=0) + (np.asarray(first.prototypes[0]) - inputs.mean(axis=0)) * scale
    after, y = grow(flow, 0.0, x)
    u = np.asarray(after.frames[1, 0])
    seen = np.stack([moved, np.outer(moved @ u, u)])
    return (
        agrees("the bank of a random first head for tokens in other units", x.prototypes[0], expected),
        agrees("what it and a grown head see, projected", after.head_inputs(y), seen),
    )


def _rules(word: str, spread: float) -> GrowthRules:
    """Return rules for banks at quantiles, or along a line with a scale."""
    own = {"birth": "quantiles"} if word == "quantiles" else {"scaling": word}
    return GrowthRules(prototypes=4, spread=spread, **own)  # pyright: ignore[reportArgumentType]


def _growth_trial(key: Key, *, moved: bool) -> Trial:
    """Measure the forces of heads at growth, those of the first head with inputs that may have moved out along u."""
    at, inputs = planted(key, "features"), ("shared", "projected")[int(numpy_rng(key, "inputs").integers(2))]
    run = _run(key, at)
    flows = [_with_rules(flow, at, head_input=inputs) for flow in (run.between, run.after)]
    before, after = _forces(flows[0], run.second.before), _forces(flows[1], run.second.after)
    first, x = after[0], run.second.after
    if moved:
        u = run.after.frames[1, 0]
        seen = expanded(flows[1].head_inputs(x)[0], u, jnp.asarray(1.0), run.after.data @ u)
        first = separation_force(x.prototypes[0], seen, run.after.temperatures(x)[0])
    size = 1 + float(before[0])
    count = [int(jnp.sum(flow.active)) for flow in (run.between, run.after)]
    return Trial(
        (
            at_least("F_sep of the first head before growth", before[0], 0.0, tolerance=SOLVER),
            holds("there is one head before, and there are two after", count == [1, 2]),
        ),
        (
            agrees("F_sep of the first head after growth", first, before[0]),
            at_least("F_sep of the second head", after[1], 0.0, tolerance=1e-9 * size),
            *_new_banks(key),
        ),
        {**at.witness(), "before": np.asarray(before), "after": np.asarray(after)},
        parameters={"n": len(at.tokens), "d": at.axes.shape[1], "inputs": inputs},
    )


@claim(
    "growing/corollary-2/corrected",
    # Inputs of the first head that gain their component along the new direction, as in Theorem 1.
    control=partial(_growth_trial, moved=True),
    num_trials=4,
    note="for shared and for projected inputs of heads",
)
def growth_keeps_the_force_of_heads(key: Key) -> Trial:
    """Changed: in the Algorithm growth preserves the force of every head that exists, exactly, and adds the positive
    force of the new head.
    """
    return _growth_trial(key, moved=False)
