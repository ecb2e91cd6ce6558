"""Claims of Lemmas 23 and 24: the gate and the temperatures against their limits."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.growing.instances.interactions import blocks, rotated
from analysis.claims.growing.instances.measured import measured
from analysis.claims.growing.section_11.events import FRAMES, small_flow
from analysis.claims.growing.section_11.limits import pair_of_prototypes, symmetric_interval
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Trial, agrees, at_least, at_most, equal, holds
from dynsim._core.types import Key
from dynsim.integrators import AbstractIntegrator
from dynsim.keys import numpy_rng
from dynsim.simulation.growing import simulate_growing
from dynsim.systems.growing.gate import GateFlow
from dynsim.systems.growing.residual import dominant_plane
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.losses import PrototypeLoss

NORMALISATIONS = ("oja", "exin")


@certified(
    "growing/lemma-23",
    num_trials=4,
    note="singular values of A_res come in pairs: the gap lambda_1 - lambda_2 of (50) is 0, read as the gap of the "
    "planes here; v_1 is any unit vector of the top plane, all of which are equilibria of the gate. (51) is trivially "
    "true: on a dwell interval W does not depend on the gate",
)
def gate_tracks_one_vector(key: Key) -> Trial:
    """There are v_1 and C_gate, which depend on A_res alone, with |u(t) - v_1| <= C_gate eps_1 after a transient.

    The instance: a gap between the first two pairs, and gates at e_1 and at e_2, in the top plane, which rest there. Of
    any line, one of the two has a distance of at least sqrt(2 - sqrt 2) > 3/4 from its unit vectors, whatever eps_1.
    """
    rng = numpy_rng(key, "instance")
    low = Fraction(int(rng.integers(1, 20)), 4)
    s, C = low + Fraction(int(rng.integers(1, 20)), 4), Fraction(int(rng.integers(1, 100)))
    epsilon = Fraction(1, 2) / C
    a = blocks([s, low])
    flows = [GateFlow(a, word, rate=float(1 / epsilon)) for word in NORMALISATIONS]
    speeds = [float(jnp.max(jnp.abs(f.velocity(0.0, jnp.eye(4)[k])))) for f in flows for k in (0, 1)]
    plane = dominant_plane(a)
    apart = 2 - Fraction(23, 16)  # below 2 - sqrt 2, the square of the distance
    return Trial(
        hypotheses=(
            holds("a gap between the pairs", s > low > 0),
            agrees("projection on the top plane", plane.T @ plane, np.diag([1.0, 1.0, 0.0, 0.0])),
            equal("largest speed of the gates at e_1 and e_2", max(speeds), 0.0, tolerance=ROUNDING),
            holds("the bound of the distance", Fraction(23, 16) ** 2 > 2 and apart == Fraction(9, 16)),
        ),
        conclusions=(holds("both are within C_gate eps_1 of one line's unit vectors", apart <= (C * epsilon) ** 2),),
        witness={"s": s, "r": low, "C_gate": C, "eps_1": epsilon, "squared distance": apart},
    )


def _plane_trial(key: Key, rate_of: Callable[[float, float], float]) -> Trial:
    """Compare the slope of a gate against the top plane with a rate, on w = exp(eta E t) w_0 over its length.

    That this curve solves the flow that ships is measured: its derivative against the velocity, at each time.
    """
    rng = numpy_rng(key, "gate")
    s = np.array([2.0, 1.0, 0.5]) * rng.uniform(0.8, 1, size=3)
    word, eta = NORMALISATIONS[int(rng.integers(2))], rng.uniform(0.5, 5)
    a = rotated(rng, s)
    a = (a - a.T) / 2
    flow, plane = GateFlow(a, word, rate=eta), dominant_plane(a)
    squares, vectors = np.linalg.eigh(a.T @ a)
    start = vectors.T @ rng.normal(size=6)
    # a part in the third plane that is no longer than that in the second changes the rate at the end by 3% at most
    start[:2] *= min(1.0, np.linalg.norm(start[2:4]) / np.linalg.norm(start[:2]))
    gap = eta * rate_of(s[0], s[1])
    ts = np.array([0.0, 3.0, 6.0, 9.0]) / gap
    shrunk = [np.exp(eta * (squares - squares[-1]) * t) * start for t in ts]
    gates = np.array([vectors @ v / np.linalg.norm(v) for v in shrunk])
    pulls = gates @ (a.T @ a).T
    length = rng.uniform(1.1, 2.0)
    moved = eta * (pulls - np.sum(gates * pulls, axis=1)[:, None] * gates)
    radial = eta * np.sum(gates * pulls, axis=1)[:, None] * gates
    inside = gates @ plane.T
    slopes = np.linalg.norm(gates - inside @ plane, axis=1) / np.linalg.norm(inside, axis=1)
    there = inside[0] / np.linalg.norm(inside[0]) @ plane
    return Trial(
        hypotheses=(
            at_least("gap between the pairs", s[0] - s[1], 0.0, tolerance=ROUNDING),
            at_least("part of the start in the plane", np.linalg.norm(inside[0]), 0.0, tolerance=1e-2),
        ),
        conclusions=(
            agrees(
                "velocities of the gate, against the curve's",
                [flow.velocity(0.0, jnp.asarray(w)) for w in gates],
                moved,
            ),
            agrees(
                "velocities at a length that is not 1",
                [flow.velocity(0.0, jnp.asarray(length * w)) for w in gates],
                moved / length if word == "exin" else length * moved + (length - length**3) * radial,
            ),
            agrees(
                "growth of a length that is not 1, by each rule",
                [w @ np.asarray(flow.velocity(0.0, jnp.asarray(length * w))) for w in gates],
                eta * np.sum(gates * pulls, axis=1) * length * (1 - length**2) * (word == "oja"),
            ),
            at_most(
                "slope times exp(rate t), over its start",
                np.max(slopes / slopes[0] * np.exp(gap * ts)),
                1.0,
                tolerance=1e-9,
            ),
            equal("rate at the end", np.log(slopes[2] / slopes[3]) / (ts[3] - ts[2]) / gap, 1.0, tolerance=0.1),
            at_most(
                "distance from the projected start, over the slope",
                np.linalg.norm(gates[-1] - there) / slopes[-1],
                1.0,
                tolerance=1e-9,
            ),
        ),
        witness={"A": a, "start": gates[0], "slopes": slopes},
        parameters={"normalisation": word},
    )


gate_tends_to_the_top_plane = claim(
    "growing/lemma-23/corrected",
    statement="On a dwell interval the tangent of the angle between gate and top plane is at most its start times "
    "exp(-eta_+ (s_1^2 - s_3^2) t), and the gate tends to the normalised projection of its start on the plane.",
    trial=partial(_plane_trial, rate_of=lambda s, r: s**2 - r**2),
    # The rate eta_+ (s_1 - s_3)^2, the square of the printed gap.
    control=partial(_plane_trial, rate_of=lambda s, r: (s - r) ** 2),
    num_trials=6,
    note="changed: the top plane, s_3 being the value of the second pair, and the exponential rate of a fixed A_res, "
    "which does not change on a dwell interval. For every start that is not orthogonal to the plane; those that are "
    "stay so",
)


@certified(
    "growing/lemma-24",
    num_trials=2,
    note="sigma falls by orders of magnitude on the way, since assignments harden: at the t* of the initial sigma the "
    "temperature is far above T_min, by a margin that does not depend on the rates. At fixed P the only rest point is "
    "T_min. Mode full, fixed embeddings",
)
def temperatures_track_their_limit(key: Key) -> Trial:
    """There is C_temp, which does not depend on the rates, with |T(t) - T_inf| <= C_temp eps_2 for all t >= t*.

    The instance: tokens at -z and z, prototypes at -p and p, which stay in an interval. With y = 4 z p, sigma = y^2 /
    (4 cosh^2(y / 2 T)), which is at most y_0^2 e^{-30} for T <= y_0 / 30, y_0 being the least y; the
    way from y_0 / 30 to y_0 / 60 = 2 T_min takes longer than t*.
    """
    at = symmetric_interval(key)
    y, top = 4 * at.z * at.least, 4 * at.z * at.largest
    hot, warm, cool = top, y / 30, y / 60
    coldest, first = cool / 2, y**2 / Fraction(51, 10)
    small = y**2 / Fraction(27, 10) ** 30
    arrival = (hot**3 - coldest**3) / (3 * first)
    longer = (warm**3 - cool**3) / (3 * small)
    C = Fraction(int(numpy_rng(key, "constant").integers(1, 1000)))
    eta = at.barrier / 4
    epsilon = min((cool - coldest) / (2 * C), Fraction(1, 10))
    rules = GrowthRules(2.0, capacity=1, prototypes=2, initial_temperature=float(hot), least_temperature=float(coldest))
    loss, z = PrototypeLoss("full", barrier=float(at.barrier), reduction="mean"), float(at.z)
    sigma, speeds = {}, []
    for p, sign in ((float(at.least), 1), (float(at.largest), -1)):
        for T in (hot, warm, cool):
            state = pair_of_prototypes([[-z, 0.0], [z, 0.0]], p, p, float(T), rules=rules, loss=loss, rate=float(eta))
            v, found = measured(*state)
            sigma[p, T] = float(found[0])
            speeds.append(sign * float(v.prototypes[0, 1, 0]))
    late = max(value for (_, T), value in sigma.items() if hot != T)
    return Trial(
        hypotheses=(
            holds("lambda > 2 eta_P C(2, 2)", at.barrier > 2 * eta),
            holds("the interval is invariant", at.invariant),
            at_least("least inward speed of the flow that ships", min(speeds), 0.0, tolerance=ROUNDING),
            at_least(
                "its initial sigma over y_0^2 / 5.1", sigma[float(at.least), hot] / float(first), 1.0, tolerance=1e-3
            ),
            at_most("its sigma below y_0 / 30, over the bound", late / float(small), 1.0, tolerance=1e-3),
        ),
        conclusions=(holds("T - T_min <= C_temp eps_2 at t*", longer < arrival or cool - coldest <= C * epsilon),),
        witness={**at.witness(), "T": (coldest, cool, warm, hot), "eta_T t*": arrival, "longer": longer}
        | {"C_temp": C, "eps_2": epsilon},
    )


def _arrival_trial(key: Key, integrator: AbstractIntegrator, *, initial: bool) -> Trial:
    """Follow one head of symmetric prototypes to T_min; compare the time with t* of the least or the initial sigma."""
    rng = numpy_rng(key, "line")
    z, p = rng.uniform(0.45, 0.55), rng.uniform(0.6, 0.7)
    data = z * np.array([1.0, -1.0, 1.0, -1.0, 0.0])[:, None] * np.eye(4)[:1]
    flow = small_flow(data, blocks([0.2, 0.1]), least=0.3)
    x = flow.start(key)._replace(encoder=jnp.eye(4))
    x = x._replace(prototypes=x.prototypes.at[0].set(p * jnp.asarray([[-1.0], [1.0]]) * jnp.eye(4)[:1]))
    path = simulate_growing(flow, x, np.linspace(0.0, 400.0, FRAMES), integrator=integrator)
    ends = path.times("clip")
    before = path.phases[0]
    sigma = np.array(
        [float(measured(flow, jax.tree.map(lambda y, k=k: y[k], before.ys))[1][0]) for k in range(len(before.ts))]
    )
    T = np.array([1.0, 0.3])
    span = (T[0] ** 3 - T[1] ** 3) / (3 * float(flow.temperature_rate))
    after = np.concatenate([np.asarray(phase.ys.cubes[:, 0]) for phase in path.phases[1:]])
    return Trial(
        hypotheses=(
            at_least("sigma before the clip", np.min(sigma), 0.0, tolerance=1e-4),
            equal("clips", len(ends), 1, tolerance=0.0),
        ),
        conclusions=(
            at_most(
                "time of arrival over t*",
                ends[0] * (sigma[0] if initial else np.min(sigma)) / span,
                1.0,
                tolerance=SOLVER,
            ),
            at_most("largest T^3 - T_min^3 after it", np.max(np.abs(after - 0.3**3)), 0.0, tolerance=ROUNDING),
        ),
        witness={"sigma": sigma, "arrival": ends[0]},
        parameters={"sigma at the end over the start": float(sigma[-1] / sigma[0])},
    )


temperatures_rest_at_the_least_one = claim(
    "growing/lemma-24/corrected",
    statement="With sigma_0 > 0 the least activity until the clip, T = T_min for all t >= t* = (T_init^3 - T_min^3) / "
    "(3 eta_T sigma_0).",
    trial=partial(_arrival_trial, initial=False),
    control=partial(_arrival_trial, initial=True),  # The initial activity in t*.
    num_trials=2,
    note="changed: sigma_0 in t* is the least sigma until then, and the deviation is 0, for any eps_2. Mode full, "
    "symmetric tokens, sigma falling along the way; a head with sigma = 0 keeps its temperature",
)
