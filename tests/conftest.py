"""Strictness: no silent broadcasting or promotion, and a warning is an error (pyproject.toml)."""

import gc
import os
from importlib.metadata import version

# Programs of tests run for milliseconds: they are compiled quickly, to slower code. XLA reads no flag after a word, and
# ends the process at a flag that it does not know.
QUICK = "--xla_backend_optimization_level=0"
if version("jaxlib").startswith("0.10."):
    QUICK += " --xla_cpu_use_fusion_emitters=false"
FLAGS = f"{QUICK} --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.setdefault("XLA_FLAGS", FLAGS)
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # two test processes on two cores

import functools  # noqa: E402
import math  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

from dynsim._core import settings as _settings  # noqa: E402, F401

gc.set_threshold(50_000)  # tracing makes many small objects, and the default looks at them too often


def _first_of_one_draw(draw, count=4096):
    """Return `draw`, of which calls outside of programs give the first numbers of a longer draw, compiled once.

    An entry depends on the key and on its position alone: the numbers are those of a draw of the shape, to the bit.
    """

    @functools.wraps(draw)
    def drawn(key, shape=(), dtype=float, *places, **bounds):
        size, numbers = math.prod(shape), all(isinstance(bound, int | float) for bound in bounds.values())
        if isinstance(key, jax.core.Tracer) or key.ndim or places or not numbers or size > count:
            return draw(key, shape, dtype, *places, **bounds)
        first = draw(key, (count,), dtype, **bounds)
        if isinstance(first, jax.core.Tracer):  # of a constant key in a program
            return draw(key, shape, dtype, **bounds)
        return jnp.asarray(np.asarray(first)[:size].reshape(shape))

    return drawn


jax.random.normal = _first_of_one_draw(jax.random.normal)
jax.random.uniform = _first_of_one_draw(jax.random.uniform)


@pytest.fixture(autouse=True, scope="session")
def _shared_files(tmp_path_factory):
    """Keep records of experiments and compiled programs among the tests' own files, for all processes of a run.

    Programs are kept where `JAX_COMPILATION_CACHE_DIR` says, if it says.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["DYNSIM_RESULTS"] = str(shared / "results")
    compiled = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(shared / "compiled"))
    kept = {"dir": compiled, "min_compile_time_secs": 0, "min_entry_size_bytes": -1}
    for name, value in kept.items():
        option = f"jax_compilation_cache_{name}" if name == "dir" else f"jax_persistent_cache_{name}"
        jax.config.update(option, value)
        os.environ[option.upper()] = str(value)  # of commands that tests start


@pytest.fixture(autouse=True, scope="session")
def _strict():
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")


@pytest.fixture(autouse=True, scope="module")
def _nothing_compiled_stays():
    """Forget the compiled programs of a file: with those of all files a process would hold six gigabytes."""
    yield
    jax.clear_caches()


@pytest.fixture(autouse=True)
def _same_environment():
    """Give back the variables that a command's options set for their whole process."""
    before = dict(os.environ)
    yield
    for name in {*os.environ} - {*before}:
        del os.environ[name]
    os.environ.update(before)
