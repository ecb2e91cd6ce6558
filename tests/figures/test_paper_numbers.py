"""Numbers of the papers' figures, computed beside from matrix exponentials, powers and events."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import expm

from dynsim.simulation.hybrid_trajectory import Ending, HybridTrajectory, Jump
from figures.growing import growth
from figures.multirate import chains


class Heads(NamedTuple):
    cubes: Any
    prototypes: Any


def test_solutions_of_chains_are_exponentials_and_orbits_powers():
    Q, p = chains.CHAINS["cycle"], np.array([0.5, 0.3, 0.2])
    ts = np.linspace(0.0, 1.5, 4)
    np.testing.assert_allclose(chains._path(Q, p, 1.5, 4), [expm(t * np.asarray(Q)) @ p for t in ts], atol=1e-12)
    step = np.eye(3) + 0.25 * np.asarray(Q)  # every state is left at rate 1
    orbit = [np.linalg.matrix_power(step, k) @ p for k in range(4)]
    np.testing.assert_allclose(chains._orbit(Q, p, 0.25, 3), orbit, atol=1e-14)


def test_events_of_heads_are_told_by_what_they_change():
    state = lambda cubes, prototypes: Heads(np.array(cubes), np.array(prototypes))
    begin, bank = [1.0, 1.0, 1.0, 1.0], np.zeros((4, 2, 1))
    moved = bank.copy()
    moved[3, 1] = 1.0
    jumps = (
        Jump(0, "grow", 1.0, state(begin, bank), state([1, 2, 1, 1], moved)),
        Jump(1, "clip", 3.0, state(begin, bank), state([1.0, 0.5, 1.0, 1.0], moved)),
        Jump(2, "prune", 5.0, state(begin, bank), state([0.5, 1.0, 1.0, 1.0], moved)),
    )
    path = HybridTrajectory((), jumps, Ending.FINISHED)
    never = 2 * growth.END
    assert growth._times(path, "clip").tolist() == [never, 3.0, never, never]
    assert growth._times(path, "prune").tolist() == [never, never, never, 5.0]
