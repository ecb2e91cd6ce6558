"""Hybrid systems from equations with `when(...)`, and from `.ode` files with global events."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import dynsim as ds
from dynsim.equations.ode import from_ode
from dynsim.equations.sbml import from_sbml
from dynsim.equations.transitions import with_transitions

SCIPY = ds.Scipy(rtol=1e-10, atol=1e-12)


def times(run):
    return [float(jump.time) for jump in run.jumps]


def test_a_leaky_neuron_fires_with_its_period():
    neuron = ds.hybrid_system("v' = I - v  # [mV] -1..1\nwhen(v > vt, v = c)", I=1.2, vt=1.0, c=-0.5)
    run = ds.simulate_hybrid(neuron.flow, [0.0], [0.0, 9.0], neuron.transitions, integrator=SCIPY)
    np.testing.assert_allclose(np.diff(times(run)), np.log(1.7 / 0.2), rtol=1e-9)
    assert (neuron.names, neuron.flow.units, neuron.flow.ranges) == (("when1",), ("mV",), (("v", -1.0, 1.0),))
    assert "when1 = (v) - (vt)" in str(neuron)


def test_resets_use_the_state_before_them_and_change_parameters():
    text = "x' = k; y' = 1; when(x > 1, x = 0, y = x + y, k = k/2); when(y > 3.25, stop); k = 1.0"
    both = ds.hybrid_system(text)
    run = ds.simulate_hybrid(both.flow, [0.0, 0.0], [0.0, 9.0], both.transitions, integrator=SCIPY)
    # x reaches 1 at 1, where y becomes 2; y reaches 3.25 at 2.25, where x has grown half as fast
    np.testing.assert_allclose(times(run), [1.0, 2.25], rtol=1e-9)
    np.testing.assert_allclose(run.final, [0.625, 3.25], rtol=1e-9)


def test_each_comparison_has_its_direction():
    found = {
        sign: with_transitions(f"x' = 1; when(x {sign} 2, x = 0)").statements for sign in (">", ">=", "<", "<=", "==")
    }
    assert [(sign, one.direction) for sign, (one,) in found.items()] == [
        (">", 1), (">=", 1), ("<", -1), ("<=", -1), ("==", 0),
    ]  # fmt: skip


def test_global_events_of_an_ode_file_are_transitions(tmp_path):
    path = tmp_path / "cell.ode"
    path.write_text(
        "par b=.5\nm'=b*m\nu'=m-u\ninit m=1\nglobal -1 {1.5-u} {m=m/2;out_put=1}\nglobal 1 t-4 {arret=1}\ndone"
    )
    cell = ds.hybrid_system(path)
    run = ds.simulate_hybrid(cell.flow, jnp.array(cell.flow.start), [0.0, 9.0], cell.transitions, integrator=SCIPY)
    assert run.jumps[0].name == "when1"
    assert times(run)[-1] == pytest.approx(4.0)
    assert "when(v-1 == 0, v = 0)" in from_ode("v'=-v\nglobal 0 v-1 {v = 0}\ndone")
    # components that an event has set are read by the values after them, parameters are not
    text = from_ode("v'=-k\nu'=0\nglobal 1 v-1 {v=u+1;k=2*k;u=v*k;u=u+v}\npar k=1\ndone")
    assert "when(v-1 > 0, v=u+1, k=2*k, u=(u+1)*k, u=((u+1)*k)+(u+1))" in text


TEXT = (
    "v' = I - v + a; u' = -u; when(v > vt + a, v = c, u = u + v*d); when(u == 2, I = I/2); a = u/3; c = -0.5; d = 0.25"
)


@pytest.mark.parametrize("to", ["xpp", "sbml"])
def test_exported_transitions_are_read_again(to):
    pytest.importorskip("libsbml")
    system = ds.hybrid_system(f"{TEXT}; v(0) = 0.5", I=2.0, vt=1.0)
    again = ds.hybrid_system(from_ode(ds.export(system, to)) if to == "xpp" else from_sbml(ds.export(system, to)))
    t, x = 0.0, np.array([1.5, 0.75])
    for one, other in ((0, 0), (1, 1), (1, 2)):  # one that crosses in both ways becomes two
        rule, copy = (made.transitions(made.flow)[k] for made, k in ((system, one), (again, other)))
        assert copy.guard.fn(t, x) == pytest.approx(float(rule.guard.fn(t, x)))
        after: Any = rule.reset(system.flow, t, x)
        found: Any = copy.reset(again.flow, t, x)
        np.testing.assert_allclose(found[1], after[1])
        assert found[0].parameters["i" if to == "xpp" else "I"] == after[0].parameters["I"]
    assert [rule.guard.direction for rule in again.transitions(again.flow)] == [1, 1, -1]


@pytest.mark.parametrize(("sets", "to", "sentence"), [
    ("v = u, u = v", "xpp", "another format for transitions that set components from each other's values"),
    ("stop", "sbml", "be xpp for transitions that end the run, which SBML does not have"),
    ("v = 0", "latex", "be xpp or sbml for equations with transitions, but is `latex`"),
])  # fmt: skip
def test_transitions_that_a_format_lacks_are_refused(sets, to, sentence):
    with pytest.raises(ValueError, match=sentence):
        ds.export(ds.hybrid_system(f"v' = 1; u' = 2; when(v > 1, {sets})"), to)


@pytest.mark.parametrize(("text", "sentence"), [
    ("v' = -v", "`text` must have a statement such as `when"),
    ("v' = -v; when(v, v = 0)", "must give `when` a comparison first"),
    ("v' = -v; when(v > 1, 3)", "must set names, as in `v = 0`, or `stop`, but does not at column 22"),
    ("v' = -v; when(v > 1, w = 0)", "must set components or parameters, but sets `w`"),
    ("v' = -v; when(v > 1, v = 0, v = 1)", "must set each name once"),
    ("v[n+1] = v; when(v > 1, v = 0)", "must be equations of a flow without noise"),
])  # fmt: skip
def test_transitions_that_are_none_are_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        ds.hybrid_system(text)


def test_a_flow_alone_does_not_forget_its_transitions():
    with pytest.raises(
        ValueError,
        match="must be read by `hybrid_system` or `dynsim simulate` if it has transitions, but has one at col",
    ):
        ds.system("v' = -v; when(v > 1, v = 0)")
