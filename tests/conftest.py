"""Strictness: no silent broadcasting or promotion, and a warning is an error (pyproject.toml)."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # two test processes on two cores

import jax  # noqa: E402
import pytest  # noqa: E402

from dynsim import _precision  # noqa: E402, F401


@pytest.fixture(autouse=True, scope="session")
def _records(tmp_path_factory):
    """Keep records of experiments among the tests' own files, shared by all processes of a run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    os.environ["DYNSIM_RESULTS"] = str(shared / "results")


@pytest.fixture(autouse=True, scope="session")
def _strict():
    jax.config.update("jax_numpy_rank_promotion", "raise")
    jax.config.update("jax_numpy_dtype_promotion", "strict")
