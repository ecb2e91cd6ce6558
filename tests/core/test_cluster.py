"""A real Dask cluster of processes on this machine: the same bits, workers that die, a scheduler that is restarted."""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dynsim.cli.sweep.command as sweep_command
from analysis.claims import claims
from analysis.ledger.findings import select
from analysis.report import run_checks
from dynsim._runtime.executors import as_executor, cluster, finished
from dynsim.simulation.sweep import sweep
from tests.core.test_executors import bits, run
from tests.support import commands
from tests.support.executor_calls import dies, slow

pytest.importorskip("distributed")
xarray = pytest.importorskip("xarray")
ROOT = Path(__file__).parents[2]
PATIENCE = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s", "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH": "0"}
CLAIMS = ("hardmax/lemma-3.4", "consensus/equation-5")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of Dask's event loops, which run in threads of their own
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed"),
]


def started(*words: str) -> subprocess.Popen:
    environment = {**os.environ, **PATIENCE, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    none = subprocess.DEVNULL
    command = [sys.executable, "-m", *words]
    return subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, stdout=none, stderr=none)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Local:
    """A scheduler and worker processes, each of which a test may kill."""

    def __init__(self, workers: int = 2):
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen] = []
        self.begin(workers)

    def begin(self, workers: int) -> None:
        own = ("--host", "127.0.0.1", "--no-dashboard")
        self.scheduler = started("distributed.cli.dask_scheduler", *own, "--port", str(self.port))
        worker = ("distributed.cli.dask_worker", self.address, *own, "--nthreads", "1", "--no-nanny")
        self.workers = [started(*worker) for _ in range(workers)]
        self.processes += [self.scheduler, *self.workers]

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def local(monkeypatch) -> Iterator[Local]:
    for name, value in PATIENCE.items():
        monkeypatch.setenv(name, value)
    made = Local()
    yield made
    made.end()


@contextlib.contextmanager
def patient(local: Local):
    """Yield the executor of a cluster once its scheduler answers."""
    for attempt in range(20):
        try:
            with cluster(local.address) as executor:
                yield as_executor(executor)
                return
        except ValueError as error:
            if "address of a running Dask scheduler" not in str(error) or attempt == 19:
                raise
            time.sleep(0.5)


@pytest.mark.slow
def test_an_ensemble_and_a_report_are_the_same_as_in_one_process(local, tmp_path):
    chosen = select(CLAIMS, claims())
    with patient(local) as executor:
        assert bits(run(executor=executor)) == bits(run())
        there = {line["id"]: line for _, line in run_checks(chosen, num_trials=1, executor=executor, folder=tmp_path)}
    here = {line["id"]: line for _, line in run_checks(chosen, num_trials=1)}
    assert there.keys() == here.keys()
    for id, line in here.items():
        assert {**line, "seconds": 0} == {**there[id], "seconds": 0}
    assert len(list(tmp_path.glob("*.json"))) == len(chosen)


@pytest.mark.slow
def test_nothing_is_lost_when_a_worker_dies_in_the_middle(local, tmp_path):
    with patient(local) as executor:
        calls = {k: (dies, (k, str(tmp_path / "died"))) for k in range(4)}
        assert dict(finished(executor, calls)) == {k: k * k for k in range(4)}
    assert (tmp_path / "died").exists()
    assert sum(worker.poll() is not None for worker in local.workers) == 1


def once_there(file: Path, process: subprocess.Popen) -> threading.Thread:
    """Return a thread, begun, that kills a process as soon as there is a file."""

    def wait() -> None:
        while not file.exists():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


@pytest.mark.slow
def test_a_sweep_goes_on_after_the_scheduler_was_restarted(local, tmp_path):
    folder, grid = tmp_path / "parts", {"x": [float(x) for x in range(12)]}
    killer = once_there(folder / "part-00001.npz", local.scheduler)
    with (
        pytest.raises(ValueError, match="`executor` must finish its calls, .* they are kept in"),
        patient(local) as executor,
    ):
        sweep(slow, grid, chunk=1, folder=folder, executor=executor)
    killer.join()
    finished_parts = len(list(folder.glob("part-*.npz")))
    assert 1 <= finished_parts < 12
    local.end()
    local.begin(2)
    with patient(local) as executor:
        found = sweep(slow, grid, chunk=1, folder=folder, executor=executor)
    assert found.identical(sweep(slow, grid, chunk=1))


@pytest.mark.slow
def test_a_command_sweeps_a_file_of_the_users_on_a_cluster(local, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)  # which is not the working folder of the workers
    Path("mine.py").write_text("import os\n\n\ndef own(a, key):\n    return {'twice': 2 * a, 'process': os.getpid()}\n")
    words = ("--a", "1", "2", "4", "5", "--seeds", "1", "--chunk", "1")
    with patient(local):
        pass
    status, said, _ = commands.run(
        capsys, "sweep", "--function", "mine.py:own", *words, "--out", "far.nc", "--cluster", local.address
    )
    assert (status, said.splitlines()[0]) == (0, "4 points (a 4 x seed 1): 4 ok, 0 failed")
    with xarray.open_dataset("far.nc", engine="scipy") as found:
        found.load()
        assert {*found["process"].values.ravel()} <= {worker.pid for worker in local.workers}
    Path("far.nc").unlink()
    commands.run(capsys, "sweep", "--function", "mine.py:own", *words, "--out", "far.nc")
    with xarray.open_dataset("far.nc", engine="scipy") as again:  # from the parts that the workers made
        assert again.identical(found)
    sent = pickle.dumps(sweep_command.Built(sweep_command.Sweep(function="mine.py:own", seeds=1), (("a", 1),)))
    Path("mine.py").write_text("def own(a, key):\n    return -a\n")
    with pytest.raises(ValueError, match="`system` must be in a file that is the same on every worker, but .* differs"):
        pickle.loads(sent)


def test_what_answers_at_no_address_is_said(monkeypatch):
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setattr("dynsim._runtime.executors.CONNECT", 1)
    refused = pytest.raises(ValueError, match="`cluster` must be the address of a running Dask scheduler")
    with refused, cluster(address):
        pass
