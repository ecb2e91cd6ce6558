"""Run CUDA C++ text on the host: g++ compiles it beside a loop over blocks and threads.

It serves kernels that use nothing of CUDA but indices and arithmetic: no shared memory, no exchange between threads.
"""

import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

COMPILER = shutil.which("g++")
WHY_NOT = "g++, which compiles CUDA text for the host, is not installed"

_BEFORE = r"""
#include <cmath>
#include <cstddef>
#include <utility>
#define __global__
#define __device__
#define __forceinline__ inline
#define __align__(size) alignas(size)
#define __launch_bounds__(...)
using namespace std;
struct Axes { unsigned x, y, z; };
static Axes blockIdx, threadIdx, blockDim, gridDim;
"""

_AFTER = r"""
template <class... A, std::size_t... I>
static void call(void (*kernel)(A...), void** addresses, std::index_sequence<I...>) { kernel((A)addresses[I]...); }
template <class... A>
static void call(void (*kernel)(A...), void** addresses) { call(kernel, addresses, std::index_sequence_for<A...>()); }

extern "C" void run_all(void** addresses, const unsigned* grid, const unsigned* block) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
        for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
          for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x) call(NAME, addresses);
}
"""


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cuda_on_host_"))


@functools.cache
def _compiled(text: str, name: str) -> Any:
    base = _folder() / hashlib.sha256((text + name).encode()).hexdigest()[:16]
    source, library = base.with_suffix(".cpp"), base.with_suffix(".so")
    source.write_text(f"{_BEFORE}\n{text}\n#define NAME {name}\n{_AFTER}")
    command = [str(COMPILER), "-std=c++17", "-O1", "-w", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(library)).run_all


class HostKernel:
    """The same calls as `dynsim.kernels.Kernel`, computed by the host; not inside a JAX program."""

    def __init__(self, text: str, name: str, *, options: Any = ()):
        """Compile the text; options of the device's compiler mean nothing here."""
        del options
        self.run = _compiled(text, name)

    def __call__(self, *arguments: Any, results: Any, grid: Any, block: Any) -> tuple[Any, ...]:
        """Run all threads, one after another; entries that no thread writes are NaN, or zero in integers."""
        given = [np.ascontiguousarray(a) for a in arguments]
        made = [np.full(r.shape, np.nan if np.issubdtype(r.dtype, np.inexact) else 0, r.dtype) for r in results]
        addresses = (ctypes.c_void_p * (len(given) + len(made)))(*(a.ctypes.data for a in [*given, *made]))
        axes = lambda sizes: (ctypes.c_uint * 3)(*(*sizes, 1, 1)[:3])
        self.run(addresses, axes(grid), axes(block))
        return tuple(jnp.asarray(a) for a in made)
