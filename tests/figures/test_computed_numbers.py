"""What dear figures compute: the flows, starts, times and parts of results that they take; long runs are stand-ins."""

import inspect
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from analysis.experiments.prototypes.debris import Descent
from analysis.fast_slow.critical_manifold import KINDS
from dynsim.systems.fast_slow.flow import FastSlow
from dynsim.systems.prototypes.assignments import prototype_variance, separation
from dynsim.systems.prototypes.losses import PrototypeLoss
from dynsim.systems.tokens.published import SYMMETRIC_VALUE
from figures.consensus import simulations, trained_networks
from figures.growing import growth
from figures.hardmax import geometry
from figures.multirate import chains, network, slow_manifolds
from figures.prototypes import bifurcations, descents, experiments, portraits, slow_manifold
from figures.prototypes.portraits import EMBEDDINGS


def stub(**parts: Any) -> Any:
    return SimpleNamespace(**parts)


def portrait(flow, count):
    return stub(arrays=lambda: {"flow": flow, "count": count})


def test_the_second_token_on_the_circle_rests_at_the_first_its_antipode_and_beside_it(monkeypatch):
    """Without queries it moves by U times the mean of both tokens, over the root of 2."""
    monkeypatch.setattr(simulations, "circle_portrait", portrait)
    made = simulations.circle_figure.compute(None)

    def turning(x):
        v = made["flow"].velocity(0.0, jnp.asarray(x))
        return float(x[0] * v[1] - x[1] * v[0])

    beside = np.sqrt(0.84)
    assert [turning(x) for x in ([1.0, 0.0], [-1.0, 0.0], [-0.4, beside], [-0.4, -beside])] == pytest.approx([0.0] * 4)
    assert turning([0.0, 1.0]) == pytest.approx(-1 / np.sqrt(8))
    assert turning([-0.8, 0.6]) > 0  # to the antipode
    assert made["count"] == 180


def test_the_first_token_on_the_sphere_is_driven_by_its_value_alone(monkeypatch):
    monkeypatch.setattr(simulations, "sphere_portrait", portrait)
    made = simulations.sphere_figure.compute(None)
    for k, row in enumerate(np.eye(3)):
        np.testing.assert_allclose(
            made["flow"].velocity(0.0, jnp.asarray(row)), np.asarray(SYMMETRIC_VALUE)[k] / np.sqrt(3)
        )
    top = np.max(np.linalg.eigvalsh(SYMMETRIC_VALUE))
    np.testing.assert_allclose(np.asarray(SYMMETRIC_VALUE) @ made["axis"], top * made["axis"], atol=1e-12)


def test_conditions_of_a_network_are_those_of_both_of_its_matrices(monkeypatch):
    P, U = np.diag([1.0, 2.0])[None, None], np.diag([-4.0, 1.0])[None, None] * np.ones((3, 2, 1, 1))
    monkeypatch.setattr(trained_networks, "data_file", lambda name: stub(stem="small"))
    monkeypatch.setattr(trained_networks, "load_transformer", lambda path: path)
    schedules = stub(values=P * np.ones((3, 2, 1, 1))), stub(values=U)
    monkeypatch.setattr(trained_networks, "attention_schedules", lambda model: schedules)
    made = trained_networks.spectra_figure.compute(None)
    for name, ends in (("P", (0.5, 1.0)), ("U", (-1.0, 0.25))):
        np.testing.assert_allclose([made[f"{name} {kind}"][2, 1] for kind in ("least", "greatest")], ends)
        assert np.all(made[f"{name} asymmetry"] == 0)
    assert str(made["run"]) == "network small: 3 layers of 2 heads; the paper's is GPT-2 XL"


