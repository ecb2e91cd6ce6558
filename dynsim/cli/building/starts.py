"""Initial states of flows, read from a file or drawn from a named distribution."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from dynsim.cli.building.equations import is_code
from dynsim.cli.building.flow_options import DIMENSION, Simulate
from dynsim.cli.parsing.options import typed_as
from dynsim.cli.parsing.tables import matrix
from dynsim.errors import ArgumentError
from dynsim.keys import random_key
from dynsim.spaces import Ellipsoid
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.noisy import without_noise
from dynsim.systems.tokens.flow import ProjectedValueFlow, TokenFlow
from dynsim.systems.tokens.initial import initial_tokens
from dynsim.systems.tokens.scalar_driven import OjaFlow

TOKENS = 10  # default number of tokens in an initial state


def start(o: Simulate, flow: AbstractFlow, member: int) -> jax.Array:
    """Read the initial state of an ensemble member from a file, or draw it from the named distribution.

    Populations and concentrations of the catalogue start at absolute values, since negative ones have no meaning.
    """
    dtype = jnp.dtype(o.precision)
    if o.initial.endswith((".npy", ".csv")):
        if o.members > 1:
            raise ArgumentError("initial", "name a distribution for an ensemble", "is a file")
        return jnp.asarray(_given(o, flow), dtype)
    vector = o.tokens is None and (isinstance(without_noise(flow), FunctionFlow) or o.system in CATALOGUE)
    tokens = 1 if vector else TOKENS if o.tokens is None else o.tokens
    with typed_as(distribution="initial"):
        x = initial_tokens(
            o.initial, random_key(o.seed, "start", member), (tokens, columns(o, flow)), flow.space
        ).astype(dtype)
    if o.system in CATALOGUE and CATALOGUE[o.system].counted:
        x = jnp.abs(x)
    return x[0] if vector else x


def has_dimension(o: Simulate, system: AbstractFlow | AbstractMap) -> bool:
    """Test whether an initial state, the system's declaration or a paper fixes the dimension of the state."""
    said = bool(o.start) or o.initial.endswith((".npy", ".csv")) or not is_code(o.system)
    return said or own_dimension(o, system) is not None


def own_dimension(o: Simulate, system: AbstractFlow | AbstractMap) -> int | None:
    """Get the state dimension that a user's system declares, or None."""
    if not is_code(o.system):
        return None
    of_space = system.space.matrix.shape[-1] if isinstance(system.space, Ellipsoid) else None
    return _of_matrices(system) or len(system.names) or of_space


def _of_matrices(system: AbstractFlow | AbstractMap) -> int | None:
    """Get the dimension of the matrices of a flow of tokens, or None for another system."""
    if isinstance(system, TokenFlow):
        return system.query_key.shape[-1]
    return system.matrix.shape[-1] if isinstance(system, ProjectedValueFlow | OjaFlow) else None


def _given(o: Simulate, flow: AbstractFlow) -> np.ndarray:
    """Read an initial state from a file; raise `ValueError` unless its shape fits the flow and the options."""
    path = Path(o.initial)
    x = matrix(path, "initial", (1, 2))
    own = isinstance(flow, FunctionFlow) and o.dimension == DIMENSION and not isinstance(flow.space, Ellipsoid)
    d = x.shape[-1] if own else columns(o, flow)
    if x.shape[-1] != d:
        has = f"`{path}` has {x.shape[-1]}"
        raise ArgumentError("initial", f"have {d} columns to match `--dimension` or the matrices", has)
    if o.tokens is not None and (x.ndim == 1 or len(x) != o.tokens):
        raise ArgumentError("initial", f"have {o.tokens} rows to match `--tokens`", f"`{path}` has shape {x.shape}")
    return x


def columns(o: Simulate, flow: AbstractFlow) -> int:
    """Get the number of columns of an initial state, from the matrices of the flow or from `--dimension`."""
    if (fixed := _of_matrices(flow)) is not None:
        if o.dimension not in (fixed, DIMENSION):
            raise ArgumentError("dimension", f"be {fixed} to match the matrices of the system", f"is {o.dimension}")
        return fixed
    if flow.names:
        if o.dimension not in (len(flow.names), DIMENSION):
            has = f"has {len(flow.names)}"
            raise ArgumentError("names", f"have one entry for each of {o.dimension} components (`--dimension`)", has)
        return len(flow.names)
    if isinstance(flow.space, Ellipsoid) and flow.space.matrix.shape[-1] != o.dimension:
        d = flow.space.matrix.shape[-1]
        raise ArgumentError("space", f"have dimension {o.dimension} to match `--dimension`", f"has dimension {d}")
    return o.token_dimension
