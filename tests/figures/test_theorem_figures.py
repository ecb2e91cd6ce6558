"""Pictures of conditions: signs on the region, curves, witnesses."""

import numpy as np

import dynsim as ds
from analysis import theorems as th
from analysis.theorems.conditions import Conditions, together
from analysis.theorems.subdivision import positive

FLAT = th.box([(-1.0, 1.0), (-1.0, 1.0)])
HALF = th.where([(-1.0, 1.0), (-1.0, 1.0)], lambda x: x[0])


def labels(drawn):
    return {text.get_text() for text in drawn.legend.get_texts()} if drawn.legend else set()


def test_signs_of_conditions_fill_the_part_of_the_region_in_which_they_count():
    row = together("positive", "x > 0", [positive(lambda x: x[0] + 0.03, HALF), positive(lambda x: x[1] + 2, FLAT)])
    found = Conditions("A theorem", (row,), "it holds", "it fails", FLAT, ds.system("x' = -x; y' = -y"))
    drawn = found.plot(field=False)
    assert labels(drawn) == {"all conditions hold"}  # the first counts in the right half only
    row = together("positive", "y > 0", [positive(lambda x: x[1] + 0.03, FLAT)])
    drawn = found._replace(hypotheses=(row,)).plot()
    assert labels(drawn) == {"all conditions hold", "a condition fails", "not decided on these cells", "witness"}
    assert [len(drawn[name]) for name in ("signs", "witnesses", "curves")] == [1, 1, 0]
    assert found.plot(signs=False).signs == ()


def test_a_critical_manifold_and_a_witness_outside_of_the_box_are_drawn():
    flow = ds.system("v' = v - v^3/3 - w; w' = v")
    drawn = th.tikhonov(flow, [(-2.5, -1.1), (-0.6, 1.0)], [1.0, 0.5], time=0.1).plot(field=False)
    assert {"critical manifold", "witness"} <= labels(drawn)
    assert drawn.axes[0].get_xlim()[1] > drawn.witnesses[0].get_xdata()[0]


def test_images_of_sets_are_drawn_whole():
    henon = ds.system("x[n+1] = 5 - x^2 + 0.3*y; y[n+1] = x")
    drawn = th.horseshoe(henon, [[[2, 0], [1, 0], [0, 3]]], budget=10).plot()
    assert labels(drawn) == {"f of set 1"}
    low, high = drawn.axes[0].get_xlim()
    assert low < np.min(drawn.curves[0].get_xdata()) < np.max(drawn.curves[0].get_xdata()) < high
