"""Wrong inequalities in the conditions of theorems, with the tests that notice them."""

from tests.quality.mutants import Mutant


def _case(file: str, test: str, case: str = "") -> tuple[str, ...]:
    """The address of a test, with one of its cases."""
    return (f"tests/theorems/test_{file}.py::test_{test}" + (f"[{case}]" if case else ""),)


APPLIES, MISSES = "a_theorem_applies_where_it_is_known_to", "a_near_miss_names_the_one_condition"
KNOWN, MISSED = "a_known_result_is_repeated", "a_near_miss_is_named"
MEASURES = "weights_rates_and_signs_of_matrix_measures"

# fmt: off
MUTANTS = (
    # decisions on boxes
    Mutant("theorems: zero counts as positive", "_Cover.run",
           "found[:, 0] > 0 if self.strictly else found[:, 0] >= 0", "found[:, 0] >= 0",
           tests=_case("literature", MISSED, "two equal oscillators of Kuramoto synchronise from almost half a turn")),
    Mutant("theorems: zero counts as negative", "_Cover._witness",
           "found[:, 1] <= 0 if self.strictly else found[:, 1] < 0", "found[:, 1] <= 0",
           tests=_case("each_condition", "what_is_zero_is_not_negative")),
    Mutant("theorems: boxes that the boundary crosses are left out", "_Cover._meeting", "high < 0", "low < 0",
           tests=_case("theorems", APPLIES, "poincare_bendixson")),
    Mutant("theorems: a box without a sure point of the region gives a witness", "_Cover._witness",
           "np.flatnonzero(fails & surely)", "np.flatnonzero(fails)",
           tests=_case("each_condition", "a_box_beside_the_region_is_no_witness")),
    # the boundary
    Mutant("theorems: outwards is inwards", "pointing_inwards", "-1.0 if outwards else 1.0", "1.0",
           tests=_case("theorems", APPLIES, "poincare_bendixson, backwards")),
    Mutant("theorems: the normal of a face has no sign", "pointing_inwards",
           "sign * s * field(x)[k]", "sign * field(x)[k]", tests=_case("theorems", APPLIES, "nagumo")),
    Mutant("theorems: the box always holds the region", "kept_in_box",
           "HOLDS if found.is_empty else row.status", "HOLDS",
           tests=_case("each_condition", "a_region_that_goes_on_beyond_its_box_is_not_enough")),
    Mutant("theorems: no region has holes", "simply_connected", "region.is_simply_connected or None", "True",
           tests=_case("theorems", MISSES, "a hole in the region")),
    Mutant("theorems: a point on the boundary is inside", "_has_inner_middle",
           "region.bounds.values(middles(region.sides[None]))[..., 0] > 0",
           "region.bounds.values(middles(region.sides[None]))[..., 0] >= 0",
           tests=_case("synthesis", "a_convex_region_with_a_point_inside_needs_no_corners")),
    # the plane
    Mutant("theorems: the divergence is negative", "bendixson_dulac", "sign * spread(x)", "-spread(x)",
           tests=_case("theorems", APPLIES, "dulac, growing")),
    Mutant("theorems: equilibria are allowed", "poincare_bendixson",
           "jnp.sum(field(x) ** 2)", "jnp.sum(field(x) ** 2) + 1e-3",
           tests=_case("theorems", MISSES, "an equilibrium in the region")),
    Mutant("theorems: saddles have index one", "_decided", "index > 0", "index < 0", beside="_indices",
           tests=_case("plane", "rivals_of_which_one_dies_out_have_no_periodic_orbit")),
    # stability
    Mutant("theorems: V grows along solutions", "lyapunov",
           "-jnp.dot(jax.grad(height)(x), field(x))", "jnp.dot(jax.grad(height)(x), field(x))",
           tests=_case("theorems", APPLIES, "lyapunov")),
    Mutant("theorems: one minor of a Hessian is enough", "definite",
           "leading_minors(jax.hessian(value), near.dimension)",
           "leading_minors(jax.hessian(value), near.dimension)[:1]",
           tests=_case("each_condition", "a_saddle_of_v_inside_of_the_core_is_seen")),
    Mutant("theorems: the largest level on the boundary counts", "largest_level", "min(lows)", "max(lows)",
           tests=_case("each_condition", "the_level_is_that_of_the_nearest_face")),
    Mutant("theorems: a ball that holds zero is positive", "above_zero", "value > 0", "value >= 0",
           tests=_case("literature", MISSED,
                       "a cycle of three equal steps with negative feedback is stable up to the gain 8")),
    Mutant("theorems: weights of a norm are turned around", "contraction",
           "w[None, :] / w[:, None]", "w[:, None] * (1 / w[None, :])",
           tests=_case("synthesis", "weights_and_a_rate_are_found")),
    Mutant("theorems: interactions of both signs cancel in a norm", "_row", "jnp.abs(line[j])", "line[j]",
           beside="contraction", tests=_case("each_condition", MEASURES)),
    Mutant("theorems: half the rate of contraction is enough", "contraction", "2 * least * P", "least * P",
           tests=_case("each_condition", MEASURES)),
    Mutant("theorems: any input keeps states in the region", "input_to_state", "most < level", "most > 0",
           tests=_case("each_condition", "inputs_of_both_signs_bound_the_states")),
    Mutant("theorems: any time between switches is enough", "dwell_time", "gap > 0", "gap > -100",
           tests=("tests/theorems/test_switching.py",)),
    Mutant("theorems: the bound of V'' is less sharp", "_is_bounded", "rtol=0.1", "rtol=0.2", beside="barbalat",
           equivalent="a bound that is less sharp is a bound"),
    Mutant("theorems: one half is too long a step of Newton's method", "_decided", "h > 0.5", "h >= 0.5",
           beside="newton_kantorovich", equivalent="one half itself is decided before"),
    # structure
    Mutant("theorems: the sign of one component counts for an order", "cooperative",
           "sign * way[i] * way[j]", "sign * way[i]", tests=_case("synthesis", "an_order_that_is_given_is_checked")),
    Mutant("theorems: every loop allows an order", "_orthant", "signs[j] != sign * signs[i]", "False",
           tests=_case("synthesis", "signs_come_from_all_points_and_both_directions")),
    Mutant("theorems: negative interactions are allowed", "_not_falling", "value >= 0", "value != 0",
           tests=_case("plane", MISSES, "a matrix with an entry of -1e-30")),
    Mutant("theorems: volumes grow", "liouville", "-spread(x)", "spread(x)",
           tests=_case("literature", KNOWN, "volumes shrink along solutions of Lorenz's equations")),
    # bifurcations
    Mutant("theorems: supercritical is subcritical", "hopf", "first < 0", "first > 0",
           tests=_case("literature", KNOWN,
                       "the Hopf point of Lorenz's equations is at rho = 470/19 and subcritical")),
    Mutant("theorems: a coefficient zero is different from zero", "different_from_zero", "value != 0", "value == value",
           tests=_case("theorems", MISSES, "a linear centre")),
    # existence, time scales and maps
    Mutant("theorems: both faces of a box have one sign", "miranda",
           "((1, sign), (0, -sign))", "((1, sign), (0, sign))", tests=_case("theorems", APPLIES, "miranda")),
    Mutant("theorems: long first steps of Newton's method are short", "_decided", "h <= 0.5", "h <= 1.0",
           beside="newton_kantorovich",
           tests=_case("each_condition", "a_first_step_of_newton_that_is_too_long")),
    Mutant("theorems: a saddle of two fast components attracts", "fenichel", "determinant(J(x))", "jnp.ones(())",
           tests=_case("theorems", MISSES, "a saddle of the fast components")),
    Mutant("theorems: the reduced problem is followed for a time of one", "_staying.gap",
           "last * jnp.abs(field(x)[k])", "0.0 * jnp.abs(field(x)[k])",
           tests=_case("timescales", MISSES, "a time that is too long")),
    Mutant("theorems: the pair of a saddle focus may attract more", "shilnikov", "-at_value(b)", "-d",
           tests=_case("maps", MISSES, "a saddle focus that attracts more")),
    Mutant("theorems: every twist map is exact", "_exact", "is_zero(lambda x: step(-x) + step(x), 2)", "True",
           tests=_case("maps", MISSES, "a flux")),
    Mutant("theorems: the factor of the Schwarzian derivative is two", "singer",
           "1.5 * f[2](x) ** 2", "3.0 * f[2](x) ** 2",
           tests=_case("each_condition", "the_factor_of_the_schwarzian_derivative")),
)
# fmt: on
