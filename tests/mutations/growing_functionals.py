"""Errors in the functional, greedy growth, couplings and the flow, and the claims and tests that notice them."""

from tests.mutants import Mutant

FUNCTIONALS, GREEDY, COUPLINGS = (f"analysis.growing.{name}" for name in ("functionals", "greedy", "couplings"))
FLOW, EVENTS, GATE = (f"dynsim.systems.growing.{name}" for name in ("flow", "transitions", "gate"))
POTENTIAL = "growing/definition-2/corrected"
DESCENT = "growing/lemma-20/corrected"
BOUND = "growing/theorem-9/corrected"
NEW_TERMS = "growing/theorem-8-monotone/jumps"
PRUNED = "growing/lemma-22"
RUN = "growing/theorem-8-monotone/corrected"
PLANE = "growing/lemma-23/corrected"
COUPLED = "growing/corollary-12/weak-coupling"
COVERED = "growing/lemma-26/corrected"
ORDERED = "growing/lemma-28/corrected"
COUNTED = "growing/corollary-15"
HIERARCHY = "growing/lemma-26/hierarchy"

MUTANTS = (
    Mutant(
        "functional: the repaired potential does not vanish at T_min",
        FUNCTIONALS,
        "return (cubes - rules.least_temperature**3)",
        "return (cubes - 0 * rules.least_temperature**3)",
        (POTENTIAL,),
    ),
    Mutant(
        "functional: the potential is of T and not of its cube",
        FUNCTIONALS,
        "return (cubes - rules.least_temperature**3)",
        "return (jnp.cbrt(cubes) - rules.least_temperature)",
        (POTENTIAL, DESCENT),
    ),
    Mutant(
        "functional: without barrier and ridge",
        FUNCTIONALS,
        "return self.losses + self.penalties + self.potentials",
        "return self.losses + self.potentials",
        (DESCENT,),
    ),
    Mutant(
        "functional: heads that do not exist count",
        FUNCTIONALS,
        "on = lambda values: jnp.where(flow.active, values, 0.0)",
        "on = lambda values: values",
        (NEW_TERMS, PRUNED),
    ),
    Mutant(
        "functional: its rate leaves the temperatures out",
        FUNCTIONALS,
        "return self.state + self.temperatures + self.potentials",
        "return self.state + self.potentials",
        (DESCENT,),
    ),
    Mutant(
        "functional: clipped heads dissipate",
        FUNCTIONALS,
        "moving = flow.active & ~flow.clipped",
        "moving = flow.active",
        (DESCENT,),
    ),
    Mutant(
        "functional: jumps are taken from the start of a phase",
        FUNCTIONALS,
        "np.array([after[0] - before[-1] for before",
        "np.array([after[0] - before[0] for before",
        (RUN,),
    ),
    Mutant(
        "functional: activities are no part of the dissipation",
        FUNCTIONALS,
        "return self.encoder + self.prototypes + jnp.sum(self.activity)",
        "return self.encoder + self.prototypes",
        (BOUND,),
    ),
    Mutant(
        "greedy: the least energy leaves one plane too many out",
        GREEDY,
        'integer("count", count, least=0) :]',
        'integer("count", count, least=0) + 1 :]',
        (ORDERED, HIERARCHY),
    ),
    Mutant(
        "greedy: both members of a pair are listed",
        GREEDY,
        "values = paired_spectrum(antisymmetric_part(interaction)).values",
        "values = np.repeat(paired_spectrum(antisymmetric_part(interaction)).values, 2)",
        (HIERARCHY,),
    ),
    Mutant(
        "greedy: the square of the top value is compared with the threshold",
        GREEDY,
        "if top <= least:",
        "if top**2 <= least:",
        (COUNTED,),
    ),
    Mutant(
        "greedy: one square for each head",
        GREEDY,
        "return float(2 * np.sum(np.asarray(values) ** 2)",
        "return float(np.sum(np.asarray(values) ** 2)",
        (COVERED, HIERARCHY),
    ),
    Mutant(
        "greedy: coordinate axes are captured in place of the dominant directions",
        GREEDY,
        "rows = np.vstack([rows, np.asarray(dominant_plane(a))[:1]])",
        "rows = np.vstack([rows, np.eye(m.shape[0])[len(rows)][None]])",
        (COVERED,),
    ),
    Mutant(
        "couplings: the third part depends on the ratio alone",
        COUPLINGS,
        "third = rates.prototypes * found.cross",
        "third = found.cross",
        (COUPLED,),
    ),
    Mutant(
        "couplings: the whole rate of the prototypes in c_0",
        COUPLINGS,
        "least = min(rates.encoder * found.encoder[0], rates.prototypes * found.prototypes[0] / 2)",
        "least = max(rates.encoder * found.encoder[0], rates.prototypes * found.prototypes[0] / 2)",
        (COUPLED,),
    ),
    Mutant(
        "growing flow: T is integrated at the rate of its cube",
        FLOW,
        "factor = 3 * self.temperature_rate",
        "factor = self.temperature_rate",
        (POTENTIAL, DESCENT),
    ),
    Mutant(
        "growing flow: clipped temperatures move on",
        FLOW,
        "warm = self.active & ~self.clipped",
        "warm = self.active",
        (POTENTIAL,),
    ),
    Mutant(
        "growing flow: the encoder does not descend its regulariser",
        FLOW,
        "jax.tree.map(jnp.add, pull(by_embeddings)[0], jax.grad(self.penalty)(theta))",
        "jax.tree.map(jnp.add, pull(by_embeddings)[0], jax.tree.map(jnp.zeros_like, theta))",
        (DESCENT,),
    ),
    Mutant(
        "growing flow: the wrong head is pruned",
        EVENTS,
        "active=placed(active, head, False),",
        "active=placed(active, 0, False),",
        (PRUNED,),
    ),
    Mutant(
        "growing flow: the gate is not normalised",
        GATE,
        "return pull - jnp.dot(w, pull) * w\n",
        "return pull - w\n",
        (PLANE,),
    ),
    Mutant(
        "growing gate: the residual is applied twice without a transpose",
        GATE,
        "matrix.T @ (matrix @ w)",
        "matrix @ (matrix @ w)",
        tests=("tests/test_growing.py::test_the_velocity_of_a_gate_is_its_formula",),
    ),
    Mutant(
        "growing couplings: the largest eigenvalue is the second one",
        COUPLINGS,
        "float(kept[0]), float(kept[-1])",
        "float(kept[0]), float(kept[1])",
        tests=("tests/test_growing_functionals.py::test_the_range_of_a_block_leaves_zeros_out",),
    ),
    Mutant(
        "step sizes: (E1) has no factor 3",
        "analysis.growing.step_sizes",
        "m.least_temperature**3 / (3 * m.activity)",
        "m.least_temperature**3 / m.activity",
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "step sizes: (E2) has 1 for 2",
        "analysis.growing.step_sizes",
        'below("E2", rates.prototypes, 2 / m.lipschitz)',
        'below("E2", rates.prototypes, 1 / m.lipschitz)',
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "step sizes: (E3) has no root",
        "analysis.growing.step_sizes",
        'below("E3", rates.prototypes, math.sqrt(curvature))',
        'below("E3", rates.prototypes, curvature)',
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "step sizes: (E4) accepts the power 1/2",
        "analysis.growing.step_sizes",
        "0.5 < gate.power <= 1.0",
        "0.5 <= gate.power <= 1.0",
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "step sizes: (E6) is not strict",
        "analysis.growing.step_sizes",
        "least_steps > wait",
        "least_steps >= wait",
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "step sizes: (E5) looks at the first step",
        "analysis.growing.step_sizes",
        "rates.prototypes / gate.at(num_steps - 1)",
        "rates.prototypes / gate.at(0)",
        ("growing/corollary-9/corrected",),
    ),
    Mutant(
        "greedy: the share of the energy counts one square for each plane",
        "analysis.growing.greedy",
        "return float(2 * np.sum(np.asarray(values) ** 2) / squared_norm",
        "return float(np.sum(np.asarray(values) ** 2) / squared_norm",
        ("growing/experiment-1-coverage/corrected",),
    ),
    Mutant(
        "functional: the least rise of a phase counts",
        FUNCTIONALS,
        "np.max(np.diff(v), initial=-np.inf)",
        "np.min(np.diff(v), initial=np.inf)",
        (RUN,),
    ),
    Mutant(
        "couplings: the largest curvature of the prototypes in c_0",
        COUPLINGS,
        "rates.prototypes * found.prototypes[0] / 2",
        "rates.prototypes * found.prototypes[1] / 2",
        (COUPLED,),
    ),
    Mutant(
        "couplings: the first part has no rate of the prototypes",
        COUPLINGS,
        "first = gate * rates.prototypes * (rates.prototypes / rates.gate)",
        "first = gate * (rates.prototypes / rates.gate)",
        (COUPLED,),
    ),
    Mutant(
        "spectra: the rows of a plane are exchanged",
        "analysis.growing.residuals",
        "np.stack([top.real, top.imag], axis=1)",
        "np.stack([top.imag, top.real], axis=1)",
        (ORDERED,),
    ),
    Mutant(
        "residual: the second row of the dominant plane has the other sign",
        "dynsim.systems.growing.residual",
        "    w = a @ v\n",
        "    w = a.T @ v\n",
        ("growing/equation-3/features",),
    ),
)
