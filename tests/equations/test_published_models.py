"""Files of XPPAUT in `models/` show what the papers on their models show."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import dynamics as ad
from dynsim.errors import ArgumentError
from dynsim.programs import without_compiling

MODELS = Path(__file__).parent / "models"
SCIPY = ds.Scipy(rtol=1e-8, atol=1e-10)


def read(name: str, **values: float) -> Any:
    return ds.system(MODELS / f"{name}.ode", values)


def bifurcations(name: str, parameter: str, low: float, high: float, start: Any = None, **values: float) -> Any:
    """Kinds and places of the bifurcations on a branch of equilibria or fixed points."""
    flow = read(name, **values)
    with without_compiling():
        branch = ad.continue_equilibria(
            ds.Parameter(flow, parameter, low, high), jnp.asarray(flow.start if start is None else start)
        )
    return [(one.kind.split()[0], float(one.parameter)) for one in branch.bifurcations]


def period(flow: Any, component: int, level: float, ts: Any, start: Any = None) -> float:
    """Time between the last two crossings of a level from below."""
    at = ds.Event(lambda t, x: x[component] - level, 1)
    run = ds.crossings(flow, jnp.asarray(flow.start if start is None else start), ts, [at], integrator=SCIPY)
    return float(np.diff(run.times("0"))[-1])


def expected(kind: str, *places: float, within: float = 1e-4) -> list[Any]:
    return [(kind, pytest.approx(place, rel=within)) for place in places]


def test_morris_lecar_oscillates_between_two_hopf_points():
    """Rinzel and Ermentrout (1989): 93.86 and 212.02 uA/cm^2."""
    assert bifurcations("morris_lecar", "iapp", 80, 220) == expected("Hopf", 93.86, 212.02)


def test_morris_lecar_of_the_first_class_starts_to_fire_at_a_fold():
    """Rinzel and Ermentrout (1989): 39.96 uA/cm^2, where the period becomes infinite."""
    first = {"iapp": 36.0, "gca": 4.0, "v3": 12.0, "v4": 17.4, "phi": 1 / 15}
    assert bifurcations("morris_lecar", "iapp", 35, 42, (-35.0, 0.005), **first)[0] == expected("fold", 39.963)[0]


def test_fitzhugh_nagumo_fires_between_two_hopf_points():
    v = np.sqrt(1 - 0.08 * 0.8)  # where the trace vanishes
    low, high = ((0.7 + s * v) / 0.8 - s * v + s * v**3 / 3 for s in (-1, 1))
    assert bifurcations("fitzhugh_nagumo", "i", 0, 2) == expected("Hopf", low, high)


def test_the_equilibria_of_lorenz_lose_stability():
    x = np.sqrt(8 / 3 * 19)
    assert bifurcations("lorenz", "r", 20, 28, (x, x, 19.0)) == expected("Hopf", 470 / 19)


def test_the_brusselator_and_the_paradox_of_enrichment():
    assert bifurcations("brusselator", "b", 1.5, 3) == expected("Hopf", 2)
    assert bifurcations("rosenzweig_macarthur", "k", 1.5, 5, (1.0, 1 / 6)) == expected("Hopf", 3)


def test_henon_doubles_its_period():
    fixed = (-0.7 + np.sqrt(0.49 + 4 * 0.2)) / (2 * 0.2)
    assert bifurcations("henon", "a", 0.2, 0.5, (fixed, 0.3 * fixed), a=0.2) == expected("period", 0.75 * 0.7**2)


def test_the_logistic_map_has_an_orbit_of_period_two():
    orbit = np.asarray(ds.iterate(read("logistic"), jnp.array([0.3]), 300).ys)[-2:, 0]
    assert sorted(orbit) == pytest.approx((4.2 + np.array([-1, 1]) * np.sqrt(4.2 * 0.2)) / 6.4)


@pytest.mark.slow
def test_small_cycles_of_predator_and_prey_and_their_conserved_quantity():
    flow = read("lotka_volterra")
    assert period(flow, 0, 1.5, [0.0, 40.0], (1.5, 1.41)) == pytest.approx(2 * np.pi / np.sqrt(0.21), rel=1e-3)
    h = lambda x: float(flow.quantity("h", 0.0, x))
    end = ds.simulate(flow, jnp.array(flow.start), [0.0, 40.0], integrator=SCIPY).final
    assert h(end) == pytest.approx(h(np.array(flow.start)), rel=1e-7)


def test_a_neuron_integrates_and_fires():
    neuron = ds.hybrid_system(MODELS / "integrate_and_fire.ode")
    run = ds.simulate_hybrid(neuron.flow, jnp.zeros(1), [0.0, 50.0], neuron.transitions, integrator=SCIPY)
    assert np.diff([jump.time for jump in run.jumps]) == pytest.approx(10 * np.log(3))


def test_a_switch_of_covalent_modification_is_steep():
    """Goldbeter and Koshland (1981): from 10 to 90 % within a ratio of rates of 81 (J + 0.1)^2 / (J + 0.9)^2."""
    rate = lambda x: x * (0.01 + 1 - x) / ((1 - x) * (0.01 + x))
    assert rate(0.9) / rate(0.1) == pytest.approx(81 * 0.11**2 / 0.91**2)
    for x in (0.1, 0.9):
        flow = read("goldbeter_koshland", v1=rate(x))
        assert float(flow.vector_field(0.0, np.array([x]))[0]) == pytest.approx(0, abs=1e-12)
        assert float(flow.quantity("gk", 0.0, np.array([x]))) == pytest.approx(x)


def test_diffusion_along_a_chain():
    flow = read("chain")
    x = np.array(flow.start)
    assert np.asarray(flow.vector_field(0.0, x)) == pytest.approx(-4 * np.sin(np.pi / 42) ** 2 * x)
    assert len(flow.names) == 20


@pytest.mark.parametrize(("name", "what"), [("mackey_glass", "delays"), ("measured_curve", "tables from files")])
def test_what_cannot_be_read_is_refused_by_name(name, what):
    with pytest.raises(ArgumentError, match=f"line [23], .*, has {what}"):
        read(name)


@pytest.mark.slow
def test_hodgkin_and_huxley_fire_between_two_hopf_points():
    """Hassard (1978) and Rinzel (1978): 9.78 and 154.5 uA/cm^2."""
    assert bifurcations("hodgkin_huxley", "iext", 0, 180) == expected("Hopf", 9.78, 154.5, within=2e-3)
    flow = read("hodgkin_huxley", iext=10.0)
    assert period(flow, 0, 0.0, [0.0, 100.0]) == pytest.approx(14.6, rel=0.02)  # 68 Hz


@pytest.mark.slow
def test_wilson_and_cowan_oscillate_between_two_inputs():
    """Wilson and Cowan (1972): below a threshold of P there is no limit cycle, and beyond a higher one none either."""

    def swing(p: float) -> float:
        flow = read("wilson_cowan", p=p)
        late = ds.simulate(flow, jnp.array(flow.start), np.linspace(0.0, 200.0, 801), integrator=SCIPY).ys[-200:, 0]
        return float(np.ptp(np.asarray(late)))

    assert [swing(p) > 0.1 for p in (0.0, 1.25, 3.0)] == [False, True, False]


@pytest.mark.slow
def test_hindmarsh_and_rose_burst():
    """Hindmarsh and Rose (1984): groups of spikes with long silences between them."""
    flow = read("hindmarsh_rose")
    spike = ds.Event(lambda t, x: x[0] - 1.0, 1)
    run = ds.crossings(flow, jnp.array(flow.start), [0.0, 4000.0], [spike], integrator=SCIPY)
    gaps = np.diff(run.times("0"))
    silent = np.flatnonzero(gaps > 100)
    assert len(silent) >= 3
    assert len(set(np.diff(silent)[1:])) == 1  # each burst has as many spikes
    assert np.all(gaps[gaps < 100] < 50)


@pytest.mark.slow
def test_relaxation_oscillations_have_their_periods():
    """Field and Noyes (1974): 302.9; van der Pol with mu = 10: 19.0784; Tyson (1991): 35 min."""
    assert period(read("van_der_pol"), 0, 0.0, [0.0, 60.0]) == pytest.approx(19.0784, rel=1e-4)
    assert period(read("cell_cycle"), 0, 0.1, [0.0, 200.0]) == pytest.approx(35, rel=0.03)
    at = ds.Event(lambda t, x: x[0] - 100.0, 1)
    flow = read("oregonator")
    run = ds.crossings(flow, jnp.array(flow.start), [0.0, 1000.0], [at], integrator=ds.stiff(1e-7))
    assert np.diff(run.times("0"))[-1] == pytest.approx(302.9, rel=1e-3)


@pytest.mark.slow
def test_the_forced_beam_is_chaotic():
    """Moon and Holmes (1979): a strange attractor; areas shrink at the rate of the damping."""
    flow = read("duffing")
    found = ad.lyapunov_spectrum(flow, jnp.array(flow.start), 2000.0, transient=100.0)
    assert float(np.sum(found.exponents)) == pytest.approx(-0.25, abs=1e-3)
    assert 0.08 < float(found.exponents[0]) < 0.25


@pytest.mark.slow
def test_the_variance_of_a_particle_with_friction(capsys, tmp_path):
    from dynsim.simulation.run_files import load
    from tests.support.commands import answer

    out = tmp_path / "run.npz"
    said = answer(capsys, "simulate", MODELS / "ornstein_uhlenbeck.ode", "--frames", 4001, "--out", out)
    assert "options of the file that are not used: meth" in said
    run: Any = load(out)
    x = np.asarray(run.ys)[50:, 0]
    assert np.var(x) == pytest.approx(0.5**2 / (2 - 0.02), rel=0.1)  # with the step of the file, 0.02


@pytest.mark.slow
def test_a_cortical_neuron_adapts():
    """Izhikevich (2003): intervals between spikes grow after the onset."""
    neuron = ds.hybrid_system(MODELS / "izhikevich.ode")
    start = jnp.array(neuron.flow.start)
    run = ds.simulate_hybrid(neuron.flow, start, [0.0, 500.0], neuron.transitions, integrator=SCIPY)
    gaps = np.diff([jump.time for jump in run.jumps])
    assert gaps[-1] > 1.8 * gaps[0]
    assert gaps[-1] == pytest.approx(gaps[-2], rel=1e-2)
