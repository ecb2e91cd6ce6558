"""Canard explosions of van der Pol's equation e x' = y - x^3 / 3 + x, y' = a - x, from its Hopf point at a = 1.

Cycles grow to relaxation oscillations near a = 1 - e / 8 - 3 e^2 / 32 - 173 e^3 / 1024, in an interval of the parameter
that is exponentially narrow: A. K. Zvonkin and M. A. Shubin, Russ. Math. Surv. 39 (1984); M. Krupa and P. Szmolyan,
SIAM J. Math. Anal. 33 (2001).
"""

import jax.numpy as jnp
import numpy as np
import pytest

from analysis.dynamics.continuation.equilibria import continue_equilibria
from analysis.dynamics.continuation.orbits import orbits_from_hopf
from dynsim.systems.base import FunctionFlow
from dynsim.systems.parameter import Parameter


def cycles(epsilon, low=0.8):
    """Continue the cycles from the Hopf point by default options; give the branch and the range of x on each cycle."""
    field = lambda t, s, a=1.2: jnp.stack([(s[1] - s[0] ** 3 / 3 + s[0]) / epsilon, a - s[0]])
    a = Parameter(FunctionFlow(field, parameters={"a": 1.2}), "a", low, 1.2)
    (hopf,) = continue_equilibria(a, [1.2, 1.2**3 / 3 - 1.2]).bifurcations
    assert hopf.parameter == pytest.approx(1.0)
    found = orbits_from_hopf(a, hopf)
    return found, np.array([np.ptp(np.asarray(nodes)[:, 0]) for nodes in found.states.nodes])


def explosion(epsilon):
    """The published expansion of the parameter."""
    return 1 - epsilon / 8 - 3 * epsilon**2 / 32 - 173 * epsilon**3 / 1024


@pytest.mark.parametrize("epsilon", [0.1, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.03, 0.01))])
def test_cycles_explode_where_the_expansion_says(epsilon):
    found, ranges = cycles(epsilon, low=1 - 2 * epsilon)
    assert found.ends == ("Hopf point", "bounds")
    assert np.max(ranges) > 3.8  # relaxation oscillations
    inside = found.parameters[(ranges > 1.8) & (ranges < 2.4)]
    assert len(inside) > 2
    assert np.allclose(inside, explosion(epsilon), atol=max(epsilon**4, 1e-9))
    assert not found.bifurcations


@pytest.mark.slow
def test_a_branch_that_is_not_resolved_is_not_called_homoclinic():
    """For 1e-3, canards pass a focus that repels; most of the explosion lies at one number in double precision."""
    found, ranges = cycles(1e-3)
    assert "homoclinic" not in found.ends
    assert np.min(np.abs(found.parameters - explosion(1e-3))) < 1e-11
