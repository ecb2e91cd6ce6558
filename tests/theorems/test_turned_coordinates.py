"""Numbers of normal forms do not depend on coordinates: after rotations that mix components, and in another order."""

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from analysis import theorems as th

pytest.importorskip("flint")

LAST_FIRST = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
MIXED = LAST_FIRST @ np.array([[0.6, -0.8, 0.0], [0.64, 0.48, -0.6], [0.48, 0.36, 0.8]])  # rotations by 3-4-5
ROUND = lambda x, a, b: a * x[0] - x[1] + b * x[0] * (x[0] ** 2 + x[1] ** 2) - x[0] * (x[0] ** 2 + x[1] ** 2) ** 2
BESIDE = lambda x, a, b: a * x[1] + x[0] + b * x[1] * (x[0] ** 2 + x[1] ** 2) - x[1] * (x[0] ** 2 + x[1] ** 2) ** 2

POINTS = {
    "fold": (th.fold, 1, False, lambda x, a, b: [
        a + x[0] ** 2 + x[0] * x[1] / 2, x[0] ** 2 - x[1], a / 2 + x[0] * x[1] - 2 * x[2]]),
    "hopf": (th.hopf, 1, False, lambda x, a, b: [
        a * x[0] - x[1] - x[0] ** 3 + x[0] * x[2] / 5, x[0] + a * x[1] + x[0] ** 2, x[0] * x[1] - x[2]]),
    "transcritical": (th.transcritical, 1, False, lambda x, a, b: [
        a * x[0] - x[0] ** 2 + x[0] * x[1], x[0] ** 2 - x[1], a * x[0] / 2 + x[0] * x[1] - 2 * x[2]]),
    "cusp": (th.cusp, 2, False, lambda x, a, b: [
        a + b * x[0] - x[0] ** 3 + 3 * x[0] * x[1], x[0] ** 2 - 2 * x[1], a / 2 + x[0] * x[1] - x[2]]),
    "bogdanov_takens": (th.bogdanov_takens, 2, False, lambda x, a, b: [
        x[1], a + b * x[0] + x[0] ** 2 - x[0] * x[1] + x[2] / 10, x[0] ** 2 - x[2]]),
    "bautin": (th.bautin, 2, False, lambda x, a, b: [
        ROUND(x, a, b) + x[0] * x[2] / 5, BESIDE(x, a, b), x[0] * x[1] - x[2]]),
    "flip": (th.flip, 1, True, lambda x, a, b: [
        -(1 + a) * x[0] + x[0] ** 2 - 2 * x[0] ** 3 + x[0] * x[1] / 3, x[0] ** 2 + x[1] / 2, x[0] * x[1] + x[2] / 4]),
    "neimark_sacker": (th.neimark_sacker, 1, True, lambda x, a, b: [
        (1 + a) * (0.6 * x[0] - 0.8 * x[1]) + x[0] ** 2, (1 + a) * (0.8 * x[0] + 0.6 * x[1]) - x[0] ** 3 + x[0] * x[2],
        x[2] / 2 + x[0] * x[1]]),
}  # fmt: skip


def found(name, turn):
    theorem, count, is_map, base = POINTS[name]
    field = lambda t, x, a, b=0.0: jnp.asarray(turn) @ jnp.stack(base(turn.T @ x, a, b))
    known = dict.fromkeys("ab"[:count], 0.001)
    system = (ds.FunctionMap if is_map else ds.FunctionFlow)(field, parameters=known, names=("x", "y", "z"))
    both = tuple(ds.Parameter(system, one, -1.0, 1.0) for one in known)
    at = 0.0 if name == "transcritical" else 0.001
    values, near = [at] * count, np.full(3, at)
    return theorem(both, values, near) if count == 2 else theorem(both[0], values[0], near)


@pytest.mark.parametrize("name", POINTS)
def test_numbers_of_normal_forms_are_those_of_other_coordinates(name):
    plain = found(name, np.eye(3))
    assert plain.applies, str(plain)
    for turn in (LAST_FIRST, MIXED) if name != "bautin" else (MIXED,):
        other = found(name, turn)
        assert other.applies, str(other)
        assert other.numbers == pytest.approx(plain.numbers, rel=1e-9, abs=1e-10)
        for one, same in zip(plain.hypotheses[2:], other.hypotheses[2:], strict=True):
            assert one.margin == pytest.approx(same.margin, rel=1e-9)
