"""Claims of Sections 3.3 and 1 on the equilibria of (8) for P = I: their stability, and which starts avoid them."""

import math
from fractions import Fraction
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from analysis.claims.consensus.instances.equilibria import circle_configurations, configurations, other_sizes
from analysis.claims.consensus.instances.hemispheres import chord
from analysis.claims.consensus.instances.printed_attention import printed_field
from analysis.claims.consensus.instances.sizes import number_of_tokens
from analysis.claims.rational_instances import identity, matrix, rational_unit, tangent_part
from analysis.dynamics.equilibria.newton import Equilibrium, equilibria, newton, random_starts
from analysis.dynamics.linearisation import eigenvalues, rotations, tangent_jacobian
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, SOLVER, Measurement, Trial, agrees, at_least, at_most, equal, holds
from analysis.tokens.consensus import diameter
from analysis.tokens.energies import consensus_potential
from dynsim._core.types import Key, Scalar, Tokens
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.tokens.flow import TokenFlow
from dynsim.systems.tokens.interactions.masks import Window

N, D = 4, 3
HALVED = np.diag([1.0, 0.5, 0.5])
"""A value matrix for which a split along its first axis is attracting: 1/2 is less than tanh 1."""


def growth_rate(flow: TokenFlow, x: Tokens) -> float:
    """Return the largest real part of an eigenvalue of the linearisation at tokens x."""
    return float(np.max(np.real(eigenvalues(tangent_jacobian(flow, x)))))


def _instability_trial(key: Key, name: str, x: np.ndarray, value: np.ndarray | float) -> Trial:
    """Measure the linearisation at a constructed equilibrium, and at those that Newton's method finds on the sphere."""
    d = x.shape[1]
    rotation = np.linalg.qr(np.asarray(jax.random.normal(key, (d, d))))[0] if np.ndim(value) == 0 else np.eye(d)
    at = jnp.asarray(x @ rotation.T)
    flow = TokenFlow(np.eye(d), value)
    U = value if isinstance(value, np.ndarray) else value * np.eye(d)
    found = [e for e in _searched(flow, key, U) if float(diameter(e.state)) > 1e-3] if d == D else []
    rates = [growth_rate(flow, e.state) for e in found]
    random = flow.space.sample(jax.random.fold_in(key, 1), at.shape)
    back, speed = newton(flow, flow.space.project(at + 1e-2 * random))
    counted = (at_least("number of equilibria found off consensus", len(found), 1, tolerance=0.0),) if d == D else ()
    return Trial(
        hypotheses=(
            at_most("speed at the configuration", jnp.max(jnp.abs(flow.vector_field(0.0, at))), 1e-11, tolerance=0.0),
            at_least("diameter of the configuration", diameter(at), 0.0, tolerance=SOLVER),
            *counted,
        ),
        conclusions=(
            at_least("largest real part of the linearisation", growth_rate(flow, at), 1e-3, tolerance=ROUNDING),
            *(m for e, r in zip(found, rates, strict=True) for m in _searched_measurements(e, r, U)),
            at_most("speed after Newton's method from beside the configuration", speed, 1e-10, tolerance=ROUNDING),
            chord("change of the products of tokens by it", jnp.max(jnp.abs(back @ back.T - at @ at.T)), 0.1),
            agrees(
                "the field that ships, at random tokens, against (7)",
                flow.vector_field(0.0, random),
                printed_field(random, np.eye(d)[None], U[None], np.eye(d)),
            ),
        ),
        witness={"configuration": name, "x": np.asarray(at), "rates": rates},
        parameters={"n": len(x), "d": d, "equilibrium": name, **({"found": len(found)} if d == D else {})},
    )


