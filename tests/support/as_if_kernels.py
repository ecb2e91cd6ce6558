"""Take the ways of a GPU on a processor: kernels are asked for, and their lanes are those of JAX."""

from types import SimpleNamespace

from analysis.dynamics.flow_maps import time_map
from dynsim.integrators import in_lanes
from dynsim.integrators.lanes import kernel, plain


def as_if_kernels(monkeypatch) -> list[int]:
    """Patch what asks for the device, and return a list to which each call adds its number of members."""
    calls = []

    def solved(programs, starts, *rest):
        calls.append(starts.shape[1])
        return plain.solved(programs, starts, *rest)

    gpu = SimpleNamespace(platform="gpu")
    monkeypatch.setattr(in_lanes, "current", lambda: gpu)
    monkeypatch.setattr(time_map, "current", lambda: gpu)
    monkeypatch.setattr(in_lanes, "kernels_on", lambda: True)
    monkeypatch.setattr(kernel, "solved", solved)
    return calls
