"""Flows of tokens that `dynsim simulate` builds by name, and the options that each of them takes."""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.spaces import space
from dynsim.cli.parsing.options import typed_as
from dynsim.cli.parsing.tables import matrix
from dynsim.errors import ArgumentError
from dynsim.keys import random_key
from dynsim.spaces import Ellipsoid, Sphere
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.named import changed
from dynsim.systems.tokens.flow import (
    ProjectedValueFlow,
    TokenFlow,
    causal_identity_flow,
    causal_symmetric_flow,
    gradient_token_flow,
)
from dynsim.systems.tokens.interactions.masks import AbstractMask, Causal, Full
from dynsim.systems.tokens.normalised import NormalisedTokenFlow, with_norms
from dynsim.systems.tokens.published import (
    published_ensemble_flow,
    published_gradient_flow,
    published_hemisphere_flow,
    published_symmetric_flow,
)
from dynsim.systems.tokens.scalar_driven import AttractedFlow, OjaFlow

Builder = Callable[[Simulate], AbstractFlow]


def _query_key(o: Simulate) -> np.ndarray:
    """Read the query-key matrices P from their file, or build beta I for every head, (heads, d, d).

    A system that takes no number of heads has one.
    """
    if o.query_key is not None:
        return matrix(o.query_key, "query_key", (2, 3))
    if not math.isfinite(o.beta):
        raise ArgumentError("beta", "be a finite number", f"is {o.beta}")
    heads, d = o.heads if "heads" in TAKEN.get(o.system, ()) else 1, o.token_dimension
    return np.broadcast_to(o.beta * np.eye(d), (heads, d, d))


def _value(o: Simulate) -> Any:
    return 1.0 if o.value is None else matrix(o.value, "value", (2, 3))


def _mask(o: Simulate) -> AbstractMask:
    return Causal() if o.causal else Full()


def _symmetric(o: Simulate) -> np.ndarray:
    """Read the value matrix U from its file, or draw a random symmetric matrix with entries in ]-1, 1[."""
    if o.value is not None:
        return matrix(o.value, "value", (2, 3))
    A = np.asarray(jax.random.uniform(random_key(o.seed, "value"), (o.token_dimension,) * 2, minval=-0.5, maxval=0.5))
    return A + A.T


def _trained(o: Simulate) -> AbstractFlow:
    """Build the flow (7) of a trained network, whose layers follow one another and are repeated after the last one."""
    if o.weights is None:
        raise ArgumentError("weights", "be given, the file of a trained network", "is missing")
    from dynsim.networks.decoder.attention_flow import attention_flow
    from dynsim.networks.decoder.pretrained import load_transformer

    with typed_as(path="weights"):
        return attention_flow(load_transformer(o.weights, heads=None if o.heads == 1 else o.heads))


SYSTEMS: dict[str, tuple[str, Builder]] = {
    "token-flow": ("(7): self-attention times 1/sqrt(d), P and U from files, or beta I and I", lambda o: TokenFlow(
        _query_key(o), _value(o), space=space(o.space or "sphere"), mask=_mask(o))),
    "gradient": ("(8): one head, U = I, W = P symmetric positive definite", lambda o: gradient_token_flow(
        _query_key(o)[0] if o.query_key is None else matrix(o.query_key, "query_key", (2, 3)))),
    "causal": ("(15): causal, U = I, sphere", lambda o: causal_identity_flow(_query_key(o))),
    "causal-symmetric": ("(21): causal, one head, U symmetric", lambda o: causal_symmetric_flow(
        _query_key(o), _symmetric(o))),
    "projected-value": ("(20): causal, one head, U regular, on the ellipsoid of U^T U", lambda o: ProjectedValueFlow(
        _query_key(o), np.eye(o.token_dimension) if o.value is None else matrix(o.value, "value", (2, 3)))),
    "attracted": ("(16): every token attracted to the first basis vector", lambda o: AttractedFlow(
        np.eye(o.token_dimension)[0])),
    "oja": ("(22): Oja's flow of a symmetric matrix", lambda o: OjaFlow(_symmetric(o))),
    "trained": ("(7): causal, with P and U of the layers of a network in turn, from `--weights`", _trained),
    "published-gradient": ("Section 7.1 of CONSENSUS", lambda o: published_gradient_flow()),
    "published-hemisphere": ("Section 7.2 of CONSENSUS", lambda o: published_hemisphere_flow()),
    "published-symmetric": ("Section 7.3 of CONSENSUS", lambda o: published_symmetric_flow()),
    "published-ensemble": ("Section 7.4 of CONSENSUS", lambda o: published_ensemble_flow(
        random_key(o.seed, "weights"), o.token_dimension, o.heads)),
}  # fmt: skip


MODEL = ("heads", "beta", "query_key", "value", "weights", "causal", "space", "norm", "scale")
TAKEN = {
    "token-flow": set(MODEL) - {"weights"},
    "gradient": {"beta", "query_key", "scale"},
    "causal": {"heads", "beta", "query_key", "scale"},
    "causal-symmetric": {"beta", "query_key", "value", "scale"},
    "projected-value": {"beta", "query_key", "value"},
    "oja": {"value"},
    "published-ensemble": {"heads"},
    "trained": {"heads", "weights", "scale"},
}
"""The options of `MODEL` that each system uses; systems not listed use none."""


def build(options: Simulate) -> AbstractFlow:
    """Build the flow of `SYSTEMS` that `options.system` names; errors about a matrix name its option."""
    with typed_as(matrix="value", **({"query_key": "beta"} if options.query_key is None else {})):
        flow = SYSTEMS[options.system][1](options)
    if options.scale is not None and isinstance(flow, TokenFlow):
        if not math.isfinite(options.scale):
            raise ArgumentError("scale", "be a finite number", f"is {options.scale}")
        flow = changed(flow, {"scale": options.scale})
    if options.norm == "post" or not isinstance(flow, TokenFlow):
        return flow
    if options.norm != "none" and not isinstance(flow.space, Sphere | Ellipsoid):
        raise ArgumentError("norm", "be `none` unless `--space` normalises tokens", f"is `{options.norm}`")
    return with_norms(flow, options.norm)


def factor(options: Simulate, flow: AbstractFlow | AbstractMap) -> str:
    """Say by which factor the output of attention is multiplied, for a flow of tokens without `--scale`; "" otherwise.

    A user who expects plain self-attention would otherwise find all rates too small.
    """
    attention = flow.attention if isinstance(flow, NormalisedTokenFlow) else flow
    known = options.scale is None and "scale" in TAKEN.get(options.system, ())
    if not known or not isinstance(attention, TokenFlow):
        return ""
    d, by = attention.query_key.shape[-1], float(attention.scale)
    return f"attention is multiplied by 1/sqrt({d}) = {by:.6g} (`--scale 1` leaves this factor out)"


def unused(o: Simulate, flow: AbstractFlow | AbstractMap) -> set[str]:
    """List the options that have no effect on a simulation of this flow."""
    if o.system in SYSTEMS:
        found = set(MODEL) - TAKEN.get(o.system, set())
    else:
        found = set(MODEL) - ({"space"} if isinstance(flow, FunctionFlow) else set())
    if o.query_key is not None:
        found |= {"beta", "heads"}
    size = len(o.start) or (len(flow.names) if o.system in CATALOGUE else 0)
    if size:
        found |= {"tokens"} | ({"dimension"} if o.dimension != size else set()) | ({"initial"} if o.start else set())
    return found | {"trust"}
