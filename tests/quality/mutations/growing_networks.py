"""Errors in the trainable layer and in its growth, and the claims of `growing` that notice them."""

from tests.quality.mutants import Mutant

STEP = "growing/experiment-5/step"
FIXED = "growing/experiment-5/fixed-product"
ANY = "growing/experiment-4/any-heads"

# fmt: off
MUTANTS = (
    Mutant("layer: a clipped temperature goes on falling", "GrowingLayer.clipped",
           "jnp.maximum(self.temperatures, self.least_temperature)", "self.temperatures", (STEP,)),
    Mutant("layer: distances of one head reach the next", "GrowingLayer.distances",
           "jnp.moveaxis(found.reshape(-1, heads, k), 1, 0)", "jnp.moveaxis(found.reshape(-1, k, heads), 2, 0)",
           (STEP,)),
    Mutant("layer: padding counts in the loss", "GrowingLayer.losses",
           "counted.astype(z.dtype)", "jnp.ones_like(counted, z.dtype)", (STEP,)),
    Mutant("layer: the barrier of empty places counts", "GrowingLayer.losses",
           "active * jax.vmap(loss.penalty)(self.prototypes)", "jax.vmap(loss.penalty)(self.prototypes)", (STEP,)),
    Mutant("layer: the answer moves the prototypes", "GrowingLayer.__call__",
           "jax.lax.stop_gradient", "lambda leaf: leaf", (STEP,)),
    Mutant("layer: empty places answer, too", "GrowingLayer.__call__",
           "fixed.prototypes * fixed.growth.active[:, None, None]", "fixed.prototypes", (STEP,)),
    Mutant("growth: the direction is not captured", "with_head",
           "placed(growth.frames, place, frame)", "placed(growth.frames, place, 0 * frame)", (FIXED,)),
    Mutant("growth: a head is added below the threshold", "revised",
           "value > float(rules.threshold)", "value < float(rules.threshold)", (FIXED,)),
    Mutant("growth: the order is reversed", "revised",
           "value >= float(growth.last)", "value <= float(growth.last)", (FIXED,)),
    Mutant("growth: heads follow the second direction of the dominant plane", "_grown",
           "plane[0]", "plane[1]", (FIXED,)),
    Mutant("growth: a new head takes the place of the last", "_place",
           "~active & ~np.any(np.asarray(layer.growth.frames) != 0, axis=(1, 2))",
           "active & np.any(np.asarray(layer.growth.frames) != 0, axis=(1, 2))", (FIXED,)),
    Mutant("growth: a removal takes the next head", "without_head",
           "placed(growth.active, head, 0.0)", "placed(growth.active, head - 1, 0.0)", (ANY,)),
    Mutant("growth: energies belong to empty places", "directional_energies",
           "np.where(np.asarray(model.layer.growth.active) > 0, energies, np.inf)", "np.asarray(energies)", (ANY,)),
    Mutant("pruning: the force of the removed head is at another temperature", "removal",
           "bank_force(banks[head], tokens, T[head])", "bank_force(banks[head], tokens, 2 * T[head])", (ANY,)),
    Mutant("growth: the head that is least collapsed decides on a removal", "revised", "np.min", "np.max", (FIXED,)),
    Mutant("growth: the value at the last growth is forgotten", "with_head",
           "placed(growth.last, (), value) if value else growth.last", "growth.last", (FIXED,)),
    Mutant("growth: a removal starts no dwell time", "without_head",
           "placed(growth.event, (), steps)", "growth.event", (FIXED,)),
    Mutant("growth: directions are released where they are kept", "without_head",
           "placed(growth.frames, head, 0.0) if release else growth.frames",
           "growth.frames if release else placed(growth.frames, head, 0.0)", (FIXED,)),
    Mutant("growth: attention reads what prototypes read", "sample",
           "(inputs, embeddings)", "(embeddings, inputs)", (FIXED,)),
)
# fmt: on
