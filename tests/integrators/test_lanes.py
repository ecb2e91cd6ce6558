"""Members in lanes: beside one member at a time and beside the kernel's text on the host; ends, saves, refusals."""

import dataclasses
import importlib
from types import SimpleNamespace
from typing import Any, NamedTuple

import diffrax as dfx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import Outcome
from dynsim.integrators import Diffrax, Scipy, in_lanes
from dynsim.integrators.base import stacked
from dynsim.integrators.in_lanes import Ways
from dynsim.integrators.lanes import kernel
from dynsim.integrators.lanes.method import (
    DONE,
    RUNNING,
    SPENT,
    STUCK,
    Settings,
    TrialStep,
    Walls,
    at_samples,
    begun,
    stepped,
    within,
)
from dynsim.integrators.lanes.plain import widened
from dynsim.integrators.lanes.recorded import System, form_of, recorded
from dynsim.programs import ProgramError
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.ensemble_work import alike
from dynsim.simulation.simulate import simulate
from dynsim.spaces import Ellipsoid, Euclidean
from dynsim.systems.base import AbstractFlow, FunctionFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.oscillators import VanDerPol
from tests.support.as_if_kernels import as_if_kernels
from tests.support.cuda_on_host import COMPILER, WHY_NOT

ensembles: Any = importlib.import_module("dynsim.simulation.ensemble")
TS = np.array([0.0, 0.3, 0.31, 0.315, 1.0, 1.7])
STARTS = np.array([[2.0, 0.0], [0.1, -0.2], [-1.5, 3.0], [4.0, 4.0], [0.0, 0.0]])
FLOWS = [VanDerPol(mu) for mu in (0.3, 1.1, 2.7, 5.9, 1.0)]
state = lambda t, x: x


class UnHashable:
    __hash__ = None

    def __call__(self, t, x):
        return -x


class Pair(NamedTuple):
    a: Any
    b: Any


def pushed(t, x, k):
    """A damped oscillator that is pushed for a while in every period."""
    return jnp.stack([x[1], -x[0] - k * x[1] + jnp.where(jnp.mod(t, 0.5) < 0.12, 5.0, 0.0)])


PUSHED = [FunctionFlow(pushed, parameters={"k": k}) for k in (0.1, 0.5, 1.0, 2.0, 5.0)]


def growth(power):
    """The equation x' = x^power, whose solution from x leaves every bound at t = x^(1 - power)/(power - 1)."""
    return FunctionFlow(lambda t, x: x**power)


def test_members_with_parameters_of_their_own_are_what_simulate_gives():
    found = ensemble(FLOWS, STARTS, TS, state, integrator=Diffrax(rtol=1e-10, atol=1e-12))
    assert isinstance(Diffrax().lanes(FLOWS, STARTS, TS), Ways)
    for k, flow in enumerate(FLOWS):
        alone = simulate(flow, STARTS[k], TS, integrator=Scipy(rtol=1e-11, atol=1e-13))
        np.testing.assert_allclose(found.values[k], alone.ys, atol=2e-9)
        np.testing.assert_allclose(found.final[k], alone.ys[-1], atol=2e-9)
    np.testing.assert_array_equal(
        found.values[:, -1], found.final
    )  # the end is a computed state, not an interpolated one
    np.testing.assert_array_equal(found.values[:, 0], STARTS)
    assert found.solved == "in lanes, in JAX"


def test_members_step_from_jump_to_jump():
    found = ensemble(PUSHED, STARTS, TS, state)
    assert found.solved == "in lanes, in JAX"
    alone = simulate(PUSHED[1], STARTS[1], TS)
    np.testing.assert_allclose(found.values[1], alone.ys, atol=1e-11)
    counts = lambda stats, at=...: (int(stats.num_steps[at]), int(stats.num_rejected[at]))
    assert counts(found.stats, 1) == counts(alone.stats)


@pytest.mark.parametrize(
    "solver",
    [*(pytest.param(s, marks=pytest.mark.slow) for s in (dfx.Dopri5(), dfx.Dopri8())), dfx.Bosh3(), dfx.Heun()],
    ids=lambda s: type(s).__name__,
)
def test_other_explicit_methods(solver):
    """With and without the first stage at the end of the last step, with several kinds of interpolants."""
    flow = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] + 0.2 * jnp.cos(3 * t)]))
    work = Diffrax(solver, rtol=1e-7, atol=1e-9)
    found = ensemble(flow, STARTS[:2], TS, state, integrator=work)
    for k in range(2):
        exact = simulate(flow, STARTS[k], TS, integrator=Scipy()).ys
        np.testing.assert_allclose(found.values[k], exact, atol=2e-5)
        assert int(found.stats.num_steps[k]) > 3


