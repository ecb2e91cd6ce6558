"""Kill commands at random times, resume them, and compare every file with that of a run that was never killed.

`python -m tests.quality.kills [--kills 100] [--seed 0] [--only NAME]`: an ensemble, a check of claims, an experiment,
a sweep and a training (which needs DYNSIM_DATA), killed by SIGKILL or by Ctrl-C, within a terminal or not. The
wall-clock time of a claim is not compared.
"""

import argparse
import contextlib
import hashlib
import os
import pty
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INTERRUPTED = 130
MOST = 5  # kills of one run, which then may finish
PATIENCE = 10.0  # seconds in which Ctrl-C must have ended a command on a loaded machine

DYNSIM = ("-m", "dynsim")
COMMANDS = {
    "ensemble": (*DYNSIM, "simulate", "token-flow", "--beta", "4", "--tokens", "8", "--members", "400", "--end", "100",
                 "--out", "run.npz"),
    "claims": (*DYNSIM, "check", "consensus/lemma-3.1", "consensus/lemma-3.3", "consensus/theorem-3.2",
               "consensus/equation-5", "hardmax/lemma-3.4", "multirate/proposition-19", "--jobs", "2",
               "--lines", "lines", "--json", "claims.json", "--force"),
    "experiment": (*DYNSIM, "experiment", "consensus/7.4", "--out", "results"),
    "sweep": (*DYNSIM, "sweep", "lorenz", "--rho", *map(str, range(20, 32)), "--end", "200", "--out", "sweep.nc"),
}  # fmt: skip
if "DYNSIM_DATA" in os.environ:
    COMMANDS["training"] = (*DYNSIM, "experiment", "multirate/section-9", "--out", "results")


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, whether it was killed before it ended by itself, and what it printed."""

    status: int
    killed: bool
    said: str
    seconds: float


def run(words: Sequence[str], folder: Path, *, after: float = 0.0, by: int = 0, terminal: bool = False) -> Ended:
    """Run `python` with `words` in a folder; send the signal `by`, if it is not 0, `after` seconds from its start."""
    pid, descriptor = pty.fork() if terminal else _fork_with_pipe()
    if pid == 0:
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.execv(sys.executable, [sys.executable, *words])
    said: list[bytes] = []
    reader = threading.Thread(target=_read, args=(descriptor, said))
    reader.start()
    begin, killed = time.monotonic(), False
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        passed = time.monotonic() - begin
        if ended:
            break
        if by and not killed and passed >= after:
            killed = True
            if by == signal.SIGINT and terminal:
                os.write(descriptor, b"\x03")
            else:
                os.kill(pid, by)
        if killed and passed > after + PATIENCE:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    _end_group(pid)
    reader.join(timeout=PATIENCE)
    os.close(descriptor)
    return Ended(os.waitstatus_to_exitcode(status), killed, b"".join(said).decode(errors="replace"), passed)


def _fork_with_pipe() -> tuple[int, int]:
    """Fork a child, the leader of its own group, that prints to a pipe; return its number and the end to read."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(reading)
        return 0, -1
    os.close(writing)
    return pid, reading


def _read(descriptor: int, said: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # of a terminal whose last process has ended
        while found := os.read(descriptor, 4096):
            said.append(found)


def _end_group(pid: int) -> None:
    """End the children that a killed parent left behind, so that they do not write at the same time as the next run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file under a folder; the seconds that a claim took are left out."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".json":
            data = re.sub(rb'"seconds": [0-9.e+-]+', b"", data)
        found[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
    return found


def faults(ended: Ended, by: int) -> list[str]:
    """Return what is wrong with the end of a process that was sent a signal, or that ended by itself."""
    found = []
    if "Traceback" in ended.said:
        found.append(f"printed a traceback: {ended.said[-2000:]}")
    if by == signal.SIGINT and ended.killed and ended.status not in (INTERRUPTED, 0):
        found.append(f"ended with status {ended.status} on Ctrl-C: {ended.said[-500:]}")
    if not ended.killed and ended.status:
        found.append(f"ended with status {ended.status}: {ended.said[-500:]}")
    return found


def tortured(name: str, expected: dict[str, str], longest: float, rng: random.Random) -> tuple[int, list[str]]:
    """Kill a command up to `MOST` times, let it finish, and return the number of kills and what went wrong."""
    kills, wrong = 0, []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        while True:
            by = rng.choice([signal.SIGKILL, signal.SIGINT]) if kills < MOST else 0
            terminal = rng.random() < 0.5
            after = rng.uniform(0.3, longest)
            ended = run(COMMANDS[name], folder, after=after, by=by, terminal=terminal)
            kills += ended.killed
            where = f"{name}, {'terminal' if terminal else 'pipe'}, signal {int(by)} after {after:.2f} s"
            wrong += [f"{where}: {fault}" for fault in faults(ended, by)]
            if ended.status == 0 or (not ended.killed and wrong):
                break
        found = contents(folder)
        differ = sorted(file for file in expected.keys() | found.keys() if expected.get(file) != found.get(file))
        if differ:
            wrong.append(f"{name}: after {kills} kills these files differ: {', '.join(differ)}")
    return kills, wrong


def main(words: Sequence[str]) -> int:
    """Kill commands until there have been enough kills, print what went wrong, and return 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="number of kills")
    parser.add_argument("--seed", type=int, default=0, help="of the times, the signals and the terminals")
    parser.add_argument("--only", choices=COMMANDS, help="one command instead of all")
    options = parser.parse_args(words)
    rng = random.Random(options.seed)
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    names = [options.only] if options.only else list(COMMANDS)
    expected: dict[str, tuple[dict[str, str], float]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as place:
            ended = run(COMMANDS[name], Path(place))
            if wrong := faults(ended, 0):
                print("\n".join(wrong))
                return 1
            expected[name] = contents(Path(place)), ended.seconds
            print(f"{name}: {len(expected[name][0])} files in {ended.seconds:.1f} s", flush=True)
    kills, wrong, number = 0, [], 0
    while kills < options.kills:
        name = names[number % len(names)]
        more, faulty = tortured(name, *expected[name], rng)
        kills, wrong, number = kills + more, wrong + faulty, number + 1
        for line in (*faulty, f"{name}: {more} kills, {kills} in all"):
            print(line, flush=True)
    print(f"{kills} kills of {number} runs, {len(wrong)} faults")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
