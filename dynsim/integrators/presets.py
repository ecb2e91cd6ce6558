"""Ready-made integrators for stiff flows: for one initial state, and for many in one program."""

import diffrax as dfx

from dynsim._core.validation import number
from dynsim.integrators.diffrax_backend import Diffrax
from dynsim.integrators.scipy_backend import Scipy


def stiff(rtol: float = 1e-9) -> Scipy:
    """Radau IIA integrator of order 5 for stiff flows, such as fast-slow systems with any epsilon.

    Its steps follow the slow variable, whatever the ratio of the time scales. On the van der Pol oscillator, jumps
    included, it takes 900 steps at epsilon = 1e-2 and 1,800 at 1e-8, where diffrax's Kvaerno5 takes 3,000 and 47,000
    with the tolerance 1e-8. It does not work under `vmap`: an ensemble solves its members one by one, or uses
    `Diffrax(Rodas5P())` for few unknowns.

    It damps everything that its step does not resolve, including growing modes. With a loose tolerance it may stay on a
    repelling branch on which it started, although the flow leaves it.

    Args:
        rtol: relative tolerance; the absolute tolerance is a hundredth of it.

    Example:
        >>> import dynsim as ds
        >>> flow = ds.FunctionFlow(lambda t, x: 1000 * (1 - x))
        >>> round(float(ds.simulate(flow, [0.0], [0.0, 1.0], integrator=ds.stiff(1e-6)).final[0]), 4)
        1.0
    """
    rtol = number("rtol", rtol)
    return Scipy(method="Radau", rtol=rtol, atol=rtol / 100)


def implicit(rtol: float) -> Diffrax:
    """Kvaerno's method of order 4 for stiff flows with many initial states in one program.

    On the Oregonator it takes at most half the time of Kvaerno's method of order 5 at tolerances of 1e-6 and 1e-8.

    Args:
        rtol: relative tolerance; the absolute tolerance is a hundredth of it.
    """
    rtol = number("rtol", rtol)
    return Diffrax(dfx.Kvaerno4(), rtol=rtol, atol=rtol / 100)
