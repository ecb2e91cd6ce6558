"""What commands build of the papers' systems, of spaces, and of the user's own code, from their options."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynsim import Ellipsoid, Euclidean, FunctionFlow, FunctionMap, Simplex, Sphere
from dynsim.cli.building import own_code, papers, systems
from dynsim.cli.building.flow_options import Simulate
from dynsim.cli.building.spaces import space
from dynsim.cli.continuation.options import Continue
from dynsim.errors import ArgumentError

W = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])


def options(system, **given):
    return Simulate(system, **{"dimension": 3, **given})


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "w.npy", W)
    (tmp_path / "mine.py").write_text("def field(t, x):\n    return -x\n\nnumber = 3\n")
    return tmp_path


@pytest.mark.parametrize("system", ["gradient", "causal-symmetric", "projected-value"])
def test_systems_of_one_head_have_one_whatever_number_is_given(system):
    """The command says afterwards that `--heads` has no effect."""
    flow = papers.build(options(system, beta=2.0, heads=3))
    if system != "projected-value":
        np.testing.assert_allclose(flow.query_key(0.0), [2 * np.eye(3)])
    assert "heads" in papers.unused(options(system, heads=3), flow)


def test_tokens_have_the_temperature_the_heads_the_mask_and_the_factor_that_are_given():
    flow = papers.build(options("token-flow", beta=2.0, heads=2, causal=True, space="euclidean"))
    np.testing.assert_allclose(flow.query_key(0.0), [2 * np.eye(3)] * 2)
    np.testing.assert_allclose(flow.value(0.0)[0], np.eye(3))
    assert isinstance(flow.space, Euclidean)
    assert float(flow.scale) == pytest.approx(3**-0.5)
    weights = np.asarray(flow.weights(0.0, jnp.asarray(W)))
    assert np.all(np.triu(weights[0], 1) == 0)
    assert np.all(weights[0][np.tril_indices(3)] > 0)
    whole = papers.build(options("token-flow", scale=1.5))
    assert (float(whole.scale), type(whole.space)) == (1.5, Sphere)
    assert np.all(np.asarray(whole.weights(0.0, jnp.asarray(W))) > 0)
    with pytest.raises(ArgumentError, match="`scale` must be a finite number"):
        papers.build(options("token-flow", scale=np.inf))
    with pytest.raises(ArgumentError, match="`norm` must be `none` unless `--space` normalises tokens, but is `pre`"):
        papers.build(options("token-flow", norm="pre", space="euclidean"))
    assert type(papers.build(options("token-flow", norm="pre"))).__name__ == "NormalisedTokenFlow"


def test_matrices_of_the_papers_systems_are_those_of_the_files_or_their_defaults(files):
    w = files / "w.npy"
    np.testing.assert_allclose(papers.build(options("gradient", query_key=w)).query_key(0.0)[0], W)
    np.testing.assert_allclose(papers.build(options("oja", value=w)).matrix, W)
    np.testing.assert_allclose(papers.build(options("projected-value", value=w)).matrix, W)
    np.testing.assert_allclose(papers.build(options("projected-value")).matrix, np.eye(3))
    np.testing.assert_allclose(papers.build(options("causal-symmetric", value=w)).value(0.0)[0], W)
    one, same, other = (np.asarray(papers.build(options("oja", seed=seed)).matrix) for seed in (1, 1, 2))
    np.testing.assert_allclose(one, one.T)
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)
    assert np.max(np.abs(one)) <= 1.0


def test_the_factor_of_attention_is_said_where_it_can_be_chosen():
    said = lambda system, **given: papers.factor(o := options(system, **given), papers.build(o))
    assert said("token-flow") == "attention is multiplied by 1/sqrt(3) = 0.57735 (`--scale 1` leaves this factor out)"
    assert said("token-flow", norm="pre").startswith("attention is multiplied by 1/sqrt(3)")
    assert [said("token-flow", scale=1.0), said("oja"), said("attracted")] == ["", "", ""]


def test_options_without_effect_are_those_that_a_system_does_not_take():
    own = FunctionFlow(lambda t, x: x)
    unused = lambda system, flow=own, **given: papers.unused(options(system, **given), flow)
    assert unused("token-flow") == {"weights", "trust"}
    assert unused("oja") == set(papers.MODEL) - {"value"} | {"trust"}
    assert {"beta", "heads"} <= unused("token-flow", query_key=Path("p.npy"))
    assert "space" not in unused("mine.py:field")
    assert "space" in unused("mine.py:field", FunctionMap(lambda k, x: x))
    assert unused("mine.py:field", start=(1.0, 2.0, 3.0)) >= {"tokens", "initial"}
    assert "dimension" in unused("mine.py:field", start=(1.0, 2.0))
    assert "dimension" not in unused("mine.py:field", start=(1.0, 2.0, 3.0))


@pytest.mark.parametrize("system", [name for name in papers.SYSTEMS if name != "trained"])
def test_the_options_that_a_system_takes_are_those_that_change_it(system, files):
    other = {"heads": 2, "beta": 3.0, "query_key": files / "w.npy", "value": files / "w.npy", "scale": 0.25}
    other |= {"causal": True, "space": "euclidean", "norm": "pre"}

    def content(**given):
        try:
            flow = papers.build(options(system, **given))
        except ArgumentError:
            return plain  # refused, so the option does nothing
        fields = vars(flow).items()
        return str(flow), [(name, np.asarray(leaf)) for name, made in fields for leaf in jax.tree.leaves(made)]

    def equal(one, two):
        return one[0] == two[0] and all(np.array_equal(a, b) for (_, a), (_, b) in zip(one[1], two[1], strict=True))

    plain = content()
    changing = {option for option, value in other.items() if not equal(plain, content(**{option: value}))}
    taken = set(papers.MODEL) - papers.unused(options(system), papers.build(options(system)))
    assert taken <= changing <= taken | {"norm", "scale"}, "every flow of tokens can have these two"


def test_spaces_are_named_or_have_the_matrix_of_a_file(files):
    assert [type(space(name)) for name in ("sphere", "euclidean", "simplex")] == [Sphere, Euclidean, Simplex]
    made = space(f"ellipsoid:{files / 'w.npy'}")
    assert isinstance(made, Ellipsoid)
    np.testing.assert_allclose(made.matrix, W)
    with pytest.raises(ArgumentError, match="`space` must be sphere, euclidean, simplex or .*, did you mean `sphere`"):
        space("spere")


def test_objects_of_files_and_modules_are_found_by_name(files):
    file = files / "mine.py"
    field = own_code.imported(f"{file}:field")
    assert float(field(0.0, 2.0)) == -2.0
    assert own_code.imported("math:pi") == pytest.approx(np.pi)
    for path, sentence in (
        ("field", "be `file.py:name` or `module:name`, but is `field`"),
        (f"{file}:feild", "`feild` does not exist, did you mean `field`"),
        (f"{file}:", r"with the name of a function, a flow or a map, but .* is given without \(it has field\)"),
        (":name", "names the module ``"),
        (".mine:name", "names the module `.mine`"),
        (f"{files / 'none.py'}:field", "name a file, but .* does not exist"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            own_code.imported(path)


def test_arguments_without_defaults_are_parameters_that_options_give(files):
    (files / "scipy.py").write_text("def field(t, y, rate, *more, shift, step=1):\n    return [shift - rate * y[0]]\n")
    named = f"{files}/scipy.py:field"
    made = systems.found(options(named, parameters=("rate=2", "shift=3"), start=(1.0,)), "simulate").system
    assert {name: float(value) for name, value in made.parameters.items()} == {"rate": 2.0, "shift": 3.0, "step": 1.0}
    assert float(made.velocity(0.0, jnp.ones(1))[0]) == 1.0
    swept = Continue(named, parameters=("shift=3",), parameter="rate=2:5", start=(1.0,))
    assert float(systems.found(swept, "continue").system.parameters["rate"]) == 2.0
    with pytest.raises(ArgumentError, match="required argument: 'shift'; `parameters` gives values to shift"):
        systems.found(options(named, parameters=("rate=2",), start=(1.0,)), "simulate")
    assert systems.names_of_parameters(options(named)) == {"rate", "shift", "step"}


def test_functions_are_checked_at_a_state():
    x = jnp.zeros(2)
    check = lambda function, **how: own_code.check_function(FunctionFlow(function), x, **how)
    check(lambda t, x: -x)
    check(lambda t, x: np.array([x[1], -x[0]]), traced=False)
    for function, sentence in (
        (lambda t, x: x[:1], r"return an array of shape \(2,\), but .* returns one of shape \(1,\)"),
        (lambda t, x: x > 0, "return real numbers, but .* returns bool"),
        (lambda t, x: jnp.stack([x[0], x[2]]), r"take \(t, x\) with x of shape \(2,\)"),
        (lambda t, x: 3.0, "returns float"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            check(function)
    with pytest.raises(ArgumentError, match=r"take \(k, x\) with x of shape"):
        own_code.check_function(FunctionMap(lambda k, x: x[5] * x), np.zeros(2) + x)


def test_only_what_is_below_zero_of_what_is_counted_gets_a_warning(monkeypatch):
    said = []
    monkeypatch.setattr(systems, "warn", said.extend)
    for system, values in (("lotka-volterra", [0.5, 0.0]), ("lorenz", [-1.0, -1.0, 1.0]), ("none", [-1.0])):
        systems.warn_below_zero(system, "start", values)
    assert said == []
    systems.warn_below_zero("lotka-volterra", "box", (1.0, -0.5))
    assert [line.startswith("`box` reaches below zero, where the ") for line in said] == [True]
