"""Claims on the layer (1.1) in floats: how far its follower sets are those of exact arithmetic, and how far tokens are.

The claims of the paper are decided in fractions; what is simulated in floats rests on these.
"""

from fractions import Fraction
from functools import partial

import numpy as np

from analysis.claims.hardmax.instances.clouds import case
from analysis.claims.rational_instances import integers, matrix
from analysis.ledger.claim import certified
from analysis.ledger.evidence import Measurement, Trial, holds
from dynsim._core.types import Key
from dynsim.simulation.hardmax import CertainLayers, iterate_hardmax
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap
from dynsim.systems.hardmax.reuse import NormBounds, ReusedFollowerSets

LAYERS = 21  # a multiple of EVERY
EVERY = 3


class FloatRun:
    """A run in floats, layer by layer, beside the run of exact arithmetic from the same numbers."""

    def __init__(self, map: HardmaxMap, x: np.ndarray):
        self.map, self.exact, self.z = map, ExactHardmaxMap(map.alpha, map.rule.attention), map.rule.tokens(x)
        self.exponent = int(np.frexp(np.max(np.abs(self.z)))[1])
        share = float(map.alpha / (1 + map.alpha))
        self.reused = ReusedFollowerSets(map.rule, share, NormBounds(map.rule, self.exponent), rounding=True)
        self.proof = CertainLayers(map, self.z, self.reused)

    def counted(self, error: Fraction = Fraction(0)) -> bool:
        """Return whether the next layer is called certain if tokens are only known up to an `error`, and take it."""
        before = self.proof.certain
        if error:
            self.proof.error = float(error / Fraction(2) ** self.exponent)
        sets = self.reused.follower_sets(self.z)
        self.proof.add_layer(self.z, sets)
        self.z = self.map.moved(self.z, sets)
        return self.proof.certain > before


def _deviations(name: str, map: HardmaxMap, x: np.ndarray, *, certain: bool) -> tuple[Measurement, ...]:
    """Measure the bound of the error of tokens, and follower sets, in the layers that are called certain, or in all."""
    found = FloatRun(map, x)
    exact = found.exact.rule.tokens(found.z)
    bounded, same, largest = True, True, Fraction(0)
    for _ in range(LAYERS):
        sets = map.follower_sets(found.z)
        if not found.counted() and certain:
            break
        same = same and found.exact.follower_sets(exact).same_as(sets)
        exact = found.exact.step(0, exact)
        away = max((p - q) @ (p - q) for p, q in zip(matrix(found.z), exact, strict=True))
        bound = Fraction(found.proof.error) * Fraction(2) ** found.exponent
        bounded, largest = bounded and away <= bound**2, max(largest, away)
    number = found.proof.certain
    return (
        holds(f"{name}: the follower sets of certain layers are exact", same and number > 0),
        holds(f"{name}: the distance from the exact tokens is at most its bound", bounded and largest > 0),
        holds(f"{name}: `iterate_hardmax` counts as many", iterate_hardmax(map, x, LAYERS).certain == number),
    )


def _collapsing(key: Key) -> tuple[HardmaxMap, np.ndarray]:
    """Return tokens that are equal to a leader in floats after four layers, in which they stay distinct."""
    a, b, c = (int(v) for v in integers(key, (3,), 1, 60))
    return HardmaxMap(float(10**5 + a)), np.array([[4.0, 0.0], [2 + b / 97, 1.3], [1.0, -1 - c / 89]])


def _at_once(key: Key) -> tuple[HardmaxMap, np.ndarray]:
    """Return such tokens that are equal after the first layer, before which all gaps of scores are large."""
    return HardmaxMap(1e17), _collapsing(key)[1]


def _unstable(key: Key) -> tuple[HardmaxMap, np.ndarray]:
    """Return two tokens that follow each other, at alpha = -13/4: differences, and errors, grow by the factor 17/9.

    Scores are -x_i x_j. The second coordinates are nearly equal, so that their rounding errors grow for 20 layers while
    the tokens stay of order one.
    """
    a, b = (int(v) for v in integers(key, (2,), 1, 60))
    tilt, height = 2.0**-22 * (1 + a / 61), 1 / 3 + b / 1024
    return HardmaxMap(-3.25, [[-1, 0], [0, 0]]), np.array([[tilt, height], [-tilt, height + 2.0**-24 * (1 + b / 67)]])


def _long_numbers(key: Key) -> tuple[HardmaxMap, np.ndarray]:
    """Return a leader and a follower with odd multiples of 2^-51 as coordinates, and alpha = 1: halves need 54 bits."""
    odd = lambda k: (2 * int(k) + 1) / 2**51
    a, b, c = (int(v) for v in integers(key, (3,), 1, 2**20))
    return HardmaxMap(1.0), np.array([[1 + odd(a), odd(b)], [0.5 + odd(c), 0.25 + odd(a + b)]])


