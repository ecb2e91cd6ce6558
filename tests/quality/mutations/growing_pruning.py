"""Errors in measures of pruning, step sizes and cycles, and in the system, and the claims that notice them."""

from tests.quality.mutants import Mutant

SEPARATIONS = "growing/theorem-6-i"
SHARES = "growing/theorem-6-iii/corrected"
FALL = "growing/theorem-6-ii/corrected"
MEAN = "growing/corollary-8/corrected"
SHORT = "growing/theorem-6-iv/discrete"
COUNT = "growing/lemma-13/corrected"
ENDS = "growing/theorem-5/corrected"
CLIPPED = "growing/lemma-17-i/clip"
EVENTS = "growing/equation-3/events"

# fmt: off
MUTANTS = (
    Mutant("growing: a diversity is the largest variance and not their sum", "heads_at",
           "jnp.trace(covariances, axis1=1, axis2=2)", "jnp.max(covariances, axis=(1, 2))", (SEPARATIONS, MEAN)),
    Mutant("growing: the diameter is the largest distance and not its square", "heads_at",
           "jnp.max(squared_distances(p, p))", "jnp.sqrt(jnp.max(squared_distances(p, p)))", (SEPARATIONS, FALL)),
    Mutant("growing: shares are those of squared gradients", "HeadMeasures.shares",
           "self.gradients / jnp.sum(self.gradients)", "self.gradients**2 / jnp.sum(self.gradients**2)",
           equivalent="shares of squares, too, grow by one over one less the share of the pruned head"),
    Mutant("growing: shares of survivors are not divided by their sum", "HeadMeasures.shares",
           "self.gradients / jnp.sum(self.gradients)", "self.gradients", (SHARES,)),
    Mutant("growing: gains are those of the gradients after over before the wrong way round", "Pruning.gains",
           "after[self.survivors] / before[self.survivors]", "before[self.survivors] / after[self.survivors]",
           (SHARES,)),
    Mutant("growing: the fall of the force counts the survivors alone", "Pruning.drop",
           "self.before.forces", "self.before.forces[self.survivors]", (FALL, MEAN)),
    Mutant("growing: the wrong head is pruned", "prune",
           "placed(active, head, False)", "placed(active, head - 1, False)", (SEPARATIONS, FALL)),
    Mutant("growing: a pruning empties the banks of all heads", "prune",
           "placed(x.prototypes, head, empty[head])", "empty", (SEPARATIONS, FALL)),
    Mutant("growing: Gamma is not divided by the norm of M_a", "directional_energy",
           "jnp.linalg.norm(u @ m.T, axis=1) / jnp.linalg.norm(m)", "jnp.linalg.norm(u @ m.T, axis=1)",
           (SEPARATIONS, MEAN)),
    Mutant("growing: the common bound is that of the first condition alone", "common_bound",
           "min(condition.bound / condition.value for condition in three)", "three[0].bound / three[0].value",
           ("growing/corollary-9/corrected",)),
    Mutant("growing: a step of the prototypes is twice as long", "GrowingStep.step",
           "v.prototypes", "2 * v.prototypes", (SHORT,)),
    Mutant("growing: a step sums activities where losses are means", "GrowingStep.temperatures_after",
           'flow.loss.reduction == "sum"', 'flow.loss.reduction == "mean"', (CLIPPED,)),
    Mutant("growing: a step leaves temperatures in the place of their cubes", "GrowingStep.step",
           "self.temperatures_after(x) ** 3", "self.temperatures_after(x)", (CLIPPED,)),
    Mutant("growing: a step cools a head at its least temperature", "GrowingStep.temperatures_after",
           "flow.active & ~flow.clipped", "flow.active", (CLIPPED,)),
    Mutant("growing: a step leaves the encoder where it is", "GrowingStep.step",
           "jax.tree.map(jnp.add, x.encoder, v.encoder)", "x.encoder", (CLIPPED,)),
    Mutant("growing: the Algorithm waits a step too few", "_margins", "x.clock + 0.5", "x.clock + 1.5", (EVENTS,)),
    Mutant("growing: the Algorithm prunes before it grows", "_Descent.check",
           "grow if growth else prune", "prune if pruning else grow", (EVENTS,)),
    Mutant("growing: a new head's direction is not captured", "grow",
           "placed(flow.frames, slot, new_frame(flow, x.gate))", "flow.frames", (COUNT, ENDS)),
    Mutant("growing: growth goes on below the threshold", "may_grow",
           "flow.dominant > flow.rules.threshold", "2 * flow.dominant > flow.rules.threshold", (COUNT, ENDS)),
    Mutant("growing: the residual is projected on one side alone", "outside",
           "projection @ m @ projection", "projection @ m", ("growing/lemma-11/corrected",)),
    Mutant("growing: the head of the largest measure is pruned", "prune",
           "jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf))",
           "jnp.argmax(jnp.where(flow.active, head_measures(flow, x), -jnp.inf))", (SEPARATIONS,)),
    Mutant("growing: heads are pruned by Gamma whatever the rule", "head_measures",
           '"separation"', '"none"', (SEPARATIONS,)),
    Mutant("growing: a Lipschitz constant is a mean over banks", "gradient_lipschitz", "jnp.max", "jnp.mean", (SHORT,)),
    Mutant("growing: a Lipschitz constant has the norm of all singular values", "gradient_lipschitz",
           "ord=2", "", (SHORT,)),
    Mutant("growing: heads are added before others are removed in continuous time", "growing_transitions",
           '(Transition("clip", Event(ClipGuard(growing), -1), clip, immediate=True), Transition("prune", '
           'Event(PruningGuard(growing), 1), prune, immediate=True), Transition("grow", '
           "Event(GrowthGuard(growing), 1), grow, immediate=True))",
           '(Transition("clip", Event(ClipGuard(growing), -1), clip, immediate=True), Transition("grow", '
           'Event(GrowthGuard(growing), 1), grow, immediate=True), Transition("prune", '
           "Event(PruningGuard(growing), 1), prune, immediate=True))", ("growing/theorem-8-event-count/corrected",)),
    Mutant("growing: a new head takes the place of its slot in the order", "grow",
           "np.max(order) + 1", "slot", (EVENTS,)),
    Mutant("growing: a removed head keeps its level", "prune",
           "placed(flow.levels, head, np.nan)", "flow.levels", (SEPARATIONS,)),
    Mutant("growing: a removed head leaves its temperature behind", "prune",
           "placed(x.cubes, head, _first_cube(flow, x))", "x.cubes", (SEPARATIONS,)),
    Mutant("growing: a random first bank is about the origin", "GrowingFlow.start",
           "jnp.mean(z, axis=0)[None] + jnp.std(z, axis=0)[None] * noise", "jnp.std(z, axis=0)[None] * noise",
           ("growing/corollary-2/corrected",)),
    Mutant("growing: a random first head sees the projection on no direction", "GrowingFlow._inputs",
           "jnp.any(frames != 0, axis=(1, 2))", "jnp.any(frames != 0, axis=(1, 2)) | True",
           ("growing/corollary-2/corrected",)),
)
# fmt: on
