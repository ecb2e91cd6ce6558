"""Both integrators: order, failures with their cause, time structure."""

import math
import re

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators import Diffrax, Event, Scipy, Stats
from dynsim.integrators.flat_fields import flat_field, flat_jacobian, flattened
from dynsim.integrators.presets import implicit, stiff
from dynsim.simulation.dense import dense_output
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.euler import EulerMap
from dynsim.systems.tokens.flow import LayerMap, TokenFlow
from dynsim.systems.tokens.published import published_gradient_flow
from dynsim.systems.tokens.scalar_driven import AttractedFlow, OjaFlow, SinusoidalRate

BOTH = [Diffrax(), Scipy()]
WAVE = FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0]]))


def _names(integrator):
    return type(integrator).__name__


@eqx.filter_jit
def solutions(flow, ts, x):
    return jax.vmap(lambda t: flow.solution(t, x))(ts)


@pytest.mark.parametrize(
    ("integrator", "rate"),
    [
        (Scipy(), (0.7,)),
        (Scipy(), (1.0, 0.9, 20.0, 0.3)),
        pytest.param(Diffrax(), (1.0, 0.9, 20.0, 0.3), marks=pytest.mark.slow),  # the contracts compare it with SciPy
        pytest.param(Diffrax(), (0.7,), marks=pytest.mark.slow),  # without a longest step: another program
    ],
    ids=lambda value: "constant" if value == (0.7,) else "sinusoidal" if isinstance(value, tuple) else _names(value),
)
def test_the_scalar_driven_flows_have_their_closed_forms(integrator, rate):
    x = Sphere().sample(jax.random.key(4), (3,))
    ts = np.linspace(0.0, 5.0, 6)
    U = np.array([[0.5, 0.2, 0.0], [0.2, -1.0, 0.3], [0.0, 0.3, 0.1]])
    for flow in (f(a, SinusoidalRate(*rate)) for f, a in ((AttractedFlow, np.array([0.6, 0.8, 0.0])), (OjaFlow, U))):
        path = simulate(flow, x, ts, integrator=integrator)
        np.testing.assert_allclose(path.ys, solutions(flow, ts, x), atol=1e-8)


def test_steps_of_a_scalar_driven_flow_are_at_most_half_of_its_period():
    rate = SinusoidalRate(1.0, 0.5, -4.0, 0.3)
    for flow in (AttractedFlow(np.array([1.0, 0.0]), rate), OjaFlow(np.eye(2), rate)):
        assert flow.step_limit() == pytest.approx(math.pi / 4)
    assert AttractedFlow(np.array([1.0, 0.0]), 0.7).step_limit() == math.inf


def test_closed_forms_take_batches_of_starts():
    starts = Sphere().sample(jax.random.key(5), (4, 3))
    U = np.array([[0.5, 0.2, 0.0], [0.2, -1.0, 0.3], [0.0, 0.3, 0.1]])
    for flow in (AttractedFlow(np.array([0.6, 0.8, 0.0]), 0.7), OjaFlow(U, 0.7)):
        together, alone = flow.solution(2.0, starts), [flow.solution(2.0, x) for x in starts]
        np.testing.assert_allclose(together, np.stack(alone), atol=1e-14)
        printed = flow.velocity(jnp.asarray(0.5), starts)  # tangent as printed, before the space projects
        assert float(jnp.max(jnp.abs(jnp.sum(printed * starts, axis=-1)))) < 1e-15
        np.testing.assert_allclose(printed, flow.vector_field(jnp.asarray(0.5), starts), atol=1e-14)


def test_dense_times_cost_no_accuracy():
    x = jnp.array([1.0, 0.0])
    ts = np.linspace(0.0, 20.0, 201)
    exact = np.stack([np.cos(ts), -np.sin(ts)], axis=1)
    for integrator in BOTH:
        np.testing.assert_allclose(simulate(WAVE, x, ts, integrator=integrator).ys, exact, atol=3e-8)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "BDF", "LSODA"])
def test_saved_states_are_as_accurate_as_the_steps_where_stability_sets_their_length(method):
    A = np.array([[-100.0, 100.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -150.0]])
    flow, x, ts = FunctionFlow(lambda t, x: jnp.asarray(A) @ x), np.array([2.0, 1.0, 0.5]), np.linspace(0.0, 20.0, 11)
    exact = np.stack([expm(A * t) @ x for t in ts])
    np.testing.assert_allclose(simulate(flow, x, ts, integrator=Scipy(method)).ys, exact, atol=2e-11)


