"""Systems whose heads are added and removed: the growing flow, its rules, and the algorithm in discrete steps."""

from dynsim.simulation.growing import descend, growing_transitions, simulate_growing
from dynsim.systems.growing.descent import GrowingStep
from dynsim.systems.growing.flow import Growing, GrowingFlow
from dynsim.systems.growing.gate import GateFlow
from dynsim.systems.growing.residual import dominant_plane, dominant_value, residual_matrix
from dynsim.systems.growing.rules import GrowthRules

__all__ = [
    "GateFlow",
    "Growing",
    "GrowingFlow",
    "GrowingStep",
    "GrowthRules",
    "descend",
    "dominant_plane",
    "dominant_value",
    "growing_transitions",
    "residual_matrix",
    "simulate_growing",
]
