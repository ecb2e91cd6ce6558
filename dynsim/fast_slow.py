"""Systems with two time scales: the full flow, its fast subsystem, and the reduced flow on a critical manifold."""

from dynsim.systems.fast_slow.flow import FastSlow, FastSlowFlow, FastSubsystem, FastTimeFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold, ReducedFlow

__all__ = [
    "CriticalManifold",
    "FastSlow",
    "FastSlowFlow",
    "FastSubsystem",
    "FastTimeFlow",
    "ReducedFlow",
]
