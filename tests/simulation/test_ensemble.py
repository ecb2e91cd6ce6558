"""Ensembles: members do not spoil each other, and an interrupted run resumes to the bit."""

import importlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim._runtime.cores import cores
from dynsim.errors import Outcome
from dynsim.integrators import RKC2, Diffrax, EulerMaruyama, Event, InSpan, Scipy, Stats
from dynsim.simulation.ensemble import Ensemble, ensemble
from dynsim.simulation.ensemble_work import Work, work_digest
from dynsim.simulation.run_files import save
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.tokens.flow import TokenFlow

module = importlib.import_module("dynsim.simulation.ensemble")  # not the function of that name

TS = np.linspace(0.0, 2.0, 5)
FLOW = TokenFlow(np.eye(3), 1.0)
STARTS = Sphere().sample(jax.random.key(0), (7, 4, 3))
BLOW_UP = FunctionFlow(lambda t, x: x**2)  # x(t) = x(0) / (1 - t x(0)) escapes at t = 1 / x(0)
ESCAPING = jnp.asarray([[-1.0], [0.25], [1.0], [-0.5]])  # the third one leaves at t = 1


def alignment(t, x):
    return jnp.sum(x @ x.T)


def first(t, x):
    return x[0]


def bits(run: Ensemble) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves((run.values, run.initial, run.final, run.stats))]


def seen(t, x):
    return alignment(t, x), t, FLOW.space.defect(x)


@pytest.fixture(scope="module")
def whole() -> Ensemble:
    return ensemble(FLOW, STARTS, TS, seen, chunk=3)


def test_a_member_is_what_simulate_gives(whole):
    path = simulate(FLOW, STARTS[5], TS)
    assert whole.values[0].shape == (7, 5)
    assert np.max(np.abs(whole.values[0][5] - path.along(lambda x: alignment(0, x)))) < 1e-9
    assert np.max(np.abs(whole.final[5] - path.final)) < 1e-9
    assert np.max(np.abs(whole.initial - STARTS)) < 1e-15
    assert int(whole.stats.num_steps[5]) == int(path.stats.num_steps)
    assert np.all(whole.stats.succeeded)
    assert str(whole) == "7 of 7 members finished."


def test_the_observable_sees_time_and_projected_states(whole):
    _, times, defects = whole.values
    assert np.array_equal(times, np.broadcast_to(TS, (7, 5)))
    assert np.max(defects) < 1e-15 * 10


def test_scipy_gives_the_same_ensemble(whole):
    run = ensemble(FLOW, STARTS, TS, seen, integrator=Scipy())
    assert np.max(np.abs(run.values[0] - whole.values[0])) < 1e-7
    assert np.max(np.abs(run.final - whole.final)) < 1e-7


def test_of_events_at_one_time_the_first_one_ends_a_member_that_is_solved_alone():
    clock = FunctionFlow(lambda t, x: jnp.ones_like(x))
    event = Event(lambda t, x: x[0] - 0.5)
    run = ensemble(clock, np.zeros((1, 1)), [0.0, 1.0], first, integrator=Scipy(), events=[event, event])
    assert (run.stats.event.tolist(), run.stats.last_time.tolist()) == ([0], pytest.approx([0.5]))


def test_flows_may_differ_from_member_to_member():
    flows = [TokenFlow(c * np.eye(3), 1.0) for c in (1.0, 2.0, 3.0)]
    run = ensemble(flows, STARTS[:3], TS, alignment)
    alone = simulate(flows[2], STARTS[2], TS).final
    assert np.max(np.abs(run.final[2] - alone)) < 1e-12
    assert len(run.flow) == 3


def test_members_come_back_in_the_order_given_when_sorted_by_cost(whole):
    run = ensemble(FLOW, STARTS, TS, seen, chunk=3, cost=lambda y: alignment(0, y))
    assert np.max(np.abs(run.values[0] - whole.values[0])) < 1e-12
    costs = [float(alignment(0, y)) for y in STARTS]
    assert costs != sorted(costs)  # else the order would not have been tested


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy(), Scipy(method="Radau", rtol=1e-8, atol=1e-8)])
@pytest.mark.filterwarnings("ignore:Member:RuntimeWarning")
def test_one_failing_member_does_not_spoil_the_rest(integrator):
    run = ensemble(BLOW_UP, ESCAPING, TS, first, integrator=integrator, chunk=4)
    x = np.asarray(ESCAPING)
    exact = x / (1 - TS[None] * x + (TS[None] * x == 1))
    good = np.array([0, 1, 3])
    assert list(np.asarray(run.stats.succeeded)) == [True, True, False, True]
    assert np.max(np.abs(run.values[good] - exact[good])) < 1e-6
    assert np.all(np.isfinite(run.final[good]))
    assert np.all(np.isnan(run.final[2]))
    assert np.all(np.isnan(run.values[2][TS > 1.0]))
    assert Outcome(int(run.stats.outcome[2])) in (Outcome.STEP_UNDERFLOW, Outcome.NON_FINITE)
    assert "3 of 4 members finished; member 2 failed: the " in str(run)