@pytest.mark.parametrize("name", ["passes", "redrawn", "prompts"])
def test_passes_are_those_of_the_networks_of_each_figure(monkeypatch, name):
    monkeypatch.setattr(trained_networks, "_variants", lambda *given: given)
    shown = getattr(trained_networks, f"{name}_figure")
    names = {"passes": ("trained", "random"), "redrawn": ("redrawn", "redrawn, attention only"),
             "prompts": tuple(f"prompt {k}" for k in range(1, 6))}[name]  # fmt: skip
    assert (shown.compute(None), shown.compute_paper_size(None)) == ((names, "quick"), (names, "paper"))


def test_attention_is_the_mean_over_heads_before_each_layer_at_three_passes(monkeypatch):
    """A layer adds its number to the state; its two heads weigh by the state and by three times it."""
    block = stub(attention_weights=lambda y: np.reshape([y, 3 * y], (2, 1, 1)))
    model = stub(embed=lambda ids: ids, blocks=[block] * 3, states=lambda x: [x + k for k in (1.0, 3.0, 6.0)])
    monkeypatch.setattr(trained_networks, "data_file", lambda name: stub(stem="small"))
    monkeypatch.setattr(trained_networks, "load_transformer", lambda path: model)
    monkeypatch.setattr(trained_networks, "load_tokenizer", lambda path: stub(encode=lambda text: text))
    monkeypatch.setattr(trained_networks, "states_after", lambda model, start, passes: [10.0 * k for k in passes])
    made = trained_networks.attention_figure.compute(None)
    assert made["passes"].tolist() == [1, 10, 100]
    np.testing.assert_allclose(made["weights"][..., 0, 0], 2 * (10.0 * np.array([[0], [9], [99]]) + [0, 1, 3]))
    assert str(made["run"]) == "network small: 3 layers of 2 heads; the paper's is GPT-2 XL"


def test_balls_around_limit_points_are_almost_as_large_as_the_proof_allows():
    """The proof of Lemma 4.5 needs (2 max |s| + r) r < room / 2: then x separates the other balls from its own."""
    made = geometry.separation_figure.compute(None)
    s, r = made["points"], float(made["radius"])
    room = np.min(s[0] @ s[0] - s[1:] @ s[0])
    assert 0.96 < (2 * np.max(np.linalg.norm(s, axis=1)) + r) * r / (room / 2) < 1
    np.testing.assert_allclose(np.linalg.norm(made["starts"] - s[0], axis=1), r)
    for x in made["starts"]:
        assert np.max(s[1:] @ x) + r * np.linalg.norm(x) < x @ x


def test_leaks_are_those_of_one_network_by_its_mask_and_its_gates(monkeypatch):
    monkeypatch.setattr(network, "draw_multirate", lambda key, config, dtype: (jax.random.key_data(key), config))
    monkeypatch.setattr(network, "with_gates", lambda model, gate: (*model, gate))
    monkeypatch.setattr(network, "leak_matrix", lambda model, ids: np.array([model, ids], object))
    made = network.leaks_figure.compute(jax.random.key(3))
    keys, configs, gates = zip(*(model for model, _ in made.values()), strict=True)
    assert [(one.slow_mask, one.block, gate) for one, gate in zip(configs, gates, strict=True)] == [
        ("causal", 4, 1.0), ("full", 4, 1.0), ("full", 4, 0.0),
    ]  # fmt: skip
    assert len({tuple(np.asarray(key)) for key in keys}) == 1
    for _, ids in made.values():
        assert (ids.shape, int(ids.min()) >= 0, int(ids.max()) < 32) == ((26,), True, True)