def _searched_measurements(e: Equilibrium, rate: float, U: np.ndarray) -> tuple[Measurement, ...]:
    """Measure that an equilibrium found is one, by (7) as printed, and unstable, by its spectrum across rotations."""
    speed = np.max(np.abs(printed_field(e.state, np.eye(D)[None], U[None], np.eye(D))))
    return (
        at_most("speed at an equilibrium found by Newton's method", speed, 1e-9, tolerance=ROUNDING),
        at_least("largest real part of the linearisation there", rate, 1e-3, tolerance=1e-7),
        equal("the same in its spectrum", np.real(e.spectrum.values[0]), rate, tolerance=1e-7),
        at_least("its index", e.spectrum.index, 1, tolerance=0.0),
    )


def _searched(flow: TokenFlow, key: Key, U: np.ndarray) -> list[Equilibrium]:
    """Return the equilibria found from random tokens, up to the rotations that keep U and permutation of tokens."""
    gram = lambda x: jnp.sort(jnp.sum(x @ x.T, axis=1))
    return equilibria(flow, random_starts(flow, key, (N, D), 16), symmetries=rotations(D, U), invariant=gram)


@claim(
    "consensus/claim-identity-stable-equilibria",
    num_trials=16,
    note="the case of spheres of two or more dimensions is certified; on the circle it depends on the equilibria "
    "constructed here (regular polygons, antipodal splits), a complete list being unknown; by rotation symmetry no "
    "single equilibrium is asymptotically stable anyway",
)
def other_equilibria_are_unstable(key: Key) -> Trial:
    """For P = I no equilibrium of (8) other than a consensus equilibrium is asymptotically stable.

    Read: the linearisation has an eigenvalue with positive real part, which excludes stability.
    """
    known = [*configurations().items(), *other_sizes().items(), *circle_configurations().items()]
    name, x = known[int(jax.random.randint(key, (), 0, len(known)))]
    return _instability_trial(key, name, x, 1.0)


@other_equilibria_are_unstable.with_control
def other_equilibria_are_unstable(key: Key) -> Trial:
    """The value matrix diag(1, 1/2, 1/2), for which the split along its first axis is attracting."""
    name = "two against two"
    return _instability_trial(key, name, configurations()[name], HALVED)


def _pair_terms(y: Exact, z: Exact, directions: Exact) -> Fraction:
    """Return the sum over directions g of (c'^2 + c'')/2, c = y.z, on geodesics with velocities Pi_y g and Pi_z g."""
    c, total = y @ z, Fraction(0)
    for g in directions:
        v, w = g - (g @ y) * y, g - (g @ z) * z
        first, second = v @ z + y @ w, 2 * (v @ w) - (v @ v + w @ w) * c
        total = total + (first**2 + second) / 2
    return total


def _summed_identity(exponent: int) -> bool:
    """Return whether the sum of `_pair_terms` is (1 - c)((d - 3) + (1 - c)(2 + c)) for all c and d, symbolically.

    In a plane with y = (1, 0) and z = (c, s), s^2 = 1 - c^2, and d - 2 directions orthogonal to it. `exponent` is the
    power of the last factor.
    """
    import sympy as sp

    c, s, d = sp.symbols("c s d")
    y, z = sp.Matrix([1, 0, 0]), sp.Matrix([c, s, 0])
    total = sp.Integer(0)
    for k, times in ((0, 1), (1, 1), (2, d - 2)):
        g = sp.Matrix([int(k == m) for m in range(3)])
        v, w = g - g.dot(y) * y, g - g.dot(z) * z
        first, second = v.dot(z) + y.dot(w), 2 * v.dot(w) - (v.dot(v) + w.dot(w)) * c
        total += times * (first**2 + second) / 2
    claimed = (1 - c) * ((d - 3) + (1 - c) * (2 + c) ** exponent)
    return sp.rem(sp.expand(total - claimed), s**2 - (1 - c**2), s) == 0


