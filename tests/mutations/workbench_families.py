"""Errors in curves of equilibria and in sets of them that attract, and the tests that notice them."""

from tests.mutants import Mutant

FAMILIES, SETS = "analysis.dynamics.equilibrium_families", "analysis.dynamics.limit_sets"
TEST = "tests/test_equilibrium_families.py::test_"
THRESHOLD = (TEST + "disease_free_equilibria_are_stable_below_the_threshold",)
WHICH = (TEST + "which_equilibrium_was_found_does_not_matter",)
CIRCLE = (TEST + "a_circle_of_equilibria_is_one_closed_curve_beside_an_isolated_one",)
CROSS = (TEST + "curves_that_cross_are_two_and_change_their_type_there",)
DEGENERATE = (TEST + "a_degenerate_equilibrium_is_no_family_and_a_plane_of_them_is_a_surface",)
SLICE = (TEST + "a_slice_shows_the_part_of_a_surface_in_it",)
PORTRAIT = (TEST + "a_portrait_has_the_curve_and_no_separatrices_of_its_points",)
EDGE = (TEST + "an_equilibrium_on_the_edge_of_a_box_is_in_it",)
ATTRACTING = (TEST + "an_attracting_curve_of_equilibria_is_one_attractor",)
RING = (TEST + "perturbations_return_to_a_ring_of_equilibria",)

STEPS = (TEST + "steps_along_a_curved_surface_of_equilibria_do_not_lead_to_another_sheet",)
ALIKE = (TEST + "linearisations_along_a_surface_are_alike_or_not",)
EACH = (TEST + "each_attracting_surface_of_equilibria_is_one_attractor",)
SURFACES = "analysis.dynamics.equilibrium_surfaces"

MUTANTS = (
    Mutant("surfaces: steps do not follow the null directions", SURFACES,
           "jnp.where(sizes <= NEAR_ZERO * sizes[0], ways @ (target - z), 0.0)", "ways @ (target - z)", tests=STEPS),
    Mutant("surfaces: steps do not come back to the surface", SURFACES,
           "z, error = corrected(z + along", "z, error = (lambda z: (z, jnp.zeros(())))(z + along", tests=STEPS),
    Mutant("surfaces: where steps end does not matter", SURFACES,
           "(off <= ARRIVED) & (gap <= EXACT) &", "(off <= ARRIVED) &", tests=STEPS),
    Mutant("surfaces: what is near a surface is on it", SURFACES,
           "(off <= ARRIVED) & (gap <= EXACT) &", "(gap <= EXACT) &", tests=STEPS),
    Mutant("surfaces: their type may change", SURFACES,
           "np.all(unstable == unstable[0])", "True", tests=ALIKE),
    Mutant("surfaces: a curve is one", SURFACES,
           "null[0] > 1 and", "null[0] > 0 and", tests=ALIKE),
    Mutant("surfaces: zero eigenvalues are null directions", SURFACES,
           "== unstable[0]) and decided)", "== unstable[0]))", tests=ALIKE),
    Mutant("surfaces: each limit on an attracting one is another attractor", "analysis.dynamics.attractor_search",
           "or place == surface:", "or False:", tests=EACH),
    Mutant("surfaces: each limit on one that does not attract is another", "analysis.dynamics.attractor_search",
           "return among_surfaces(time_map, limit, others, extent)", "return -1", tests=EACH),
    Mutant("surfaces: points of a grid do not arrive", "analysis.dynamics.basins",
           "                self.labels[self.pending[on]] = label", "                pass", tests=EACH),
    Mutant("surfaces: none attracts", "analysis.dynamics.attractor_search",
           "return limit, Attraction(True, 0.0)", "return limit, Attraction(False, 0.0)", tests=EACH),
    Mutant("families: zeros along the curve count in the type", FAMILIES,
           "[len(null_directions(J)) :]", "[0:]", tests=THRESHOLD),
    Mutant("families: the type changes at the next point", FAMILIES,
           "typed.append((self._change(before, after, word), other))", "pass", tests=THRESHOLD),
    Mutant("families: the change is sought on the other side", FAMILIES,
           "if self._kind(middle) == word else", "if self._kind(middle) != word else", tests=THRESHOLD),
    Mutant("families: the step is in the units of the flow", FAMILIES,
           "ravel_pytree(extent)[0]) / self.unit", "ravel_pytree(extent)[0])", tests=THRESHOLD),
    Mutant("families: a curve leads to one side", FAMILIES,
           'if end == "closed" else self._half(z, -way)', 'if True else self._half(z, -way)', tests=WHICH),
    Mutant("families: a curve ends a step before the edge", FAMILIES,
           "FINEST = 2**20", "FINEST = 2", tests=WHICH),
    Mutant("families: the order of a curve is that of its null vector", FAMILIES,
           "if len(apart) and one[apart[0]] > other[apart[0]]:", "if False:", tests=CROSS),
    Mutant("families: a curve never closes", FAMILIES,
           'return points, "closed"', "pass", tests=CIRCLE),
    Mutant("families: every equilibrium has its curve", FAMILIES,
           "elif any(curve.holds(family, x) for family in known):", "elif False:", tests=CIRCLE),
    Mutant("families: a point beside a curve is on it", FAMILIES,
           "< self.step / 4)", "< 1e9)", tests=CIRCLE),
    Mutant("families: the direction turns back where curves cross", FAMILIES,
           "along = null.T @ (null @ way)", "along = null[0]", tests=CROSS),
    Mutant("families: a degenerate equilibrium is a curve", FAMILIES,
           "SHORTEST = 4", "SHORTEST = 0", tests=DEGENERATE),
    Mutant("families: a plane of equilibria is a curve", FAMILIES,
           "if len(null) > 1 and", "if False and", tests=DEGENERATE),
    Mutant("families: a slice has all components", FAMILIES,
           "slice(None) if axes is None else list(axes)", "slice(None)", tests=SLICE),
    Mutant("families: a portrait marks the points of a curve one by one", "analysis.dynamics.phase_plane",
           "    return isolated, tuple(f._replace", "    return tuple(kept), tuple(f._replace", tests=PORTRAIT),
    Mutant("families: a window ends before its edge", "analysis.dynamics.phase_plane",
           "in_box(x[list(axes)], low, high)", "in_box(x[list(axes)], 0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)",
           tests=PORTRAIT),
    Mutant("families: a box has no rounding", "analysis.dynamics.equilibria",
           "edge = SAME * (high - low)", "edge = 0 * (high - low)", tests=EDGE),
    Mutant("families: equilibria of a curve do not attract", SETS,
           "return _curve(record, units, x, values) or alone", "return alone", tests=ATTRACTING),
    Mutant("families: a curve attracts as a whole", FAMILIES,
           "return word, self.points[first : last + 1]", "return word, self.points", tests=ATTRACTING),
    Mutant("families: a curve that repels attracts", SETS,
           "return LimitSet(CURVE, word,", 'return LimitSet(CURVE, "stable",', tests=ATTRACTING),
    Mutant("families: perturbations return to the points of a curve", "analysis.dynamics.returns",
           "            self.error = limit.spacing / 2", "            self.error = 0.0", tests=RING),
    Mutant("families: another part of a curve is another attractor", "analysis.dynamics.attraction",
           "return bool(nearest <= 2 * max(one.spacing, other.spacing))", "return False",
           tests=(TEST + "parts_of_a_curve_are_one_set",)),
)  # fmt: skip
