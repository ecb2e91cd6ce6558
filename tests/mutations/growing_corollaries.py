"""Errors in the growing system, its functional and what heads give out, and the claims of corollaries that notice."""

from tests.mutants import Mutant

FUNCTIONALS = "analysis.growing.functionals"
ASSIGNMENTS, EVENTS = "dynsim.systems.prototypes.assignments", "dynsim.systems.growing.transitions"
VOCABULARY, ARCHITECTURE = "growing/corollary-16/corrected", "growing/theorem-8-iv/corrected"
UNIFORM, LEVELS = "growing/corollary-13/corrected", "growing/corollary-10/corrected"
FRAME = "growing/corollary-11/corrected"

MUTANTS = (
    Mutant(
        "growing corollaries: centroids are weighted by the square roots of the assignments",
        ASSIGNMENTS,
        "return q @ p",
        "return q**0.5 @ p",
        (VOCABULARY,),
    ),
    Mutant(
        "growing corollaries: a clip sets half of the cube of the least temperature",
        EVENTS,
        "x._replace(cubes=jnp.where(reached, least, x.cubes))",
        "x._replace(cubes=jnp.where(reached, least / 2, x.cubes))",
        (VOCABULARY,),
    ),
    Mutant(
        "growing corollaries: a head is added above twice the threshold",
        EVENTS,
        "above = flow.dominant > flow.rules.threshold",
        "above = flow.dominant > 2 * flow.rules.threshold",
        (ARCHITECTURE,),
    ),
    Mutant(
        "growing corollaries: a head captures the direction of the absolute values of its gate",
        EVENTS,
        'u = _unit(free @ w, "gate")',
        'u = _unit(free @ np.abs(w), "gate")',
        (ARCHITECTURE,),
    ),
    Mutant(
        "growing corollaries: the separation is a distance",
        ASSIGNMENTS,
        "return jnp.min(distances)",
        "return jnp.sqrt(jnp.min(distances))",
        (ARCHITECTURE,),
    ),
    Mutant(
        "growing corollaries: the repaired potential has the other sign",
        FUNCTIONALS,
        "return (cubes - rules.least_temperature**3) / (3 * flow.temperature_rate)",
        "return (rules.least_temperature**3 - cubes) / (3 * flow.temperature_rate)",
        (UNIFORM,),
    ),
    Mutant(
        "growing corollaries: prototypes descend half of the barrier",
        "dynsim.systems.prototypes.losses",
        "barrier * barrier_gradient(_apart(p, barrier))",
        "barrier / 2 * barrier_gradient(_apart(p, barrier))",
        (UNIFORM,),
    ),
    Mutant(
        "growing corollaries: encoder and prototypes of a growing flow exchange their rates",
        "dynsim.systems.growing.flow",
        'self.encoder_rate = not_negative("encoder_rate", encoder_rate)',
        'self.encoder_rate = not_negative("encoder_rate", prototype_rate)',
        (LEVELS,),
    ),
    Mutant(
        "growing corollaries: the functional at rest in the temperatures has no barrier",
        FUNCTIONALS,
        "penalties = on(jax.vmap(used.penalty)(x.prototypes))",
        "penalties = on(jax.vmap(bare.penalty)(x.prototypes))",
        (LEVELS,),
    ),
    Mutant(
        "growing corollaries: a frozen encoder embeds with half of its parameters",
        "dynsim.systems.prototypes.flow",
        "z = self.encoder.embed(encoder, self.data)",
        "z = self.encoder.embed(encoder / 2, self.data)",
        (LEVELS,),
    ),
    Mutant(
        "growing corollaries: a step moves prototypes twice as far",
        "dynsim.systems.growing.descent",
        "x.prototypes + v.prototypes,",
        "x.prototypes + 2 * v.prototypes,",
        (FRAME,),
    ),
    Mutant(
        "growing corollaries: heads count without their barrier",
        FUNCTIONALS,
        "return self.losses + self.penalties + self.potentials",
        "return self.losses + self.potentials",
        (FRAME,),
    ),
    Mutant(
        "growing corollaries: directions of removed heads are never retained",
        EVENTS,
        "kept = flow.retained + frame.T @ frame if flow.rules.release",
        "kept = flow.retained if flow.rules.release",
        (FRAME,),
    ),
)
