"""Take the ways of a GPU on a processor: kernels are asked for, and the host runs their text."""

from types import SimpleNamespace

from analysis.dynamics.flow_maps import time_map
from dynsim.integrators import in_lanes
from dynsim.integrators.fixed_step import in_lanes as fixed
from dynsim.integrators.lanes import fixed_steps, kernel
from tests.support.cuda_on_host import CalledKernel


def as_if_kernels(monkeypatch) -> list[int]:
    """Patch what asks for the device, and return a list to which each solve that is traced adds its members."""
    calls, solved, marched = [], kernel.solved, fixed_steps.marched_by_kernel

    def counted(programs, starts, *rest):
        calls.append(starts.shape[1])
        return solved(programs, starts, *rest)

    def counted_steps(program, form, starts, *rest):
        calls.append(starts.shape[1])
        return marched(program, form, starts, *rest)

    gpu = SimpleNamespace(platform="gpu")
    monkeypatch.setattr(in_lanes, "current", lambda: gpu)
    monkeypatch.setattr(time_map, "current", lambda: gpu)
    monkeypatch.setattr(in_lanes, "kernels_on", lambda: True)
    monkeypatch.setattr(kernel, "Kernel", CalledKernel)
    monkeypatch.setattr(kernel, "_kernels", {})
    monkeypatch.setattr(kernel, "THREADS", 2)
    monkeypatch.setattr(kernel, "solved", counted)
    monkeypatch.setattr(fixed_steps, "_kernels", {})
    monkeypatch.setattr(fixed, "marched_by_kernel", counted_steps)
    return calls
