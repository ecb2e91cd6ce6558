"""Errors in the growing system, its functional and what heads give out, and the claims of corollaries that notice."""

from tests.quality.mutants import Mutant

VOCABULARY = "growing/corollary-16/corrected"
ARCHITECTURE = "growing/theorem-8-iv/corrected"
UNIFORM = "growing/corollary-13/corrected"
LEVELS = "growing/corollary-10/corrected"
FRAME = "growing/corollary-11/corrected"

# fmt: off
MUTANTS = (
    Mutant("growing corollaries: centroids are weighted by the square roots of the assignments", "soft_centroids",
           "q @ p", "q**0.5 @ p", (VOCABULARY,)),
    Mutant("growing corollaries: a clip sets half of the cube of the least temperature", "clip",
           "jnp.where(reached, least, x.cubes)", "jnp.where(reached, least / 2, x.cubes)", (VOCABULARY,)),
    Mutant("growing corollaries: a head is added above twice the threshold", "may_grow",
           "flow.rules.threshold", "2 * flow.rules.threshold", (ARCHITECTURE,)),
    Mutant("growing corollaries: a head captures the direction of the absolute values of its gate", "new_frame",
           "free @ w", "free @ np.abs(w)", (ARCHITECTURE,)),
    Mutant("growing corollaries: the separation is a distance", "separation",
           "jnp.min(distances)", "jnp.sqrt(jnp.min(distances))", (ARCHITECTURE,)),
    Mutant("growing corollaries: the repaired potential has the other sign", "temperature_potential",
           "cubes - rules.least_temperature**3", "rules.least_temperature**3 - cubes", (UNIFORM,)),
    Mutant("growing corollaries: prototypes descend half of the barrier", "PrototypeLoss.penalty_gradient",
           "barrier * barrier_gradient(_apart(p, barrier))", "barrier / 2 * barrier_gradient(_apart(p, barrier))",
           (UNIFORM,)),
    Mutant("growing corollaries: encoder and prototypes of a growing flow exchange their rates", "GrowingFlow.__init__",
           'not_negative("encoder_rate", encoder_rate)', 'not_negative("encoder_rate", prototype_rate)', (LEVELS,)),
    Mutant("growing corollaries: the functional at rest in the temperatures has no barrier", "free_energy_terms",
           "used.penalty", "bare.penalty", (LEVELS,)),
    Mutant("growing corollaries: a frozen encoder embeds with half of its parameters", "CoupledFlow.frozen_encoder",
           "self.encoder.embed(encoder, self.data)", "self.encoder.embed(encoder / 2, self.data)", (LEVELS,)),
    Mutant("growing corollaries: a step moves prototypes twice as far", "GrowingStep.step",
           "v.prototypes", "2 * v.prototypes", (FRAME,)),
    Mutant("growing corollaries: heads count without their barrier", "Terms.heads",
           "self.losses + self.penalties", "self.losses", (FRAME,)),
    Mutant("growing corollaries: directions of removed heads are never retained", "prune",
           "flow.retained + frame.T @ frame", "flow.retained", (FRAME,)),
)
# fmt: on
