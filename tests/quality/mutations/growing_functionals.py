"""Errors in the functional, greedy growth, couplings and the flow, and the claims that notice them."""

from tests.quality.mutants import Mutant

POTENTIAL = "growing/definition-2/corrected"
DESCENT = "growing/lemma-20/corrected"
PRUNED = "growing/lemma-22"
RUN = "growing/theorem-8-monotone/corrected"
COUPLED = "growing/corollary-12/weak-coupling"
COVERED = "growing/lemma-26/corrected"
ORDERED = "growing/lemma-28/corrected"
HIERARCHY = "growing/lemma-26/hierarchy"

# fmt: off
MUTANTS = (
    Mutant("functional: the repaired potential does not vanish at T_min", "temperature_potential",
           "rules.least_temperature**3", "0 * rules.least_temperature**3", (POTENTIAL,)),
    Mutant("functional: the potential is of T and not of its cube", "temperature_potential",
           "cubes - rules.least_temperature**3", "jnp.cbrt(cubes) - rules.least_temperature", (POTENTIAL, DESCENT)),
    Mutant("functional: without barrier and ridge", "Terms.heads",
           "self.losses + self.penalties", "self.losses", (DESCENT,)),
    Mutant("functional: heads that do not exist count", "free_energy_terms",
           "jnp.where(flow.active, values, 0.0)", "values", ("growing/theorem-8-monotone/jumps", PRUNED)),
    Mutant("functional: its rate leaves the temperatures out", "FunctionalDerivative.total",
           "self.state + self.temperatures", "self.state", (DESCENT,)),
    Mutant("functional: clipped heads dissipate", "rate_of_change",
           "flow.active & ~flow.clipped", "flow.active", (DESCENT,)),
    Mutant("functional: jumps are taken from the start of a phase", "energy_along", "before[-1]", "before[0]", (RUN,)),
    Mutant("functional: activities are no part of the dissipation", "FunctionalDerivative.dissipation",
           "self.encoder + self.prototypes + jnp.sum(self.activity)", "self.encoder + self.prototypes",
           ("growing/theorem-9/corrected",)),
    Mutant("greedy: the least energy leaves one plane too many out", "least_residual_energy",
           'integer("count", count, least=0)', 'integer("count", count, least=0) + 1', (ORDERED, HIERARCHY)),
    Mutant("greedy: both members of a pair are listed", "least_residual_energy",
           "paired_spectrum(antisymmetric_part(interaction)).values",
           "np.repeat(paired_spectrum(antisymmetric_part(interaction)).values, 2)", (HIERARCHY,)),
    Mutant("greedy: the square of the top value is compared with the threshold", "greedy_growth",
           "top <= least", "top**2 <= least", ("growing/corollary-15",)),
    Mutant("greedy: one square for each head", "energy_coverage",
           "2 * np.sum(np.asarray(values) ** 2)", "np.sum(np.asarray(values) ** 2)", (COVERED, HIERARCHY)),
    Mutant("greedy: coordinate axes are captured in place of the dominant directions", "greedy_growth",
           "np.asarray(dominant_plane(a))[:1]", "np.eye(m.shape[0])[len(rows)][None]", (COVERED,)),
    Mutant("couplings: the third part depends on the ratio alone", "couplings",
           "rates.prototypes * found.cross", "found.cross", (COUPLED,)),
    Mutant("couplings: the whole rate of the prototypes in c_0", "couplings", "min", "max", (COUPLED,)),
    Mutant("growing flow: T is integrated at the rate of its cube", "GrowingFlow.velocity",
           "3 * self.temperature_rate", "self.temperature_rate", (POTENTIAL, DESCENT)),
    Mutant("growing flow: clipped temperatures move on", "GrowingFlow.velocity",
           "self.active & ~self.clipped", "self.active", (POTENTIAL,)),
    Mutant("growing flow: the encoder does not descend its regulariser", "GrowingFlow._encoder_velocity",
           "jax.grad(self.penalty)(theta)", "jax.tree.map(jnp.zeros_like, theta)", (DESCENT,)),
    Mutant("growing flow: the wrong head is pruned", "prune",
           "placed(active, head, False)", "placed(active, 0, False)", (PRUNED,)),
    Mutant("growing flow: the gate is not normalised", "gate_velocity",
           "jnp.dot(w, pull) * w", "w", ("growing/lemma-23/corrected",)),
    Mutant("step sizes: (E1) has no factor 3", "step_conditions",
           "3 * m.activity", "m.activity", ("growing/corollary-9/corrected",)),
    Mutant("step sizes: (E2) has 1 for 2", "step_conditions",
           "2 / m.lipschitz", "1 / m.lipschitz", ("growing/corollary-9/corrected",)),
    Mutant("step sizes: (E3) has no root", "step_conditions",
           "math.sqrt(curvature)", "curvature", ("growing/corollary-9/corrected",)),
    Mutant("step sizes: (E4) accepts the power 1/2", "step_conditions",
           "0.5 < gate.power <= 1.0", "0.5 <= gate.power <= 1.0", ("growing/corollary-9/corrected",)),
    Mutant("step sizes: (E6) is not strict", "step_conditions",
           "least_steps > wait", "least_steps >= wait", ("growing/corollary-9/corrected",)),
    Mutant("step sizes: (E5) looks at the first step", "step_conditions",
           "num_steps - 1", "0", ("growing/corollary-9/corrected",)),
    Mutant("greedy: the share of the energy counts one square for each plane", "energy_coverage",
           "2 * np.sum(np.asarray(values) ** 2)", "np.sum(np.asarray(values) ** 2)",
           ("growing/experiment-1-coverage/corrected",)),
    Mutant("functional: the least rise of a phase counts", "energy_along",
           "np.max(np.diff(v), initial=-np.inf)", "np.min(np.diff(v), initial=np.inf)", (RUN,)),
    Mutant("couplings: the largest curvature of the prototypes in c_0", "couplings",
           "found.prototypes[0]", "found.prototypes[1]", (COUPLED,)),
    Mutant("couplings: the first part has no rate of the prototypes", "couplings",
           "gate * rates.prototypes", "gate", (COUPLED,)),
    Mutant("spectra: the rows of a plane are exchanged", "paired_spectrum",
           "[top.real, top.imag]", "[top.imag, top.real]", (ORDERED,)),
    Mutant("residual: the second row of the dominant plane has the other sign", "dominant_plane",
           "a @ v", "a.T @ v", ("growing/equation-3/features",)),
)
# fmt: on
