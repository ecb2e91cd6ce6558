"""The stabilised explicit method: its polynomial, order, cost, and what it does where it is not made for."""

import diffrax as dfx
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.cli.parsing.solvers import integrator
from dynsim.errors import IntegrationError, Outcome
from dynsim.integrators import RKC2, Diffrax, Event, Scipy
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.systems.base import FunctionFlow

N = 50
X = np.sin(np.pi * np.arange(1, N + 1) / (N + 1))
RADIUS = 4 * (N + 1) ** 2  # of the discrete Laplacian, nearly


def laplacian(x):
    n = x.shape[0]
    return (n + 1) ** 2 * (jnp.pad(x, (1, 0))[:-1] + jnp.pad(x, (0, 1))[1:] - 2 * x)


class Chosen(eqx.Module):
    """A field with one number, which selects a case: one program for all of them."""

    number: jax.Array

    def __call__(self, t, x):
        heat = lambda t, x: laplacian(x) + 5 * x * (1 - x**2) + jnp.cos(t)
        oscillator = lambda t, x: 30 * jnp.concatenate([x[N // 2 :], -x[: N // 2]])
        cases = [heat, oscillator, lambda t, x: x**2, lambda t, x: jnp.sqrt(1 - t) * x, lambda t, x: jnp.log(-x),
            lambda t, x: jnp.nan * x]  # fmt: skip
        return jax.lax.switch(self.number, cases, t, x)


def chosen(number):
    return FunctionFlow(Chosen(jnp.asarray(number)))


HEAT = chosen(0)


def rkc2(rtol, **options):
    return Diffrax(RKC2(), rtol=rtol, atol=rtol, **options)


@pytest.fixture(scope="module")
def exact():
    """Return the states at t = 0, 1/2, 1 of the semilinear heat equation, to some 1e-10."""
    return simulate(HEAT, X, [0.0, 0.5, 1.0], integrator=Scipy("Radau", 1e-10, 1e-11)).ys


@eqx.filter_jit
def one_step(z, forcing, y):
    """Return the state after one step of length 1 of y' = z y + t * forcing, and the error estimate."""
    terms, solver = dfx.ODETerm(lambda t, y, args: z * y + t * forcing), RKC2()
    state = solver.init(terms, jnp.asarray(0.0), jnp.asarray(1.0), y, None)
    return solver.step(terms, jnp.asarray(0.0), jnp.asarray(1.0), y, None, state, False)[:2]


@pytest.mark.parametrize("radius", [1.5, 12.0, 300.0, 1e4, 2e5])
def test_the_stability_polynomial_is_damped_over_the_whole_spectrum(radius):
    z = -radius * np.concatenate([np.geomspace(1e-6, 1e-3, 200), np.linspace(1e-3, 1.0, 1800)])
    factor = np.asarray(one_step(z, np.zeros_like(z), jnp.ones_like(z))[0])
    assert np.all(np.abs(factor) < 1)
    assert np.all(np.abs(factor[z < -6]) < 0.98)  # damping 2/13 leaves about 1 - 2/39
    small = np.abs(z) < 0.05
    third = (factor[small] - 1 - z[small] - z[small] ** 2 / 2) / z[small] ** 3
    assert np.all(np.abs(third[np.abs(z[small]) > 1e-3]) < 0.2)  # order two: 1/6 at most is missing


@pytest.mark.parametrize("radius", [12.0, 300.0])
def test_the_stages_lie_at_their_times(radius):
    z, forcing = np.array([0.0, -radius]), np.array([1.0, 0.0])
    np.testing.assert_allclose(one_step(z, forcing, jnp.zeros(2))[0], [0.5, 0.0], atol=1e-13)  # t is integrated exactly


def test_the_error_estimate_is_of_the_size_of_the_local_error():
    z = -np.array([0.02, 0.05, 0.1])
    after, estimate = one_step(z, np.zeros(3), jnp.ones(3))
    np.testing.assert_allclose(estimate, 0.2 * z**3, rtol=1e-6)  # 0.8 (y0 - y1) + 0.4 (f0 + f1) with two stages
    np.testing.assert_allclose(np.exp(z) - after, z**3 / 6, rtol=0.05)


def test_the_heat_equation_takes_steps_far_beyond_the_explicit_limit():
    heat = FunctionFlow(lambda t, x: laplacian(x))
    h = 1e4 / RADIUS
    rough = jax.random.normal(jax.random.key(0), (N,))
    solve = lambda x: dfx.diffeqsolve(dfx.ODETerm(heat.vector_field), RKC2(), 0.0, 20 * h, h, x, max_steps=30).ys[0]
    assert np.max(np.abs(solve(rough))) < 0.4  # 20 steps: the factor that damping leaves, to the 20th
    slow = np.pi**2 * (np.sinc(1 / (2 * (N + 1)))) ** 2
    assert h * slow > 5  # not resolved, and yet it decays
    assert np.max(np.abs(solve(jnp.asarray(X)))) < 0.4


def test_the_order_is_two():
    slow = FunctionFlow(lambda t, x: jnp.stack([-(x[0] ** 2) + jnp.cos(t) * x[1], -3 * x[1] + jnp.sin(x[0]) * t]))
    x = jnp.array([1.0, 0.5])
    end = simulate(slow, x, [0.0, 1.0], integrator=Scipy()).final
    solve = jax.jit(lambda h: dfx.diffeqsolve(dfx.ODETerm(slow.vector_field), RKC2(), 0.0, 1.0, h, x).ys[0])
    errors = [np.max(np.abs(solve(h) - end)) for h in (0.05, 0.025, 0.0125, 0.00625)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2, atol=0.1)


@pytest.mark.slow
def test_the_error_follows_the_tolerance_and_agrees_with_radau(exact):
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6):
        path = simulate(HEAT, X, [0.0, 0.5, 1.0], integrator=rkc2(rtol))
        assert np.max(np.abs(path.ys - exact)) < 20 * rtol  # steps by 1/3 of the tolerance's order: it may grow
        other = simulate(HEAT, X, [0.0, 0.5, 1.0], integrator=Scipy("Radau", rtol, rtol))
        assert np.max(np.abs(path.ys - other.ys)) < 25 * rtol


@pytest.mark.slow
def test_saved_states_are_as_accurate_as_the_steps(exact):
    few, many = (simulate(HEAT, X, np.linspace(0.0, 1.0, k), integrator=rkc2(1e-5)) for k in (3, 301))
    assert int(few.stats.num_steps) == int(many.stats.num_steps)
    velocity = jax.vmap(lambda t, x: HEAT.vector_field(t, x))(many.ts, many.ys)
    step = many.ts[1]
    slope = (many.ys[2:] - many.ys[:-2]) / (2 * step)
    late = np.asarray(many.ts[1:-1]) > 0.5
    assert np.max(np.abs(slope - velocity[1:-1])[late]) < 5e-3


@pytest.mark.slow
def test_the_cost_grows_as_the_root_of_the_spectral_radius():
    def evaluations(n, solver):
        seen = []

        def field(t, x):
            jax.debug.callback(lambda: seen.append(1))
            return laplacian(x)

        x = jnp.sin(jnp.pi * np.arange(1, n + 1) / (n + 1))
        simulate(FunctionFlow(field), x, [0.0, 0.5], integrator=solver)
        jax.effects_barrier()
        return len(seen)

    counts = [evaluations(n, rkc2(1e-4)) for n in (25, 100)]
    assert 2 < counts[1] / counts[0] < 5.6  # the radius grows by 15.1, its root by 3.9
    assert counts[1] < evaluations(100, Diffrax(rtol=1e-4, atol=1e-4)) / 8


@pytest.mark.slow
def test_events_are_located():
    event = Event(lambda t, x: x[N // 2] - 0.6)
    stop = simulate_until(HEAT, X, [0.0, 1.0], [event], integrator=rkc2(1e-6))
    end = float(stop.path.stats.last_time)
    there = simulate(HEAT, X, [0.0, end / 2, end], integrator=Scipy("Radau", 1e-10, 1e-11)).final
    assert abs(there[N // 2] - 0.6) < 2e-5


@pytest.mark.slow
def test_members_of_an_ensemble_do_not_disturb_each_other():
    starts = np.stack([X, 3 * X, 0 * X])
    found = ensemble(HEAT, starts, [0.0, 0.5, 1.0], lambda t, x: x[N // 2], integrator=rkc2(1e-5))
    alone = [simulate(HEAT, x, [0.0, 0.5, 1.0], integrator=rkc2(1e-5)).ys[:, N // 2] for x in starts]
    np.testing.assert_allclose(found.values, alone, atol=1e-12)


@pytest.mark.slow
def test_an_oscillator_is_followed_slowly_or_not_at_all():
    ts = [0.0, 0.5, 1.0]
    x = jnp.concatenate([jnp.ones(N // 2), jnp.zeros(N - N // 2)])
    path = simulate(chosen(1), x, ts, integrator=rkc2(1e-5))
    steps = int(path.stats.num_steps)
    assert steps > 300
    near = 2e-5 * steps  # what the tolerances allow in a step, times the steps
    np.testing.assert_allclose(path.ys[:, 0], np.cos(30 * np.asarray(ts)), atol=near)
    np.testing.assert_allclose(path.ys[:, -1], -np.sin(30 * np.asarray(ts)), atol=near)
    short = simulate(chosen(1), x, ts, integrator=rkc2(1e-5, max_steps=200), throw=False)
    assert Outcome(int(short.stats.outcome)) is Outcome.MAX_STEPS
    assert np.all(np.isnan(short.final))


@pytest.mark.parametrize(("number", "until", "outcome"), [
    pytest.param(2, 1.0, Outcome.STEP_UNDERFLOW, marks=pytest.mark.slow),
    pytest.param(3, 1.0, Outcome.NON_FINITE, marks=pytest.mark.slow),
    (4, 0.0, Outcome.NON_FINITE),
    (5, 0.0, Outcome.NON_FINITE),
], ids=["escape in finite time", "a field that ends", "a field that is never finite", "a field of NaN"])  # fmt: skip
def test_a_failure_says_what_stopped_it(number, until, outcome):
    ts = np.array([0.0, 0.5, 2.0])
    path = simulate(chosen(number), jnp.ones(N), ts, integrator=rkc2(1e-8), throw=False)
    assert Outcome(int(path.stats.outcome)) is outcome
    np.testing.assert_array_equal(np.isfinite(path.ys[:, 0]), ts <= until)
    np.testing.assert_allclose(path.stats.last_time, until, atol=1e-4)
    with pytest.raises(IntegrationError, match="only reached t = "):
        simulate(chosen(number), jnp.ones(N), ts, integrator=rkc2(1e-8))


@pytest.mark.slow
def test_more_stages_than_allowed_mean_shorter_steps(exact):
    few = Diffrax(RKC2(max_stages=8), rtol=1e-3, atol=1e-3)
    path, free = (simulate(HEAT, X, [0.0, 0.5, 1.0], integrator=i) for i in (few, rkc2(1e-3)))
    assert np.max(np.abs(path.ys - exact)) < 0.02
    assert int(path.stats.num_steps) > 2 * int(free.stats.num_steps)


def test_what_names_the_method_is_understood():
    chosen = integrator("rkc2", 1e-4)
    assert isinstance(chosen, Diffrax)
    assert chosen.solver == RKC2()
    assert float(chosen.rtol) == 1e-4
    with pytest.raises(ValueError, match="`max_stages` must be at least 2"):
        RKC2(max_stages=1)


@pytest.mark.slow
def test_single_precision_stays_and_is_as_accurate(exact):
    path = simulate(HEAT, X.astype(np.float32), [0.0, 0.5, 1.0], integrator=rkc2(1e-4))
    assert path.ys.dtype == jnp.float32
    assert np.max(np.abs(np.asarray(path.ys, float) - exact)) < 1e-3


@pytest.mark.slow  # a flow is compiled; tests/systems/test_contracts.py has one that jumps
def test_a_jump_of_the_field_is_landed_on():
    flow = FunctionFlow(lambda t, x: jnp.where(t < 1.0, 1.0, -2.0) * jnp.ones_like(x), breaks=(1.0,))
    path = simulate(flow, jnp.zeros(1), [0.0, 1.0, 2.0], integrator=rkc2(1e-5))
    np.testing.assert_allclose(path.ys[:, 0], [0.0, 1.0, -1.0], atol=1e-12)


@pytest.mark.slow
def test_the_solution_can_be_differentiated():
    def size(x, rtol):
        return jnp.sum(simulate(HEAT, x, [0.0, 0.1], integrator=rkc2(rtol)).final ** 2)

    slope = jax.grad(size)(jnp.asarray(X), 1e-5)
    push = np.where(np.arange(N) == 10, 1e-4, 0.0)
    difference = (size(X + push, 1e-9) - size(X - push, 1e-9)) / 2e-4
    np.testing.assert_allclose(slope[10], difference, rtol=1e-3)


def test_the_length_of_a_step_does_not_depend_on_the_time():
    term, solver, y = dfx.ODETerm(lambda t, y, args: -10 * y), RKC2(), jnp.array([1.0, 2.0])
    begin, end = jnp.asarray(1000.0), jnp.asarray(1000.5)
    memory = solver.init(term, begin, end, y, None)
    _, _, _, after, _ = solver.step(term, begin, end, y, None, memory, jnp.asarray(False))
    assert after.length == 0.5
    assert after.radius == pytest.approx(10.0, rel=0.3)