def test_critical_manifolds_and_relaxing_runs_are_those_of_both_systems(monkeypatch):
    fold = lambda y, x, kind="fold": stub(kind=kind, slow=np.array([y]).sum(), fast=np.array([x]).sum())
    branch = lambda at, *folds: stub(
        slow=np.array([at, at + 1]), fast=np.array([-at, at]), kinds=("attracting", "repelling"), bifurcations=folds
    )
    seen, runs = [], []

    def branches(flow, guess, path):
        seen.append((float(flow.epsilon), guess))
        return branch(0.0, fold(2.0, 1.0), fold(9.0, 9.0, "crossing")), branch(5.0, fold(2.0, 1.0), fold(0.5, 3.0))

    def run(flow, start, ts, integrator):
        runs.append((float(flow.epsilon), np.ravel(start.fast).tolist(), np.ravel(start.slow).tolist(), ts))
        return stub(ys=FastSlow(np.full(3, 7.0), np.arange(3.0)))

    monkeypatch.setattr(slow_manifolds, "connected_branches", branches)
    monkeypatch.setattr(slow_manifolds, "simulate", run)
    made = slow_manifolds.manifold_figure.compute(None)
    for name in ("cubic", "enzyme"):
        assert made[f"{name} branches"].tolist() == [0, 0, 1, 1]
        assert (made[f"{name} slow"].tolist(), made[f"{name} fast"].tolist()) == ([0, 1, 5, 6], [0, 0, -5, 5])
        assert made[f"{name} kinds"].tolist() == ["attracting", "repelling"] * 2
        assert made[f"{name} folds"].tolist() == [[0.5, 3.0], [2.0, 1.0]]
    assert [epsilon for epsilon, _ in seen] == [1.0, 1.0]
    assert made["cubic path 2"].tolist() == made["enzyme path 0 1"].tolist() == [[0, 1, 2], [7, 7, 7]]
    assert [epsilon for epsilon, *_ in runs] == [e for e in (0.3, 0.05, 0.002) for _ in range(3)]
    assert [(fast, slow, ts[-1]) for _, fast, slow, ts in runs[1:3]] == [([0.0], [2.0], 2.0), ([0.9], [2.0], 2.0)]
    assert (runs[0][3][0], runs[0][3][-1]) == (0.0, 4.0)


def test_heads_have_their_temperatures_while_they_exist_and_the_times_of_their_events(monkeypatch):
    state = lambda cubes, at=0.0: stub(cubes=np.asarray(cubes), prototypes=np.array([[0.0], [at], [0.0], [0.0]]))
    jumps = [
        stub(name="clip", time=3.0, before=state([1.0, 1, 1, 1]), after=state([0.5, 1, 1, 1])),
        stub(name="prune", time=8.0, before=state([1.0] * 4), after=state([1.0] * 4, at=2.0)),
        stub(name="grow", time=1.0, before=state([1.0] * 4), after=state([2.0] * 4)),
    ]
    phases = [
        stub(ts=[0.0, 1.0], system=stub(active=np.arange(4) < 1), ys=stub(cubes=np.full((2, 4), 8.0))),
        stub(ts=[1.0, 2.0], system=stub(active=np.arange(4) < 2), ys=stub(cubes=np.full((2, 4), 27.0))),
    ]
    asked = []
    path = stub(phases=phases, jumps=jumps, times=lambda name: np.array([1.0]) if name == "grow" else None)
    monkeypatch.setattr(growth, "simulate_growing", lambda flow, x, ts, integrator: asked.append((flow, ts)) or path)
    monkeypatch.setattr(growth, "energy_along", lambda path, potential: stub(values=np.array(potential)))
    made = growth.timeline_figure.compute(jax.random.key(0))
    assert made["ts"].tolist() == [0.0, 1.0, 1.0, 2.0]
    np.testing.assert_allclose(made["temperatures"], [[2, -1, -1, -1]] * 2 + [[3, 3, -1, -1]] * 2)
    assert (made["births"].tolist(), made["clip"].tolist(), made["prune"].tolist()) == (
        [1.0], [3.0, 400.0, 400.0, 400.0], [400.0, 8.0, 400.0, 400.0],
    )  # fmt: skip
    assert [str(made[f"W {name}"]) for name in ("printed", "repaired")] == ["printed", "repaired"]
    ((flow, ts),) = asked
    assert (float(flow.rules.pruning), flow.rules.capacity, ts[0], ts[-1]) == (0.02, 4, 0.0, 200.0)


