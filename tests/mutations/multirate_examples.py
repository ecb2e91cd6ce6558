"""Errors in the fast-slow systems that ship, in branches, folds and limits, with the claims that notice them."""

from tests.mutants import Mutant

EXAMPLES = "dynsim.systems.fast_slow.examples"
MANIFOLD = "analysis.fast_slow.critical_manifold"
FOLDS = "analysis.fast_slow.folds"
STRETCHES = "analysis.fast_slow.stretches"
STATES = "analysis.fast_slow.quasi_steady_states"
REDUCTIONS = "analysis.fast_slow.reductions"

CLOSED = "multirate/claim-qss-reduction/examples"
ERRORS = "multirate/claim-qss-reduction"

MUTANTS = (
    Mutant(
        "multirate: the cubic of van der Pol's oscillator has another sign",
        EXAMPLES,
        "return y - (x**3 / 3 - x)",
        "return y - (x**3 / 3 + x)",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the complex of the Michaelis-Menten reaction does not decay",
        EXAMPLES,
        "return (1 - x) * (y - x) - SATURATION * x",
        "return (1 - x) * (y - x)",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the substrate of the Michaelis-Menten reaction is produced",
        EXAMPLES,
        "return -TURNOVER * x",
        "return TURNOVER * x",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the rates of the switching chain are exchanged",
        EXAMPLES,
        "up, down = 1 + jnp.exp(y), 1 + jnp.exp(-y)",
        "down, up = 1 + jnp.exp(y), 1 + jnp.exp(-y)",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the slow force of the switching chain has no friction",
        EXAMPLES,
        "return x[0] - x[1] - y / 2",
        "return x[0] - x[1]",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the transcritical system has a pitchfork",
        EXAMPLES,
        "return x * (y - x)",
        "return x * (y - x**2) / 2",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the example of saddle type attracts",
        EXAMPLES,
        "return jnp.stack([y - x[0], x[1] - y])",
        "return jnp.stack([y - x[0], y - x[1]])",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the linear example relaxes to -y",
        EXAMPLES,
        "return y - x\n",
        "return -y - x\n",
        (CLOSED,),
    ),
    Mutant(
        "multirate: examples decay in y in place of x",
        EXAMPLES,
        "def _minus_fast(x: Part, y: Part) -> Part:\n    del y\n    return -x",
        "def _minus_fast(x: Part, y: Part) -> Part:\n    return -x + (y - x) / 2",
        (CLOSED,),
    ),
    Mutant(
        "multirate: the boundary layer of a reduction lacks its logarithm",
        REDUCTIONS,
        "layer_ends = layers * ratios * np.log(1 / ratios) / gap",
        "layer_ends = layers * ratios / gap",
        (ERRORS,),
    ),
    Mutant(
        "multirate: the attraction of a reduction is the largest on the path",
        REDUCTIONS,
        "return float(np.min(rates))",
        "return float(np.max(rates))",
        (ERRORS,),
    ),
    Mutant(
        "multirate: errors of a reduction include the boundary layer",
        REDUCTIONS,
        "largest = lambda part: jnp.max(jnp.abs(part[1:]))",
        "largest = lambda part: jnp.max(jnp.abs(part))",
        (ERRORS,),
    ),
    Mutant(
        "multirate: the slow error of a reduction is the fast one",
        REDUCTIONS,
        "largest(full.slow - reduced.slow), largest(off)",
        "largest(full.fast - reduced.fast), largest(off)",
        (ERRORS,),
    ),
    Mutant(
        "multirate: the first-order term is added twice",
        REDUCTIONS,
        "largest(off), largest(off - shift)",
        "largest(off), largest(off - 2 * shift)",
        (ERRORS,),
    ),
    Mutant(
        "multirate: the fast limit is the quasi-steady state near the start",
        STATES,
        "return quasi_steady_state(flow, start.slow, limit.state)",
        "return quasi_steady_state(flow, start.slow, start.fast)",
        (ERRORS,),
    ),
    Mutant(
        "multirate: stable branches are called repelling",
        MANIFOLD,
        '"stable": "attracting", "unstable": "repelling"',
        '"stable": "repelling", "unstable": "attracting"',
        (ERRORS,),
    ),
    Mutant(
        "multirate: a branch ends a step before its fold",
        STRETCHES,
        "Curve([*part.points, FastSlow(fold.fast, fold.slow)], ",
        "Curve(part.points, ",
        (ERRORS,),
    ),
    Mutant(
        "multirate: folds are taken for crossings",
        FOLDS,
        "and transversality > TRANSVERSE and ahead)",
        "and transversality < TRANSVERSE and ahead)",
        (ERRORS,),
    ),
    Mutant(
        "multirate: a fold lies at the last point of the path before it",
        FOLDS,
        "at = left + float(offset)",
        "at = left + np.floor(float(offset))",
        (ERRORS,),
    ),
    Mutant(
        "multirate: a branch that turns is taken for lost",
        STRETCHES,
        "fold = self._fold(at, ahead) if at else None",
        "fold = None",
        (ERRORS,),
    ),
)
