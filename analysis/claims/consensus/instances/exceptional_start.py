"""Three causal tokens on the circle, P = 0, of which one initial position off -y_1 does not reach consensus.

The position is bracketed twice: by the signs of rational sines, exactly, and by bisection with an integrator.
"""

from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from analysis.dynamics.attractors.edge_tracking import OutcomeBracket, bisect_outcome
from dynsim._core.types import Key
from dynsim.exact import Exact
from dynsim.integrators import AbstractIntegrator
from dynsim.simulation.simulate import simulate
from dynsim.systems.tokens.flow import TokenFlow


def sine(a: Exact, b: Exact) -> Fraction:
    """Return the sine of the angle from a to b, two unit vectors of the plane."""
    return a[0] * b[1] - a[1] * b[0]


class Arc(NamedTuple):
    """The initial positions of the last token on the arc from `low` = -y_1 to `high`, counter-clockwise.

    `axis` is a vector that has positive products with all tokens if the last one starts at `high`.
    """

    earlier: list[Exact]
    low: Exact
    high: Exact
    axis: Exact

    def field(self, x: Exact) -> Exact:
        """Return sqrt(d) times the right-hand side of (15) for P = 0: token i moves at the mean of those before it."""
        rows = []
        for i in range(len(x)):
            mean = sum(x[: i + 1]) / Fraction(i + 1)
            rows.append(mean - (x[i] @ mean) * x[i])
        return np.stack(rows)

    @property
    def leaves_out_the_antipode(self) -> bool:
        """Whether the open arc, which is shorter than a half circle, does not contain -y_1: it begins there."""
        return all(self.low == -self.earlier[0]) and sine(self.low, self.high) > 0

    @property
    def low_turns_back(self) -> bool:
        """Whether the last token, from `low`, is turned clockwise and then stays on the upper half circle.

        There the sines from y_1 and from y_2 to it are positive, if that from y_1 to y_2 is, as it remains: it is drawn
        to both, and the distance from -y_1 grows.
        """
        if len(self.earlier) == 1:
            return False  # at -y_1 the last of two tokens is at rest
        velocity = self.field(np.stack([*self.earlier, self.low]))[-1]
        y1, y2 = self.earlier
        return sine(self.low, velocity) < 0 and sine(y1, y2) > 0 and sine(y2, self.low) > 0

    @property
    def high_goes_on(self) -> bool:
        """Whether the last token, from `high`, reaches y_1 through the lower half circle.

        All tokens are in one open half circle, where the least angle that contains them decreases; the last one is
        clockwise of y_1, by less than 180 degrees.
        """
        tokens = [*self.earlier, self.high]
        return all(self.axis @ y > 0 for y in tokens) and sine(self.high, self.earlier[0]) > 0


def exceptional_arc(key: Key, num_tokens: int = 3) -> Arc:
    """Return the arc for y_1 = (1, 0) and a random rational y_2 above the axis, at less than 90 degrees."""
    k = int(jax.random.randint(key, (), 1, 9))
    t = Fraction(k, 10)
    y1 = np.array([Fraction(1), Fraction(0)], object)
    y2 = np.array([(1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)], object)
    high = np.array([Fraction(0), Fraction(-1)], object)
    steep = y2[0] / y2[1] / 2  # the axis (1, -steep) has the product y2[0] / 2 with y_2
    return Arc([y1, y2][: num_tokens - 1], -y1, high, np.array([Fraction(1), -steep], object))


def final_lifted_angle(flow: TokenFlow, angles: np.ndarray, integrator: AbstractIntegrator) -> float:
    """Return the lifted (unwrapped) angle of the last token at t = 60, in radians: near a multiple of 2 pi."""
    x0 = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    path = simulate(flow, x0, np.linspace(0.0, 60.0, 121), integrator=integrator)
    turns = np.unwrap(np.arctan2(np.asarray(path.ys[:, -1, 1]), np.asarray(path.ys[:, -1, 0])))
    return float(turns[-1] - turns[0] + angles[-1])


def bracket(flow: TokenFlow, others: np.ndarray, integrator: AbstractIntegrator) -> tuple[OutcomeBracket, float, float]:
    """Return adjacent initial angles of the last token with different lifted limits, and their final lifted angles."""
    end = lambda start: final_lifted_angle(flow, np.append(others, start), integrator)
    found = bisect_outcome(lambda start: round(end(start) / (2 * np.pi)), np.pi / 2, 3 * np.pi / 2, width=1e-9)
    return found, end(found.low), end(found.high)
