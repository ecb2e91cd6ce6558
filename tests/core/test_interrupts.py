"""Ctrl-C ends a command within two seconds, in Python and in compiled code, and says what is kept."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dynsim._runtime import interrupts
from dynsim.io.whole_files import whole_file

BLOCKED = """
import sys, time, types
from dynsim._runtime import interrupts
from dynsim.__main__ import command_line

def main(words):
    with interrupts.on_interrupt(lambda: "Stopped; three parts are kept."):
        {body}
    return 0

sys.modules["dynsim.cli.demo"] = types.SimpleNamespace(main=main)
sys.argv = ["dynsim", "demo"]
command_line()
"""
SLEEP = 'print("ready", flush=True); time.sleep(60)'
COMPILED = """
        import jax, jax.numpy as jnp
        endless = jax.jit(lambda x: jax.lax.while_loop(lambda x: x < 2, lambda x: x + jnp.sin(x) / 1e30, x))
        compiled = endless.lower(jnp.ones(())).compile()
        print("ready", flush=True)
        jax.block_until_ready(compiled(jnp.ones(())))
"""


# A process that a shell started in the background ignores SIGINT, and so do those that it starts.
HANDLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


def _started(script: str, *words: str, **options: Any) -> subprocess.Popen[str]:
    """Start a script in a process that handles SIGINT."""
    command = [sys.executable, "-c", HANDLE + script, *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def interrupted(script: str) -> tuple[int, str, float]:
    """Run a script, send SIGINT to it alone once it is ready, and return its status, what it said, and the seconds."""
    process = _started(script, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, said, time.monotonic() - begin


@pytest.mark.parametrize(("body", "begin"), [(SLEEP, ""), (COMPILED, "\n")], ids=["Python", "compiled"])
def test_a_command_is_stopped_with_its_message(body, begin):
    status, said, _ = interrupted(BLOCKED.format(body=body))
    assert (status, said) == (interrupts.INTERRUPTED, f"{begin}dynsim: Stopped; three parts are kept.\n")


def test_the_innermost_message_counts_while_its_context_lasts():
    with interrupts.on_interrupt(lambda: "the sweep"):
        with interrupts.on_interrupt(lambda: "an ensemble"):
            assert interrupts.message() == "an ensemble"
        assert interrupts.message() == "the sweep"
    assert interrupts.message() == "Stopped; nothing was written."


def test_an_error_s_own_sentence_is_kept():
    with pytest.raises(KeyboardInterrupt, match="two of five"), interrupts.on_interrupt(lambda: "other"):
        raise KeyboardInterrupt("two of five")
    with pytest.raises(KeyboardInterrupt, match="other"), interrupts.on_interrupt(lambda: "other"):
        raise KeyboardInterrupt
    assert interrupts.message() == "Stopped; nothing was written."


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_report_leaves_no_process_and_keeps_what_was_finished(sent, tmp_path):
    lines = tmp_path / "lines"
    words = ["check", "consensus/equation-3", "consensus/theorem-5.1-domain", "--jobs", "2", "--lines", str(lines)]
    process = _started("from dynsim.__main__ import command_line; command_line()", *words, start_new_session=True)
    deadline = time.monotonic() + 300
    while not (lines.exists() and any(lines.glob("*.json"))):
        assert process.poll() is None, "it ended before it was interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(sent)  # to the parent alone
    _, said = process.communicate(timeout=60)
    if sent is signal.SIGINT:
        assert process.returncode == interrupts.INTERRUPTED
        assert f"claims are in `{lines}`; repeat the command to resume." in said
    else:
        assert process.returncode == -sent
    assert all(file.suffix == ".json" for file in Path(lines).iterdir())
    while _alive(process.pid):  # whoever is left of its session
        assert time.monotonic() < deadline
        time.sleep(0.05)


WORKER = """from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import time
from dynsim._runtime.interrupts import end_with_parent
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=end_with_parent)
    pool.submit(print, "ready", flush=True).result()
    pool.submit(time.sleep, 600)
    time.sleep(600)
"""


def test_a_worker_ends_with_the_process_that_started_it():
    process = _started(WORKER, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.communicate(timeout=60)  # waits for its streams, which a worker would keep open
    deadline = time.monotonic() + 60
    while _alive(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _alive(session: int) -> bool:
    try:
        os.killpg(session, 0)
    except ProcessLookupError:
        return False
    return True


IN_A_CALLBACK = """import gc
        def callback(phase, info):
            raise KeyboardInterrupt
        gc.callbacks.append(callback)
        gc.collect()
        gc.callbacks.remove(callback)
        print("ready", flush=True); time.sleep(60)
"""


def test_nothing_is_printed_of_an_interrupt_that_python_ignores():
    status, said, _ = interrupted(BLOCKED.format(body=IN_A_CALLBACK))
    assert (status, said) == (interrupts.INTERRUPTED, "dynsim: Stopped; three parts are kept.\n")


def test_a_command_that_is_stopped_names_the_files_that_it_has_written(tmp_path):
    for _ in range(2):
        with interrupts.noted():
            assert interrupts.message() == "Stopped; nothing was written."
            with whole_file(tmp_path / "run.png") as part:
                part.write_text("all of it")
            assert interrupts.message() == f"Stopped; only `{tmp_path / 'run.png'}` was written."
    assert interrupts.message() == "Stopped; nothing was written."
