"""CUDA kernels that JAX programs call: CUDA C++ text, compiled at its first use for the device at hand."""

from dynsim.kernels.cuda import Kernel, kernels_on, why_no_kernels

__all__ = ["Kernel", "kernels_on", "why_no_kernels"]
