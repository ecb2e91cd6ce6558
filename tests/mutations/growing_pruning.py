"""Errors in measures of pruning, step sizes and cycles, and in the system, and the claims that notice them."""

from tests.mutants import Mutant

PRUNING, STEPS, CYCLES = (f"analysis.growing.{name}" for name in ("pruning", "step_sizes", "cycles"))
TRANSITIONS, DESCENT, FLOW = (f"dynsim.systems.growing.{name}" for name in ("transitions", "descent", "flow"))
RESIDUAL = "dynsim.systems.growing.residual"
SEPARATIONS = "growing/theorem-6-i"
SHARES = "growing/theorem-6-iii/corrected"
FALL = "growing/theorem-6-ii/corrected"
MEAN = "growing/corollary-8/corrected"
DECOUPLED = "growing/lemma-14"
SHORT = "growing/theorem-6-iv/discrete"
BOUNDED = "growing/corollary-9/corrected"
GAPS = "growing/lemma-11/corrected"
COUNT = "growing/lemma-13/corrected"
ENDS = "growing/theorem-5/corrected"
CLIPPED, EVENTS = "growing/lemma-17-i/clip", "growing/equation-3/events"

PRUNE_RULE = 'Transition("prune", Event(PruningGuard(growing), 1), prune, immediate=True)'
GROW_RULE = 'Transition("grow", Event(GrowthGuard(growing), 1), grow, immediate=True)'

