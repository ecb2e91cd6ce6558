"""Prototypes that compete for embeddings: flows, descents, encoders, losses and temperatures."""

from dynsim.systems.prototypes.descent import DescentMap as DescentMap
from dynsim.systems.prototypes.descent import random_batches as random_batches
from dynsim.systems.prototypes.encoders import Affine as Affine
from dynsim.systems.prototypes.encoders import AffineEncoder as AffineEncoder
from dynsim.systems.prototypes.encoders import FreeEmbeddings as FreeEmbeddings
from dynsim.systems.prototypes.encoders import LinearEncoder as LinearEncoder
from dynsim.systems.prototypes.encoders import MLPEncoder as MLPEncoder
from dynsim.systems.prototypes.encoders import TwoLayers as TwoLayers
from dynsim.systems.prototypes.encoders import principal_components as principal_components
from dynsim.systems.prototypes.flow import Coupled as Coupled
from dynsim.systems.prototypes.flow import CoupledFlow as CoupledFlow
from dynsim.systems.prototypes.flow import PrototypeFlow as PrototypeFlow
from dynsim.systems.prototypes.hierarchy import TwoLevel as TwoLevel
from dynsim.systems.prototypes.hierarchy import TwoLevelFlow as TwoLevelFlow
from dynsim.systems.prototypes.losses import PrototypeLoss as PrototypeLoss
from dynsim.systems.prototypes.temperatures import Annealing as Annealing
