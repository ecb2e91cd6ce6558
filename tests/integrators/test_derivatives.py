"""Derivatives through simulations: closed forms in both modes, and refusals in one sentence where there are none."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import ArgumentError
from dynsim.integrators import Diffrax, Event, Scipy, Symplectic, stiff
from dynsim.integrators.derivatives import in_reverse_mode_once, is_traced, refusing_jumps
from dynsim.simulation.dense import dense_output
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.hybrid import crossings
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.simulation.sweep import sweep
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.oscillators import Pendulum

T = 1.0


def flow_of(p):
    """The flow x' = -p x^2."""
    return FunctionFlow(lambda t, x, p: -p * x**2, parameters={"p": p})


def riccati(p, x, **options):
    """The final state of x' = -p x^2, which is x / (1 + p x T)."""
    return simulate(flow_of(p), x[None], [0.0, T], **options).final[0]


def slopes(p, x):
    """The derivatives of x / (1 + p x) by p and by x."""
    return -(x**2) / (1 + p * x) ** 2, 1 / (1 + p * x) ** 2


def switched(p, x, t=T):
    """The final state of x' = 1 below 1 and p above."""
    flow = FunctionFlow(lambda t, x, p: jnp.where(x < 1, 1.0, p), parameters={"p": p})
    return simulate(flow, x[None], [0.0, t]).final[0]


P, X = jnp.asarray(2.0), jnp.asarray(0.7)


def test_forward_mode_has_the_closed_form():
    np.testing.assert_allclose(jax.jacfwd(riccati, (0, 1))(P, X), slopes(2.0, 0.7), rtol=1e-7)


@pytest.mark.slow
def test_both_modes_compiled_and_of_many_starts_have_the_closed_form():
    exact = slopes(2.0, 0.7)
    np.testing.assert_allclose(jax.jit(jax.grad(riccati, (0, 1)))(P, X), exact, rtol=1e-7)
    np.testing.assert_allclose(jax.vmap(jax.jacfwd(riccati, 1), (None, 0))(P, X[None]), exact[1:], rtol=1e-7)
    inside = jax.jit(lambda p, x: riccati(p, x, integrator=Diffrax(adjoint=diffrax.ForwardMode())))
    np.testing.assert_allclose(jax.jacfwd(inside, (0, 1))(P, X), exact, rtol=1e-7)
    second = jax.jacfwd(jax.jacfwd(riccati, 1), 1)(P, X)
    np.testing.assert_allclose(second, -4.0 / 2.4**3, rtol=1e-6)
    direct = lambda x: riccati(P, x, integrator=Diffrax(adjoint=diffrax.DirectAdjoint()))
    np.testing.assert_allclose(jax.hessian(direct)(X), -4.0 / 2.4**3, rtol=1e-6)
    listed = jax.jit(lambda p: simulate(FunctionFlow(lambda t, x: -p * x**2), [0.7], [0.0, T]).final[0])
    assert listed(P) == pytest.approx(0.7 / 2.4, rel=1e-8)  # a start as a list is an array of the program within `jit`


REFUSED = r"`adjoint` must be .* by `jax.hessian` \(`jax.jacfwd\(jax.jacfwd"


def test_a_hessian_is_refused_in_one_sentence():
    with pytest.raises(ArgumentError, match=REFUSED):
        jax.eval_shape(jax.hessian(riccati, 1), P, X)


@pytest.mark.parametrize(
    "adjoint", [diffrax.DirectAdjoint(), pytest.param(diffrax.RecursiveCheckpointAdjoint(), marks=pytest.mark.slow)]
)
def test_an_adjoint_for_reverse_mode_is_refused_forwards(adjoint):
    forwards = jax.jacfwd(lambda x: riccati(P, x, integrator=Diffrax(adjoint=adjoint)))
    with pytest.raises(ArgumentError, match=f"`adjoint` must be left out, or be .*, but is {type(adjoint).__name__}"):
        jax.eval_shape(forwards, X)


@pytest.mark.slow
def test_other_second_derivatives_in_reverse_mode_are_refused_in_one_sentence():
    forwards = Diffrax(adjoint=diffrax.ForwardMode())
    of_all = lambda p: ensemble(flow_of(p), X[None, None], [0.0, T], lambda t, x: x[0]).values[0, -1]
    for derivative in (
        jax.grad(jax.grad(riccati, 1), 1),
        jax.grad(jax.jacfwd(riccati, 1), 1),
        lambda p, x: jax.grad(riccati, 1)(p, x, integrator=forwards),
    ):
        with pytest.raises(ArgumentError, match=REFUSED):
            jax.eval_shape(derivative, P, X)
    with pytest.raises(ArgumentError, match=REFUSED):
        jax.hessian(of_all)(P)
    with pytest.raises(ArgumentError, match="`function` must depend on known numbers .* but `sweep` runs outside"):
        jax.grad(lambda p: sweep(lambda a: a * p, {"a": [1.0]})["value"].values[0])(P)
    of_starts = jax.jit(lambda x: ensemble(flow_of(P), x[None, None], [0.0, T], lambda t, x: x[0]).values)
    with pytest.raises(ArgumentError, match="`y0s` must be known numbers within `jit`, where `jax.vmap` of"):
        of_starts(X)


