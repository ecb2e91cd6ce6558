"""Errors in the growing system: residual, gate, flow between events, events, and the discrete Algorithm."""

from tests.mutants import Mutant

RESIDUAL, GATE = "dynsim.systems.growing.residual", "dynsim.systems.growing.gate"
FLOW, FORCES = "dynsim.systems.growing.flow", "dynsim.systems.growing.forces"
EVENTS, STEPS = "dynsim.systems.growing.transitions", "dynsim.systems.growing.descent"

DATA, TOKENS, ENERGIES = "growing/equation-3/data", "growing/equation-3/tokens", "growing/lemma-26/corrected"
ORDER, COUNT, HEADS = "growing/experiment-1-order", "growing/corollary-15", "growing/lemma-25/generic"
HIERARCHY, JOINTLY = "growing/lemma-26/hierarchy", "growing/theorem-8-event-count/joint"
GATED, SETTLES = "growing/lemma-23/corrected", "growing/theorem-5/corrected"
COLD, CRITICAL = "growing/lemma-24/corrected", "growing/theorem-8-limit-set/corrected"
COOLING = "growing/lemma-6/corrected"
FALLS = "growing/lemma-20/corrected"
EVENT_COUNT = "growing/theorem-8-event-count/corrected"
RETAINED = "growing/equation-3/events"
CAPTURED, RULED = "growing/experiment-1-order", "growing/experiment-5/removal"
GATE_SETTLED, SHARED = "growing/experiment-1-order/settled", "growing/experiment-2-rank/aligned"
OTHERS = "growing/theorem-6-i"
RESOLVED = "growing/corollary-15/corrected"

