"""Errors in the fast-slow systems that ship, in branches, folds and limits, with the claims that notice them."""

from tests.quality.mutants import Mutant

CLOSED = "multirate/claim-qss-reduction/examples"
ERRORS = "multirate/claim-qss-reduction"

# fmt: off
MUTANTS = (
    Mutant("multirate: the cubic of van der Pol's oscillator has another sign", "_cubic",
           "x**3 / 3 - x", "x**3 / 3 + x", (CLOSED,)),
    Mutant("multirate: the complex of the Michaelis-Menten reaction does not decay", "_binding",
           "(1 - x) * (y - x) - SATURATION * x", "(1 - x) * (y - x)", (CLOSED,)),
    Mutant("multirate: the substrate of the Michaelis-Menten reaction is produced", "_conversion",
           "-TURNOVER", "TURNOVER", (CLOSED,)),
    Mutant("multirate: the rates of the switching chain are exchanged", "generator",
           "up, down = 1 + jnp.exp(y), 1 + jnp.exp(-y)", "down, up = 1 + jnp.exp(y), 1 + jnp.exp(-y)", (CLOSED,)),
    Mutant("multirate: the slow force of the switching chain has no friction", "_mean_force",
           "x[0] - x[1] - y / 2", "x[0] - x[1]", (CLOSED,)),
    Mutant("multirate: the transcritical system has a pitchfork", "_crossing",
           "x * (y - x)", "x * (y - x**2) / 2", (CLOSED,)),
    Mutant("multirate: the example of saddle type attracts", "_stretching", "x[1] - y", "y - x[1]", (CLOSED,)),
    Mutant("multirate: the linear example relaxes to -y", "_relaxing", "y - x", "-y - x", (CLOSED,)),
    Mutant("multirate: examples decay in y in place of x", "_minus_fast",
           "del y\n"
           "return -x", "return -x + (y - x) / 2", (CLOSED,)),
    Mutant("multirate: the boundary layer of a reduction lacks its logarithm", "reduction_error",
           "layers * ratios * np.log(1 / ratios)", "layers * ratios", (ERRORS,)),
    Mutant("multirate: the attraction of a reduction is the largest on the path", "_attraction",
           "np.min", "np.max", (ERRORS,)),
    Mutant("multirate: errors of a reduction include the boundary layer", "_errors", "part[1:]", "part", (ERRORS,)),
    Mutant("multirate: the slow error of a reduction is the fast one", "_errors",
           "full.slow - reduced.slow", "full.fast - reduced.fast", (ERRORS,)),
    Mutant("multirate: the first-order term is added twice", "_errors", "off - shift", "off - 2 * shift", (ERRORS,)),
    Mutant("multirate: the fast limit is the quasi-steady state near the start", "fast_limit",
           "limit.state", "start.fast", (ERRORS,)),
    Mutant("multirate: stable branches are called repelling", "KINDS",
           '{"stable": "attracting", "unstable": "repelling", "saddle": "saddle", "undecided": "undecided"}',
           '{"stable": "repelling", "unstable": "attracting", "saddle": "saddle", "undecided": "undecided"}',
           (ERRORS,)),
    Mutant("multirate: a branch ends a step before its fold", "_Stretch.parts",
           "[*part.points, FastSlow(fold.fast, fold.slow)]", "part.points", (ERRORS,)),
    Mutant("multirate: folds are taken for crossings", "fold_near",
           "transversality > TRANSVERSE", "transversality < TRANSVERSE", (ERRORS,)),
    Mutant("multirate: a fold lies at the last point of the path before it", "fold_near",
           "float(offset)", "np.floor(float(offset))", (ERRORS,)),
    Mutant("multirate: a branch that turns is taken for lost", "_Stretch.parts",
           "self._fold(at, ahead) if at else None", "None", (ERRORS,)),
)
# fmt: on
