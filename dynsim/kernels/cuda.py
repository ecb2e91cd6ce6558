"""Kernels in CUDA C++ as functions of JAX arrays, compiled by NVRTC through NVIDIA's `cuda.core`."""

import functools
import hashlib
import importlib.util
import os
import threading
from collections.abc import Sequence
from typing import Any

import jax

from dynsim.errors import ArgumentError
from dynsim.kernels.call_frames import Call, handler

VARIABLE = "DYNSIM_KERNELS"
"""Environment variable: 0 forbids kernels, so that the plain JAX code runs everywhere."""

PREFIX = """
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif
"""  # NVRTC has the functions of math.h, but not its constants

_registered: dict[str, Any] = {}  # C functions that XLA may call, by name
_lock = threading.Lock()


def why_no_kernels() -> str | None:
    """Say in a sentence why no kernel is used here, or return None where kernels are used."""
    told = os.environ.get(VARIABLE, "1")
    if told not in ("0", "1"):
        raise ArgumentError(VARIABLE, "be 0 or 1", f"is {told!r}")
    if told == "0":
        return f"the environment variable {VARIABLE} is 0"
    if not cuda_devices():
        return "JAX has no CUDA device"
    if not _has_compiler():
        return "the package cuda-core is not installed (extra `gpu`)"
    return None


def kernels_on() -> bool:
    """Test whether kernels run here: there is a CUDA device and a compiler, and nobody forbids them."""
    return why_no_kernels() is None


@functools.cache
def cuda_devices() -> tuple[Any, ...]:
    """List the CUDA devices of JAX, possibly none."""
    try:
        return tuple(d for d in jax.devices("gpu") if "rocm" not in d.client.platform_version.lower())
    except RuntimeError:
        return ()


@functools.cache
def _has_compiler() -> bool:
    try:
        return importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        return False


class Kernel:
    """A kernel in CUDA C++: one function that is called with addresses of arrays.

    The text is compiled when a program that uses it is traced, for the device at hand. Equal texts are compiled once.

    ```python
    text = 'extern "C" __global__ void twice(const float* a, float* out) {'
    text += " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 1000) out[i] = 2 * a[i]; }"
    (out,) = Kernel(text, "twice")(a, results=[jax.ShapeDtypeStruct((1000,), a.dtype)], grid=(8,), block=(128,))
    ```
    """

    def __init__(self, text: str, name: str, *, options: Sequence[str] = ()):
        """Store the text, the name of its function, declared `extern "C"`, and further options of NVRTC."""
        self.text, self.name, self.options = text, name, tuple(options)

    def __call__(
        self,
        *arguments: Any,
        results: Sequence[jax.ShapeDtypeStruct],
        grid: Sequence[int],
        block: Sequence[int],
    ) -> tuple[jax.Array, ...]:
        """Launch the kernel on a CUDA device, inside a JAX program or alone.

        Args:
            arguments: arrays; the kernel gets their addresses, in this order. They are dense, with the last axis
                fastest.
            results: shapes and types of the results; the addresses follow those of the arguments. The kernel must
                write every entry.
            grid: number of blocks on one to three axes.
            block: number of threads of a block on one to three axes.

        Returns:
            The results, as a tuple.

        Raises:
            RuntimeError: for a text that does not compile, with the compiler's first message.
        """
        grid, block = (tuple(int(n) for n in sizes) for sizes in (grid, block))
        for device in cuda_devices()[:1]:
            compiled(self, architecture(device))
        target = self._registered(grid, block)
        return tuple(jax.ffi.ffi_call(target, tuple(results), vmap_method="sequential")(*arguments))

    def _registered(self, grid: tuple[int, ...], block: tuple[int, ...]) -> str:
        """Register a launch of this kernel with XLA under a name that depends on its text only."""
        digest = hashlib.sha256(repr((self.text, self.name, self.options, grid, block)).encode()).hexdigest()[:24]
        name = f"dynsim_{self.name}_{digest}"
        with _lock:
            if name not in _registered:
                _registered[name] = handler(functools.partial(_launch, self, grid, block))
                jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(_registered[name]), platform="CUDA")
        return name


def architecture(device: Any) -> str:
    """Name the architecture of a CUDA device for the compiler, such as `sm_90`."""
    return "sm_" + str(device.compute_capability).replace(".", "")


_compiled: dict[tuple[Any, ...], Any] = {}


def compiled(kernel: Kernel, arch: str) -> Any:
    """Compile a kernel for an architecture, once for equal texts."""
    key = (kernel.text, kernel.name, kernel.options, arch)
    if key not in _compiled:
        from cuda.core import Program, ProgramOptions  # pyright: ignore[reportMissingImports]

        options = ProgramOptions(std="c++17", arch=arch, **dict.fromkeys(kernel.options, True))
        try:
            _compiled[key] = Program(PREFIX + kernel.text, "c++", options).compile("cubin").get_kernel(kernel.name)
        except Exception as error:
            raise RuntimeError(f"The kernel {kernel.name} does not compile: {_first(error)}.") from error
    return _compiled[key]


def _first(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if "error" in line] or str(error).splitlines() or [repr(error)]
    return lines[0].strip()


def _launch(kernel: Kernel, grid: tuple[int, ...], block: tuple[int, ...], call: Call) -> None:
    from cuda.core import Device, LaunchConfig, Stream, launch  # pyright: ignore[reportMissingImports]

    device = Device(call.device)
    device.set_current()
    work = compiled(kernel, f"sm_{device.arch}")
    launch(Stream.from_handle(call.stream), LaunchConfig(grid=grid, block=block), work, *call.arguments, *call.results)