def test_an_integrator_that_raises_fails_for_its_member_only(monkeypatch):
    integrate = Scipy.integrate

    def raising(self, flow, y0, ts):
        if float(y0[0]) == 1.0:
            raise np.linalg.LinAlgError("singular matrix")
        return integrate(self, flow, y0, ts)

    monkeypatch.setattr(Scipy, "integrate", raising)
    with pytest.warns(RuntimeWarning, match="Member 2 of the ensemble raised: singular matrix"):
        run = ensemble(BLOW_UP, ESCAPING, TS, first, integrator=Scipy())
    stats = run.stats
    assert list(np.asarray(stats.succeeded)) == [True, True, False, True]
    assert run.values[2, 0] == 1.0
    assert np.all(np.isnan(run.values[2, 1:]))
    assert np.isnan(run.final[2, 0])
    reached = [int(stats.outcome[2]), int(stats.num_steps[2]), int(stats.num_rejected[2]), float(stats.last_time[2])]
    assert reached == [Outcome.NON_FINITE, 0, 0, TS[0]]


@pytest.mark.slow
def test_float32_starts_stay_float32():
    run = ensemble(FLOW, STARTS.astype(jnp.float32), TS, alignment, integrator=Diffrax(rtol=1e-4, atol=1e-6), chunk=4)
    assert run.values.dtype == run.final.dtype == run.initial.dtype == run.ts.dtype == jnp.float32


def interrupted_after(monkeypatch, count):
    """Raise Ctrl-C in the part number `count`."""
    for name in ("solve_together", "solve_alone"):
        solve, calls = getattr(module, name), []

        def stopping(work, part, width, solve=solve, calls=calls):
            calls.append(part)
            if len(calls) > count:
                raise KeyboardInterrupt
            return solve(work, part, width)

        monkeypatch.setattr(module, name, stopping)


def test_parts_run_at_once_as_soon_as_their_program_is_compiled(monkeypatch):
    order, both = [], threading.Barrier(2)

    class Begun:
        """Numbers of a program that was started; each is ready when two are waited for."""

        def block_until_ready(self):
            both.wait(timeout=30)
            return self

    def started(work, part, width):
        order.append(int(part[0]))
        return Begun(), work.start(0), stats

    monkeypatch.setattr(module, "solve_together", started)
    monkeypatch.setattr(module, "cores", lambda: 2)
    work = Work((FLOW,), Diffrax(), STARTS[:4], jnp.asarray(TS), seen)
    stats = simulate(FLOW, STARTS[0], TS).stats
    found = module._solved(started, work, list(np.arange(4)[:, None]), None, False)
    assert [type(values) for values, _, _ in found] == [Begun] * 4
    assert sorted(order) == [0, 1, 2, 3]


@pytest.mark.parametrize("integrator", [Diffrax(), Scipy()])
def test_an_interrupted_ensemble_resumes_to_the_same_bits(integrator, tmp_path, monkeypatch):
    call = lambda folder: ensemble(FLOW, STARTS, TS, seen, integrator=integrator, chunk=3, folder=folder)
    with monkeypatch.context() as patch:
        interrupted_after(patch, 2)
        with pytest.raises(
            KeyboardInterrupt, match=r"after [25] of 7 members; they are kept in .* resumes from there\."
        ):
            call(tmp_path / "runs")
    kept = sorted(file.name for file in (tmp_path / "runs").iterdir())
    assert kept == ["part-00000.npz", "part-00001.npz"]
    before = [(tmp_path / "runs" / name).stat().st_mtime_ns for name in kept]
    resumed = call(tmp_path / "runs")
    assert [(tmp_path / "runs" / name).stat().st_mtime_ns for name in kept] == before
    assert bits(resumed) == bits(call(tmp_path / "fresh")) == bits(call(None))
    for file in (tmp_path / "fresh").iterdir():
        assert file.read_bytes() == (tmp_path / "runs" / file.name).read_bytes()
    for name, run in (("resumed", resumed), ("whole", call(None))):
        save(tmp_path / name, run)
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_folder_begun_in_a_terminal_is_resumed_without_one(tmp_path, monkeypatch):
    call = lambda: ensemble(FLOW, STARTS[:3], TS, seen, folder=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("jax._src.pretty_printer.CAN_USE_COLOR", True)
        begun = call()
    monkeypatch.setattr(module, "solve_together", lambda *a: pytest.fail("computed again"))
    assert bits(call()) == bits(begun)


def test_an_interruption_without_a_folder_says_that_nothing_is_kept(monkeypatch):
    interrupted_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt, match="after 3 of 7 members; none is kept, because no `folder` was given"):
        ensemble(FLOW, STARTS, TS, seen, chunk=3)


