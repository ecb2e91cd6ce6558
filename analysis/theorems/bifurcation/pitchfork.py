"""The conditions of a pitchfork bifurcation of a symmetric equilibrium."""

import jax.numpy as jnp
import numpy as np

from analysis.dynamics.validated.taylor import arithmetic
from analysis.theorems.algebra import is_zero
from analysis.theorems.bifurcation.extended import BITS, TERMS, forms_of
from analysis.theorems.bifurcation.resting import RestingPoint, resting_point
from analysis.theorems.conditions import FAILS, HOLDS, UNDECIDED, Conditions, Hypothesis, known, theorem
from analysis.theorems.exactly import different_from_zero
from analysis.theorems.regions import point
from dynsim._core.types import ArrayLike
from dynsim._core.validation import reals
from dynsim.errors import ArgumentError
from dynsim.systems.parameter import Parameter

NAME = "Pitchfork bifurcation"


@theorem
@arithmetic(BITS, TERMS)
def pitchfork(parameter: Parameter, value: float, state: ArrayLike, *, symmetry: ArrayLike | None = None) -> Conditions:
    """Check the conditions under which two symmetric equilibria leave one that rests for all parameters.

    The field is symmetric: f(x* + R y) = R f(x* + y) with R R = 1, and R turns the null vector q around. On the centre
    manifold the flow is u' = speed (a - a0) u + cubic u^3 + ...; both coefficients must not be zero.

    Args:
        parameter: a flow with the parameter.
        value: the parameter near the bifurcation.
        state: the equilibrium, exactly, (n,).
        symmetry: the matrix R, (n, n); by default minus the identity, for an odd field.

    Raises:
        ValueError: for bad input, or a field that balls cannot enclose.
        UnavailableError: without python-flint.

    Source: Y. Kuznetsov, Elements of Applied Bifurcation Theory, Springer 2004, section 7.4.2.

    Example:
        >>> import numpy as np
        >>> import dynsim as ds
        >>> from analysis.theorems import pitchfork
        >>> lorenz = ds.Parameter(ds.catalogue.Lorenz(rho=0.5), "rho", 0.0, 2.0)
        >>> found = pitchfork(lorenz, 0.9, [0.0, 0.0, 0.0], symmetry=np.diag([-1.0, -1.0, 1.0]))
        >>> found.applies, round(found.numbers["rho"], 6), found.numbers["cubic"] < 0
        (True, 1.0, True)
    """
    at = point("state", state)
    found = resting_point(forms_of((parameter,), len(at), NAME), parameter.name, value, at)
    R = _reflection(symmetry, len(found.at))
    rows, numbers, side = found.rows(), {}, ""
    is_simple = rows[-1].status == HOLDS
    rows.append(_symmetric(found, R))
    if is_simple:
        speed, _, cubic = found.coefficients()
        rows += [
            _turned(found, R),
            different_from_zero("the eigenvalue crosses zero", "speed = <p, dA/da q> != 0", speed),
            different_from_zero("the cubic coefficient is not zero", "<p, C(q, q, q) - 3 B(q, h)> / 6 != 0", cubic),
        ]
        numbers = {found.name: found.value, "speed": float(speed.mid()), "cubic": float(cubic.mid())}
        side = "supercritical" if bool(cubic < 0) else "subcritical"
    return Conditions(
        NAME,
        tuple(rows),
        f"a {side} pitchfork: two equilibria, images of each other, leave it",
        "the point is no generic pitchfork bifurcation of this symmetry",
        None, parameter.system, numbers,
    )  # fmt: skip


def _reflection(symmetry: ArrayLike | None, n: int) -> np.ndarray:
    R = -np.eye(n) if symmetry is None else np.asarray(reals("symmetry", symmetry), float)
    if R.shape != (n, n) or not np.array_equal(R @ R, np.eye(n)):
        raise ArgumentError("symmetry", f"be a matrix ({n}, {n}) that is its own inverse", f"is {R.tolist()}")
    return R


def _symmetric(found: RestingPoint, R: np.ndarray) -> Hypothesis:
    """Decide by exact cancellation whether the field has the symmetry for all parameters."""
    n, at = len(found.at), jnp.asarray(found.at)
    f = lambda x, a: found.forms.field(jnp.append(x, a))
    gap = lambda z: f(at + R @ z[:n], z[n]) - R @ f(at + z[:n], z[n])
    return known("the field is symmetric", "f(x* + R y) = R f(x* + y)", is_zero(gap, n + 1))


def _turned(found: RestingPoint, R: np.ndarray) -> Hypothesis:
    """Decide whether R q = -q; for a simple eigenvalue of a symmetric field it is q or -q."""
    assert found.found is not None
    q = found.found[1:]
    image = R @ q
    kept = any(bool(a + b != 0) for a, b in zip(image, q, strict=True))
    turned = any(bool(a - b != 0) for a, b in zip(image, q, strict=True))
    status = FAILS if kept else HOLDS if turned else UNDECIDED
    return Hypothesis("the symmetry turns the null vector around", "R q = -q", status, decided="balls")
