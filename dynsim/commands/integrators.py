"""The integrators that an option of the command line names."""

from dynsim.integrators import RKC2, AbstractIntegrator, Diffrax, Scipy, stiff


def integrator(name: str, rtol: float) -> AbstractIntegrator:
    """Return an integrator by its word, with the absolute tolerance a hundredth of the relative one.

    The implicit one, `stiff`, has its own choice of the absolute tolerance.
    """
    if name == "stiff":
        return stiff(rtol)
    if name == "scipy":
        return Scipy(rtol=rtol, atol=rtol / 100)
    return Diffrax(RKC2() if name == "rkc2" else None, rtol=rtol, atol=rtol / 100)
