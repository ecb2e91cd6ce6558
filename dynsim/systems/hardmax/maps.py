"""Clustering maps: hardmax attention in floating-point or exact arithmetic, softmax attention, and several heads."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float

from dynsim._core.types import Step
from dynsim._core.validation import real
from dynsim.errors import ArgumentError, reason, shown
from dynsim.exact import Exact, integers, rational
from dynsim.spaces import Euclidean
from dynsim.systems.base import AbstractMap
from dynsim.systems.hardmax.attention import AbstractAttention, ExactHardmax, Hardmax, Softmax
from dynsim.systems.hardmax.search.choice import AbstractSearch
from dynsim.systems.hardmax.search.follower_sets import FollowerSets


class HardmaxMap(AbstractMap):
    r"""One layer of the pure-attention hardmax transformer, in float64.

    $$
        z_i \leftarrow z_i + \frac{\alpha}{1 + \alpha} \frac{1}{|C_i|} \sum_{j \in C_i} (z_j - z_i), \quad
        C_i = \{j : \langle A z_i, z_j \rangle = \max_l \langle A z_i, z_l \rangle\}
    $$

    The maximisers are found by exact comparison of the given floats; only the averages are rounded.

    Example:
        >>> import dynsim as ds
        >>> ds.HardmaxMap(1).step(0, [[-1], [1], [3]]).tolist()
        [[-1.0], [2.0], [3.0]]

    Source: HARDMAX, (1.1).
    """

    alpha: float
    rule: Hardmax
    space: Euclidean
    on_host: ClassVar[bool] = True

    def __init__(self, alpha: Any, attention: Any = None):
        """Store the dimensionless step size alpha and A of shape (d, d), by default the identity.

        Values that the theorems exclude are accepted (alpha <= 0, A not definite); `hypotheses` reports them.
        """
        self.alpha = _rounded(alpha)
        self.rule = Hardmax(attention)
        self.space = Euclidean()

    def follower_sets(self, x: Any, *, search: AbstractSearch | None = None) -> FollowerSets:
        """Follower sets C_1, ..., C_n at the tokens `x`, shape (n, d), by the fastest search or the given one."""
        return self.rule.follower_sets(x, search=search)

    def step(self, k: Step, x: Any) -> np.ndarray:
        """Tokens after layer `k`; a token with C_i = {i} is unchanged, bit for bit."""
        z = self.rule.tokens(x)
        return self.moved(z, self.rule.follower_sets(z))

    def moved(self, z: np.ndarray, sets: FollowerSets) -> np.ndarray:
        """Tokens after the layer, from the tokens `z`, shape (n, d), and their follower sets."""
        return z + self.alpha / (1 + self.alpha) * (sets.averages(z) - z)


class ExactHardmaxMap(AbstractMap):
    """One layer of the pure-attention hardmax transformer in exact rational arithmetic, on arrays of `Fraction`.

    Source: HARDMAX, (1.1).
    """

    alpha: Fraction
    rule: ExactHardmax
    space: Euclidean
    on_host: ClassVar[bool] = True

    def __init__(self, alpha: Any, attention: Any = None):
        """Store alpha and A exactly, converted by `rational` from ints, Fractions, strings such as `1/3`, or floats."""
        self.alpha = step_size(alpha)
        self.rule = ExactHardmax(attention)
        self.space = Euclidean()

    def follower_sets(self, x: Any, *, search: AbstractSearch | None = None) -> FollowerSets:
        """Follower sets C_1, ..., C_n at the tokens `x`, shape (n, d), by the fastest search or the given one."""
        return self.rule.follower_sets(x, search=search)

    def step(self, k: Step, x: Any) -> np.ndarray:
        """Tokens after layer `k`, as Fractions."""
        z = self.rule.tokens(x)
        return self.moved(z, self.rule.follower_sets(z))

    def moved(self, z: Exact, sets: FollowerSets) -> Exact:
        """Tokens after the layer, from the tokens `z`, shape (n, d), and their follower sets.

        The arithmetic uses integers over one common denominator. Tokens that do not move are not recomputed.
        """
        N, D = integers(z)
        sizes = np.diff(sets.starts)
        whole, share = math.lcm(*sizes.tolist()), self.alpha / (1 + self.alpha)
        p, q = share.numerator, share.denominator
        sums = np.add.reduceat(N[sets.members], sets.starts[:-1], axis=0)
        means = sums * np.array([whole // size for size in sizes.tolist()], object)[:, None]
        found = z.copy()
        moving = np.flatnonzero(np.any((means[sets.which] != whole * N).astype(bool), axis=1))
        new = (q - p) * whole * N[moving] + p * means[sets.which[moving]]
        bottom = q * whole * D
        found[moving] = np.array([Fraction(top, bottom) for top in new.flat] + [None], object)[:-1].reshape(new.shape)
        return found


class SoftmaxMap(AbstractMap):
    r"""One layer with softmax attention of temperature $\tau$, in JAX: a differentiable approximation of `HardmaxMap`.

    $$
        z_i \leftarrow \frac{1}{1 + \alpha} \Big(z_i + \alpha
            \frac{\sum_j e^{\langle A z_i, z_j \rangle / \tau} z_j}{\sum_j e^{\langle A z_i, z_j \rangle / \tau}}\Big)
    $$

    Source: HARDMAX, (2.5) with (2.6).
    """

    alpha: Array
    rule: Softmax
    space: Euclidean

    def __init__(self, alpha: Any, temperature: Any, attention: Any = None):
        """Store alpha (dimensionless), the temperature (in the unit of the scores) and A, by default the identity."""
        self.alpha = real("alpha", alpha)
        self.rule = Softmax(temperature, attention)
        self.space = Euclidean()

    def step(self, k: Step, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Tokens after layer `k`, in the precision of `x`."""
        a = self.alpha.astype(x.dtype)
        return (x + a * self.rule.averages(x)) / (1 + a)


