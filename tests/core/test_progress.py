"""Progress bars: on terminals only, and not for what ends at once."""

import contextlib
import importlib
import io
import sys
import threading

import numpy as np
import pytest

from dynsim._runtime.progress import progress, running, tracked, waiting
from dynsim.io import parts
from dynsim.io.checkpoints import Checkpoints

module = importlib.import_module("dynsim._runtime.progress")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("tqdm.std.time", clock)
    return clock


def written(stream: io.StringIO, monkeypatch, clock: Clock, pause: float, **options) -> str:
    """Return what a bar over three items writes, `pause` seconds for each."""
    monkeypatch.setattr(sys, "stderr", stream)
    for _ in tracked(range(3), 3, "members", unit="runs", **options):
        clock.now += pause
    return stream.getvalue()


def test_a_terminal_sees_a_bar_with_its_name_and_unit(clock, monkeypatch):
    text = written(Terminal(), monkeypatch, clock, 1.5)
    assert "members" in text
    assert "2/3" in text
    assert "1/3" not in text  # that was before two seconds
    assert "runs" in text
    assert text.endswith("\r")  # the bar is gone afterwards


def test_what_ends_before_two_seconds_shows_nothing(clock, monkeypatch):
    assert written(Terminal(), monkeypatch, clock, 0.6).strip() == ""


def test_a_pipe_sees_nothing_unless_asked_for(clock, monkeypatch):
    assert written(io.StringIO(), monkeypatch, clock, 1.5) == ""
    assert "2/3" in written(io.StringIO(), monkeypatch, clock, 1.5, shown=True)
    assert written(Terminal(), monkeypatch, clock, 1.5, shown=False) == ""


def test_a_pipe_sees_plain_lines_ten_seconds_apart(clock, monkeypatch):
    lines = written(io.StringIO(), monkeypatch, clock, 7.0).splitlines()
    assert len(lines) == 1  # after 14 of 21 seconds
    assert lines[0].startswith("members")
    assert "2/3" in lines[0]
    assert "\r" not in written(io.StringIO(), monkeypatch, clock, 40.0)


def test_items_pass_through():
    assert list(tracked("abc", 3, "letters")) == ["a", "b", "c"]


def test_an_interruption_clears_the_bar(clock, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    def work():
        with progress(2, "work") as bar:
            clock.now = 3.0
            bar.update()
            assert "1/2" in stream.getvalue()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert stream.getvalue().endswith("\r")


class Watched(Terminal):
    """A terminal that tells a waiting test when something is written."""

    def __init__(self):
        super().__init__()
        self.touched = threading.Event()

    def flush(self):
        self.touched.set()


def test_a_compiled_call_shows_how_long_it_has_been_running(monkeypatch):
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.0)
    stream = Watched()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("simulate"):
        assert stream.touched.wait(10)
    assert "simulate: 0 s" in stream.getvalue()
    assert stream.getvalue().endswith("\r")


def test_a_short_call_and_a_pipe_show_nothing(monkeypatch):
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with waiting("simulate"):
            pass
        assert stream.getvalue() == ""


def test_a_long_call_writes_lines_to_a_pipe(monkeypatch):
    class Pipe(Watched):
        def isatty(self):
            return False

    monkeypatch.setattr(module, "LINE_SECONDS", 0.01)
    stream = Pipe()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("simulate"):
        assert stream.touched.wait(10)
    assert stream.getvalue().startswith("simulate: 0 s\n")
    assert "\r" not in stream.getvalue()


def test_a_failing_call_ends_the_display(monkeypatch):
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.0)
    stream = Watched()
    monkeypatch.setattr(sys, "stderr", stream)

    def fail() -> None:
        assert stream.touched.wait(10)
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"), waiting("simulate"):
        fail()
    ended = stream.getvalue()
    assert ended.endswith("\r")
    stream.touched.clear()
    assert not stream.touched.wait(5 * module.TICK)
    assert stream.getvalue() == ended


def test_calls_share_one_thread():
    with waiting("first"):
        before = threading.active_count()
        for _ in range(5):
            with waiting("second"):
                assert threading.active_count() == before


def test_a_command_in_a_pipe_says_how_long_it_has_run_unless_a_bar_says_more(monkeypatch):
    monkeypatch.setattr(module, "_start_clock", lambda: None)
    monkeypatch.setattr(module, "LINE_SECONDS", 10.0)
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with running("dynsim basins"):
        (command,) = module._calls
        for clock.now in (9.0, 11.0, 12.0, 22.0):
            command.show()
        module._Lines().write("basins: 30 %")
        for clock.now in (31.0, 33.0, 200.0, 240.0, 251.0):
            command.show()
    said = ["dynsim basins: 11 s", "dynsim basins: 22 s", "basins: 30 %", "dynsim basins: 33 s", "dynsim basins: 200 s"]
    assert stream.getvalue().splitlines() == [*said, "dynsim basins: 251 s"]
    monkeypatch.setattr(sys, "stderr", Terminal())
    with running("dynsim basins"):
        assert not module._calls


def test_parts_that_are_read_and_parts_that_are_made_advance_the_bar_by_their_sizes(monkeypatch, tmp_path):
    seen = []

    class Bar:
        """A bar that notes its steps."""

        update = staticmethod(seen.append)

    monkeypatch.setattr(parts, "progress", lambda *given, **options: contextlib.nullcontext(Bar()))
    part = lambda k: {"a": np.array([k])}
    run = lambda todo, kept: iter([(k, part(k)) for k in reversed(todo)])
    kept = Checkpoints(tmp_path, "run", None)
    kept.write(0, part(7))
    given = ("sweep", "points", [3, 5, 2], run, kept, Checkpoints.read, Checkpoints.write, None)
    assert [one["a"].item() for one in parts.collected(*given)] == [7, 1, 2]
    assert seen == [3, 2, 5]
    assert [one["a"].item() for one in parts.collected(*given)] == [7, 1, 2]
    assert seen[3:] == [3, 5, 2]
