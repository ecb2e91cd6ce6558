"""Errors in the growing system: residual, gate, flow between events, events, and the discrete Algorithm."""

from tests.quality.mutants import Mutant

TOKENS = "growing/equation-3/tokens"
ORDER = "growing/experiment-1-order"
COUNT = "growing/corollary-15"
GATED = "growing/lemma-23/corrected"
COLD = "growing/lemma-24/corrected"
CRITICAL = "growing/theorem-8-limit-set/corrected"
COOLING = "growing/lemma-6/corrected"
FALLS = "growing/lemma-20/corrected"
EVENT_COUNT = "growing/theorem-8-event-count/corrected"
RETAINED = "growing/equation-3/events"
RULED = "growing/experiment-5/removal"
GATE_SETTLED = "growing/experiment-1-order/settled"
OTHERS = "growing/theorem-6-i"
RESOLVED = "growing/corollary-15/corrected"

# fmt: off
MUTANTS = (
    Mutant("growing system: the antisymmetric part has no factor one half", "antisymmetric_part",
           "(found - found.T) / 2", "found - found.T", (COUNT, RESOLVED)),
    Mutant("growing system: the level of a head is twice the dominant value", "grow",
           "placed(flow.levels, slot, flow.dominant)", "placed(flow.levels, slot, 2 * flow.dominant)", (RESOLVED,)),
    Mutant("growing system: all heads have one place in the order", "grow", "np.max(order) + 1", "0", (RETAINED,)),
    Mutant("growing system: the interaction is made symmetric", "_antisymmetric",
           "matrix - matrix.T", "matrix + matrix.T", ("growing/lemma-26/corrected",)),
    Mutant("growing system: the residual of features is projected on one side", "outside",
           "projection @ m @ projection", "projection @ m", (RETAINED,)),
    Mutant("growing system: the reading of the data projects before the root", "outside",
           "projection @ root @ m @ root @ projection", "root @ projection @ m @ projection @ root",
           ("growing/equation-3/data",)),
    Mutant("growing system: the reading of the tokens forgets the projection", "outside",
           "x @ projection @ m @ projection", "x @ m", (TOKENS,)),
    Mutant("growing system: the reading of the features is that of the tokens", "outside",
           "x @ projection @ m @ projection @ x.T", "projection @ m @ projection", (TOKENS,)),
    Mutant("growing system: the dominant value is the norm of all singular values", "dominant_value",
           "np.linalg.norm(found, 2)", "np.linalg.norm(found)", (ORDER, "growing/lemma-25/generic")),
    Mutant("growing system: the dominant plane is that of the second value", "dominant_plane",
           "basis_of_range(leading @ leading.T)[:, 0]", "vectors[:, -3]", (GATED,)),
    Mutant("growing system: the gate's pull is that of the matrix and not of its square", "gate_velocity",
           "matrix.T @ (matrix @ w)", "matrix @ w", (GATED, "growing/theorem-5/corrected")),
    Mutant("growing system: Oja's rule loses its decay", "gate_velocity",
           "pull - jnp.dot(w, pull) * w", "pull", (GATED,)),
    Mutant("growing system: Oja's rule in the place of the other one", "gate_velocity",
           "(pull - jnp.dot(w, pull) / square * w) / square", "pull - jnp.dot(w, pull) * w", (GATED,)),
    Mutant("growing system: cubes of temperatures fall without the factor 3", "GrowingFlow.velocity",
           "3 * self.temperature_rate", "self.temperature_rate", (FALLS,)),
    Mutant("growing system: a temperature is the square root of its cube", "GrowingFlow.temperatures",
           "jnp.cbrt", "jnp.sqrt", (FALLS,)),
    Mutant("growing system: sums over tokens cool as means do", "GrowingFlow.velocity",
           'z.shape[0] if self.loss.reduction == "sum" else 1', "1", (COOLING,)),
    Mutant("growing system: a clipped temperature goes on falling", "GrowingFlow.velocity",
           "self.active & ~self.clipped", "self.active", (COLD,)),
    Mutant("growing system: prototypes ascend", "GrowingFlow.velocity",
           "-self.prototype_rate.astype(dtype)", "self.prototype_rate.astype(dtype)", (FALLS, CRITICAL)),
    Mutant("growing system: the encoder ascends", "GrowingFlow._encoder_velocity",
           "-self.encoder_rate.astype(g.dtype)", "self.encoder_rate.astype(g.dtype)", (FALLS, CRITICAL)),
    Mutant("growing system: the regulariser has no factor one half", "GrowingFlow.penalty",
           "self.regulariser / 2", "self.regulariser", (FALLS,)),
    Mutant("growing system: products count once in the squared distances", "head_forces",
           "2 * products", "products", (FALLS, CRITICAL)),
    Mutant("growing system: the pull of inputs has the sign of prototypes", "head_forces",
           '2 * (y.reshape(-1, n, m) - jnp.einsum("hkn,hkm->hnm", w, r))',
           '-2 * (y.reshape(-1, n, m) - jnp.einsum("hkn,hkm->hnm", w, r))', (FALLS, CRITICAL)),
    Mutant("growing system: forces are means where sums are asked for", "head_forces",
           'n if loss.reduction == "mean" else 1', "n", (COOLING,)),
    Mutant("growing system: the barrier's force is left out", "head_forces",
           "by_prototypes + jax.vmap(loss.penalty_gradient)(p)", "by_prototypes", (FALLS, CRITICAL)),
    Mutant("growing system: heads are added below the threshold", "may_grow",
           "flow.dominant > flow.rules.threshold", "flow.dominant < flow.rules.threshold", (COUNT,)),
    Mutant("growing system: growth does not reset the clock", "grow",
           "jnp.zeros_like(x.clock)", "x.clock", (EVENT_COUNT,)),
    Mutant("growing system: a new head has the cube root of its first temperature", "_first_cube",
           "T * T * T", "T", (COOLING,)),
    Mutant("growing system: a head captures another direction than the gate's", "new_frame",
           "free @ w", "free @ np.roll(w, 1)", ("growing/lemma-26/hierarchy",)),
    Mutant("growing system: a head captures a direction where it should capture a plane", "new_frame",
           'flow.rules.removal == "plane"', 'flow.rules.removal == "direction"', (ORDER,)),
    Mutant("growing system: the partner of a direction is any vector beside it", "new_frame",
           'free @ np.asarray(flow.tracked if flow.rules.reading != "tokens" else flow.interaction, float) @ u',
           'free @ np.asarray(flow.tracked if flow.rules.reading != "tokens" else flow.interaction, float) @ '
           "np.roll(u, 1)", (ORDER,)),
    Mutant("growing system: a gate has settled far from its plane", "gate_margin",
           "flow.rules.settled**2 - (1 - inside)", "(1 - inside) - flow.rules.settled**2", (GATE_SETTLED,)),
    Mutant("growing system: the distance of a gate that has settled is its square", "gate_margin",
           "flow.rules.settled**2", "flow.rules.settled", (GATE_SETTLED,)),
    Mutant("growing system: the order of levels is not asked for", "may_grow",
           "flow.dominant < flow.last_level if flow.rules.ordered else True", "True", (RULED,)),
    Mutant("growing system: the level at the growth before is forgotten", "grow",
           "last_level=flow.dominant", "last_level=flow.last_level", (RULED,)),
    Mutant("growing system: shared and projected inputs of heads are exchanged", "GrowingFlow._inputs",
           '"shared"', '"projected"', ("growing/experiment-2-rank/aligned",)),
    Mutant("growing system: a new bank lies across its direction", "bank_along",
           "np.outer(steps, u)", "np.outer(steps, np.roll(u, 1))", ("growing/corollary-2/corrected",)),
    Mutant("growing system: directions are released where they are retained", "prune",
           '"retain"', '"release"', (RETAINED, EVENT_COUNT)),
    Mutant("growing system: removing a head moves the others", "prune",
           "placed(x.prototypes, head, empty[head])", "placed(1.01 * x.prototypes, head, empty[head])",
           (OTHERS, "growing/theorem-8-event-count/joint")),
    Mutant("growing system: a clip is not kept", "clip",
           "eqx.tree_at(lambda f: f.clipped, flow, flow.clipped | reached)", "flow", (COLD,)),
    Mutant("growing system: directional energies are not relative", "directional_energy",
           "jnp.linalg.norm(u @ m.T, axis=1) / jnp.linalg.norm(m)", "jnp.linalg.norm(u @ m.T, axis=1)",
           (OTHERS, "growing/corollary-8/corrected")),
    Mutant("growing system: a step of the Algorithm divides by the temperature once", "temperature_step",
           "temperature**2", "temperature", ("growing/lemma-17-iii/corrected",)),
    Mutant("growing system: a step of the Algorithm ascends in the prototypes", "GrowingStep.step",
           "x.prototypes + v.prototypes", "x.prototypes - v.prototypes", ("growing/theorem-6-iv/discrete",)),
    Mutant("growing system: the other rule has no second division by the squared length", "gate_velocity",
           "(pull - jnp.dot(w, pull) / square * w) / square", "pull - jnp.dot(w, pull) / square * w", (GATED,)),
    Mutant("growing system: a new bank is scaled by the variance of the tokens", "bank_along",
           "np.std", "np.var", ("growing/corollary-2/corrected",)),
    Mutant("growing system: a new bank begins at the origin", "bank_along",
           "centre + float(rules.spread) * np.outer(steps, u)", "float(rules.spread) * np.outer(steps, u)",
           ("growing/corollary-2/corrected",)),
    Mutant("growing system: the spread of a new bank is squared", "bank_along",
           "float(rules.spread)", "float(rules.spread) ** 2", ("growing/corollary-2/corrected",)),
)
# fmt: on
