"""The symplectic method: orders, energies for long times, reversibility, refusals."""

import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.errors import IntegrationError
from dynsim.integrators import Event, Symplectic
from dynsim.integrators.fixed_step.base import steps_between
from dynsim.simulation.ensemble import ensemble
from dynsim.simulation.run_files import rerun, save
from dynsim.simulation.simulate import simulate, simulate_until
from dynsim.spaces import Sphere
from dynsim.systems.base import FunctionFlow
from dynsim.systems.catalogue.chaotic import HenonHeiles, Lorenz
from dynsim.systems.catalogue.oscillators import Pendulum

FORCED = FunctionFlow(lambda t, x: jnp.stack([x[1], jnp.cos(2 * t) - x[0]]))
START = jnp.array([1.0, 0.3])


def closed_form(t):
    """Return the state of the forced oscillator from (1, 0)."""
    return np.array([4 * np.cos(t) - np.cos(2 * t), 2 * np.sin(2 * t) - 4 * np.sin(t)]) / 3


@pytest.mark.parametrize("order", [2, 4])
def test_tightened_steps_make_the_error_smaller_by_the_factor_as_the_order_says(order):
    errors = []
    rough, fine = Symplectic(0.1, order), Symplectic(0.1, order).tightened(16.0)
    assert fine.step_size == pytest.approx(0.1 / 16 ** (1 / order), rel=1e-12)
    for method in (rough, fine):
        end = simulate(FORCED, jnp.array([1.0, 0.0]), [0.0, 5.0], integrator=method).final
        errors.append(float(np.max(np.abs(end - closed_form(5.0)))))
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.05)
    assert errors[0] < 0.1**order


@pytest.mark.parametrize("periods", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_energy_of_the_pendulum_stays_in_the_range_of_its_first_periods(periods):
    ts = np.linspace(0.0, periods * 6.8, 10 * periods + 1)
    path = simulate(Pendulum(), START, ts, integrator=Symplectic(0.17))
    energy = path.along(lambda x: x[1] ** 2 / 2 - jnp.cos(x[0]))
    gap = np.abs(energy - energy[0])
    assert 1e-6 < gap[:500].max() < 1e-4
    assert gap[-500:].max() < 1.01 * gap[:500].max()  # bounded: a drift by a period's error would be far beyond
    assert int(path.stats.num_steps) == 40 * periods


def test_a_run_with_reversed_momenta_leads_back_and_is_made_again_to_the_bit(tmp_path):
    star, x = HenonHeiles(), jnp.array([0.1, 0.2, 0.3, -0.1])
    turned = jnp.array([1.0, 1.0, -1.0, -1.0])
    there = simulate(star, x, [0.0, 10.0], integrator=Symplectic(0.05))
    back = simulate(star, turned * there.final, [0.0, 10.0], integrator=Symplectic(0.05))
    np.testing.assert_allclose(turned * back.final, x, atol=1e-12)
    save(tmp_path / "run.npz", there)
    np.testing.assert_array_equal(rerun(tmp_path / "run.npz").ys, there.ys)


def test_an_ensemble_has_the_runs_of_its_members_and_one_that_escapes_ends_there():
    escape = FunctionFlow(lambda t, x: jnp.stack([x[1], x[0] ** 3]))
    starts, ts = jnp.array([[0.1, 0.0], [3.0, 3.0]]), [0.0, 1.0, 2.0]
    run = ensemble(escape, starts, ts, lambda t, x: x, integrator=Symplectic(0.1))
    alone = simulate(escape, starts[0], ts, integrator=Symplectic(0.1))
    np.testing.assert_allclose(run.values[0], alone.ys, atol=1e-15)
    np.testing.assert_array_equal(np.asarray(run.stats.succeeded), [True, False])
    assert np.isnan(run.final[1]).all()
    reached = int(np.isfinite(np.asarray(run.values[1])).all(axis=1).sum()) - 1
    assert reached < 2
    assert (float(run.stats.last_time[1]), int(run.stats.num_steps[1])) == (ts[reached], 10 * reached)
    assert (float(run.stats.last_time[0]), int(run.stats.num_steps[0])) == (2.0, 20)
    assert steps_between(np.array([0.0, 0.1, 1.1]), 0.25) == 4  # of the longest interval
    with pytest.raises(IntegrationError, match="only reached t = [01] after"):
        simulate(escape, starts[1], ts, integrator=Symplectic(0.1))


@pytest.mark.parametrize(
    ("flow", "start", "sentence"),
    [
        (
            Pendulum(friction=0.1),
            START,
            "`flow` must have the form .*, but the velocity of its momenta depends on them",
        ),
        (
            FunctionFlow(lambda t, x: jnp.stack([x[1], -x[0] - x[1] ** 3])),  # no friction at the start, at rest
            jnp.array([1.0, 0.0]),
            "but the velocity of its momenta depends on them",
        ),
        (
            FunctionFlow(lambda t, x: jnp.stack([(1 + t) * x[1], -x[0]])),
            START,
            "but the velocity of its positions depends on them or on time",
        ),
        (FunctionFlow(lambda t, x: 0 * x, Sphere()), jnp.array([1.0, 0.0]), "on a flat space .*, but is on Sphere"),
        (
            Lorenz(),
            jnp.ones(3),
            r"`y0` must be one array with equally many positions and momenta .*, but has shape \(3,\)",
        ),
    ],
)
def test_a_flow_without_the_splitting_is_refused_in_one_sentence(flow, start, sentence):
    with pytest.raises(ValueError, match=sentence):
        simulate(flow, start, [0.0, 1.0], integrator=Symplectic(0.5))


def test_settings_and_uses_that_it_has_not_are_refused():
    with pytest.raises(ValueError, match="`order` must be 2 or 4, but is 3"):
        Symplectic(order=3)
    with pytest.raises(ValueError, match="`integrator` must be able to locate events, but is Symplectic"):
        simulate_until(Pendulum(), START, [0.0, 1.0], [Event(lambda t, x: x[0])], integrator=Symplectic())


def test_steps_are_longer_than_the_rounding_of_times():
    assert steps_between(np.array([0.0, 1.0, 1.5]), 0.25) == 4
    with pytest.raises(ValueError, match=r"`step_size` must be longer than the rounding of times up to 1e\+06"):
        steps_between(np.array([1e6 - 1, 1e6]), 1e-11)
    with pytest.raises(ValueError, match="`step_size` must be longer than the rounding of times up to 20, but is"):
        steps_between(np.array([0.0, 20.0]), 1e-300)
