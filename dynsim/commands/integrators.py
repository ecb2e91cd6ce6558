"""The integrators that an option of the command line names."""

import dataclasses

from dynsim.integrators import AbstractIntegrator


def integrator(name: str, rtol: float, max_steps: int | None = None) -> AbstractIntegrator:
    """Return an integrator by its word, with the absolute tolerance a hundredth of the relative one.

    The implicit one, `stiff`, has its own choice of the absolute tolerance. Without a cap on steps it is that of the
    integrator.
    """
    from dynsim.integrators import RKC2, Diffrax, Scipy, stiff

    if name == "stiff":
        made: Diffrax | Scipy = stiff(rtol)
    elif name == "scipy":
        made = Scipy(rtol=rtol, atol=rtol / 100)
    else:
        made = Diffrax(RKC2() if name == "rkc2" else None, rtol=rtol, atol=rtol / 100)
    return made if max_steps is None else dataclasses.replace(made, max_steps=max_steps)


def of_many(name: str, rtol: float) -> AbstractIntegrator | None:
    """Return the integrator of many starts, or of tangent vectors, by its word: None for the one that they have."""
    if name != "stiff":
        return None
    from dynsim.integrators.implicit import implicit

    return implicit(rtol)
