"""Systems whose heads are added and removed: the growing flow, its rules, and the algorithm in discrete steps."""

from dynsim.simulation.growing import descend as descend
from dynsim.simulation.growing import growing_transitions as growing_transitions
from dynsim.simulation.growing import simulate_growing as simulate_growing
from dynsim.systems.growing.descent import GrowingStep as GrowingStep
from dynsim.systems.growing.flow import Growing as Growing
from dynsim.systems.growing.flow import GrowingFlow as GrowingFlow
from dynsim.systems.growing.gate import GateFlow as GateFlow
from dynsim.systems.growing.residual import dominant_plane as dominant_plane
from dynsim.systems.growing.residual import dominant_value as dominant_value
from dynsim.systems.growing.residual import residual_matrix as residual_matrix
from dynsim.systems.growing.rules import GrowthRules as GrowthRules