@jax.jit
def _second_derivative(x: Tokens, v: Tokens) -> Scalar:
    """Return the second derivative at s = 0 of -V, for P = I, at the projection of x + s v to the sphere."""
    energy = lambda s: -consensus_potential(Sphere().project(x + s * v), jnp.eye(x.shape[1]))
    return jax.grad(jax.grad(energy))(0.0)


def _hessian_trial(key: Key, exponent: int) -> Trial:
    """Sum the Hessian of -V over the directions Pi_i g, g in a basis of R^d, exactly and as it ships."""
    a, b, c = jax.random.split(key, 3)
    n, d = 2 + 2 * int(jax.random.bernoulli(a)), 3 + int(jax.random.bernoulli(b))
    y = np.stack([rational_unit(jax.random.fold_in(c, k), d) for k in range(n)])
    basis = identity(d)
    terms = [(y[i] @ y[j], _pair_terms(y[i], y[j], basis)) for i in range(n) for j in range(n)]
    formula = [(1 - p) * ((d - 3) + (1 - p) * (2 + p) ** exponent) for p, _ in terms]
    total = sum(math.exp(p) * float(term) for p, term in terms)
    space, x = Sphere(), jnp.asarray(y.astype(float))
    shipped = sum(float(_second_derivative(x, space.tangent(x, jnp.tile(g, (n, 1))))) for g in jnp.eye(d))
    return Trial(
        hypotheses=(
            holds("the tokens are on the sphere, exactly", all(v @ v == 1 for v in y)),
            holds("the sphere has two or more dimensions", d >= 3),
            holds("the tokens do not all coincide", any(p < 1 for p, _ in terms)),
        ),
        conclusions=(
            holds("the formula for the sum holds for all c and d", _summed_identity(exponent)),
            holds("it holds for every pair of tokens", all(f == t for f, (_, t) in zip(formula, terms, strict=True))),
            holds("every pair that does not coincide adds a positive number", all(t > 0 for p, t in terms if p < 1)),
            agrees("the sum of the Hessian of -V that ships", shipped, total),
        ),
        witness={"y": y, "sum": total},
        parameters={"n": n, "d": d},
    )


other_equilibria_are_unstable_on_spheres = certified(
    "consensus/claim-identity-stable-equilibria/two-or-more-dimensions",
    statement="""
    For P = I, on spheres of two or more dimensions, no equilibrium other than consensus is asymptotically stable.

    Added: the sphere has n >= 2 dimensions. Off consensus, the sum over an orthonormal basis g of R^(n+1) of the
    Hessian of -V along (Pi_1 g, ..., Pi_l g) is the sum over i, j of e^c (1 - c)((n - 2) + (1 - c)(2 + c)) > 0, with
    c = y_i^T y_j, so that one of these directions is unstable for the gradient flow.
    """,
    trial=partial(_hessian_trial, exponent=1),
    control=partial(_hessian_trial, exponent=2),  # The formula with the square of 2 + c.
    variant="special case",
    num_trials=6,
)


@certified(
    "consensus/claim-identity-consensus-point",
    num_trials=8,
    note="no control: there are other equilibria in every neighbourhood, whatever the data; the claim on the set is "
    "its positive case",
)
def consensus_point_is_asymptotically_stable(key: Key) -> Trial:
    """For P = I each consensus equilibrium y, as a single point of (S^n)^l, is asymptotically stable.

    Then every initial point in a neighbourhood of y would converge to y. The initial point tried is another consensus
    equilibrium, obtained by a rotation through a rational angle of less than 2^-19, where the field is exactly zero.
    """
    u, n = rational_unit(key, D), number_of_tokens(key)
    s = Fraction(1, 2**20)
    c, t = (1 - s * s) / (1 + s * s), 2 * s / (1 + s * s)
    turned = u.copy()
    turned[0], turned[1] = c * u[0] - t * u[1], t * u[0] + c * u[1]
    turned = turned if any(turned != u) else np.array([c * u[2], t * u[2], Fraction(0)], object)
    eye = matrix(np.eye(D, dtype=int))
    field = tangent_part(eye, turned, turned)  # all tokens equal: the field is a multiple of this
    gap = sum((turned - u) ** 2)
    shipped = TokenFlow(np.eye(D)).vector_field(0.0, jnp.asarray(np.tile(turned.astype(float), (n, 1))))
    return Trial(
        hypotheses=(
            holds("both are unit vectors", sum(u * u) == 1 and sum(turned * turned) == 1),
            holds("the initial point is within 2^-19 of y, and not y", 0 < gap <= Fraction(1, 2**38)),
            agrees("the field that ships, at the initial point", shipped, np.zeros((n, D))),
        ),
        conclusions=(holds("the initial point converges to y", any(f != 0 for f in field)),),
        witness={"y": u, "start": turned, "s": [s]},
        parameters={"n": n, "d": D},
    )