class MultiHeadMap(AbstractMap):
    r"""Multi-head self-attention with any value matrices, $z_i \leftarrow c\,(z_i + \sum_h V_h \bar z_i^h)$.

    $\bar z_i^h$ is the average under the attention rule of head h (`Hardmax`, `ExactHardmax` or `Softmax`). The paper's
    normalisation (2.4) has no counterpart for general V, so c is a separate field, `scale`, which is 1 by default.

    Source: HARDMAX, (7.1), and (2.2) with one head.
    """

    rules: tuple[AbstractAttention, ...]
    value: Any
    scale: Any
    space: Euclidean

    def __init__(self, rules: Sequence[AbstractAttention], value: Any, *, scale: Any = 1):
        """Store the heads, the value matrices V_h of shape (heads, d, d), and the factor c."""
        if not isinstance(rules, Sequence) or not all(isinstance(rule, AbstractAttention) for rule in rules):
            raise ArgumentError("rules", "be a sequence of attention rules such as `Hardmax()`", f"is {shown(rules)}")
        self.rules = tuple(rules)
        try:
            shape = np.shape(value)
        except ValueError as error:
            raise ArgumentError(
                "value", f"have shape ({len(self.rules)}, d, d)", f"does not ({reason(error)})"
            ) from None
        if not self.rules or len(shape) != 3 or shape[0] != len(self.rules) or shape[1] != shape[2]:
            raise ArgumentError("value", f"have shape ({len(self.rules)}, d, d)", f"has shape {shape}")
        if len({rule.on_host for rule in self.rules}) > 1:
            raise ArgumentError("rules", "be all hardmax or all softmax", "mix both")
        self.value, self.scale = value, scale
        self.space = Euclidean()

    @property
    def on_host(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the heads are evaluated in NumPy, as hardmax heads are."""
        return self.rules[0].on_host

    def step(self, k: Step, x: Any) -> Any:
        """Tokens after layer `k`, in the arithmetic of the heads."""
        x = np.asarray(x) if self.on_host else x
        heads = zip(self.rules, self.value, strict=True)
        return self.scale * (x + sum(rule.averages(x) @ V.T for rule, V in heads))


def _rounded(alpha: Any) -> float:
    """Convert alpha to a float; raise `ValueError` if it is out of range."""
    exact = step_size(alpha)
    try:
        return float(exact)
    except OverflowError:
        raise ArgumentError("alpha", "lie in the range of floats", "is larger") from None


def step_size(alpha: Any) -> Fraction:
    """Convert alpha to a Fraction; raise `ValueError` if it is -1, where (1.1) divides by zero."""
    found = rational("alpha", alpha)
    if found == -1:
        raise ArgumentError("alpha", "not be -1, where the layer divides by zero", "is")
    return found
