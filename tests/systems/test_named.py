"""Names and units of components, and parameters by name, are declared once and used everywhere."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim import (
    FunctionFlow,
    FunctionMap,
    NoisyFlow,
    Scipy,
    ensemble,
    iterate,
    load,
    random_key,
    rerun,
    save,
    simulate,
    to_xarray,
)
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.papers import factor
from dynsim.cli.building.systems import flow, found
from dynsim.cli.parsing.system import SystemOptions, parse_system
from dynsim.systems.base import AbstractFlow
from dynsim.systems.catalogue.chaotic import Lorenz
from dynsim.systems.catalogue.entries import CATALOGUE
from dynsim.systems.catalogue.maps import Logistic
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.named import changed, components, parameters, real_parameter, where
from dynsim.systems.parameter import Parameter
from tests.support.precision import doubles

OWN = """
import jax.numpy as jnp


def field(t, x, mu=1.0, rates=(1.0, 2.0)):
    return jnp.stack([x[1], mu * x[0]]) * jnp.asarray(rates)


def grow(k, x, r=2.0):
    return r * x


def pushed(t, x, mu=1.0, push=False, damped=True):
    return (-mu * x if damped else 0 * x) + (1.0 if push else 0.0)


number = 3
"""


def decay(t, x, rate):
    return -rate * x


NERVE = FunctionFlow(decay, names=("v", "w"), units=("mV", ""), time_unit="ms", parameters={"rate": 0.5})
PLAIN = FunctionFlow(lambda t, x: x)


def named(words, command="portrait"):
    return found(parse_system(SystemOptions, words.split(), command), command)


@pytest.mark.slow
def test_names_and_units_of_vectors_matrices_and_named_tuples():
    assert components(NERVE, jnp.ones(2)).headings() == ("v (mV)", "w")
    assert components(NERVE, jnp.ones(2)).time_unit == "ms"
    assert components(NERVE, jnp.ones((2, 2))).names == ("v_1", "w_1", "v_2", "w_2")
    assert components(PLAIN, jnp.ones(2)).names == ("x_1", "x_2")
    assert components(PLAIN, jnp.ones((1, 2))).names == ("x_1,1", "x_1,2")
    assert components(PLAIN, FastSlow(jnp.ones(2), jnp.ones(()))).names == ("fast_1", "fast_2", "slow")
    for entry in CATALOGUE.values():
        assert len(components(entry.system(), jnp.asarray(entry.start)).names) == len(entry.start)


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="Argument `names` must have one entry for each of 3 components, but has 2"):
        components(NERVE, jnp.ones(3))
    decaying, step = (kind(lambda t, x: -x, names=("v", "w")) for kind in (FunctionFlow, FunctionMap))
    with pytest.raises(ValueError, match="Argument `names` must have one entry for each of 3 components, but has 2"):
        simulate(decaying, jnp.ones(3), [0.0, 1.0])
    with pytest.raises(ValueError, match="Argument `names` must have one entry for each of 3 components, but has 2"):
        iterate(step, jnp.ones(3), 1)
    with pytest.raises(ValueError, match="Argument `names` must have one entry for each of 1 components, but has 2"):
        ensemble(NoisyFlow(decaying, 1.0, calculus="ito"), jnp.ones(3), [0.0, 1.0], lambda t, x: t,
            key=random_key(0, "names"))  # fmt: skip
    with pytest.raises(ValueError, match="Argument `names` must be different, but `v` is given twice"):
        FunctionFlow(decay, names=("v", "v"))
    with pytest.raises(ValueError, match="Argument `units` must be a sequence of words"):
        FunctionMap(decay, units="mV")
    with pytest.raises(ValueError, match="but is `prei`, did you mean `prey`?"):
        components(CATALOGUE["lotka-volterra"].system(), jnp.ones(2)).index("prei")


def test_parameters_are_found_and_changed_by_name():
    assert set(parameters(Lorenz())) == {"sigma", "rho", "beta"}
    assert float(changed(Lorenz(), {"rho": 3.0}).rho) == 3.0
    take = where(NERVE, "rate")
    assert float(take(NERVE)) == 0.5
    assert take == where(NERVE, "rate")  # nothing is compiled twice
    faster = eqx.tree_at(take, NERVE, jnp.asarray(2.0))
    assert np.allclose(faster.velocity(0.0, jnp.ones(2)), -2)
    with pytest.raises(ValueError, match="Argument `roh` must name a parameter of Lorenz.* did you mean `rho`?"):
        changed(Lorenz(), {"roh": 3.0})
    with pytest.raises(ValueError, match=r"Argument `rho` must have shape \(\), but has shape \(2,\)"):
        changed(Lorenz(), {"rho": [1.0, 2.0]})


def test_a_parameter_may_have_the_name_of_a_method_of_dictionaries():
    grown = FunctionFlow(lambda t, x, pop: pop * x, parameters={"pop": 2.0})
    assert float(where(grown, "pop")(grown)) == 2.0
    assert float(changed(grown, {"pop": 3.0}).parameters["pop"]) == 3.0


def test_functions_that_take_the_same_parameter_are_equal():
    """Programs are compiled for a function of the flow, and one written as a lambda is another one at every call."""
    take, value = real_parameter("where", lambda flow: flow.parameters["rate"], NERVE)
    assert value == float(take(NERVE)) == 0.5
    assert take == real_parameter("where", lambda flow: flow.parameters["rate"], NERVE)[0] == where(NERVE, "rate")
    curves = [
        (Parameter(Lorenz(), rho, 0.0, 1.0).take, Parameter(Logistic(), r, 0.0, 1.0).take)
        for rho, r in [(lambda f: f.rho, lambda f: f.r) for _ in range(2)]
    ]
    assert curves[0] == curves[1]


def test_a_function_that_takes_no_leaf_or_one_in_two_places_stays_as_it_is():
    double, shared = lambda flow: 2 * flow.rho, jnp.asarray(3.0)
    assert real_parameter("where", double, Lorenz())[0] is double
    twice = FunctionFlow(lambda t, x, a, b: a * x, parameters={"a": 1.0, "b": 2.0})
    twice = eqx.tree_at(lambda f: (f.parameters["a"], f.parameters["b"]), twice, (shared, shared))
    second = lambda flow: flow.parameters["b"]
    assert real_parameter("where", second, twice) == (second, 3.0)


def test_what_is_no_parameter_is_said_with_the_nearest_name():
    for missing, sentence in (
        (lambda flow: flow.rate, r'FunctionFlow has no `rate`, did you mean `parameters\["rate"\]`'),
        (lambda flow: flow.parameters["rte"], "finds no `rte`, did you mean `rate`?"),
        (lambda flow: flow.parametres, "FunctionFlow has no `parametres`, did you mean `parameters`?"),
    ):
        with pytest.raises(ValueError, match=f"Argument `where` must return a real number of the flow, but {sentence}"):
            real_parameter("where", missing, NERVE)


def test_the_names_reach_run_files_and_xarray(tmp_path):
    pytest.importorskip("xarray")
    run = simulate(NERVE, jnp.ones(2), [0.0, 1.0], integrator=Scipy(rtol=1e-6), error_estimate=True)
    table = to_xarray(run)
    assert table.state_error.dims == table.state.dims
    assert np.array_equal(table.state_error, run.stats.error)
    assert float(table.state.sel(coordinate="v")[-1]) == pytest.approx(np.exp(-0.5))
    assert list(table.unit.values) == ["mV", ""]
    assert table.time.attrs["units"] == "ms"
    save(tmp_path / "run.npz", run)
    trust = (f"{__name__}:decay", "tests/systems/test_named.py:decay")
    again = load(tmp_path / "run.npz", trust=trust)
    assert again.system.names == ("v", "w")
    assert np.array_equal(rerun(tmp_path / "run.npz", trust=trust).ys, run.ys)
    assert list(to_xarray(iterate(Logistic(), jnp.asarray([0.3]), 2)).coordinate.values) == ["x"]


def test_every_kind_of_system_has_a_name_and_its_parameters_are_options(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    own = f"{tmp_path}/mine.py"
    assert float(named("lorenz --rho 25 --start -1 2 -3").system.rho) == 25
    assert np.array_equal(named("lorenz --rho 25 --start -1 2 -3").start, [-1, 2, -3])
    assert named("--frequencies -1 0 1/2 2 kuramoto").system.names[-1] == "theta_4"
    assert named("token-flow --tokens 3 --dimension 2 --beta 2").start.shape == (3, 2)
    assert float(named("fast-slow/van-der-pol --epsilon 0.1").system.epsilon) == 0.1
    assert named("master-equation --size 4").start.shape == (4,)
    assert named("prototypes --prototypes 3 --points 9").start.shape == (3, 2)
    mine = named(f"{own}:field --mu 3 --rates 1 5 --names a b").system
    assert np.allclose(mine.velocity(0.0, jnp.asarray([1.0, 2.0])), [2, 15])
    assert float(named(f"{own}:grow --map --r=3").system.step(0, jnp.ones(1))[0]) == 3


def test_arguments_that_are_true_or_false_are_turned_on_and_off(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    own, x = f"{tmp_path}/mine.py:pushed", jnp.asarray([2.0])
    for words, velocity in (("", -2), ("--push", -1), ("--no-damped --push true", 1), ("--mu 3 --push 0", -6)):
        system = named(f"{own} {words}").system
        assert float(system.velocity(0.0, x)[0]) == velocity
        assert list(parameters(system)) == ["mu"]
    run = simulate(system, x, [0.0, 1.0], integrator=Scipy())
    save(tmp_path / "run.npz", run)
    assert np.array_equal(rerun(tmp_path / "run.npz", trust=(own,)).ys, run.ys)


@pytest.mark.parametrize(("words", "sentence"), [
    ("MINE:pushed --push 2", r"`push` must be true or false \(`--push`, `--no-push`\), but is `2`"),
    ("MINE:pushed --no-mu", r"a parameter of .*mine.py:pushed` \(mu, push, damped\), but is neither"),
    ("lorenz --roh 3", r"`roh` must be an option of `dynsim portrait` or a parameter of `lorenz` \(sigma, rho, beta"),
    ("lorens", "did you mean `lorenz`?"),
    ("lorenz --rho", "Argument `rho` must be given with a value"),
    ("lorenz --rho much", "Argument `rho` must be a finite number"),
    ("lorenz --start 1 2", "Argument `start` must have 3 numbers, one for each component, but has 2"),
    ("gradient --heads 2", "Argument `heads` must be left out for `gradient`"),
    ("growing", "is not a single flow"),
    ("MINE:field --nu 3", r"a parameter of .*mine.py:field` \(mu, rates\), but is neither, did you mean `--mu`?"),
    ("MINE:number", "must be a function, a flow or a map"),
])  # fmt: skip
def test_what_does_not_exist_is_refused_with_the_nearest_name(tmp_path, words, sentence):
    (tmp_path / "mine.py").write_text(OWN)
    with pytest.raises(ValueError, match=sentence):
        named(words.replace("MINE", f"{tmp_path}/mine.py"))


@pytest.mark.slow
def test_a_command_for_flows_refuses_maps():
    with pytest.raises(ValueError, match="Argument `system` must be a flow for `dynsim portrait`, but `logistic` is a"):
        flow(parse_system(SystemOptions, ["logistic"], "portrait"), "portrait")


def test_the_jumps_and_the_longest_step_of_a_function_are_options(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    flow = named(f"{tmp_path}/mine.py:field --breaks 51 50 --longest-step 0.5").system
    assert flow.breakpoints(0.0, 100.0).tolist() == [50.0, 51.0]
    assert flow.step_limit() == 0.5
    assert named(f"{tmp_path}/mine.py:field").system.step_limit() == np.inf
    with pytest.raises(ValueError, match="`breaks` must be left out for a map, but is"):
        named(f"{tmp_path}/mine.py:grow --map --breaks 3")
    with pytest.raises(ValueError, match="`longest_step` must be a positive number, but is -1"):
        named(f"{tmp_path}/mine.py:field --longest-step -1")


def test_the_factor_of_attention_is_an_option_and_its_default_is_said():
    flow, own = (named(f"causal --tokens 2 --dimension 4 {words}").system for words in ("", "--scale 2.5"))
    assert (float(flow.scale), float(own.scale)) == (0.5, 2.5)
    o = Simulate("causal")
    assert factor(o, flow) == "attention is multiplied by 1/sqrt(4) = 0.5 (`--scale 1` leaves this factor out)"
    assert factor(dataclasses.replace(o, scale=2.5), own) == factor(Simulate("published-gradient"), flow) == ""


@pytest.mark.parametrize("name", CATALOGUE)
def test_systems_of_the_catalogue_keep_the_precision_of_a_state(name):
    system, x = CATALOGUE[name].system(), jnp.asarray(CATALOGUE[name].start, jnp.float32)
    if isinstance(system, AbstractFlow):
        assert jax.eval_shape(system.vector_field, 0.0, x).dtype == jnp.float32
        assert doubles(system.vector_field, np.float64(0.1), x) == []  # also where the time is in float64
    else:
        assert jax.eval_shape(lambda x: iterate(system, x, 3).ys, x).dtype == jnp.float32
        assert doubles(lambda x: system.image(0, x), x) == []


def test_a_state_of_integers_does_not_round_the_velocity():
    flow = FunctionFlow(lambda t, x: -0.5 * x)
    with jax.numpy_dtype_promotion("standard"):
        assert flow.vector_field(0.0, jnp.asarray([1, 3])).tolist() == [-0.5, -1.5]
