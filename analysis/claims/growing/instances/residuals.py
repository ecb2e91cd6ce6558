"""Interactions whose residual has known planes and strengths in each reading of (3), with rational tokens."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from analysis.claims.growing.instances.expansions import reflections, rotation
from analysis.claims.prototype_banks import squared_norms
from analysis.claims.rational_instances import Exact, identity, matrix
from dynsim._core.types import Key
from dynsim.keys import numpy_rng
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.prototypes.losses import PrototypeLoss

PAIRS, D, COPIES = 3, 6, 4
N = COPIES * D
DWELL = 40  # steps between two events


class Planted(NamedTuple):
    """Tokens X (n, d), centred, with the root of X^T X, and an interaction M, (d, d).

    The matrix `root` M_a `root` / n, or in the reading `features` M_a, is the sum of `strengths` (decreasing) times the
    rotations in planes that consecutive rows of `axes` span.
    """

    reading: str
    tokens: Exact
    root: Exact
    interaction: Exact
    axes: Exact
    strengths: Exact

    @property
    def antisymmetric(self) -> Exact:
        """M_a, (d, d)."""
        return (self.interaction - self.interaction.T) / 2

    def residual(self, captured: Exact) -> Exact:
        """Return the residual matrix of the reading with orthogonal rows captured, of any length, exactly."""
        rest = identity(D) - captured.T @ (captured / squared_norms(captured)[:, None])
        if self.reading == "features":
            return rest @ self.antisymmetric @ rest
        if self.reading == "data":
            return rest @ self.root @ self.antisymmetric @ self.root @ rest / N
        return self.tokens @ rest @ self.antisymmetric @ rest @ self.tokens.T

    @property
    def none(self) -> Exact:
        """No captured rows, (0, d)."""
        return self.axes[:0]

    @property
    def values(self) -> list[Fraction]:
        """The singular values of the residual without captured directions, one of each pair."""
        return [s * N if self.reading == "tokens" else s for s in self.strengths]

    def flow(self, **rules: object) -> GrowingFlow:
        """Return the growing system that ships, with three heads of three prototypes at most."""
        given = {
            "threshold": 0.25,
            "capacity": PAIRS,
            "prototypes": 3,
            "reading": self.reading,
            "dwell": DWELL,
            **rules,
        }
        loss = PrototypeLoss("full", reduction="mean")
        return GrowingFlow(
            self.tokens.astype(float),
            self.interaction.astype(float),
            rules=GrowthRules(**given),  # pyright: ignore[reportArgumentType]
            loss=loss,
            prototype_rate=0.1,
        )

    def witness(self) -> dict[str, object]:
        """Return the exact data."""
        return {"X": self.tokens, "M": self.interaction, "axes": self.axes, "strengths": self.strengths}


def planted(key: Key, reading: str) -> Planted:
    """Return random tokens and an interaction with three pairs of the residual, in a reading."""
    rng = numpy_rng(key, "planted")
    frame, axes = reflections(rng, D), reflections(rng, D)
    scales = matrix(rng.integers(1, 4, D)) / 2
    block = scales[:, None] * frame  # its square root of B^T B is frame^T diag(scales) frame
    tokens = np.concatenate([s * block for s in (1, -1) * (COPIES // 2)])
    root = 2 * frame.T @ block
    first = int(rng.integers(1, 4))
    strengths = matrix([first + 4, first + 2, first]) / 2
    planes = zip(strengths, axes[::2], axes[1::2], strict=True)
    inside = np.sum([s * rotation(u, v) for s, u, v in planes], axis=0)
    if reading != "features":
        inverse = frame.T @ (frame / (2 * scales[:, None]))
        inside = N * inverse @ inside @ inverse
    symmetric = matrix(rng.integers(-2, 3, (D, D)))
    return Planted(reading, tokens, root, inside + symmetric + symmetric.T, axes, strengths)