def _attraction_trial(key: Key, integrator: AbstractIntegrator, flow: TokenFlow) -> Trial:
    """Measure both halves of asymptotic stability of the consensus set, and the rate, from tokens near a point."""
    a, b, c, e = jax.random.split(key, 4)
    n = (2, N, 7)[int(jax.random.randint(e, (), 0, 3))]
    point = flow.space.sample(a, (1, D))
    size = 10.0 ** -float(jax.random.uniform(c, (), minval=1.0, maxval=3.0))
    x0 = flow.space.project(point + size * jax.random.normal(b, (n, D)))
    path = simulate(flow, x0, [0.0, 1.0, 2.0, 4.0, 8.0, 12.0, 100.0], integrator=integrator)
    widths = np.asarray(path.along(diameter))
    values = np.sort(np.real(eigenvalues(tangent_jacobian(flow, jnp.tile(point, (n, 1))))))
    decaying = (n - 1) * (D - 1)
    expected = np.append(np.full(decaying, -1 / math.sqrt(D)), np.zeros(D - 1))
    return Trial(
        hypotheses=(
            at_most("initial diameter", widths[0], 1.0, tolerance=ROUNDING, within=(0, 2)),
            at_least("initial diameter, of distinct tokens", widths[0], 0.0, tolerance=SOLVER),
        ),
        conclusions=(
            at_most("increase of the diameter", np.max(np.diff(widths)), 0.0, tolerance=SOLVER * widths[0]),
            at_most("diameter at t=100, over the initial one", widths[-1] / widths[0], 1e-3, tolerance=SOLVER),
            equal(
                "rate at which it decays from t=8 to t=12",
                np.log(widths[4] / widths[5]) / 4,
                1 / math.sqrt(D),
                tolerance=1e-3,
            ),
            agrees("the eigenvalues at the point, -1/sqrt(d) and, along the set, 0", values, expected),
        ),
        witness={"x0": np.asarray(x0)},
        parameters={"n": n, "d": D, "distance": size},
    )


consensus_set_is_asymptotically_stable = claim(
    "consensus/claim-identity-consensus-point/corrected",
    statement="""
    For P = I the set of consensus equilibria is asymptotically stable. Changed: the set instead of each point.

    Near it the diameter of the tokens does not increase, and decreases like e^(-t / sqrt(d)).
    """,
    trial=lambda key, integrator: _attraction_trial(key, integrator, TokenFlow(np.eye(D))),
    # A token attends to itself only: the set is stable but does not attract.
    control=lambda key, integrator: _attraction_trial(key, integrator, TokenFlow(np.eye(D), mask=Window(1))),
    num_trials=8,
)


MEMBERS = 59
"""If none of 59 independent starts is an exception, exceptions have measure below 1/20 with confidence 95%."""


