"""Errors in the trainable layer and in its growth, and the claims of `growing` that notice them."""

from tests.mutants import Mutant

LAYER, GROWTH = "dynsim.networks.growing.layer", "dynsim.networks.growing.growth"
PRUNING = "analysis.experiments.growing.pruning"
STEP, FIXED = "growing/experiment-5/step", "growing/experiment-5/fixed-product"
ANY = "growing/experiment-4/any-heads"

MUTANTS = (
    Mutant(
        "layer: a clipped temperature goes on falling",
        LAYER,
        "return jnp.maximum(self.temperatures, self.least_temperature)",
        "return self.temperatures",
        (STEP,),
    ),
    Mutant(
        "layer: distances of one head reach the next",
        LAYER,
        "return jnp.moveaxis(found.reshape(-1, heads, k), 1, 0)",
        "return jnp.moveaxis(found.reshape(-1, k, heads), 2, 0)",
        (STEP,),
    ),
    Mutant(
        "layer: padding counts in the loss",
        LAYER,
        "share = counted.astype(z.dtype) / jnp.maximum",
        "share = jnp.ones_like(counted, z.dtype) / jnp.maximum",
        (STEP,),
    ),
    Mutant(
        "layer: the barrier of empty places counts",
        LAYER,
        "active * jax.vmap(loss.penalty)(self.prototypes)",
        "jax.vmap(loss.penalty)(self.prototypes)",
        (STEP,),
    ),
    Mutant(
        "layer: the answer moves the prototypes",
        LAYER,
        "replace_fn=jax.lax.stop_gradient",
        "replace_fn=lambda leaf: leaf",
        (STEP,),
    ),
    Mutant(
        "layer: empty places answer, too",
        LAYER,
        "shown = fixed.prototypes * fixed.growth.active[:, None, None]",
        "shown = fixed.prototypes",
        (STEP,),
    ),
    Mutant(
        "growth: the direction is not captured",
        GROWTH,
        "frames=placed(growth.frames, place, frame)",
        "frames=placed(growth.frames, place, 0 * frame)",
        (FIXED,),
    ),
    Mutant(
        "growth: a head is added below the threshold",
        GROWTH,
        "if value > float(rules.threshold) and room",
        "if value < float(rules.threshold) and room",
        (FIXED,),
    ),
    Mutant(
        "growth: the order is reversed",
        GROWTH,
        "rules.ordered and value >= float(growth.last)",
        "rules.ordered and value <= float(growth.last)",
        (FIXED,),
    ),
    Mutant(
        "growth: heads follow the second direction of the dominant plane",
        GROWTH,
        "bank = bank_along(tokens.embeddings, plane[0], rules, value)",
        "bank = bank_along(tokens.embeddings, plane[1], rules, value)",
        (FIXED,),
    ),
    Mutant(
        "growth: a new head takes the place of the last",
        GROWTH,
        "fresh = ~active & ~np.any",
        "fresh = active & np.any",
        (FIXED,),
    ),
    Mutant(
        "growth: a removal takes the next head",
        GROWTH,
        "active=placed(growth.active, head, 0.0)",
        "active=placed(growth.active, head - 1, 0.0)",
        (ANY,),
    ),
    Mutant(
        "growth: energies belong to empty places",
        GROWTH,
        "np.where(np.asarray(model.layer.growth.active) > 0, energies, np.inf)",
        "np.asarray(energies)",
        (ANY,),
    ),
    Mutant(
        "pruning: the force of the removed head is at another temperature",
        PRUNING,
        "bank_force(banks[head], tokens, T[head])",
        "bank_force(banks[head], tokens, 2 * T[head])",
        (ANY,),
    ),
    Mutant(
        "growth: the head that is least collapsed decides on a removal",
        GROWTH,
        "if np.min(apart) < float(rules.pruning):",
        "if np.max(apart) < float(rules.pruning):",
        (FIXED,),
    ),
    Mutant(
        "growth: the value at the last growth is forgotten",
        GROWTH,
        "last=placed(growth.last, (), value) if value else growth.last",
        "last=growth.last",
        (FIXED,),
    ),
    Mutant(
        "growth: a removal starts no dwell time",
        GROWTH,
        "moment = placed(growth.event, (), steps)",
        "moment = growth.event",
        (FIXED,),
    ),
    Mutant(
        "growth: directions are released where they are kept",
        GROWTH,
        "frames = placed(growth.frames, head, 0.0) if release else growth.frames",
        "frames = growth.frames if release else placed(growth.frames, head, 0.0)",
        (FIXED,),
    ),
    Mutant(
        "growth: attention reads what prototypes read",
        GROWTH,
        "for part in (inputs, embeddings)))",
        "for part in (embeddings, inputs)))",
        (FIXED,),
    ),
)
