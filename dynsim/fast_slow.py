"""Systems with two time scales: the full flow, its fast subsystem, and the reduced flow on a critical manifold."""

from dynsim.systems.fast_slow.flow import FastSlow as FastSlow
from dynsim.systems.fast_slow.flow import FastSlowFlow as FastSlowFlow
from dynsim.systems.fast_slow.flow import FastSubsystem as FastSubsystem
from dynsim.systems.fast_slow.flow import FastTimeFlow as FastTimeFlow
from dynsim.systems.fast_slow.reduced import CriticalManifold as CriticalManifold
from dynsim.systems.fast_slow.reduced import ReducedFlow as ReducedFlow
