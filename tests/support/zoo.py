"""One small instance of every flow and map, for the contracts that all of them keep."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from dynsim.keys import random_key
from dynsim.spaces import Ellipsoid, Euclidean, Simplex, Sphere
from dynsim.systems.base import FunctionFlow, FunctionMap
from dynsim.systems.euler import EulerMap
from dynsim.systems.fast_slow.examples import linear_flow, switching_flow, van_der_pol_flow
from dynsim.systems.fast_slow.flow import FastSubsystem, FastTimeFlow
from dynsim.systems.fast_slow.reduced import ReducedFlow
from dynsim.systems.gradient import GradientFlow
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.gate import GateFlow
from dynsim.systems.growing.rules import GrowthRules
from dynsim.systems.growing.transitions import grow
from dynsim.systems.hardmax.attention import Hardmax, Softmax
from dynsim.systems.hardmax.maps import ExactHardmaxMap, HardmaxMap, MultiHeadMap, SoftmaxMap
from dynsim.systems.master_equation.flow import MasterEquationFlow, MasterEquationMap
from dynsim.systems.master_equation.generators import birth_death, random_generator
from dynsim.systems.master_equation.rates import DrivenRates
from dynsim.systems.prototypes.descent import DescentMap
from dynsim.systems.prototypes.encoders import AffineEncoder, FreeEmbeddings, LinearEncoder, MLPEncoder
from dynsim.systems.prototypes.flow import CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing
from dynsim.systems.rescaled import RescaledFlow
from dynsim.systems.schedules import PiecewiseConstant, Resampled
from dynsim.systems.tokens.flow import LayerMap, ProjectedValueFlow, TokenFlow
from dynsim.systems.tokens.interactions.masks import Causal, Window
from dynsim.systems.tokens.normalised import NormalisedTokenFlow
from dynsim.systems.tokens.published import (
    published_ensemble_flow,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)
from dynsim.systems.tokens.scalar_driven import AttractedFlow, OjaFlow, SinusoidalRate

N, D = 5, 3
KEY = jax.random.key(7)


def _matrices(name: str, *shape: int) -> np.ndarray:
    return np.asarray(jax.random.normal(random_key(7, name), shape)) / 2


def _spd(name: str) -> np.ndarray:
    A = _matrices(name, D, D)
    return A @ A.T + 0.5 * np.eye(D)


def _regular() -> np.ndarray:
    return np.eye(D) + _matrices("regular", D, D) / 4


def _symmetric() -> np.ndarray:
    A = _matrices("symmetric", D, D)
    return A + A.T


def _swirl(t, x):
    return jnp.stack([-x[..., 1], x[..., 0], jnp.cos(t) * x[..., 2]], axis=-1)


def _fast_swirl(t, x, rate):
    return rate * (_swirl(t, x) - x**3)


def _replicator(t, p):
    return p * (jnp.asarray([1.0, 2.0, 0.5], p.dtype) - p)


def _prototypes() -> PrototypeFlow:
    loss = PrototypeLoss("full", barrier=0.1, ridge=0.2)
    return PrototypeFlow(_matrices("embeddings", N, D), Annealing(2.0, 0.5, 1.0), loss=loss, rate=0.5)


def _coupled(encoder, gradient="full") -> CoupledFlow:
    loss = PrototypeLoss(gradient, barrier=0.1, reduction="mean")
    return CoupledFlow(_matrices("data", N, D), encoder, 1.5, loss=loss, encoder_rate=0.3, prototype_rate=2.0)


def _two_level() -> TwoLevelFlow:
    data, groups = _matrices("data", N, D), np.arange(N) % 2
    return TwoLevelFlow(data, LinearEncoder(D, 2), 1.5, detached=False, groups=groups)


def _growing() -> GrowingFlow:
    """Return a flow with one head of two slots, a gate of its own and a linear encoder."""
    rules = GrowthRules(capacity=2, prototypes=2, gate="oja", dwell=0.5, head_input="projected")
    loss = PrototypeLoss("full", barrier=0.1, reduction="mean")
    rates = {"encoder_rate": 0.3, "prototype_rate": 2.0, "temperature_rate": 0.05}
    encoder = LinearEncoder(D, D)
    flow = GrowingFlow(_matrices("data", N, D), _matrices("P", D, D), rules=rules, loss=loss, encoder=encoder, **rates)
    return grow(flow, 0.0, flow.start(KEY))[0]


def _driven(t):
    rates = jnp.asarray([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0], [0.3, 0.1, 0.0]], t.dtype)
    return rates * (1 + jnp.sin(3 * t) / 2)


FLOWS = {
    "published 7.1": (published_gradient_flow, (N, D)),
    "published 7.2": (published_hemisphere_flow, (N, D)),
    "published 7.3": (published_symmetric_flow, (N, D)),
    "published 7.4, small": (lambda: published_ensemble_flow(KEY, d=D), (N, D)),
    "general heads on an ellipsoid": (
        lambda: TokenFlow(_matrices("P", 2, D, D), _matrices("U", 2, D, D), space=Ellipsoid(_spd("W"))),
        (N, D),
    ),
    "repulsive": (lambda: TokenFlow(np.eye(D), -1.0, mask=Causal()), (N, D)),
    "windowed": (lambda: TokenFlow(_matrices("P", 1, D, D), mask=Window(2)), (N, D)),
    "piecewise": (lambda: TokenFlow(PiecewiseConstant(_matrices("layers", 3, 2, D, D), [0.3, 0.5, 0.2])), (N, D)),
    "resampled": (lambda: TokenFlow(Resampled(KEY, (1, D, D), 1.0, 0.7)), (N, D)),
    "projected value": (lambda: ProjectedValueFlow(_matrices("P", 1, D, D), _regular()), (N, D)),
    "normalised before and after": (lambda: NormalisedTokenFlow(TokenFlow(_matrices("P", 1, D, D)), "peri"), (N, D)),
    "attracted": (lambda: AttractedFlow(np.eye(D)[0], SinusoidalRate(1.0, 0.5, 3.0, 0.2)), (D,)),
    "oja": (lambda: OjaFlow(_symmetric(), SinusoidalRate(1.0, 0.5, 3.0)), (D,)),
    "gradient": (lambda: GradientFlow(lambda x: jnp.sum(x[..., 0] ** 3 + x[..., 1]), Sphere()), (N, D)),
    "fast and slow": (lambda: switching_flow(0.1), ((3,), ())),
    "in fast time": (lambda: FastTimeFlow(van_der_pol_flow(0.1)), ((), ())),
    "layer": (lambda: FastSubsystem(switching_flow(0.1), 0.3), (3,)),
    "reduced": (lambda: ReducedFlow(linear_flow(0.1)), ((), ())),
    "a user's own, plane": (lambda: FunctionFlow(_swirl, Euclidean(), fastest_period=6.28), (N, D)),
    "in other units": (
        lambda: RescaledFlow(
            FunctionFlow(_fast_swirl, parameters={"rate": 1e3}, breaks=[2e-4], fastest_period=6.28),
            state=[0.5, 2.0, 0.1],
            time=1e-3,
            parameters={"rate": 1e3},
        ),
        (N, D),
    ),
    "master equation": (lambda: MasterEquationFlow(random_generator(KEY, D)), (D,)),
    "master equation, sparse": (lambda: MasterEquationFlow(birth_death([1.0, 2.0], [0.5, 3.0])), (D,)),
    "master equation, driven": (lambda: MasterEquationFlow(DrivenRates(_driven, fastest_period=2.0)), (D,)),
    "prototypes": (_prototypes, (2, D)),
    "prototypes and free embeddings": (lambda: _coupled(FreeEmbeddings(N, 2), "frozen"), ((N, 2), (3, 2))),
    "prototypes and an MLP": (lambda: _coupled(MLPEncoder(D, 4, 2)), ((((4, D), (4,)), ((2, 4), (2,))), (3, 2))),
    "two levels": (_two_level, ((2, D), (3, 2), (2, 2))),
    "gate": (lambda: GateFlow(_matrices("P", D, D) - _matrices("P", D, D).T), (D,)),
    "growing": (_growing, ((D, D), (D,), (2, 2, D), (2,), ())),
    "a user's own, simplex": (lambda: FunctionFlow(_replicator, Simplex()), (D,)),
}

TOKEN_FLOWS = (
    "published 7.1",
    "published 7.2",
    "published 7.3",
    "published 7.4, small",
    "general heads on an ellipsoid",
    "repulsive",
    "windowed",
    "piecewise",
    "resampled",
)
"""Names of the flows that are of class `TokenFlow`; no flow is made for this list."""

MAPS = {
    "layer map": (lambda: LayerMap(published_hemisphere_flow(), 0.2), (N, D)),
    "euler map": (lambda: EulerMap(published_gradient_flow(), 0.1), (N, D)),
    "hardmax": (lambda: HardmaxMap(0.5, _regular()), (N, D)),
    "exact hardmax": (lambda: ExactHardmaxMap("1/3", _spd("attention")), (N, D)),
    "softmax": (lambda: SoftmaxMap(0.5, 0.1, _regular()), (N, D)),
    "two hard heads": (lambda: MultiHeadMap([Hardmax(), Hardmax(_spd("head"))], _matrices("V", 2, D, D)), (N, D)),
    "two soft heads": (lambda: MultiHeadMap([Softmax(0.1), Softmax(0.2)], _matrices("V", 2, D, D)), (N, D)),
    "forward Euler of a chain": (lambda: MasterEquationMap(random_generator(KEY, D), 0.1), (D,)),
    "growing, in steps": (lambda: GrowingStep(_growing()), ((D, D), (D,), (2, 2, D), (2,), ())),
    "gradient descent": (
        lambda: DescentMap(
            _coupled(AffineEncoder(D, 2), "frozen"),
            batches=np.arange(4).reshape(1, 2, 2),
            clip_value=0.5,
            clip_norm=1.0,
        ),
        (((2, D), (2,)), (3, 2)),
    ),
    "a user's own map": (lambda: FunctionMap(lambda k, x: x / 2, Euclidean()), (N, D)),
}


def vector_field(flow, t: float, x):
    """Return the field of a flow by one program for all times."""
    return _field(flow, np.asarray(t), x)


@eqx.filter_jit
def _field(flow, t, x):
    return flow.vector_field(t, x)


@functools.cache
def flow_and_start(name: str):
    make, shape = FLOWS[name]
    flow = make()
    return flow, flow.space.sample(random_key(7, name), shape)


def map_and_start(name: str):
    make, shape = MAPS[name]
    map = make()
    return map, map.space.sample(random_key(7, name), shape)
