"""Self-attention as a flow of tokens: flows and maps, masks, schedules, interactions, and starts."""

from dynsim.systems.schedules import Constant, Modulated, PiecewiseConstant, Resampled
from dynsim.systems.tokens.flow import (
    LayerMap,
    ProjectedValueFlow,
    TokenFlow,
    causal_identity_flow,
    causal_symmetric_flow,
    gradient_token_flow,
    identity_value_flow,
)
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.interactions.base import Dense
from dynsim.systems.tokens.interactions.blocked import Blocked
from dynsim.systems.tokens.interactions.choice import Auto
from dynsim.systems.tokens.interactions.harmonic import Harmonic
from dynsim.systems.tokens.interactions.masks import Causal, Full, Window
from dynsim.systems.tokens.interactions.sharded import Sharded
from dynsim.systems.tokens.interactions.traffic import measured_traffic
from dynsim.systems.tokens.normalised import NormalisedTokenFlow, with_norms
from dynsim.systems.tokens.published import (
    published_ensemble_flow,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)
from dynsim.systems.tokens.scalar_driven import AttractedFlow, OjaFlow, SinusoidalRate
from dynsim.systems.tokens.span_form import SpanForm

__all__ = [
    "AttractedFlow",
    "Auto",
    "Blocked",
    "Causal",
    "Constant",
    "Dense",
    "Full",
    "Harmonic",
    "LayerMap",
    "Modulated",
    "NormalisedTokenFlow",
    "OjaFlow",
    "PiecewiseConstant",
    "ProjectedValueFlow",
    "Resampled",
    "Sharded",
    "SinusoidalRate",
    "SpanForm",
    "TokenFlow",
    "Window",
    "causal_identity_flow",
    "causal_symmetric_flow",
    "gradient_token_flow",
    "identity_value_flow",
    "initial_tokens",
    "measured_traffic",
    "published_ensemble_flow",
    "published_gradient_flow",
    "published_hemisphere_flow",
    "published_symmetric_flow",
    "with_norms",
]
