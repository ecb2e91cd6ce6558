"""The token flows of CONSENSUS, Section 7, with the matrices printed there."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from dynsim._core.checked import checked
from dynsim._core.types import Key
from dynsim.systems.schedules import Modulated
from dynsim.systems.tokens.flow import (
    TokenFlow,
    causal_identity_flow,
    causal_symmetric_flow,
    gradient_token_flow,
    identity_value_flow,
)

_FAST = 2 * np.array([5.0, 5.0, 3.0]) * math.pi
_SLOW = 2 * np.array([3.0, 3.0, 2.0]) * math.pi
_COS_SIN_COS = np.array([math.pi / 2, 0.0, math.pi / 2])

GRADIENT_MATRIX = np.array([[0.9432, 0.0587, -0.1813], [0.0587, 0.8450, -0.1013], [-0.1813, -0.1013, 0.5519]])
HEMISPHERE_MATRICES = np.array(
    [
        [[0.0805, -0.1929, 0.1991], [-0.2312, 0.3131, -0.2335], [0.1788, -0.1732, -0.1594]],
        [[-0.3067, 0.0349, 0.1107], [0.0572, -0.0557, 0.1343], [0.1375, 0.1083, 0.1018]],
    ]
)
HEMISPHERE_AXIS = np.array([1.0, 0.0, 0.0])
SYMMETRIC_QUERY_KEY = np.array([[0.3598, 0.4150, 0.1319], [0.0971, -0.0668, -0.2046], [0.1548, -0.2102, 0.1220]])
SYMMETRIC_VALUE = np.array([[-0.2590, 0.4965, 0.5609], [0.4965, -0.7174, -0.5003], [0.5609, -0.5003, -0.0247]])


def published_gradient_flow() -> TokenFlow:
    """Build the flow of CONSENSUS, Section 7.1: eq. (8) with the printed P."""
    return gradient_token_flow(GRADIENT_MATRIX)


def published_hemisphere_flow() -> TokenFlow:
    """Build the flow of CONSENSUS, Section 7.2: eq. (11) on the sphere with two heads and P_h(t) = D_h(t) P_h'."""
    frequency = np.stack([_FAST, _SLOW])
    phase = np.stack([_COS_SIN_COS, _COS_SIN_COS])
    return identity_value_flow(Modulated(HEMISPHERE_MATRICES, 2.0, frequency, phase))


def published_symmetric_flow() -> TokenFlow:
    """Build the flow of CONSENSUS, Section 7.3: eq. (21) with the printed U and P(t) = D(t) P'."""
    return causal_symmetric_flow(Modulated(SYMMETRIC_QUERY_KEY, 2.0, _FAST, _COS_SIN_COS), SYMMETRIC_VALUE)


@checked
def published_ensemble_flow(key: Key, d: int = 500, heads: int = 2) -> TokenFlow:
    """Build the flow of CONSENSUS, Section 7.4: eq. (15), random P_h', and |2 sin(w t + phi)| on the diagonals."""
    a, b, c = jax.random.split(key, 3)
    base = jax.random.uniform(a, (heads, d, d), minval=-0.5, maxval=0.5)
    frequency = jax.random.uniform(b, (heads, d))
    phase = jax.random.uniform(c, (heads, d), maxval=2 * math.pi)
    return causal_identity_flow(Modulated(base, jnp.full((heads, d), 2.0), frequency, phase, rectified=True))