def test_debris_is_shown_in_two_components_and_assigned_in_all(monkeypatch):
    z = np.array([[0.0, 0.0, 5.0], [0.0, 0.0, -5.0], [9.0, 1.0, 4.0]])
    prototypes = np.array([[0.0, 0.0, -4.0], [0.0, 0.0, 4.0]])
    monkeypatch.setattr(experiments, "draw_objects", lambda key, config: stub(features=z, labels=np.array([2, 0, 1])))
    monkeypatch.setattr(experiments, "_moved", lambda key, features, options: (features, prototypes))
    made = experiments.debris_figure.compute(jax.random.key(0))
    assert (made["z"].tolist(), made["prototypes"].tolist()) == (z[:, :2].tolist(), [[0.0, 0.0]] * 2)
    assert (made["clusters"].tolist(), made["regimes"].tolist()) == ([1, 0, 1], [2, 0, 1])


def test_debris_descends_from_k_means_in_its_principal_components(monkeypatch):
    """The components are uncorrelated, and their variances are the largest of all features of variance one."""
    features = np.sin(np.arange(100.0) ** 1.5).reshape(20, 5) @ np.triu(np.ones((5, 5)))
    steps = lambda map, start, epochs, every: stub(final=[*start, epochs, every, len(map.flow.embeddings)])
    monkeypatch.setattr(experiments, "kmeans", lambda key, z, count, restarts: stub(centroids=[count, restarts]))
    monkeypatch.setattr(experiments, "iterate", steps)
    z, final = experiments._moved(jax.random.key(0), features, Descent(components=3, clusters=4, restarts=2, epochs=7))
    largest = np.linalg.eigvalsh(np.corrcoef(features.T))[:1:-1]
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.diag(largest), atol=1e-12)
    assert final.tolist() == [4, 2, 7, 7, 20]


def test_equilibria_of_pairs_are_sought_in_cells_where_both_velocities_change_sign(monkeypatch):
    """Of the places that are found, those beyond the grid of the figures, still moving or known are left out."""
    square = np.stack(np.meshgrid(np.arange(-1.0, 3.0), np.arange(-1.0, 3.0)), axis=-1)
    x, y = square[..., 0], square[..., 1]
    asked, places = [], iter([(3.9, 0, 0), (3.9, 5e-7, 0), (3.9, 2e-6, 0), (0, -4.1, 0), (1, 1, 1e-11), (-4, 2, 9e-13)])

    def newton(flow, start):
        asked.append(start[:, 0].tolist())
        *place, speed = next(places)
        return jnp.array(place)[:, None], speed

    monkeypatch.setattr(portraits, "newton", newton)
    monkeypatch.setattr(portraits, "spectrum", lambda flow, state: stub(kind=f"at {float(state[0, 0]):g}"))
    field = np.stack([(x + 0.5) * (x - 0.5), (y + 0.5) * (y - 0.5) * (y - 1.5)], axis=-1)
    found = [(place.tolist(), kind) for place, kind in portraits._equilibria(stub(), square, field)]
    assert asked == [[across, up] for up in (-0.5, 0.5, 1.5) for across in (-0.5, 0.5)]
    assert found == [([3.9, 0.0], "at 3.9"), ([3.9, 2e-6], "at 3.9"), ([-4.0, 2.0], "at -4")]