def test_each_member_has_its_own_end():
    """One escapes at t = 1, one never does, one starts at rest: each keeps its own outcome and last time."""
    starts = np.array([[1.0], [0.1], [0.0], [4.0]])
    ts = [0.0, 0.2, 0.5, 2.0]
    found = ensemble(growth(2), starts, ts, lambda t, x: x[0])
    assert found.stats.succeeded.tolist() == [False, True, True, False]
    assert {Outcome(k) for k in np.asarray(found.stats.outcome)[[0, 3]]} <= {Outcome.NON_FINITE, Outcome.STEP_UNDERFLOW}
    np.testing.assert_allclose(found.stats.last_time, [1.0, 2.0, 2.0, 0.25], rtol=1e-6)
    exact = starts / (1 - starts * np.array(ts))
    np.testing.assert_allclose(found.values[:, :2], exact[:, :2], rtol=1e-8)
    np.testing.assert_allclose(found.values[1:3, 2:], exact[1:3, 2:], rtol=1e-8)
    assert np.isnan(np.asarray(found.values)[[0, 3, 3], [3, 2, 3]]).all()
    assert np.isnan(np.asarray(found.final)[[0, 3]]).all()
    spent = ensemble(growth(2), starts[:2], ts, lambda t, x: x[0], integrator=Diffrax(max_steps=30))
    assert [Outcome(k) for k in spent.stats.outcome.tolist()] == [Outcome.MAX_STEPS, Outcome.FINISHED]
    assert int(spent.stats.num_steps[0]) == 30
    assert str(spent).endswith("member 0 failed: all allowed steps were used (max_steps=30).")


def test_a_member_that_fails_leaves_the_others_their_bits():
    """One becomes NaN on the way, and one takes too many steps."""
    falling = lambda t, x, k: jnp.stack([-k * jnp.sqrt(x[0]), 1e3 * k * x[0]])
    flows = lambda *ks: [FunctionFlow(falling, parameters={"k": k}) for k in ks]
    starts, ts = np.array([[1.0, 0.0], [4.0, 0.0], [3.0, 0.0]]), [0.0, 0.5, 1.0, 4.0]
    whole = ensemble(flows(1.0, 1e4, 0.01), starts, ts, state, integrator=Diffrax(max_steps=60))
    assert whole.stats.succeeded.tolist() == [False, False, True]
    good = ensemble(flows(0.02, 0.03, 0.01), starts, ts, state, integrator=Diffrax(max_steps=60))
    assert good.stats.succeeded.all()
    np.testing.assert_array_equal(whole.values[2], good.values[2])
    assert np.isnan(whole.final[:2]).all()


def test_whole_numbers_are_solved_as_real_ones():
    found = ensemble(VanDerPol(1.0), [[1, 0], [2, 1]], TS[:2], state)
    assert (found.solved, found.values.dtype) == ("in lanes, in JAX", np.dtype(float))


def test_members_that_do_not_fit_are_solved_in_parts(monkeypatch):
    """On a device a part with its saved states takes at most 4 GiB; a variable forbids kernels."""
    gpu = SimpleNamespace(platform="gpu")
    monkeypatch.setattr(ensembles, "current", lambda: gpu)
    monkeypatch.setattr(in_lanes, "current", lambda: gpu)
    monkeypatch.setenv("DYNSIM_KERNELS", "0")
    starts = np.broadcast_to(np.ones(2), (1_000_000, 2))
    work = lambda ts: ensembles.Work((VanDerPol(1.0),), Diffrax(), starts, jnp.asarray(ts), state)
    lanes = ensembles.way(work(TS))
    assert repr(lanes) == "in lanes, in JAX"
    assert len(ensembles._parts(work(TS), None, None)) == 1
    many = ensembles._parts(work(np.linspace(0.0, 1.0, 1001)), None, None)
    assert max(map(len, many)) * 16 * 1001 <= 2**32 < (max(map(len, many)) + 5) * 16 * 1001 * 1.34
    np.testing.assert_array_equal(np.concatenate(many), np.arange(1_000_000))