def _mean_of_three(key: Key) -> tuple[HardmaxMap, np.ndarray]:
    """Return short dyadic numbers of which a zero token takes the mean over three, which is no multiple of 2^-k."""
    a, b = (int(v) for v in integers(key, (2,), 0, 8))
    return HardmaxMap(1.0), np.array([[0.0, 0.0], [1.0, (3 * a + 1) / 8], [-0.5, (3 * b) / 8]])


def _sharp(key: Key) -> tuple[Measurement, ...]:
    """Measure that a layer is certain only if no error of the tokens changes its sets, and how sharp the bound is.

    A = I, z_i = (1, 0), z_j = (M + d, 1), z_k = (M - d, -1) with M = 1 + 4 d, times s; d and s are dyadic. Of these z_i
    follows z_j. Displaced by d / 2 in the least favourable way, the tokens have <z_i, z_j> = <z_i, z_k>. By the bound
    an error e changes their difference 2 d by at most 2 e (L + e) + 2 e with L^2 = (M + d)^2 + 1 <= 2 (1 + 3 d)^2. This
    is below 2 d for e = (1 - 8 d) d / (1 + sqrt 2).
    """
    a, b = (int(v) for v in integers(key, (2,), 0, 60))
    d, s = Fraction(1, 2 ** (7 + a % 4)), (1 + Fraction(b % 8, 8)) * Fraction(2) ** (b % 5 - 2)
    M, half = 1 + 4 * d, d / 2
    x = s * matrix([[1, 0], [M + d, 1], [M - d, -1]])
    moved = s * matrix([[1, -half], [M + half, 1], [M - half, -1]])
    exact, counted = ExactHardmaxMap(1), lambda error: FloatRun(HardmaxMap(1), x.astype(float)).counted(error)
    below = s * d * (1 - 8 * d) * Fraction(41421, 100000)  # 1 / (1 + sqrt 2) = .414213...
    return (
        holds(
            "an error of d / 2 changes a follower set", not exact.follower_sets(moved).same_as(exact.follower_sets(x))
        ),
        holds("with that error no layer is certain", not counted(s * half)),
        holds("with the largest error that the bound allows it is", counted(below)),
    )


def _thinned(key: Key) -> Measurement:
    """Measure that every `EVERY`-th state that is kept, with its layer, is that of a run of which all are kept."""
    given = case(key)
    run = lambda every: iterate_hardmax(given.map, given.tokens, LAYERS, every=every)
    every, some = run(1), run(EVERY)
    same = np.array_equal(some.path.ys, every.path.ys[::EVERY]) and np.array_equal(some.gaps, every.gaps)
    times = np.array_equal(some.path.ts, np.arange(LAYERS + 1)[::EVERY]) and len(every.path.ys) == LAYERS + 1
    return holds(f"every {EVERY}th state is that of the same layer", same and times and some.certain == LAYERS)


RUNS = {
    "collapse": _collapsing,
    "collapse at once": _at_once,
    "growing errors": _unstable,
    "long numbers": _long_numbers,
    "thirds": _mean_of_three,
}


def _floats_trial(key: Key, names: tuple[str, ...], *, certain: bool) -> Trial:
    runs = {name: RUNS[name](key) for name in names}
    return Trial(
        hypotheses=(holds("no step is -1", all(map.alpha != -1 for map, _ in runs.values())),),
        conclusions=(
            *(m for name, (map, x) in runs.items() for m in _deviations(name, map, x, certain=certain)),
            *_sharp(key),
            _thinned(key),
        ),
        witness={name: {"alpha": map.alpha, "tokens": x} for name, (map, x) in runs.items()},
        parameters={"layers": LAYERS, "runs": len(runs)},
    )


certain_layers_are_those_of_exact_arithmetic = certified(
    "hardmax/equation-2.5/floats",
    statement="""
    In floats the follower sets of (1.1) are those of exact arithmetic in all layers that `iterate_hardmax` calls
    certain, and the distance of every token from its exact value is at most the bound of its error.

    A layer is called certain only if no displacement of the tokens by that bound changes its sets.
    """,
    trial=lambda key: _floats_trial(key, tuple(RUNS), certain=True),
    # In all layers, certain or not, of a run in which tokens become equal in floats.
    control=partial(_floats_trial, names=("collapse",), certain=False),
    variant="reading",
    num_trials=8,
    note="what is simulated in floats rests on this; in runs that collapse, in which errors grow in each layer, and in "
    "which the first layer rounds; compared with fractions from the same binary numbers",
)