def test_branches_of_pairs_begin_at_the_meeting_and_runs_at_one_start_for_each_ratio(monkeypatch):
    branches, runs = [], []

    def branch(weight, start, *, steps):
        branches.append((weight.low, weight.high, float(weight.value), start.tolist(), steps.first, steps.largest))
        states = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
        return stub(parameters=np.array([0.6, 1.8]), states=states, kinds=("saddle", "stable"))

    def path(flow, start, ts, *, integrator):
        runs.append(
            (flow.ratio, flow.loss.gradient, np.ravel(start.encoder), np.ravel(start.prototypes), ts[0], ts[-1])
        )
        assert np.all(np.diff(ts) > 0)
        return stub(ys=stub(encoder=np.full((2, 1, 1), 5.0), prototypes=np.array([[[6.0], [0]], [[7], [0]]])))

    monkeypatch.setattr(slow_manifold, "critical_temperature", lambda z, loss: 4.0 if loss.gradient == "full" else 1.0)
    monkeypatch.setattr(slow_manifold, "continue_equilibria", branch)
    monkeypatch.setattr(slow_manifold, "simulate", path)
    made = slow_manifold.manifold_figure.compute(None)
    begun = [[1.6], [0.4]]
    assert branches == [(0.501, 1.8, 1.8, begun, 0.01, 0.04), (1.001, 1.8, 1.8, begun, 0.01, 0.04)]
    ratios = [(0.5, 24.0), (0.05, 240.0), (0.005, 2400.0)]
    assert [(float(run[0]), run[1], run[5]) for run in runs] == [
        (pytest.approx(ratio), mode, pytest.approx(end)) for mode in ("full", "frozen") for ratio, end in ratios
    ]
    assert all((*one, *pair, first) == (1.6, 1.6, 0.4, 0.0) for _, _, one, pair, first, _ in runs)
    assert (float(made["full meeting"]), float(made["frozen meeting"])) == (0.5, 1.0)
    assert made["full separate"].tolist() == [[1.8, 3.0], [0.6, 1.0]]
    assert made["full separate kinds"].tolist() == [KINDS["stable"], KINDS["saddle"]]
    assert made["frozen path 2"].tolist() == [[5.0, 6.0], [5.0, 7.0]]


def test_branches_in_temperature_begin_apart_and_with_the_full_gradient_also_far_away(monkeypatch):
    """Temperatures are stated in variances of the embeddings, of the flow with the mean loss."""
    asked, variance = [], np.var(EMBEDDINGS)

    def branch(temperature, guess, *, steps):
        ends = np.array([temperature.low, temperature.high, float(temperature.value)]) / variance
        asked.append((*ends.round(9), *guess[:, 0].tolist(), steps.first, steps.largest))
        states = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
        return stub(parameters=variance * np.array([0.5, 6.0]), states=states, kinds=("saddle", "stable"))

    monkeypatch.setattr(bifurcations, "branch_in_temperature", branch)
    monkeypatch.setattr(
        bifurcations, "critical_temperature", lambda z, loss: (4 if loss.gradient == "full" else 2) * np.var(z)
    )
    made = bifurcations.bifurcations_figure.compute(None)
    apart, far = (0.4, 6.0, 0.4, 1.0, -1.0, 0.025, 0.1), (0.4, 6.0, 5.0, 3.2, -0.1, 0.025, 0.1)
    other = (0.4, 6.0, 5.0, -3.2, 0.1, 0.025, 0.1)
    assert asked == [pytest.approx(one) for one in (apart, far, other, apart)]
    assert (float(made["full meeting"]), float(made["frozen meeting"])) == (pytest.approx(4), pytest.approx(2))
    assert (int(made["full branches"]), int(made["frozen branches"])) == (3, 1)
    np.testing.assert_allclose(made["full 2"], [[0.5, 1, 2], [6, 3, 4]])
    assert made["frozen 0 kinds"].tolist() == [KINDS["saddle"], KINDS["stable"]]


def test_candidates_run_from_one_start_in_both_modes_at_both_temperatures(monkeypatch):
    seen, variance = [], np.var(EMBEDDINGS)

    def path(flow, start, ts, *, integrator):
        cool = flow.temperature
        ends = [float(cool.start) / variance, float(cool.floor) / variance, float(cool.time_constant)]
        seen.append(
            (flow.loss.gradient, float(flow.loss.barrier), *ends, *start[:, 0].tolist(), ts[0], ts[-1], len(ts))
        )
        return flow

    monkeypatch.setattr(descents, "simulate", path)
    monkeypatch.setattr(descents, "_candidates", lambda path: np.array([[1.0, 2.0], [3.0, 4.0]]))
    made = descents.lyapunov_figure.compute(None)
    expected = [(mode, 0.02, 3, floor, 4, -0.5, 0.9, 0, 12, 301) for mode in ("full", "frozen") for floor in (3, 0.3)]
    for one, other in zip(seen, expected, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:])
    assert (made["frozen annealed W"].tolist(), made["full constant F"].tolist()) == ([1.0, 3.0], [2.0, 4.0])
    assert float(made["arrival"]) == pytest.approx(4 * np.log(10))