def test_many_saved_times_take_hardly_more_evaluations():
    seen = []

    def field(t, x):
        jax.debug.callback(lambda: seen.append(1))
        return jnp.stack([x[1], -x[0]])

    counts = []
    for frames in (2, 2001):
        seen.clear()
        path = simulate(FunctionFlow(field), np.array([1.0, 0.0]), np.linspace(0.0, 20.0, frames), integrator=Scipy())
        jax.effects_barrier()
        counts.append(len(seen))
    exact = np.stack([np.cos(path.ts), -np.sin(path.ts)], axis=1)
    np.testing.assert_allclose(path.ys, exact, atol=1e-9)
    assert counts[1] < 1.4 * counts[0]


def test_saved_times_do_not_hide_that_the_steps_have_run_out():
    with pytest.raises(IntegrationError, match="max_steps"):
        simulate(WAVE, np.array([1.0, 0.0]), np.linspace(0.0, 20.0, 400), integrator=Scipy(max_steps=20))


@eqx.filter_jit
def one_step(map, x):
    return map.step(0, x)


def test_absolute_tolerances_of_stiff_methods_are_a_hundredth_of_the_relative_ones():
    for method in (stiff(3e-5), implicit(3e-5)):
        assert (float(method.rtol), float(method.atol)) == (3e-5, pytest.approx(3e-7))
    assert stiff().rtol == 1e-9


def test_an_euler_step_takes_the_velocity_at_its_time():
    driven = EulerMap(FunctionFlow(lambda t, x: t * jnp.ones_like(x)), 0.5)
    np.testing.assert_allclose(driven.step(3, jnp.asarray([1.0])), [1.0 + 0.5 * 1.5], rtol=1e-15)


def test_one_layer_errs_by_the_square_of_its_step():
    flow = published_gradient_flow()
    x = flow.space.sample(jax.random.key(0), (6, 3))
    steps = np.array([0.1, 0.05, 0.025, 0.0125])
    end = lambda h: np.asarray(simulate(flow, x, [0, h], integrator=Scipy()).final)
    one = [np.max(np.abs(one_step(LayerMap(flow, h), x) - end(h))) for h in steps]
    slope = np.polyfit(np.log(steps), np.log(one), 1)[0]
    assert abs(slope - 2) < 0.1  # O(tau^2) in one step
    same = one_step(EulerMap(flow, 0.1), x)
    np.testing.assert_allclose(same, one_step(LayerMap(flow, 0.1), x), atol=1e-2)  # differ by the normal part of m


@pytest.mark.parametrize(("solver", "order"), [(dfx.Tsit5(), 5), pytest.param(dfx.Dopri8(), 8, marks=pytest.mark.slow)])
def test_the_solvers_have_their_order_on_the_lifted_field(solver, order):
    flow = published_gradient_flow()
    x = flow.space.sample(jax.random.key(0), (6, 3))
    exact = simulate(flow, x, [0.0, 8.0], integrator=Scipy()).final
    steps = np.array([2.0, 1.0]) if order == 8 else np.array([1.0, 0.5])
    errors = []
    for h in steps:
        sol = dfx.diffeqsolve(dfx.ODETerm(flow.vector_field), solver, 0.0, 8.0, h, x, max_steps=100)
        errors.append(float(jnp.max(jnp.abs(flow.space.project(sol.ys[0]) - exact))))
    assert abs(np.log2(errors[0] / errors[1]) - order) < 1.5  # two coarse steps: the asymptotic range only begins


@pytest.mark.parametrize("integrator", [pytest.param(Diffrax(), marks=pytest.mark.slow), Scipy()], ids=_names)
def test_a_repelling_sphere_is_followed(integrator):
    flow = TokenFlow(4 * np.eye(3), -1.0, scale=1.0)
    x = Sphere().sample(jax.random.key(1), (8, 3))
    path = simulate(flow, x, [0.0, 20.0, 40.0], integrator=integrator)
    assert path.stats.max_defect < 1e-6
    assert bool(path.stats.succeeded)


CASES = {
    "escape in finite time": (lambda t, x: x**2, 1.0, Outcome.STEP_UNDERFLOW),
    "a field that ends": (lambda t, x: jnp.sqrt(1 - t) * x, 1.0, Outcome.NON_FINITE),
    "a field that is never finite": (lambda t, x: jnp.log(-x), 0.0, Outcome.NON_FINITE),
}
# At rest until t = 1, so that the steps grow; then the cube overflows in the stages of a trial.
# the comparison names the state, so that the time of its jump is not known beforehand
OVERFLOWING = lambda t, x: jnp.where(t + 0 * x < 1.0, 0.0, -1e4) * x**3
FIELDS = {**{name: field for name, (field, _, _) in CASES.items()}, "decay": lambda t, x: -x, "steep": lambda t,
    x: -(x**3) * 1e4 + jnp.exp(50 * (jnp.abs(x) - 1)), "overflowing": OVERFLOWING}  # fmt: skip