@pytest.mark.parametrize("other", [
    lambda: {"flow": TokenFlow(1.0000001 * np.eye(3), 1.0)},
    lambda: {"y0s": STARTS[::-1]},
    lambda: {"ts": TS * 1.0000001},
    lambda: {"fn": lambda t, x: (alignment(t, x) * 1.0000001, t, FLOW.space.defect(x))},
    lambda: {"integrator": Diffrax(rtol=1e-8)},
    lambda: {"chunk": 2},
], ids=["flow", "starts", "times", "observable", "tolerance", "chunk"])  # fmt: skip
def test_a_folder_of_another_run_is_refused(other, tmp_path, monkeypatch):
    same = {"flow": FLOW, "y0s": STARTS, "ts": TS, "fn": seen, "chunk": 3, "folder": tmp_path}
    with monkeypatch.context() as patch:
        interrupted_after(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            ensemble(**same)
    with pytest.raises(
        ValueError, match=r"Argument `folder` must be empty or hold parts of this very run .* of another run\."
    ):
        ensemble(**{**same, **other()})


def test_a_folder_that_cannot_be_written_is_refused_before_computing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "solve_together", lambda *a: pytest.fail("computed before looking at the folder"))
    with pytest.raises(
        ValueError, match=r"Argument `folder` must be a folder that can be written, but is .*\(Not a directory\)"
    ):
        ensemble(FLOW, STARTS, TS, alignment, folder=tmp_path / "file" / "runs")


def test_a_truncated_part_is_refused(tmp_path):
    (tmp_path / "part-00000.npz").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(ValueError, match="must be a complete npz file"):
        ensemble(FLOW, STARTS, TS, alignment, folder=tmp_path)


def test_bad_arguments_are_named():
    with pytest.raises(
        ValueError, match="Argument `y0s` must be finite and lie on the space of the flow, but member 3 is off"
    ):
        ensemble(FLOW, STARTS.at[3, 0].mul(1.5), TS, alignment)
    with pytest.raises(ValueError, match="but member 6 is not finite"):
        ensemble(FLOW, STARTS.at[6, 0, 0].set(jnp.nan), TS, alignment)
    with pytest.raises(ValueError, match=r"`y0s` must have the members, at least one, on .*, but has shape \(0, "):
        ensemble(FLOW, STARTS[:0], TS, alignment)
    with pytest.raises(ValueError, match="Argument `ts` must increase"):
        ensemble(FLOW, STARTS, [0.0, 2.0, 1.0], alignment)
    with pytest.raises(ValueError, match="Argument `chunk` must be at least 1, but is 0"):
        ensemble(FLOW, STARTS, TS, alignment, chunk=0)
    with pytest.raises(ValueError, match="Argument `flow` must be one flow or one for each of 7 starts, but holds 2"):
        ensemble([FLOW, FLOW], STARTS, TS, alignment)
    with pytest.raises(ValueError, match="`flow` must be a flow, or a sequence with one for each member, but is empty"):
        ensemble([], STARTS, TS, alignment)
    with pytest.raises(ValueError, match="Argument `cost` must return one number for a start"):
        ensemble(FLOW, STARTS, TS, alignment, cost=lambda y: y[0])
    with pytest.raises(ValueError, match="Argument `cost` must be a function of the start, but the function"):
        ensemble(FLOW, STARTS, TS, alignment, cost=lambda t, y: 1.0)