@pytest.mark.parametrize(("given", "filled"), [(3, 64), (128, 128), (200, 320), (500, 576), (576, 576), (1000, 1088)])
def test_lanes_are_filled_up_to_a_width_that_is_no_large_power_of_two(given, filled):
    numbers, system = jnp.arange(2.0 * given).reshape(2, given), {"rate": jnp.arange(given), "shared": jnp.arange(5)}
    (wide,), whole = widened((numbers,), system, {"rate": 0, "shared": None})
    assert (wide.shape, whole["rate"].shape, whole["shared"].shape) == ((2, filled), (filled,), (5,))
    np.testing.assert_array_equal(wide, numbers[:, [*range(given), *[given - 1] * (filled - given)]])


def test_results_do_not_depend_on_the_company():
    flow, starts = VanDerPol(3.0), np.random.default_rng(0).normal(size=(37, 2)) * 2
    whole = ensemble(flow, starts, TS, state)
    for chunk in (1, 16):  # parts of one, of 16, and of the 5 that are left
        part = ensemble(flow, starts, TS, state, chunk=chunk)
        np.testing.assert_array_equal(part.values, whole.values)
        np.testing.assert_array_equal(part.stats.num_steps, whole.stats.num_steps)
        np.testing.assert_array_equal(part.stats.num_rejected, whole.stats.num_rejected)


def test_states_of_several_arrays_on_spaces_and_in_single_precision():
    starts = Pair(np.arange(12.0).reshape(2, 3, 2) / 10, np.ones((2, 1, 3)))
    flow = FunctionFlow(lambda t, x: Pair(-x.a * x.b[0].sum(), 0.1 * x.b - x.a[:, :1].T))
    product = lambda t, x: x.b @ x.a
    found = ensemble(flow, starts, [0.0, 0.4, 1.0], product)
    assert isinstance(Diffrax().lanes((flow,), starts, TS), Ways)
    for k, start in enumerate((Pair(starts.a[0], starts.b[0]), Pair(starts.a[1], starts.b[1]))):
        alone = simulate(flow, start, [0.0, 0.4, 1.0], integrator=Scipy())
        np.testing.assert_allclose(found.final.b[k], alone.ys.b[-1], atol=1e-8)
        np.testing.assert_allclose(found.values[k], jax.vmap(product, (None, 0))(0.0, alone.ys), atol=1e-8)
    single = ensemble(
        Lorenz(), np.ones((2, 3), np.float32), [0.0, 0.5], state, integrator=Diffrax(rtol=1e-5, atol=1e-7)
    )
    assert {leaf.dtype for leaf in jax.tree.leaves((single.values, single.final))} == {np.dtype("float32")}
    double = ensemble(Lorenz(), np.ones((2, 3)), [0.0, 0.5], state)
    np.testing.assert_allclose(single.values, double.values, rtol=2e-3)


def test_a_state_stays_on_its_space():
    turn = np.array([[0.0, -1.0, 0.3], [1.0, 0.0, -2.0], [-0.3, 2.0, 0.0]])
    flow = FunctionFlow(lambda t, x: jnp.asarray(turn) @ x, space=Ellipsoid(np.eye(3)))
    starts = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]])
    found = ensemble(flow, starts, [0.0, 2.0, 9.0], state)
    np.testing.assert_allclose(jnp.linalg.norm(found.values, axis=-1), 1.0, atol=1e-15)
    assert 0 < float(found.stats.max_defect[0]) < 1e-6


def test_why_members_are_not_solved_in_lanes():
    one = lambda start: jax.tree.map(lambda a: a[None], start)
    said = lambda flow, start=STARTS[0], solver=None: Diffrax(solver).lanes((flow,), one(start), TS)
    assert said(VanDerPol(1.0), solver=dfx.Kvaerno5()) == "Kvaerno5 is no explicit Runge-Kutta method with one tableau"
    assert said(FunctionFlow(lambda t, x: -x), np.ones(300)) == "a state has 300 entries, more than 20"
    assert said(FunctionFlow(lambda t, x: np.sin(x))).startswith("the field cannot be traced (")
    assert said(FunctionFlow(lambda t, x: x.astype(complex))) == "the velocity has shape (2,) and type complex128"
    mixed = FunctionFlow(lambda t, x: x)
    assert said(mixed, Pair(np.ones(2, np.float32), np.ones(2))) == "the state has the types float32, float64"
    assert said(FunctionFlow(UnHashable())).startswith("the flow has a part that cannot be compared (")
    kinds = tuple(FunctionFlow(lambda t, x, k=k: -k * x) for k in (1.0, 2.0))
    work = ensembles.Work(kinds, Diffrax(), STARTS[:2], jnp.asarray(TS), state, alike=alike(kinds))
    assert ensembles.way(work) == "the flows differ in more than numbers"
    inside = []
    jax.make_jaxpr(lambda y: inside.append(Diffrax().lanes((VanDerPol(1.0),), y, TS)) or y)(STARTS)
    assert inside == ["it is part of another JAX program"]


