"""Integrators for stiff flows: of one start, and of many in one program."""

import diffrax as dfx

from dynsim._core.validation import number
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.scipy_backend import Scipy


def stiff(rtol: float = 1e-9) -> Scipy:
    """Return an integrator for stiff flows, such as a fast-slow system with any epsilon: Radau IIA of order 5.

    Its steps follow the slow variable, whatever the ratio of the time scales: on the van der Pol oscillator, jumps
    included, it needs 900 steps at epsilon = 1e-2 and 1,800 at 1e-8, where diffrax's Kvaerno5 needs 3,000 and 47,000
    with the tolerance 1e-8. It is not for `vmap`; an ensemble takes its members one by one, or `Diffrax(Kvaerno5())`.

    It damps whatever its step does not resolve, growing modes too: with a loose tolerance it may stay on a repelling
    branch that it started on, where the flow leaves it.

    Args:
        rtol: relative tolerance; the absolute one is a hundredth of it.
    """
    rtol = number("rtol", rtol)
    return Scipy(method="Radau", rtol=rtol, atol=rtol / 100)


def implicit(rtol: float) -> Diffrax:
    """Return an integrator for many starts of a stiff flow in one program: Kvaerno's method of order 4.

    On the Oregonator it takes half of the time of that of order 5, or less, at tolerances of 1e-6 and 1e-8.

    Args:
        rtol: relative tolerance; the absolute one is a hundredth of it.
    """
    rtol = number("rtol", rtol)
    return Diffrax(dfx.Kvaerno4(), rtol=rtol, atol=rtol / 100)
