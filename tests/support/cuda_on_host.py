"""Run CUDA C++ text on the host: g++ compiles it beside a loop over blocks and threads.

It serves kernels that use nothing of CUDA but indices and arithmetic, and products of tiles by the lanes of a warp,
which are then threads of the host. There is no shared memory.
"""

import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax
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
static Axes blockIdx, blockDim, gridDim;
static thread_local Axes threadIdx;
static double erfinv(double x) {  // Newton's method for the tail, from Winitzki's formula
  if (!(fabs(x) < 1)) return fabs(x) == 1 ? x * INFINITY : NAN;
  const double a = log1p(-x * x), b = 2 / (M_PI * 0.147) + a / 2;
  double y = sqrt(sqrt(b * b - a / 0.147) - b);
  for (int k = 0; k < 4; ++k) y += (erfc(y) - (1 - fabs(x))) * sqrt(M_PI) / 2 * exp(y * y);
  return copysign(y, x);
}
static float erfinvf(float x) { return (float) erfinv((double) x); }
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

_TILES = r"""
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

static unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static float shortened(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }

static float left_tile[16][8], right_tile[8][8];
static std::barrier together(32);
#define multiply_add_tile multiply_add_tile
static void multiply_add_tile(float* c, const float* a, const float* b) {  // as mma.m16n8k8 for tf32
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int k = 0; k < 4; ++k) left_tile[g + 8 * (k % 2)][t + 4 * (k / 2)] = shortened(a[k]);
  for (int k = 0; k < 2; ++k) right_tile[t + 4 * k][g] = shortened(b[k]);
  together.arrive_and_wait();
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 8; ++i) c[k] += left_tile[g + 8 * (k / 2)][i] * right_tile[i][2 * t + k % 2];
  together.arrive_and_wait();
}
"""

_LANES = r"""
extern "C" void run_lanes(void** addresses, const unsigned* grid, const unsigned* block) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], 1, 1};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
        for (unsigned warp = 0; warp < block[0] / 32; ++warp) {
          std::vector<std::thread> lanes;
          for (unsigned lane = 0; lane < 32; ++lane)
            lanes.emplace_back([=] { threadIdx = {32 * warp + lane, 0, 0}; call(NAME, addresses); });
          for (auto& lane : lanes) lane.join();
        }
}
"""


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cuda_on_host_"))


@functools.cache
def _compiled(text: str, name: str, lanes: bool) -> Any:
    base = _folder() / hashlib.sha256((text + name).encode()).hexdigest()[:16]
    source, library = base.with_suffix(".cpp"), base.with_suffix(".so")
    before, after = (_BEFORE + _TILES, _AFTER + _LANES) if lanes else (_BEFORE, _AFTER)
    source.write_text(f"{before}\n{text}\n#define NAME {name}\n{after}")
    options = ["-std=c++20", "-pthread", "-O1", "-w", "-shared", "-fPIC"]
    subprocess.run(
        [str(COMPILER), *options, str(source), "-o", str(library)], check=True, capture_output=True, text=True
    )
    return ctypes.CDLL(str(library))


class HostKernel:
    """The same calls as `dynsim.kernels.Kernel`, computed by the host; not inside a JAX program."""

    lanes = False

    def __init__(self, text: str, name: str, *, options: Any = ()):
        """Compile the text; options of the device's compiler mean nothing here."""
        library = _compiled(text, name, self.lanes)
        self.run = library.run_lanes if self.lanes else library.run_all

    def __call__(self, *arguments: Any, results: Any, grid: Any, block: Any) -> tuple[Any, ...]:
        """Run all threads, one after another; entries that no thread writes are NaN, or zero in integers."""
        given = [np.ascontiguousarray(a) for a in arguments]
        made = [np.full(r.shape, np.nan if np.issubdtype(r.dtype, np.inexact) else 0, r.dtype) for r in results]
        addresses = (ctypes.c_void_p * (len(given) + len(made)))(*(a.ctypes.data for a in [*given, *made]))
        axes = lambda sizes: (ctypes.c_uint * 3)(*(*sizes, 1, 1)[:3])
        self.run(addresses, axes(grid), axes(block))
        return tuple(jnp.asarray(a) for a in made)


class CalledKernel(HostKernel):
    """The same inside a JAX program, which calls the host."""

    def __call__(self, *arguments: Any, results: Any, grid: Any, block: Any) -> tuple[Any, ...]:
        """Run all threads when the program runs."""
        run = functools.partial(super().__call__, results=results, grid=grid, block=block)
        return jax.pure_callback(lambda *given: tuple(map(np.asarray, run(*given))), tuple(results), *arguments)


class LaneKernel(HostKernel):
    """A kernel whose warps multiply tiles: the 32 lanes of a warp run together, one warp after another."""

    lanes = True