def test_functions_that_fail_say_so_as_before():
    with pytest.raises(ValueError, match="real"):
        ensemble(FunctionFlow(lambda t, x: x.astype(complex)), STARTS, TS, state)
    with pytest.raises(ValueError, match="NumPy"):
        ensemble(FunctionFlow(lambda t, x: np.sin(x)), STARTS, TS, state)


def test_a_new_value_of_a_parameter_or_a_tolerance_records_nothing_anew():
    form = lambda flow: form_of(flow, jax.ShapeDtypeStruct((2,), np.float64))
    assert recorded(dfx.Tsit5(), form(VanDerPol(1.0))) is recorded(dfx.Tsit5(), form(VanDerPol(2.0)))
    assert recorded(dfx.Tsit5(), form(VanDerPol(1.0))) is not recorded(dfx.Dopri5(), form(VanDerPol(1.0)))
    assert form(growth(2)) != form(growth(3))
    single = form_of(VanDerPol(1.0), jax.ShapeDtypeStruct((2,), np.float32))
    assert single != form(VanDerPol(1.0))


class Powered(AbstractFlow):
    """A flow with a number that is no array."""

    power: Any
    space: Euclidean = Euclidean()

    def velocity(self, t, x):
        """Return a power."""
        return x**self.power


def test_forms_of_flows_with_equal_numbers_of_other_types_differ():
    state = jax.ShapeDtypeStruct((2,), np.dtype(float))
    first, again, real, flag = (form_of(Powered(power), state) for power in (1, 1, 1.0, True))
    assert first == again
    assert len({first, real, flag}) == 3


def test_steps_of_one_member():
    """A rejected step keeps the state, an accepted one moves it, and an ended member stays as it is."""
    solver, field = dfx.Tsit5(), lambda t, y: -50 * y
    settings = Settings(0.0, 1.0, 1e-6, 1e-8, np.inf, np.int32(5))
    start = jax.jit(lambda settings: begun(solver, field, jnp.ones(2), settings))
    step_of = jax.jit(lambda lane: stepped(solver, field, lane, settings))
    lane = start(settings)
    assert 0 < lane.end < 0.1
    assert int(lane.status) == RUNNING
    far, step = step_of(lane._replace(end=jnp.asarray(1.0)))
    assert not step.accepted
    assert (float(far.t), int(far.steps), int(far.rejected), int(far.in_a_row)) == (0.0, 1, 1, 1)
    np.testing.assert_allclose(far.end, 0.2, rtol=1e-6)  # the least factor
    np.testing.assert_array_equal(far.y, lane.y)
    near, step = step_of(far._replace(end=jnp.asarray(0.004)))
    assert step.accepted
    assert (float(near.t), int(near.steps), int(near.rejected), int(near.in_a_row)) == (0.004, 2, 1, 0)
    np.testing.assert_allclose(near.y, np.exp(-0.2), rtol=1e-7)
    np.testing.assert_allclose(within(solver, step, jnp.asarray(0.002)), np.exp(-0.1), rtol=1e-5)
    done = near._replace(status=np.int32(DONE))
    for a, b in zip(step_of(done)[0], done, strict=True):
        np.testing.assert_array_equal(a, b)
    capped = step_of(near._replace(steps=np.int32(4)))[0]
    assert int(capped.status) == SPENT
    stuck = jax.jit(lambda lane: stepped(solver, lambda t, y: y / 0, lane, settings))(
        near._replace(in_a_row=np.int32(99))
    )[0]
    assert (int(stuck.status), bool(stuck.finite)) == (STUCK, False)
    assert int(start(settings._replace(t1=0.0)).status) == DONE
    assert float(start(settings._replace(longest=1e-5)).end) == 1e-5