class Chosen(eqx.Module):
    """The field of a case, by number: one program for all of them."""

    number: jax.Array

    def __call__(self, t, x):
        return jax.lax.switch(self.number, [*FIELDS.values()], t, x)


def chosen(name):
    return FunctionFlow(Chosen(jnp.asarray([*FIELDS].index(name))))


@pytest.mark.parametrize("integrator", BOTH, ids=_names)
@pytest.mark.parametrize("name", CASES)
def test_a_failure_says_what_stopped_it_and_keeps_what_was_reached(integrator, name):
    _, until, outcome = CASES[name]
    flow, ts = chosen(name), np.array([0.0, 0.5, 2.0])
    path = simulate(flow, jnp.ones(1), ts, integrator=integrator, throw=False)
    assert not bool(path.stats.succeeded)
    assert Outcome(int(path.stats.outcome)) is outcome
    np.testing.assert_array_equal(np.isfinite(path.ys[:, 0]), ts <= max(until, 0))
    np.testing.assert_allclose(path.stats.last_time, until, atol=1e-6)
    with pytest.raises(IntegrationError, match="only reached t = ") as error:
        simulate(flow, jnp.ones(1), ts, integrator=integrator)
    assert error.value.outcome is outcome


@pytest.mark.parametrize(
    "integrator", [pytest.param(Diffrax(max_steps=20), marks=pytest.mark.slow), Scipy(max_steps=20)], ids=_names
)
def test_too_few_steps_are_named(integrator):
    with pytest.raises(IntegrationError, match="after 20 steps, .*: all allowed steps were used"):
        simulate(WAVE, jnp.array([1.0, 0.0]), [0.0, 100.0], integrator=integrator)


def test_the_mean_length_of_the_steps_is_that_since_the_first_time():
    with pytest.raises(IntegrationError, match="the others .* long on average: all allowed steps were used") as error:
        simulate(WAVE, jnp.array([1.0, 0.0]), [50.0, 150.0], integrator=Scipy(max_steps=20))
    said = str(error.value)
    words = (r"t = ([\d.]+)", r"(\d+) of them", r"others ([\d.]+)")
    reached, rejected, mean = (float(re.findall(word, said)[0]) for word in words)
    assert mean == pytest.approx((reached - 50) / (20 - rejected), rel=1e-2)


def test_no_mean_length_is_given_where_all_steps_were_rejected():
    stats = Stats(*map(jnp.asarray, (False, Outcome.MAX_STEPS.value, 20, 20, 0.0, 50.0)))
    assert stats.since(50.0).startswith("The integration only reached t = 50 after 20 steps, 20 of them rejected: all")


def test_a_trial_step_that_overflows_does_not_poison_the_controller():
    path = simulate(chosen("steep"), jnp.array([1.0]), [-3.0, -2.5, -2.0], integrator=Diffrax(rtol=1e-3, atol=1e-6))
    assert bool(path.stats.succeeded)
    assert int(path.stats.num_rejected) > 0  # which ends no run, also where times are negative


def test_small_states_have_the_relative_tolerance():
    """With an absolute tolerance below the state: e^-5 to six digits, in few steps."""
    ts, work = [0.0, 1.0, 5.0], Diffrax(rtol=1e-6, atol=1e-20)
    path = simulate(chosen("decay"), jnp.full(1, 1e-8), ts, integrator=work)
    assert float(path.final[0]) == pytest.approx(1e-8 * np.exp(-5.0), rel=1e-4, abs=0)
    assert int(path.stats.num_steps) < 100


def test_a_trial_that_overflows_is_rejected():
    """The solution is x / sqrt(1 + 2e4 x^2 (t - 1))."""
    work = Diffrax(rtol=1e-7, atol=1e-9)
    path = simulate(chosen("overflowing"), jnp.ones(1), [0.0, 0.5, 2.0], integrator=work)
    np.testing.assert_allclose(path.ys[:, 0], [1.0, 1.0, (1 + 2e4) ** -0.5], rtol=1e-4)
    assert int(path.stats.num_rejected) > 0