MUTANTS = (
    Mutant(
        "growing system: the antisymmetric part has no factor one half",
        RESIDUAL,
        "return (found - found.T) / 2",
        "return found - found.T",
        (COUNT, RESOLVED),
    ),
    Mutant(
        "growing system: the level of a head is twice the dominant value",
        EVENTS,
        "levels=placed(flow.levels, slot, flow.dominant),",
        "levels=placed(flow.levels, slot, 2 * flow.dominant),",
        (RESOLVED,),
    ),
    Mutant(
        "growing system: all heads have one place in the order",
        EVENTS,
        "order=placed(order, slot, np.max(order) + 1),",
        "order=placed(order, slot, 0),",
        (RETAINED,),
    ),
    Mutant(
        "growing system: the interaction is made symmetric",
        RESIDUAL,
        "return (matrix - matrix.T) / 2",
        "return (matrix + matrix.T) / 2",
        (ENERGIES,),
    ),
    Mutant(
        "growing system: the residual of features is projected on one side",
        RESIDUAL,
        "return _antisymmetric(projection @ m @ projection)",
        "return _antisymmetric(projection @ m)",
        (RETAINED,),
    ),
    Mutant(
        "growing system: the reading of the data projects before the root",
        RESIDUAL,
        "projection @ root @ m @ root @ projection / len(x)",
        "root @ projection @ m @ projection @ root / len(x)",
        (DATA,),
    ),
    Mutant(
        "growing system: the reading of the tokens forgets the projection",
        RESIDUAL,
        "return _antisymmetric(x @ projection @ m @ projection @ x.T)",
        "return _antisymmetric(x @ m @ x.T)",
        (TOKENS,),
    ),
    Mutant(
        "growing system: the reading of the features is that of the tokens",
        RESIDUAL,
        "return _antisymmetric(x @ projection @ m @ projection @ x.T)",
        "return _antisymmetric(projection @ m @ projection)",
        (TOKENS,),
    ),
    Mutant(
        "growing system: the dominant value is the norm of all singular values",
        RESIDUAL,
        "return float(np.linalg.norm(found, 2))",
        "return float(np.linalg.norm(found))",
        (ORDER, HEADS),
    ),
    Mutant(
        "growing system: the dominant plane is that of the second value",
        RESIDUAL,
        "v = basis_of_range(leading @ leading.T)[:, 0]",
        "v = vectors[:, -3]",
        (GATED,),
    ),
    Mutant(
        "growing system: the gate's pull is that of the matrix and not of its square",
        GATE,
        "pull = matrix.T @ (matrix @ w)",
        "pull = matrix @ w",
        (GATED, SETTLES),
    ),
    Mutant(
        "growing system: Oja's rule loses its decay",
        GATE,
        "return pull - jnp.dot(w, pull) * w",
        "return pull",
        (GATED,),
    ),
    Mutant(
        "growing system: Oja's rule in the place of the other one",
        GATE,
        "return (pull - jnp.dot(w, pull) / square * w) / square",
        "return pull - jnp.dot(w, pull) * w",
        (GATED,),
    ),
    Mutant(
        "growing system: cubes of temperatures fall without the factor 3",
        FLOW,
        "factor = 3 * self.temperature_rate",
        "factor = self.temperature_rate",
        (FALLS,),
    ),
    Mutant(
        "growing system: a temperature is the square root of its cube",
        FLOW,
        "jnp.cbrt(jnp.maximum(x.cubes, 0))",
        "jnp.sqrt(jnp.maximum(x.cubes, 0))",
        (FALLS,),
    ),
    Mutant(
        "growing system: sums over tokens cool as means do",
        FLOW,
        '(z.shape[0] if self.loss.reduction == "sum" else 1)',
        "1",
        (COOLING,),
    ),
    Mutant(
        "growing system: a clipped temperature goes on falling",
        FLOW,
        "warm = self.active & ~self.clipped",
        "warm = self.active",
        (COLD,),
    ),
    Mutant(
        "growing system: prototypes ascend",
        FLOW,
        "-self.prototype_rate.astype(dtype) * by_prototypes",
        "self.prototype_rate.astype(dtype) * by_prototypes",
        (FALLS, CRITICAL),
    ),
    Mutant(
        "growing system: the encoder ascends",
        FLOW,
        "-self.encoder_rate.astype(g.dtype) * g",
        "self.encoder_rate.astype(g.dtype) * g",
        (FALLS, CRITICAL),
    ),
    Mutant(
        "growing system: the regulariser has no factor one half",
        FLOW,
        "return self.regulariser / 2 * sum((",
        "return self.regulariser * sum((",
        (FALLS,),
    ),
    Mutant(
        "growing system: products count once in the squared distances",
        FORCES,
        "- 2 * products",
        "- products",
        (FALLS, CRITICAL),
    ),
    Mutant(
        "growing system: the pull of inputs has the sign of prototypes",
        FORCES,
        "by_inputs = 2 * (y.reshape(-1, n, m) - jnp.einsum",
        "by_inputs = -2 * (y.reshape(-1, n, m) - jnp.einsum",
        (FALLS, CRITICAL),
    ),
    Mutant(
        "growing system: forces are means where sums are asked for",
        FORCES,
        'count = n if loss.reduction == "mean" else 1',
        "count = n",
        (COOLING,),
    ),
    Mutant(
        "growing system: the barrier's force is left out",
        FORCES,
        "by_prototypes + jax.vmap(loss.penalty_gradient)(p)",
        "by_prototypes",
        (FALLS, CRITICAL),
    ),
    Mutant(
        "growing system: heads are added below the threshold",
        EVENTS,
        "above = flow.dominant > flow.rules.threshold",
        "above = flow.dominant < flow.rules.threshold",
        (COUNT,),
    ),
    Mutant(
        "growing system: growth does not reset the clock",
        EVENTS,
        "cubes=placed(x.cubes, slot, _first_cube(flow, x)),\n        clock=jnp.zeros_like(x.clock),",
        "cubes=placed(x.cubes, slot, _first_cube(flow, x)),\n        clock=x.clock,",
        (EVENT_COUNT,),
    ),
    Mutant(
        "growing system: a new head has the cube root of its first temperature",
        EVENTS,
        "    return T * T * T",
        "    return T",
        (COOLING,),
    ),
    Mutant(
        "growing system: a head captures another direction than the gate's",
        EVENTS,
        'u = _unit(free @ w, "gate")',
        'u = _unit(free @ np.roll(w, 1), "gate")',
        (HIERARCHY,),
    ),
    Mutant(
        "growing system: a head captures a direction where it should capture a plane",
        EVENTS,
        'if flow.rules.removal == "plane":',
        'if flow.rules.removal == "direction":',
        (CAPTURED,),
    ),
    Mutant(
        "growing system: the partner of a direction is any vector beside it",
        EVENTS,
        "@ u\n        partner = partner - u * (u @ partner)",
        "@ np.roll(u, 1)\n        partner = partner - u * (u @ partner)",
        (CAPTURED,),
    ),
    Mutant(
        "growing system: a gate has settled far from its plane",
        EVENTS,
        "return flow.rules.settled**2 - (1 - inside)",
        "return (1 - inside) - flow.rules.settled**2",
        (GATE_SETTLED,),
    ),
    Mutant(
        "growing system: the distance of a gate that has settled is its square",
        EVENTS,
        "return flow.rules.settled**2 - (1 - inside)",
        "return flow.rules.settled - (1 - inside)",
        (GATE_SETTLED,),
    ),
    Mutant(
        "growing system: the order of levels is not asked for",
        EVENTS,
        "lower = flow.dominant < flow.last_level if flow.rules.ordered else True",
        "lower = True",
        (RULED,),
    ),
    Mutant(
        "growing system: the level at the growth before is forgotten",
        EVENTS,
        "last_level=flow.dominant,",
        "last_level=flow.last_level,",
        (RULED,),
    ),
    Mutant(
        "growing system: shared and projected inputs of heads are exchanged",
        FLOW,
        'if self.rules.head_input == "shared":',
        'if self.rules.head_input == "projected":',
        (SHARED,),
    ),
    Mutant(
        "growing system: a new bank lies across its direction",
        EVENTS,
        "return centre + float(rules.spread) * np.outer(steps, u)",
        "return centre + float(rules.spread) * np.outer(steps, np.roll(u, 1))",
        ("growing/corollary-2/corrected",),
    ),
    Mutant(
        "growing system: directions are released where they are retained",
        EVENTS,
        'if flow.rules.release == "retain" else flow.retained',
        'if flow.rules.release == "release" else flow.retained',
        (RETAINED, EVENT_COUNT),
    ),
    Mutant(
        "growing system: the head of the largest measure is removed",
        EVENTS,
        "head = int(jnp.argmin(jnp.where(flow.active, head_measures(flow, x), jnp.inf)))",
        "head = int(jnp.argmax(jnp.where(flow.active, head_measures(flow, x), -jnp.inf)))",
        tests=(
            "tests/test_growing.py::test_pruning_drops_the_head_of_the_least_separation_and_keeps_or_releases_its_direction",
        ),
    ),
    Mutant(
        "growing system: removing a head moves the others",
        EVENTS,
        "prototypes=placed(x.prototypes, head, empty[head])",
        "prototypes=placed(1.01 * x.prototypes, head, empty[head])",
        (OTHERS, JOINTLY),
    ),
    Mutant(
        "growing system: heads are removed above the threshold",
        EVENTS,
        "threshold - head_measures(self.flow, x), -1.0",
        "head_measures(self.flow, x) - threshold, -1.0",
        tests=("tests/test_growing.py::test_growth_and_pruning_without_dwell_stop_at_the_cap_with_the_cycle",),
    ),
    Mutant(
        "growing system: a clip is not kept",
        EVENTS,
        "clipped = eqx.tree_at(lambda f: f.clipped, flow, flow.clipped | reached)",
        "clipped = flow",
        (COLD,),
    ),
    Mutant(
        "growing system: directional energies are not relative",
        EVENTS,
        "jnp.linalg.norm(u @ m.T, axis=1) / jnp.linalg.norm(m)",
        "jnp.linalg.norm(u @ m.T, axis=1)",
        (OTHERS, "growing/corollary-8/corrected"),
    ),
    Mutant(
        "growing system: a step of the Algorithm divides by the temperature once",
        STEPS,
        "moved = temperature - rate * activity / temperature**2",
        "moved = temperature - rate * activity / temperature",
        ("growing/lemma-17-iii/corrected",),
    ),
    Mutant(
        "growing system: a step of the Algorithm ascends in the prototypes",
        STEPS,
        "x.prototypes + v.prototypes",
        "x.prototypes - v.prototypes",
        ("growing/theorem-6-iv/discrete",),
    ),
    Mutant(
        "growing system: the other rule has no second division by the squared length",
        "dynsim.systems.growing.gate",
        "return (pull - jnp.dot(w, pull) / square * w) / square",
        "return pull - jnp.dot(w, pull) / square * w",
        ("growing/lemma-23/corrected",),
    ),
    Mutant(
        "growing system: a new bank is scaled by the variance of the tokens",
        "dynsim.systems.growing.transitions",
        '"tokens": np.std(along)',
        '"tokens": np.var(along)',
        ("growing/corollary-2/corrected",),
    ),
    Mutant(
        "growing system: a new bank begins at the origin",
        "dynsim.systems.growing.transitions",
        "return centre + float(rules.spread) * np.outer(steps, u)",
        "return float(rules.spread) * np.outer(steps, u)",
        ("growing/corollary-2/corrected",),
    ),
    Mutant(
        "growing system: the spread of a new bank is squared",
        "dynsim.systems.growing.transitions",
        "return centre + float(rules.spread) * np.outer(steps, u)",
        "return centre + float(rules.spread) ** 2 * np.outer(steps, u)",
        ("growing/corollary-2/corrected",),
    ),
    Mutant(
        "growing system: a gate's first step is the second one",
        "dynsim.systems.growing.descent",
        "(jnp.asarray(k, float) + 1.0) ** self.gate_power",
        "(jnp.asarray(k, float) + 2.0) ** self.gate_power",
        tests=("tests/test_growing.py::test_a_gate_takes_decreasing_steps_and_keeps_its_length",),
    ),
    Mutant(
        "growing system: a gate's step changes its length",
        "dynsim.systems.growing.descent",
        "return moved / jnp.where(norm > 0, norm, 1.0)",
        "return moved",
        tests=("tests/test_growing.py::test_a_gate_takes_decreasing_steps_and_keeps_its_length",),
    ),
)