def test_first_steps_are_those_of_the_formulas_by_hand():
    """Orders of state and slope count in units of the tolerance, here 1 or a thousandth; the estimate has order 5."""
    begins = lambda y, field, atol: float(
        begun(dfx.Tsit5(), lambda t, y: field(y), jnp.array([y]), Settings(0.0, 9.0, 0.0, atol, np.inf, 9)).end
    )
    assert begins(0.0, jnp.ones_like, 1.0) == pytest.approx(1e-4)  # a hundred times that for a state of size 0
    assert begins(1.0, lambda y: 1e-6 * y, 1.0) == pytest.approx(1e-4)  # the same for a slope of size 0
    assert begins(1.0, jnp.zeros_like, 1.0) == pytest.approx(1e-6)
    assert begins(1.0, lambda y: 2 * y, 1e-3) == pytest.approx((0.01 / 4000) ** 0.2, rel=1e-6)  # y'' counts
    assert begins(1.0, lambda y: 1.0 + 0 * y, 1e-5) == pytest.approx(1e-7**0.2, rel=1e-6)
    assert begins(1e-4, lambda y: 1.0 + 0 * y, 1.0) == pytest.approx(1e-4, rel=1e-6)
    assert begins(1.0, lambda y: y / 0, 1.0) == pytest.approx(1e-6)


def test_a_step_rejected_beside_the_end_is_halved_and_the_last_one_allowed_is_taken():
    solver, near = dfx.Tsit5(), 1 + 2.0**-47
    settings = Settings(1.0, near, 0.0, 1e-9, np.inf, 2)
    lane = begun(solver, lambda t, y: 0 * y, jnp.ones(1), settings)._replace(end=jnp.asarray(near))
    rejected, _ = stepped(solver, lambda t, y: jnp.nan * y, lane, settings)
    assert (float(rejected.end), int(rejected.status)) == (1 + 2.0**-48, RUNNING)
    assert int(stepped(solver, lambda t, y: jnp.nan * y, rejected, settings)[0].status) == SPENT
    kept, _ = stepped(solver, lambda t, y: 0 * y, rejected, settings)
    assert (float(kept.t), float(kept.end)) == (1 + 2.0**-48, near)


@pytest.mark.parametrize("solver", [dfx.Tsit5(), dfx.Dopri8(), dfx.Heun()], ids=lambda s: type(s).__name__)
def test_the_interpolant_is_that_of_the_method(solver):
    """At both ends it is exact; in between it is the polynomial that diffrax evaluates."""
    rng, stages = np.random.default_rng(0), solver.tableau.num_stages
    y, y1, ks = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(stages, 3))
    step = TrialStep(True, jnp.asarray(0.5), jnp.asarray(2.5), *map(jnp.asarray, (y, y1, ks)))
    other = solver.interpolation_cls(t0=step.t, t1=step.end, y0=step.y, y1=step.y1, k=step.ks)
    for t in map(jnp.asarray, (0.5, 0.7, 1.9, 2.4999)):
        np.testing.assert_allclose(within(solver, step, t), other.evaluate(t), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(within(solver, step, step.t), y)
    np.testing.assert_array_equal(within(solver, step, step.end), y1)
    for samples in (1, 4):
        shares = [within(solver, step, 0.5 + 2.0 * (k + 1) / samples) for k in range(samples)]
        np.testing.assert_allclose(at_samples(solver, step, samples), shares, rtol=1e-12, atol=1e-12)


CASES = {"own parameters": (FLOWS, STARTS, np.float64), "shared parameters": (VanDerPol(2.0), STARTS, np.float64),
    "single precision": (FLOWS, STARTS, np.float32), "jumps": (PUSHED, STARTS, np.float64),
    "members that escape": (growth(2), np.array([[1.0], [0.1], [4.0]]), np.float64)}  # fmt: skip


@pytest.mark.skipif(COMPILER is None, reason=WHY_NOT)
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_takes_the_steps_of_jax(case, monkeypatch):
    """The text of the kernel, run by the host on a number of threads that is no multiple of the members."""
    flow, starts, dtype = CASES[case]
    rtol = 1e-5 if dtype == np.float32 else 1e-9
    solver = Diffrax(rtol=rtol, atol=rtol / 100, longest_step=0.3)
    run = lambda: ensemble(flow, starts.astype(dtype), TS, state, integrator=solver)
    exact = run()
    calls = as_if_kernels(monkeypatch)
    found = run()
    assert calls == [len(starts)]
    assert (exact.solved, found.solved) == ("in lanes, in JAX", "in lanes, by a kernel")
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-7, "atol": 1e-9}
    np.testing.assert_allclose(found.values[:, :4], exact.values[:, :4], **close)
    np.testing.assert_allclose(found.final, exact.final, **close)
    np.testing.assert_allclose(found.stats.last_time, exact.stats.last_time, rtol=1e-5)
    np.testing.assert_array_equal(found.stats.outcome, exact.stats.outcome)
    for name in ("num_steps", "num_rejected"):
        gap = np.abs(np.asarray(getattr(found.stats, name)) - np.asarray(getattr(exact.stats, name)))
        assert (gap <= 2 + 0.02 * np.asarray(exact.stats.num_steps)).all()
    assert exact.stats.succeeded.tolist() == ([False, True, False] if case == "members that escape" else [True] * 5)