@certified(
    "consensus/claim-identity-every-initial-position",
    num_trials=8,
    note="no control: the statement has no hypothesis to drop; almost every initial position is its positive case",
)
def every_start_reaches_consensus(key: Key) -> Trial:
    """For P = I the tokens converge to a consensus equilibrium from every initial position.

    The initial position tried is an antipodal pair of rational unit vectors, at which the field is exactly zero for any
    attention weights.
    """
    u = rational_unit(key, D)
    fields = [tangent_part(identity(D), y, v) for y in (u, -u) for v in (u, -u)]
    rest = all(f == 0 for field in fields for f in field)
    shipped = TokenFlow(np.eye(D)).vector_field(0.0, jnp.asarray(np.stack([u, -u]).astype(float)))
    return Trial(
        hypotheses=(
            holds("the tokens are on the sphere", sum(u * u) == 1),
            agrees("the field that ships, at the initial position", shipped, np.zeros((2, D))),
        ),
        conclusions=(holds("the tokens converge to one point", not rest or all(u == -u)),),
        witness={"tokens": np.stack([u, -u])},
        parameters={"n": 2, "d": D},
    )


def _basin_trial(key: Key, integrator: AbstractIntegrator, value: np.ndarray | float) -> Trial:
    """Measure the fraction of random starts that do not reach consensus, and the linearisation at known equilibria."""
    flow, U = TokenFlow(np.eye(D), value), value * np.eye(D)
    n = number_of_tokens(key, (2, N)) if np.ndim(value) == 0 else N
    starts = [flow.space.sample(k, (n, D)) for k in jax.random.split(key, MEMBERS)]
    ends = [simulate(flow, x0, [0.0, 150.0, 300.0], integrator=integrator).ys for x0 in starts]
    widths = np.array([[float(diameter(x)) for x in states] for states in ends])
    exceptions = int(np.sum(widths[:, 2] > 1e-3))
    bound = _upper_bound(exceptions)
    known = [x for x in (*configurations().values(), *other_sizes().values()) if len(x) == n]
    rates = [growth_rate(flow, jnp.asarray(x)) for x in known]
    reached = widths[:, 2] <= 1e-3
    moving = max(
        (float(jnp.max(jnp.abs(flow.vector_field(0.0, s[2])))) for s, r in zip(ends, reached, strict=True) if r),
        default=1.0,
    )
    return Trial(
        hypotheses=(at_least("least initial diameter", np.min(widths[:, 0]), 0.0, tolerance=ROUNDING),),
        conclusions=(
            agrees(
                "the field that ships",
                flow.vector_field(0.0, starts[0]),
                printed_field(starts[0], np.eye(D)[None], U[None], np.eye(D)),
            ),
            at_most("measure of the exceptions, with confidence 95%", bound, 0.05, tolerance=0.0, within=(0, 1)),
            at_most("largest speed of a token at t=300", moving, 1e-3, tolerance=SOLVER),
            at_least("least growth rate at equilibria off consensus", min(rates), 1e-3, tolerance=ROUNDING),
        ),
        witness={"starts": np.stack(starts), "exceptions": exceptions},
        parameters={"n": n, "d": D, "starts": MEMBERS},
    )


def _upper_bound(exceptions: int) -> float:
    """Return the upper end of the one-sided 95% Clopper-Pearson interval for the probability of an exception."""
    import scipy.stats

    return float(scipy.stats.beta.ppf(0.95, exceptions + 1, MEMBERS - exceptions)) if exceptions < MEMBERS else 1.0


almost_every_start_reaches_consensus = claim(
    "consensus/claim-identity-every-initial-position/corrected",
    statement="""
    For P = I the tokens converge to a consensus equilibrium from almost every initial position. Added: almost.

    Read: among random starts exceptions have measure below 1/20 with confidence 95%, and the known equilibria off
    consensus are unstable, so that what converges to them has measure zero.
    """,
    trial=partial(_basin_trial, value=1.0),
    # The value matrix diag(1, 1/2, 1/2), for which antipodal splits attract too.
    control=partial(_basin_trial, value=HALVED),
    num_trials=4,
)
