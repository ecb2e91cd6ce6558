"""Executors: the same bits as in one process, errors of calls, executors that end, folders held by another run."""

import os
import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.claims import claims
from analysis.experiments import Experiment, records
from analysis.ledger.findings import select
from analysis.report import run_checks
from dynsim._runtime.executors import as_executor, cluster, finished
from dynsim.integrators import Diffrax, Scipy
from dynsim.io.locks import held
from dynsim.io.npz import writable_folder
from dynsim.papers import CONSENSUS
from dynsim.simulation.ensemble import Ensemble, ensemble
from dynsim.systems.base import FunctionFlow
from tests.support.executor_calls import Size, decay, dies, fails, kept, normal_numbers, shown_numbers, square

STARTS = jnp.asarray(np.linspace(0.5, 2.0, 10)).reshape(5, 2)
TS = [0.0, 0.5, 1.0]


def run(integrator=Diffrax(), **options) -> Ensemble:
    return ensemble(FunctionFlow(decay), STARTS, TS, kept, chunk=2, integrator=integrator, **options)


def bits(run: Ensemble) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((run.values, run.initial, run.final, run.stats))]


@pytest.fixture(scope="module")
def whole() -> Ensemble:
    return run()


class Sending(ThreadPoolExecutor):
    """An executor whose calls are pickled, as those for other processes are."""

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(*pickle.loads(pickle.dumps((fn, *args))), **kwargs)


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()], ids=["together", "alone"])
def test_calls_that_are_sent_give_the_same_bits(integrator):
    with Sending(2) as pool:
        assert bits(run(integrator, executor=pool)) == bits(run(integrator))


@pytest.mark.slow
def test_processes_give_the_same_bits(whole, tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert bits(run(executor=pool, folder=tmp_path)) == bits(whole)
    assert bits(run(folder=tmp_path)) == bits(whole)  # of the parts that the processes made


def test_results_come_with_their_numbers_and_errors_of_calls_as_they_are():
    with ThreadPoolExecutor(2) as pool:
        assert dict(finished(pool, {k: (square, (k,)) for k in range(5)})) == {k: k * k for k in range(5)}
        with pytest.raises(ValueError, match="^no 3$"):
            dict(finished(pool, {3: (fails, (3,))}))


def test_an_executor_that_dies_is_said_in_one_sentence():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(ValueError, match="`executor` must finish its calls, but ended after . of 4 parts"),
    ):
        dict(finished(pool, {k: (dies, (k,)) for k in range(4)}, lambda: "nothing is kept"))
    with ThreadPoolExecutor(1) as threads:
        pass
    with pytest.raises(ValueError, match=r"ended after 0 of 1 parts \(RuntimeError\)\.$"):
        dict(finished(threads, {0: (square, (1,))}))


class Cancelling(ThreadPoolExecutor):
    """An executor that cancels what it is given, as one that has lost its machines does."""

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        future.cancel()
        return future


class Ending(ThreadPoolExecutor):
    """An executor that makes some parts, and loses the others."""

    left = 2

    def submit(self, fn, /, *args, **kwargs):
        self.left -= 1
        if self.left < 0:
            return Cancelling.submit(self, fn)  # pyright: ignore
        return super().submit(fn, *args, **kwargs)


def test_parts_that_were_finished_are_kept_and_the_same_call_goes_on(whole, tmp_path):
    with (
        Cancelling(1) as pool,
        pytest.raises(ValueError, match=r"ended after 0 of 3 parts \(CancelledError\); the .* none is"),
    ):
        run(executor=pool)
    with Ending(1) as pool, pytest.raises(ValueError, match="parts .*; they are kept in|they are kept in"):
        run(executor=pool, folder=tmp_path)
    assert not (tmp_path / ".running").exists()
    with ThreadPoolExecutor(1) as pool:
        assert bits(run(executor=pool, folder=tmp_path)) == bits(whole)


def test_a_call_that_cannot_be_sent_is_refused():
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with pool, pytest.raises(ValueError, match="`executor` must be able to transfer its calls to its processes"):
        dict(finished(pool, {0: (lambda: 1, ())}))


DRAWN = Experiment("tests/drawn", CONSENSUS.at("none"), "", Size(2), Size(3), normal_numbers, shown_numbers)


def test_experiments_run_their_seeds_on_an_executor(tmp_path):
    here = list(records(DRAWN, "quick", range(3), results=tmp_path / "here"))
    with ThreadPoolExecutor(2) as pool:
        there = {one.seed: one for one in records(DRAWN, "quick", range(3), results=tmp_path / "there", executor=pool)}
        again = list(records(DRAWN, "quick", range(3), results=tmp_path / "there", executor=pool))
    assert sorted(there) == [one.seed for one in again] == [0, 1, 2]
    for one in here:
        assert np.array_equal(one.arrays["numbers"], there[one.seed].arrays["numbers"])
        name = f"tests/drawn/quick-{one.seed}.npz"
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    with Cancelling(1) as pool, pytest.raises(ValueError, match="ended after 0 of 1 parts .* records are kept in"):
        list(records(DRAWN, "paper", [0], results=tmp_path / "there", executor=pool))


def test_a_record_that_another_run_makes_is_refused(tmp_path):
    place = writable_folder("results", tmp_path / "tests/drawn")
    with (
        held("results", place, ".quick-0.running"),
        pytest.raises(ValueError, match="`results` must not be in use by another run"),
    ):
        list(records(DRAWN, "quick", [0], results=tmp_path))


@pytest.mark.slow
def test_claims_are_checked_on_an_executor(tmp_path):
    chosen = select(["hardmax/lemma-3.4"], claims())
    with ThreadPoolExecutor(1) as pool:
        there = [line for _, line in run_checks(chosen, num_trials=1, executor=pool, folder=tmp_path)]
    assert [line | {"seconds": 0} for _, line in run_checks(chosen, num_trials=1)] == [
        line | {"seconds": 0} for line in there
    ]
    with Cancelling(1) as pool:
        kept_lines = [line for _, line in run_checks(chosen, num_trials=1, executor=pool, folder=tmp_path)]
        assert kept_lines == there
        with pytest.raises(ValueError, match="ended after 0 of . parts .* finished claims are kept in"):
            list(run_checks(chosen, num_trials=2, executor=pool, folder=tmp_path))


def test_a_folder_of_another_run_is_refused(tmp_path):
    with held("folder", tmp_path), pytest.raises(ValueError, match=f"is held by process {os.getpid()}"):
        run(folder=tmp_path)


def test_what_is_no_executor_or_no_cluster_is_refused():
    with pytest.raises(ValueError, match="`executor` must be a `concurrent.futures.Executor`"):
        as_executor("tcp://here")
    with cluster(None) as found:
        assert found is None