def test_states_too_large_for_a_kernel_are_named():
    programs = recorded(dfx.Bosh3(), form_of(FunctionFlow(lambda t, x: -x), jax.ShapeDtypeStruct((40,), np.float64)))
    with pytest.raises(ProgramError, match="a state of more than 32 numbers, the most for a kernel"):
        kernel.kernel(programs, ())
    too_long = form_of(FunctionFlow(lambda t, x: -x), jax.ShapeDtypeStruct((200,), np.float64))
    with pytest.raises(ProgramError, match="more than 6,000 operations in a step"):
        recorded(dfx.Tsit5(), too_long)
    scaled = FunctionFlow(lambda t, x, k: -k * x, parameters={"k": np.array([1.0, 2.0])})
    single = form_of(scaled, jax.ShapeDtypeStruct((2,), np.float32))
    assert recorded(dfx.Tsit5(), single).form.numbers == 2
    with pytest.raises(ProgramError, match="whole numbers"):  # float32 does not hold all of them
        recorded(dfx.Tsit5(), dataclasses.replace(single, arrays=(((2,), np.dtype(int)),)))
    sorts = form_of(FunctionFlow(lambda t, x: jnp.sort(-x)), jax.ShapeDtypeStruct((4,), np.float64))
    with pytest.raises(ProgramError, match="uses `sort`"):
        recorded(dfx.Tsit5(), sorts)
    one = np.ones((1, 4))
    assert isinstance(Diffrax().lanes((FunctionFlow(lambda t, x: jnp.sort(-x)),), one, TS), Ways)


def test_the_kernel_is_lowered_for_cuda(monkeypatch):
    monkeypatch.setattr(in_lanes, "current", lambda: SimpleNamespace(platform="gpu"))
    monkeypatch.setattr(in_lanes, "kernels_on", lambda: True)
    solver, flow = Diffrax(), VanDerPol(1.0)
    lanes = solver.lanes((flow,), STARTS, TS)
    flow, axes = stacked([System(flow)])
    given = (1e-6, 1e-8, np.inf, np.int32(100))
    run = lambda y0s: in_lanes._observed.__wrapped__(lanes, flow, axes, y0s, jnp.asarray(TS), given, state)[0]
    assert "dynsim_lanes_" in jax.jit(run).trace(STARTS).lower(lowering_platforms=("cuda",)).as_text()
    interval = tuple(map(jnp.asarray, (0.0, 0.1, 0, 3, 1)))
    carry = jnp.asarray(STARTS), jnp.ones(len(STARTS), bool)
    again = lambda carry: in_lanes._restarted.__wrapped__(lanes, flow, axes, carry, interval, given, kept)
    assert "dynsim_lanes_" in jax.jit(again).trace(carry).lower(lowering_platforms=("cuda",)).as_text()


def kept(flow, x):
    return x, x[0]


def test_steps_end_before_a_jump_and_go_on_behind_it_up_to_the_next_one():
    settings = Settings(*(np.asarray(x) for x in (0.0, 5.0, 1e-6, 1e-8, np.inf)), np.asarray(100, np.int32))
    field = lambda t, y: 0 * y + 1
    first, second, none = (np.asarray(t) for t in (1e-3, 2e-3, np.inf))
    step = jax.jit(lambda lane, *walls: stepped(dfx.Tsit5(), field, lane, settings, Walls(*walls))[0])
    lane = begun(dfx.Tsit5(), field, jnp.ones(1), settings, np.int32(0), Walls(first, second))
    assert lane.end < first
    while lane.t < first:
        lane = step(lane, first, second)
    assert first < lane.t < first + 1e-12
    assert (lane.t < lane.end < second, int(lane.passed)) == (True, 1)
    while lane.t < second:
        lane = step(lane, second, none)
    assert second < lane.t < second + 1e-12
    assert (lane.t < lane.end <= 5.0, int(lane.passed)) == (True, 2)
    np.testing.assert_allclose(lane.y, 1.002, rtol=1e-12)
