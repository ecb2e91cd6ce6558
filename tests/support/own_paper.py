"""The parts of a file with a paper of the user's own."""

from pathlib import Path

HEAD = """\
import numpy as np
import jax

from analysis.ledger.claim import claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, at_most, holds
from dynsim.papers import Paper
from figures.figure import figure
from figures.style import canvas

PAPER = Paper("mine", "Notes on a square", "A. User")
"""

CLAIMS = '''
def squares(key, integrator, offset):
    x = float(jax.random.uniform(key, (), minval=-1.0))
    below = at_most("x^2 + offset", x * x + offset, 1.0, tolerance=ROUNDING)
    inside = at_least("distance from 1", 1 - abs(x), 0.0, tolerance=ROUNDING)
    return Trial((inside,), (below,), {"x": x, "many": np.full(65, 0.1)})


@claim("mine/theorem-1", PAPER.at("Theorem 1"), num_trials=3)
def theorem(key, integrator):
    """The square of a number in the unit interval is at most 1.

    Read: for all of them.
    """
    return squares(key, integrator, 0.0)


@theorem.with_control
def theorem(key, integrator):
    """A larger number."""
    return squares(key, integrator, 1.0)


@claim("mine/theorem-2", PAPER.at("Theorem 2"), num_trials=3)
def wrong(key, integrator):
    """The square of a number in the unit interval is at most 0."""
    return squares(key, integrator, 1.0)
'''

FIGURES = '''
@figure("mine/square", PAPER.at("Figure 1"))
def square(key):
    """A square."""
    return {"x": np.linspace(0, 1, 5)}


@square.with_drawing
def square(data):
    drawn, (ax,) = canvas()
    ax.plot(data["x"], data["x"] ** 2)
    return drawn
'''

STATEMENTS = 'STATEMENTS = tuple(Statement(f"theorem-{k}", S, f"Text {k}.") for k in (1, 2, 3))\n'

ONE = (
    '@claim("mine/{}", PAPER.at("Theorem 1"), num_trials=1)\ndef {}(key, integrator):\n    """A statement."""\n    {}\n'
)
GOOD = 'return Trial((holds("a", True),), (holds("b", True),))'


def write(name: str, *parts: str) -> str:
    Path(name).write_text("\n".join(parts))
    return name