def test_paths_show_the_variance_of_one_embedding_and_the_separation(monkeypatch):
    z, p = jnp.asarray(np.random.default_rng(3).normal(size=(60, 2))), jnp.array([[0.0, 0.0], [1.0, 0.5], [0.0, 2.0]])
    flow = stub(embeddings=z, temperature=lambda t: 0.5 + t, loss=stub(barrier=0.25))
    along = stub(system=flow, along_time=lambda fn: fn(1.0, p))
    expected = [prototype_variance(z, p, 1.5) / 60, separation(p)]
    np.testing.assert_allclose(inspect.unwrap(descents._plane)(along), expected)
    losses = [PrototypeLoss(mode, barrier=0.25, reduction="mean") for mode in ("full", "frozen")]
    found = inspect.unwrap(descents._candidates)(along)
    np.testing.assert_allclose(found, [one.potential(z, p, 1.5) for one in losses])


def test_entropies_fall_from_four_states_for_six_times_the_slowest_decay(monkeypatch):
    """The chain has equal shares at rest; runs stay at the mean of their start and these."""
    runs, orbits, even = [], [], np.full(6, 1 / 6)

    def path(Q, p0, end, count):
        runs.append((p0.tolist(), end, count))
        return np.tile((p0 + even) / 2, (count, 1))

    def orbit(Q, p0, share, steps):
        orbits.append((p0.tolist(), steps))
        return np.array([[1.0, 0.0, 0.0], [share, 0.0, 1 - share]])

    monkeypatch.setattr(chains, "_path", path)
    monkeypatch.setattr(chains, "_orbit", orbit)
    monkeypatch.setattr(chains, "random_generator", lambda key, n: (key, n))
    monkeypatch.setattr(chains, "spectral_gap", lambda Q: stub(value=0.5))
    rest = lambda Q: stub(probabilities=even if isinstance(Q, tuple) else np.full(3, 1 / 3))
    monkeypatch.setattr(chains, "stationary_distribution", rest)
    monkeypatch.setattr(chains, "dissipation", lambda Q, p, pi: p[0])
    made = chains.entropy_figure.compute(None)
    mixed = 0.9 * np.eye(6)[0] + 0.1 * even
    for (start, end, count), expected in zip(runs, [*np.eye(6)[:4], mixed], strict=True):
        assert (start, end, count) == (pytest.approx(expected), 12.0, 601)
    p = (np.eye(6)[0] + even) / 2
    np.testing.assert_allclose(made["entropies"], np.full((4, 601), np.sum(p * np.log(6 * p))))
    np.testing.assert_allclose(made["dissipation"], (mixed[0] + 1 / 6) / 2)
    np.testing.assert_allclose(made["differences"], 0.0, atol=1e-12)
    assert orbits == [([0.0, 0.08, 0.92], 24)] * 3
    for share in (0.25, 0.9, 1.0):
        left = np.log(3) + share * np.log(share) + (1 - share) * np.log(max(1 - share, 1e-300))
        np.testing.assert_allclose(made[f"orbit {share}"], [np.log(3), left])


def test_a_token_that_follows_more_than_two_is_drawn_with_the_first_and_a_mark():
    sets = stub(which=np.zeros(3), of=lambda i: ((2,), (1, 2), (1, 2, 4))[i])
    first, second, third = geometry.followed_pairs(sets).tolist()
    assert (first[0], second, third[0]) == (2, [1, 2], 1)
    assert (first[1], third[1]) == (geometry.NO_SECOND, geometry.MORE_THAN_TWO)
