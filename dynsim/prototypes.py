"""Prototypes that compete for embeddings: flows, descents, encoders, losses and temperatures."""

from dynsim.systems.prototypes.descent import DescentMap, random_batches
from dynsim.systems.prototypes.encoders import (
    Affine,
    AffineEncoder,
    FreeEmbeddings,
    LinearEncoder,
    MLPEncoder,
    TwoLayers,
    principal_components,
)
from dynsim.systems.prototypes.flow import Coupled, CoupledFlow, PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevel, TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing

__all__ = [
    "Affine",
    "AffineEncoder",
    "Annealing",
    "Coupled",
    "CoupledFlow",
    "DescentMap",
    "FreeEmbeddings",
    "LinearEncoder",
    "MLPEncoder",
    "PrototypeFlow",
    "PrototypeLoss",
    "TwoLayers",
    "TwoLevel",
    "TwoLevelFlow",
    "principal_components",
    "random_batches",
]