@pytest.mark.slow
def test_a_trial_that_overflows_has_no_part_in_the_derivative():
    """The derivative of x / sqrt(1 + 2e4 x^2 (t - 1)) by x at 1 is (1 + 2e4 (t - 1))^(-3/2)."""
    flow, work = FunctionFlow(OVERFLOWING), Diffrax(rtol=1e-7, atol=1e-9)
    final = lambda x: simulate(flow, x, jnp.array([0.0, 2.0]), integrator=work).final
    end, derivative = jax.value_and_grad(lambda x: final(x)[0])(jnp.ones(1))
    assert float(end) == pytest.approx((1 + 2e4) ** -0.5, rel=1e-4)
    assert float(derivative[0]) == pytest.approx((1 + 2e4) ** -1.5, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [dfx.Kvaerno5(), dfx.Kvaerno3()], ids=_names)
def test_an_implicit_stage_that_overflows_is_rejected(solver):
    path = simulate(FunctionFlow(OVERFLOWING), jnp.ones(1), [0.0, 2.0], integrator=Diffrax(solver, 1e-5, 1e-7))
    assert float(path.final[0]) == pytest.approx((1 + 2e4) ** -0.5, rel=1e-2)


@pytest.mark.parametrize("count", [pytest.param(9, marks=pytest.mark.slow), 10])
def test_a_run_whose_last_trial_was_rejected_ends_where_it_had_come(count):
    """The trials after t = .9184 go beyond 1: states are saved up to there."""
    ts, few = np.linspace(0.0, 2.0, 201), Diffrax(rtol=1e-6, atol=1e-8, max_steps=count)
    flow = chosen("overflowing")
    path = simulate(flow, jnp.ones(1), ts, integrator=few, throw=False)
    assert 0.9 < float(path.stats.last_time) < 1
    np.testing.assert_array_equal(path.ys[:, 0], np.where(ts <= float(path.stats.last_time), 1.0, np.nan))
    with pytest.raises(IntegrationError, match=f"after {count} steps, .*: all allowed steps were used"):
        simulate(flow, jnp.ones(1), ts, integrator=few)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [dfx.Kvaerno5(), dfx.Kvaerno3()], ids=_names)
def test_an_implicit_solver_follows_a_slow_manifold(solver):
    flow = FunctionFlow(lambda t, x: (jnp.cos(t) - x) / 1e-5)
    end = simulate(flow, jnp.array([2.0]), [0.0, 1.0], integrator=Diffrax(solver, 1e-6, 1e-8)).final
    np.testing.assert_allclose(end, np.cos(1.0), atol=1e-4)


RELAXING = FunctionFlow(lambda t, x: jnp.stack([-1e4 * (x[0] - jnp.cos(t)) - jnp.sin(t)]))  # has the solution cos t


def test_implicit_solvers_are_as_accurate_between_their_steps():
    """The field at the ends of a step multiplies errors by 1e4: interpolants that use it are wrong by 2e-3."""
    ts = np.linspace(0.0, 10.0, 101)
    run = simulate(RELAXING, [1.0], ts, integrator=Diffrax(dfx.Kvaerno4(), 1e-6, 1e-8))
    assert int(run.stats.num_steps) < 80
    np.testing.assert_allclose(run.ys[:, 0], np.cos(ts), atol=1e-5)


@pytest.mark.slow
def test_implicit_solvers_locate_events_and_have_dense_output_to_their_accuracy():
    solver, ts = Diffrax(dfx.Kvaerno5(), 1e-9, 1e-11), np.linspace(0.0, 10.0, 101)
    stop = simulate_until(RELAXING, [1.0], ts[[0, -1]], [Event(lambda t, x: x[0] - 0.5)], integrator=solver)
    assert float(stop.path.ts[-1]) == pytest.approx(np.pi / 3, abs=2e-9)
    path = dense_output(simulate(RELAXING, [1.0], ts[[0, -1]], integrator=solver))
    np.testing.assert_allclose(path(ts)[:, 0], np.cos(ts), atol=1e-8)


@pytest.mark.parametrize("method", ["Radau", "LSODA", "RK45"])
def test_scipy_offers_its_methods(method):
    end = simulate(WAVE, jnp.array([1.0, 0.0]), [0.0, 2.0], integrator=Scipy(method, 1e-8, 1e-10)).final
    np.testing.assert_allclose(end, [np.cos(2.0), -np.sin(2.0)], atol=1e-6)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