MUTANTS = (
    Mutant(
        "growing: a diversity is the largest variance and not their sum",
        PRUNING,
        "only(jnp.trace(covariances, axis1=1, axis2=2))",
        "only(jnp.max(covariances, axis=(1, 2)))",
        (SEPARATIONS, MEAN),
    ),
    Mutant(
        "growing: the diameter is the largest distance and not its square",
        PRUNING,
        "jnp.max(squared_distances(p, p))",
        "jnp.sqrt(jnp.max(squared_distances(p, p)))",
        (SEPARATIONS, FALL),
    ),
    Mutant(
        "growing: shares are those of squared gradients",
        PRUNING,
        "return self.gradients / jnp.sum(self.gradients)",
        "return self.gradients**2 / jnp.sum(self.gradients**2)",
        equivalent="shares of squares, too, grow by one over one less the share of the pruned head",
    ),
    Mutant(
        "growing: shares of survivors are not divided by their sum",
        PRUNING,
        "return self.gradients / jnp.sum(self.gradients)",
        "return self.gradients",
        (SHARES,),
    ),
    Mutant(
        "growing: gains are those of the gradients after over before the wrong way round",
        PRUNING,
        "return after[self.survivors] / before[self.survivors]",
        "return before[self.survivors] / after[self.survivors]",
        (SHARES,),
    ),
    Mutant(
        "growing: the fall of the force counts the survivors alone",
        PRUNING,
        "jnp.sum(self.before.forces) - jnp.sum(self.after.forces)",
        "jnp.sum(self.before.forces[self.survivors]) - jnp.sum(self.after.forces)",
        (FALL, MEAN),
    ),
    Mutant(
        "growing: the wrong head is pruned",
        TRANSITIONS,
        "        active=placed(active, head, False),\n        clipped=placed(flow.clipped, head, False),",
        "        active=placed(active, head - 1, False),\n        clipped=placed(flow.clipped, head, False),",
        (SEPARATIONS, FALL),
    ),
    Mutant(
        "growing: a pruning empties the banks of all heads",
        TRANSITIONS,
        "prototypes=placed(x.prototypes, head, empty[head])",
        "prototypes=empty",
        (SEPARATIONS, FALL),
    ),
    Mutant(
        "growing: Gamma is not divided by the norm of M_a",
        TRANSITIONS,
        "jnp.linalg.norm(u @ m.T, axis=1) / jnp.linalg.norm(m), jnp.inf)",
        "jnp.linalg.norm(u @ m.T, axis=1), jnp.inf)",
        (SEPARATIONS, MEAN),
    ),
    Mutant(
        "growing: the common bound is that of the first condition alone",
        STEPS,
        "return min(condition.bound / condition.value for condition in three)",
        "return three[0].bound / three[0].value",
        (BOUNDED,),
    ),
    Mutant(
        "growing: a step of the prototypes is twice as long",
        DESCENT,
        "x.prototypes + v.prototypes",
        "x.prototypes + 2 * v.prototypes",
        (SHORT,),
    ),
    Mutant(
        "growing: a step sums activities where losses are means",
        DESCENT,
        'count = flow.data.shape[0] if flow.loss.reduction == "sum" else 1',
        'count = flow.data.shape[0] if flow.loss.reduction == "mean" else 1',
        (CLIPPED,),
    ),
    Mutant(
        "growing: a step leaves temperatures in the place of their cubes",
        DESCENT,
        "self.temperatures_after(x) ** 3",
        "self.temperatures_after(x)",
        (CLIPPED,),
    ),
    Mutant(
        "growing: a step cools a head at its least temperature",
        DESCENT,
        "moving = flow.active & ~flow.clipped",
        "moving = flow.active",
        (CLIPPED,),
    ),
    Mutant(
        "growing: a step leaves the encoder where it is",
        DESCENT,
        "jax.tree.map(jnp.add, x.encoder, v.encoder)",
        "x.encoder",
        (CLIPPED,),
    ),
    Mutant(
        "growing: the Algorithm waits a step too few",
        "dynsim.growing",
        "clock=x.clock + 0.5",
        "clock=x.clock + 1.5",
        (EVENTS,),
    ),
    Mutant(
        "growing: the Algorithm prunes before it grows",
        "dynsim.growing",
        "reset = grow if growth else prune",
        "reset = prune if pruning else grow",
        (EVENTS,),
    ),
    Mutant(
        "growing: a new head's direction is not captured",
        TRANSITIONS,
        "frames=placed(flow.frames, slot, new_frame(flow, x.gate))",
        "frames=flow.frames",
        (COUNT, ENDS),
    ),
    Mutant(
        "growing: growth goes on below the threshold",
        TRANSITIONS,
        "above = flow.dominant > flow.rules.threshold",
        "above = 2 * flow.dominant > flow.rules.threshold",
        (COUNT, ENDS),
    ),
    Mutant(
        "growing: the residual is projected on one side alone",
        RESIDUAL,
        "return _antisymmetric(projection @ m @ projection)",
        "return _antisymmetric(projection @ m)",
        (GAPS,),
    ),
    Mutant(
        "growing: the head of the largest measure is pruned",
        "dynsim.systems.growing.transitions",
        "jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf))",
        "jnp.argmax(jnp.where(flow.active, head_measures(flow, x), -jnp.inf))",
        (SEPARATIONS,),
    ),
    Mutant(
        "growing: heads are pruned by Gamma whatever the rule",
        "dynsim.systems.growing.transitions",
        'if flow.rules.prune_by == "separation":',
        'if flow.rules.prune_by == "none":',
        (SEPARATIONS,),
    ),
    Mutant(
        "growing: a Lipschitz constant is a mean over banks",
        STEPS,
        "return jnp.max(jax.vmap(norm)(banks))",
        "return jnp.mean(jax.vmap(norm)(banks))",
        (SHORT,),
    ),
    Mutant(
        "growing: a Lipschitz constant has the norm of all singular values",
        STEPS,
        "return jnp.linalg.norm(H, ord=2)",
        "return jnp.linalg.norm(H)",
        (SHORT,),
    ),
    Mutant(
        "growing: heads are added before others are removed in continuous time",
        "dynsim.growing",
        f"{PRUNE_RULE},\n        {GROW_RULE},",
        f"{GROW_RULE},\n        {PRUNE_RULE},",
        ("growing/theorem-8-event-count/corrected",),
    ),
    Mutant(
        "growing: a new head takes the place of its slot in the order",
        TRANSITIONS,
        "order=placed(order, slot, np.max(order) + 1)",
        "order=placed(order, slot, slot)",
        (EVENTS,),
    ),
    Mutant(
        "growing: a removed head keeps its level",
        TRANSITIONS,
        "levels=placed(flow.levels, head, np.nan)",
        "levels=flow.levels",
        (SEPARATIONS,),
    ),
    Mutant(
        "growing: a removed head leaves its temperature behind",
        TRANSITIONS,
        "cubes=placed(x.cubes, head, _first_cube(flow, x)),",
        "cubes=x.cubes,",
        (SEPARATIONS,),
    ),
    Mutant(
        "growing: a random first bank is about the origin",
        FLOW,
        "jnp.mean(z, axis=0)[None] + jnp.std(z, axis=0)[None] * noise",
        "jnp.std(z, axis=0)[None] * noise",
        ("growing/corollary-2/corrected",),
    ),
    Mutant(
        "growing: a random first head sees the projection on no direction",
        FLOW,
        "captures = jnp.any(frames != 0, axis=(1, 2))",
        "captures = jnp.any(frames != 0, axis=(1, 2)) | True",
        ("growing/corollary-2/corrected",),
    ),
)