@pytest.mark.slow
def test_ensembles_and_symplectic_runs_have_derivatives():
    of_all = lambda p: ensemble(flow_of(p), X[None, None], [0.0, T], lambda t, x: x[0]).values[0, -1]
    for derivative in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(derivative(of_all)(P), slopes(2.0, 0.7)[0], rtol=1e-8)
    swing = lambda q: simulate(Pendulum(), jnp.stack([q, 0 * q]), [0.0, T], integrator=Symplectic(0.05)).final[0]
    quotient = (swing(X + 1e-5) - swing(X - 1e-5)) / 2e-5
    np.testing.assert_allclose([jax.grad(swing)(X), jax.jacfwd(swing)(X)], quotient, rtol=1e-6)


def test_a_derivative_across_a_jump_is_refused_and_one_beside_it_is_right():
    derivative = eqx.filter_jit(lambda p, x: jax.jacfwd(switched, (0, 1))(p, x))
    np.testing.assert_allclose(derivative(P, jnp.asarray(1.5)), (T, 1.0), atol=1e-9)
    with pytest.raises(RuntimeError, match="`flow` must not jump on a trajectory .*a comparison changes of x_1"):
        derivative(P, X)


@pytest.mark.slow
def test_a_jump_is_refused_at_once_without_compilation_and_a_kink_is_not():
    for mode in (jax.jacfwd, jax.jacrev):
        with pytest.raises(ArgumentError, match="`flow` must not jump on a trajectory whose derivative is taken"):
            mode(switched, 1)(P, X)
    pulse = lambda p: simulate(FunctionFlow(lambda t, x: jnp.where(t < p, 1.0, 0.0) + 0 * x), [0.0], [0.0, T]).final[0]
    with pytest.raises(ArgumentError, match="a comparison changes of time and parameters"):
        jax.jacfwd(pulse)(0.5)  # the derivative is 1, and that of the solver 0
    kinked = lambda x: simulate(FunctionFlow(lambda t, x: jnp.where(x < 1, x, 1.0)), x[None], [0.0, 2.0]).final[0]
    assert jax.jacfwd(kinked)(jnp.asarray(0.5)) == pytest.approx(2.0, rel=1e-3)  # of 3 + log x; no step ends there


def test_what_runs_outside_of_jax_refuses_in_one_sentence():
    closed = lambda p: FunctionFlow(lambda t, x: -p * x)
    event = Event(lambda t, x: x[0] - 0.5)
    runs = {
        "`integrator` must be `Diffrax..` .* but is Scipy, which": [
            lambda p: simulate(closed(p), [1.0], [0.0, T], integrator=stiff()).final,
            lambda p: simulate(closed(1.0), p[None], [0.0, T], integrator=Scipy()).final,
        ],
        "`events` must be left to .* but `simulate_until` runs": [
            lambda p: simulate_until(closed(p), [1.0], [0.0, T], [event]).path.final,
        ],
        "`transitions` must be left to .* but `simulate_hybrid` runs": [
            lambda p: crossings(closed(p), [1.0], [0.0, T], [event]).phases[0].final,
            lambda p: crossings(closed(1.0), p[None], [0.0, T], [event]).phases[0].final,
        ],
    }
    for sentence, functions in runs.items():
        for function in functions:
            for transformed in (jax.jacfwd, jax.jacrev, jax.hessian, jax.jit):
                with pytest.raises(ArgumentError, match=sentence):
                    transformed(function)(P)
    path = simulate(closed(1.0), [1.0], [0.0, T], integrator=Scipy())
    with pytest.raises(ArgumentError, match="`run` must be a run of known numbers"):
        jax.jit(lambda y: dense_output(eqx.tree_at(lambda run: run.ys, path, y))(0.5))(path.ys)
    with pytest.raises(ArgumentError, match="`adjoint` must be an adjoint of diffrax, such as `ForwardMode"):
        Diffrax(adjoint="forward")


def test_only_jumps_at_places_that_depend_on_states_or_parameters_are_refused():
    """A jump at a known time does not move with the start."""
    ts = np.array([0.0, 1.0, 2.0])
    path = lambda flow: lambda x: refusing_jumps(flow, x[None], ts, jnp.stack([x, x + 1, x + 2])[:, None])[-1, 0]
    at_a_time = FunctionFlow(lambda t, x: jnp.where(t < 0.7, 1.0, 2.0) * x)
    assert float(jax.jvp(path(at_a_time), (X,), (jnp.ones(()),))[1]) == 1.0
    with pytest.raises(ArgumentError, match="`flow` must not jump on a trajectory whose derivative is taken"):
        jax.jvp(path(FunctionFlow(lambda t, x: jnp.where(x < 1, 1.0, 2.0))), (X,), (jnp.ones(()),))


def test_traced_numbers_are_found_behind_functions():
    def found(p):
        inner = lambda x: p * x
        return is_traced(lambda x: inner(x)), is_traced(lambda x, q=p: q), is_traced(lambda x: x), is_traced({"p": p})

    kept = []
    jax.eval_shape(lambda p: kept.append(found(p)), P)
    assert kept == [(True, True, False, True)]


def test_what_has_one_derivative_in_reverse_mode_refuses_all_others_in_its_sentence():
    refusal = ArgumentError("run", "be differentiated once, in reverse mode", "has no others")
    sine = lambda x: in_reverse_mode_once(jnp.sin, refusal, x)
    x = jnp.asarray(0.3)
    assert float(sine(x)) == float(jnp.sin(x))
    assert float(jax.grad(sine)(x)) == pytest.approx(np.cos(0.3))
    for other in (jax.jacfwd(sine), jax.grad(jax.grad(sine)), jax.jacrev(jax.jacfwd(sine))):
        with pytest.raises(
            ArgumentError, match="`run` must be differentiated once, in reverse mode, but has no others"
        ):
            jax.eval_shape(other, x)