@pytest.mark.parametrize(
    "speed", [lambda x: jnp.log(2.0) - jnp.log(2.0 + x), lambda x: (0.3 - x) - x - (x - 0.2) - (0.5 + x)]
)
def test_implicit_methods_take_few_steps_at_an_equilibrium_near_zero(method, speed):
    """There the field is rounding, whose quotients by small differences are no derivatives."""
    flow = FunctionFlow(lambda s, x: jnp.exp(s) * speed(x))
    end = simulate(flow, jnp.array([0.0, 0.1]), [0.0, 18.4], integrator=Scipy(method, 1e-8, 1e-10, max_steps=1000))
    np.testing.assert_allclose(end.final, 0.0, atol=1e-10)


def _on_the_host(t, x):
    return np.array([1.0, 0.0]) - np.linalg.norm(np.asarray(x)) * np.asarray(x)


@pytest.mark.parametrize("field", [lambda t, x: jnp.array([1.0, 0.0]) - jnp.linalg.norm(x) * x, _on_the_host])
def test_implicit_methods_solve_fields_without_a_derivative_at_a_point_or_at_all(field):
    end = simulate(FunctionFlow(field), jnp.zeros(2), [0.0, 1.0], integrator=Scipy("Radau", 1e-10, 1e-12)).final
    np.testing.assert_allclose(end, [np.tanh(1.0), 0.0], atol=1e-8)


def test_a_jacobian_is_that_of_the_field_also_where_jax_has_none():
    state = {"a": jnp.array([0.0, 0.0]), "b": jnp.ones(70)}  # more entries than are differentiated at a time
    flow = FunctionFlow(lambda t, x: {"a": t * x["a"] + jnp.linalg.norm(x["a"]), "b": x["b"] ** 3 + x["a"][0]})
    flat, unravel = flattened(state)
    found = flat_jacobian(flow, unravel, flat_field(flow, unravel, 0.0, flat), 0.0, flat)(2.0, flat)
    expected = np.zeros((72, 72))
    expected[:2, :2] = 2.0 * np.eye(2) + 1.0  # to the right
    expected[2:, 2:], expected[2:, 0] = 3.0 * np.eye(70), 1.0
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-7)


@pytest.mark.parametrize("integrator", [pytest.param(Diffrax(), marks=pytest.mark.slow), Scipy()], ids=_names)
def test_a_jump_of_the_field_is_landed_on(integrator):
    flow = FunctionFlow(lambda t, x: jnp.where(t < 1.0, 1.0, -2.0) * jnp.ones_like(x), breaks=(1.0,))
    path = simulate(flow, jnp.zeros(1), [0.0, 1.0, 2.0], integrator=integrator)
    np.testing.assert_allclose(path.ys[:, 0], [0.0, 1.0, -1.0], atol=1e-12)
    assert int(path.stats.num_steps) < 60


@pytest.mark.parametrize("integrator", BOTH, ids=_names)
def test_a_fast_oscillation_is_not_stepped_over(integrator):
    period = 0.02
    rhs = lambda t, x: jnp.maximum(jnp.sin(2 * jnp.pi * t / period), 0.0) * jnp.ones_like(x)
    path = simulate(FunctionFlow(rhs, fastest_period=period), jnp.zeros(1), [0.0, 1.0], integrator=integrator)
    np.testing.assert_allclose(path.final, 1 / np.pi, atol=1e-5)


def test_a_new_tolerance_does_not_compile_anew():
    traces = []

    def rhs(t, x):
        traces.append(1)
        return -x

    flow = FunctionFlow(rhs)
    simulate(flow, jnp.ones(2), [0.0, 1.0], integrator=Diffrax(rtol=1e-6))
    count = len(traces)
    simulate(flow, jnp.ones(2), [0.0, 3.0], integrator=Diffrax(rtol=1e-8))
    assert len(traces) == count


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: Diffrax(rtol=0.0), "must be positive"),
    (lambda: Scipy("DOP85"), "did you mean `DOP853`"),
    (lambda: Scipy(rtol=-1.0), "must be positive"),
    (lambda: Diffrax(max_steps=0), "`max_steps` must be at least 1"),
])  # fmt: skip
def test_a_bad_integrator_is_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_scipy_takes_no_steps_below_the_rounding_of_float32():
    ts = np.linspace(0.0, 10.0, 11)
    run = simulate(WAVE, jnp.asarray([1.0, 0.0], jnp.float32), ts, integrator=Scipy())
    assert int(run.stats.num_steps) < 100
    np.testing.assert_allclose(np.asarray(run.ys)[:, 0], np.cos(ts), atol=1e-4)
    assert int(simulate(WAVE, jnp.asarray([1.0, 0.0]), ts, integrator=Scipy()).stats.num_steps) < 100
