"""Run files of hybrid systems: all phases, all transitions, and the same bits when they are run again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim.integrators import Event, Scipy
from dynsim.io.npz import read_arrays
from dynsim.io.serialisation import share
from dynsim.simulation.growing import descend, simulate_growing
from dynsim.simulation.hybrid import Transition, crossings, simulate_hybrid, unchanged
from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory
from dynsim.simulation.run_files import header, load, rerun, save
from dynsim.systems.base import FunctionFlow
from dynsim.systems.growing.flow import GrowingFlow
from dynsim.systems.growing.rules import GrowthRules
from tests.simulation.test_run_files import edited, in_another_process, same

TRUST = ("tests.simulation.test_hybrid_storage",)


def falling(t, x):
    return jnp.stack([x[1], jnp.asarray(-1.0)])


def height(t, x):
    return x[0]


def bounce(flow, t, x):
    return flow, x.at[1].multiply(-0.5)


def lifted(event, t, x):
    return jnp.stack([jnp.asarray(1.0), x[1]])


def ball(reset=bounce, **options) -> HybridTrajectory:
    return simulate_hybrid(FunctionFlow(falling), jnp.asarray([1.0, 0.0]), np.linspace(0.0, 5.0, 6),
        [Transition("bounce", Event(height, -1), reset)], integrator=Scipy(), **options)  # fmt: skip


def growing() -> GrowingFlow:
    rng = np.random.default_rng(0)
    rules = GrowthRules(capacity=2, prototypes=2, dwell=1.0)
    return GrowingFlow(rng.normal(size=(12, 4)), rng.normal(size=(4, 4)), rules=rules, temperature_rate=3.0)


@pytest.fixture(scope="module")
def grown() -> HybridTrajectory:
    flow = growing()
    return simulate_growing(flow, flow.start(jax.random.key(1)), [0.0, 1.5, 3.0], integrator=Scipy())


@pytest.fixture
def file(grown, tmp_path):
    save(tmp_path / "grown.npz", grown, seed=1)
    return tmp_path / "grown.npz"


@pytest.mark.slow
def test_a_growing_run_comes_back_whole_and_another_process_makes_the_same_bits(grown, file):
    assert len(grown.phases) > 2
    assert same(load(file), grown)
    code = "import sys, dynsim as ds; ds.save(sys.argv[1] + '.again', ds.rerun(sys.argv[1]), seed=1)"
    in_another_process(code, file)
    assert file.with_suffix(".npz.again").read_bytes() == file.read_bytes()
    assert (header(file)["kind"], header(file)["dtype"]) == ("HybridTrajectory", "float64")


@pytest.mark.slow
def test_what_phases_have_in_common_is_stored_once(grown, file):
    arrays = read_arrays(file)
    tokens = np.asarray(growing().data)
    assert sum(a.shape == tokens.shape and np.array_equal(a, tokens) for a in arrays.values()) == 1
    assert np.array_equal(arrays["phases.1.ys.cubes"], grown.phases[1].ys.cubes)


def test_equal_arrays_of_different_types_are_not_shared():
    arrays = {name: np.zeros(2, dtype) for name, dtype in (("a", "f4"), ("b", "f8"), ("c", "f8"))}
    node = {"dict": {"jax": "text", "x": {"list": [{"jax": "a"}, {"jax": "b"}, {"numpy": "c"}]}}}
    found = share(node, arrays, {})
    assert found["dict"] == {"jax": "text", "x": {"list": [{"jax": "a"}, {"jax": "b"}, {"numpy": "b"}]}}
    assert sorted(arrays) == ["a", "b"]


@pytest.mark.slow
def test_the_algorithm_and_crossings_with_an_action_are_run_again(tmp_path):
    flow = growing()
    steps = descend(flow, flow.start(jax.random.key(1)), 8, every=3, gate_power=0.6)
    events = [Event(height, -1)]
    lift = crossings(
        FunctionFlow(falling), jnp.asarray([1.0, 0.0]), [0.0, 4.0], events, action=lifted, integrator=Scipy()
    )
    for name, run in (("steps", steps), ("lift", lift)):
        assert run.jumps
        save(tmp_path / name, run)
        assert same(rerun(tmp_path / name, trust=TRUST), run)


def test_a_run_that_ends_at_its_cap_is_run_again(tmp_path):
    made = ball(max_transitions=3, dwell=0.1)
    assert made.ending is Ending.CAPPED
    save(tmp_path / "ball.npz", made)
    with pytest.raises(ValueError, match="Argument `trust` must name `tests.simulation.test_hybrid_storage:"):
        load(tmp_path / "ball.npz")
    assert same(rerun(tmp_path / "ball.npz", trust=TRUST), made)


def test_the_first_state_is_that_before_a_transition_at_the_start():
    made = ball()
    assert made.initial.tolist() == [1.0, 0.0]
    at_once = Transition("lift", Event(lambda t, x: x[0] - 0.5, 1), lambda flow, t, x: (flow, x - 1.0), immediate=True)
    lowered = simulate_hybrid(FunctionFlow(falling), made.initial, [0.0, 1.0], [at_once], integrator=Scipy())
    assert lowered.initial.tolist() == [1.0, 0.0]
    assert lowered.phases[0].initial.tolist() == [0.0, -1.0]


def test_resets_that_cannot_be_found_again_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`recipe.transitions.0.reset` must be named at the top level .* is a lambda"):
        save(tmp_path / "run.npz", ball(lambda flow, t, x: (flow, -x)))
    assert not (tmp_path / "run.npz").exists()


def test_what_is_no_run_is_refused(grown, tmp_path):
    with pytest.raises(ValueError, match="`run` must be a trajectory, a run of a hybrid system or an ensemble"):
        save(tmp_path / "run.npz", grown.phases)


def test_a_part_of_a_run_is_stored_and_not_run_again(grown, tmp_path):
    part = HybridTrajectory(grown.phases[:1], (), Ending.FINISHED)
    save(tmp_path / "part.npz", part)
    assert same(load(tmp_path / "part.npz"), part)
    with pytest.raises(ValueError, match="must hold the recipe of its run, but does not"):
        rerun(tmp_path / "part.npz")


@pytest.mark.parametrize(("change", "what"), [
    (lambda parts: parts.update(phases={"tuple": [1]}), "the part `phases`"),
    (lambda parts: parts.update(jumps={"tuple": [1]}), "the part `jumps`"),
    (lambda parts: parts["jumps"]["tuple"][0]["fields"].update(time="0"), "the part `jumps`"),
    (lambda parts: parts.update(ending="FINISHED"), "the part `ending`"),
    (lambda parts: parts.update(recipe=7), "the recipe"),
    (lambda parts: parts.update(phases={"tuple": []}, jumps={"tuple": []}), "the part `jumps`"),
])  # fmt: skip
def test_parts_of_another_type_are_refused(file, change, what):
    edited(file, lambda text: change(text["run"]["fields"]))
    with pytest.raises(ValueError, match=f"must be a complete run file, but {what} of .* does not fit a run"):
        load(file)


def test_times_that_cannot_be_run_are_refused(file):
    def backwards(text):
        text["run"]["fields"]["recipe"]["fields"]["max_transitions"] = 0

    with pytest.raises(ValueError, match="run can be computed again, but .*`max_transitions` must be at least 1"):
        rerun(edited(file, backwards))


def test_only_events_at_one_time_make_a_run_without_phases(tmp_path):
    stop = Transition("stop", Event(height, 1), unchanged, immediate=True, terminal=True)
    made = simulate_hybrid(FunctionFlow(falling), jnp.ones(2), [0.0, 1.0], [stop], integrator=Scipy())
    assert not made.phases
    save(tmp_path / "run.npz", made)
    assert same(rerun(tmp_path / "run.npz", trust=TRUST), made)
