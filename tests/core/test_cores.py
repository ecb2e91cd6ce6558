"""Parts on the cores of a process: their order, calls from within them, errors, and forked processes."""

import os

import numpy as np
import pytest

from dynsim._runtime import cores
from dynsim._runtime.cores import in_parts, on_cores


@pytest.fixture(autouse=True)
def several(monkeypatch):
    """Run on four threads whatever the machine has."""
    monkeypatch.setattr(cores, "cores", lambda: 4)


def test_the_results_come_in_the_order_of_the_parts():
    assert on_cores(lambda k: k**2, list(range(40))) == [k**2 for k in range(40)]
    found = in_parts(lambda part: -part, np.arange(10), 4)
    assert [list(part) for part, _ in found] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert [list(result) for _, result in found] == [[0, -1, -2, -3], [-4, -5, -6, -6], [-7, -8, -9, -9]]


def test_calls_from_within_more_parts_than_threads_end():
    assert on_cores(lambda k: sum(on_cores(lambda j: 10 * k + j, [0, 1, 2])), list(range(9)))[8] == 243


def test_the_error_of_a_part_is_raised():
    with pytest.raises(ZeroDivisionError):
        on_cores(lambda k: 1 // k, [2, 1, 0, 3])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_process_starts_threads_of_its_own():
    on_cores(abs, [1, 2])
    child = os.fork()
    if child == 0:
        os._exit(on_cores(abs, [-3, -4]) != [3, 4])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