def test_parts_are_of_nearly_equal_size_and_hold_few_large_states(monkeypatch):
    def sizes(members, entries, chunk=None, cost=None, solver=None, **options):
        work = Work((BLOW_UP,), Diffrax(solver), np.zeros((members, entries)), jnp.asarray(TS), first)
        return [len(part) for part in module._parts(work, cost, chunk, **options)]

    assert sizes(1200, 2) == [400, 400, 400]  # 448 lanes at most
    assert sizes(448, 2) == [448]
    for workers, expected in ((1, [1200]), (2, [600, 600]), (8, [400, 400, 400])):
        monkeypatch.setattr(module, "cores", lambda workers=workers: workers)
        assert sizes(1200, 2, here=True) == expected
    monkeypatch.setattr(module, "cores", lambda: 1)
    assert sizes(3840, 2, here=True) == [1920, 1920]
    assert sizes(70, 2, solver=dfx.Kvaerno5()) == [24, 23, 23]  # 32 at most
    assert sizes(64, 2, solver=dfx.Kvaerno5()) == [32, 32]
    assert sizes(5, 2**15) == [2, 2, 1]  # half a megabyte
    assert sizes(3, 2**17) == [1, 1, 1]
    assert sizes(7, 2, chunk=3) == [3, 2, 2]


def test_the_cores_are_those_of_the_process_or_as_many_as_the_environment_says(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    for told, count in (("", 3), ("2", 2), ("0", 3), ("many", 3), ("8", 3)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert cores() == count
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for known, count in ((5, 5), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert cores() == min(count, 8)
    monkeypatch.setattr("dynsim._runtime.cores.current", lambda: SimpleNamespace(platform="gpu"))
    assert cores() == 1


def test_flows_share_a_program_if_they_differ_in_numbers_only():
    one, other, larger = (TokenFlow(c * np.eye(d), 1.0) for c, d in ((1.0, 3), (2.0, 3), (1.0, 2)))
    assert module.alike((one, other, one))
    assert not module.alike((one, one, larger))
    assert not module.alike((BLOW_UP, FunctionFlow(lambda t, x: x)))


DIGEST = """
import jax.numpy as jnp
import numpy as np
from dynsim import Diffrax, InSpan
from dynsim.simulation.ensemble import _checked, _parts
from dynsim.simulation.ensemble_work import work_digest
from dynsim.tokens import TokenFlow


def digest():
    flow = TokenFlow(np.eye(3), 1.0)
    starts = jnp.asarray(np.stack([np.eye(3)] * 70))
    work = _checked((flow,), InSpan(Diffrax()), starts, [0, 1], lambda t, x: jnp.sum(x))
    return work_digest(work, _parts(work, None, None))
"""


def test_a_second_ensemble_of_one_function_does_not_trace_it_again():
    traced = []

    def decay(t, x):
        traced.append(t)
        return -x

    flow, starts = FunctionFlow(decay), jnp.asarray([[1.0], [2.0]])
    ensemble(flow, starts, TS, first, shown=False)
    before = len(traced)
    again = ensemble(flow, 3 * starts, TS, first, shown=False)
    assert len(traced) == before > 0
    np.testing.assert_allclose(again.values[:, -1], 3 * starts[:, 0] * np.exp(-2.0), rtol=1e-5)


def test_a_digest_depends_on_nothing_but_the_mathematics(tmp_path):
    variables = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "OMP_NUM_THREADS": "2", "COLUMNS": "40", "HOME": str(tmp_path)}
    path = {"PYTHONPATH": str(Path(__file__).parents[2])}
    terminal = f"import sys; sys.stdout.isatty = lambda: True\n{DIGEST}\nprint(digest())"
    ran = subprocess.run([sys.executable, "-c", terminal], env=os.environ | path | variables, cwd=tmp_path,
        capture_output=True, text=True, check=True)  # fmt: skip
    here = {}
    exec(DIGEST, here)  # without a terminal, and in other surroundings
    assert ran.stdout.strip() == here["digest"]()


def test_a_digest_tells_methods_apart_by_all_their_numbers():
    flow = FunctionFlow(lambda t, x: -x)
    methods = [
        *(Diffrax(longest_step=longest) for longest in (0.333333, 1 / 3)), *(Diffrax(RKC2(most)) for most in (20, 30)),
        *(EulerMaruyama(step) for step in (0.01, 0.01 + 1e-9)), *(InSpan(Scipy(name)) for name in ("RK45", "Radau")),
    ]  # fmt: skip
    works = [Work((flow,), one, np.ones((2, 1)), jnp.array([0.0, 1.0]), lambda t, x: x) for one in methods]
    assert len({work_digest(work, [np.arange(2)]) for work in works}) == len(methods)
    assert work_digest(works[0], [np.arange(2)]) == work_digest(works[0], [np.arange(2)])


def test_members_of_a_part_keep_their_starts_flows_and_numbers():
    flows = tuple(FunctionFlow(lambda t, x, k=k: -k * x) for k in range(4))
    work = Work(flows, Scipy(), np.arange(4.0)[:, None], jnp.array([0.0, 1.0]), lambda t, x: x)
    part = work.part(np.array([3, 1]))
    assert (part.members, part.number(0), part.number(1)) == (2, 3, 1)
    assert (part.flow(0), part.flow(1)) == (flows[3], flows[1])
    np.testing.assert_array_equal(part.start(1), [1.0])
    assert Work(flows[:1], *(getattr(work, name) for name in ("integrator", "y0s", "ts", "fn"))).flow(2) == flows[0]


def test_errors_in_single_precision_are_estimated_in_double():
    """Of x' = -x in float32 the estimate is the error; times that float32 cannot tell apart are refused."""
    flow = FunctionFlow(lambda t, x: -x)
    starts, ts = np.array([[1.0], [2.0]], np.float32), [0.0, 1.0, 3.0]
    found = ensemble(flow, starts, ts, lambda t, x: x[0], integrator=Diffrax(rtol=1e-4, atol=1e-6), error_estimate=True)
    error = found.values.astype(float) - starts * np.exp(-np.array(ts))
    assert found.values.dtype == np.float32
    np.testing.assert_allclose(np.abs(found.stats.error.values), np.abs(error), atol=3e-6)
    assert np.abs(error).max() > 1e-5
    with pytest.raises(ValueError, match="rounding of times in float32"):
        ensemble(flow, starts, [0.0, 1.0, 1.0 + 1e-9], lambda t, x: x[0])


def test_the_statistics_of_members_speak():
    given = [[True, False, True], [0, 1, 0], [5, 9, 7], [0, 0, 1], [0.0] * 3, [1.0, 0.4, 1.0]]
    stats = Stats(*map(jnp.array, given))
    said = str(stats)
    assert said.startswith("2 of 3 members finished, in 5 to 9 steps. For 1 member, all allowed steps were used: ")
    given = [[True] * 2, [0, 0], [5, 5], [0, 0], [0.0] * 2, [1.0, 0.4]]
    done = Stats(*map(jnp.array, given), event=jnp.array([-1, 0]))
    assert str(done) == "2 of 2 members finished, in 5 steps each. An event ended 1 of them."


def test_members_slide_on_surfaces_on_which_the_field_jumps():
    """Relays x' = -a sign(x) come to rest at t = |x| / a; one does not reach zero until the end."""
    relay = lambda a: FunctionFlow(_relay, parameters={"a": a})
    starts, ts = jnp.array([[3.0], [-1.0], [9.0]]), np.linspace(0.0, 4.0, 5)
    exact = np.sign(starts) * np.maximum(np.abs(starts) - np.outer([1.0, 2.0, 1.0], ts), 0.0)
    for integrator in (Diffrax(), Diffrax(max_steps=500), Scipy(rtol=1e-9)):
        run = ensemble([relay(1.0), relay(2.0), relay(1.0)], starts, ts, first, integrator=integrator, chunk=2)
        assert bool(np.all(run.stats.succeeded))
        np.testing.assert_allclose(run.values, exact, atol=1e-8)
        np.testing.assert_allclose(run.final, exact[:, -1:], atol=1e-8)


def test_members_that_only_take_many_steps_are_solved_again_with_all_of_them():
    fast = FunctionFlow(lambda t, x: jnp.stack([x[1], -(x[2] ** 2) * x[0] - 0 * jnp.sign(x[0] - 9), 0 * x[2]]))
    run = ensemble(
        fast, jnp.array([[1.0, 0.0, 1.0], [1.0, 0.0, 300.0]]), [0.0, 10.0], first, integrator=Diffrax(rtol=1e-6)
    )
    assert np.asarray(run.stats.num_steps)[1] > 2000
    np.testing.assert_allclose(run.values[:, 1], np.cos([10.0, 3000.0]), atol=1e-2)


def _relay(t, x, a):
    return -a * jnp.sign(x)
