"""Models in SBML: read as equations, refused by name, and written."""

import sys

import numpy as np
import pytest

import dynsim as ds
from dynsim.__main__ import main
from dynsim.equations.sbml import from_sbml
from dynsim.errors import ArgumentError
from tests.equations.test_export import TEXT

libsbml = pytest.importorskip("libsbml", reason="needs python-libsbml (pip install dynsim[sbml])")


def math(formula):
    node = libsbml.parseL3Formula(formula)
    return libsbml.writeMathMLToString(node).split("\n", 1)[1]


def model(*parts, version=1, attributes=""):
    """A model of level 3; equal parts of a list are put into one element."""
    core = f"http://www.sbml.org/sbml/level3/version{version}/core"
    lists = {}
    for part in parts:
        lists.setdefault(LISTS[part[1:].split()[0].rstrip(">")], []).append(part)
    inside = "".join(f"<listOf{name}>{''.join(lists[name])}</listOf{name}>" for name in dict.fromkeys(LISTS.values())
                     if name in lists)  # fmt: skip
    return f'<sbml xmlns="{core}" level="3" version="{version}" {attributes}><model>{inside}</model></sbml>'


LISTS = {
    "functionDefinition": "FunctionDefinitions", "unitDefinition": "UnitDefinitions", "compartment": "Compartments",
    "species": "Species", "parameter": "Parameters", "initialAssignment": "InitialAssignments", "rateRule": "Rules",
    "assignmentRule": "Rules", "algebraicRule": "Rules", "reaction": "Reactions", "event": "Events",
}  # fmt: skip


def compartment(key, size=1.0, constant="true"):
    return f'<compartment id="{key}" size="{size}" spatialDimensions="3" constant="{constant}"/>'


def species(key, where, initial="", boundary="false", amounts="false", extra=""):
    return (
        f'<species id="{key}" compartment="{where}" {initial} boundaryCondition="{boundary}" constant="false" '
        f'hasOnlySubstanceUnits="{amounts}" {extra}/>'
    )


def parameter(key, value=None, constant="true"):
    given = "" if value is None else f'value="{value}"'
    return f'<parameter id="{key}" {given} constant="{constant}"/>'


def ruled(kind, key, formula):
    variable = "" if kind == "algebraicRule" else f'variable="{key}"'
    return f"<{kind} {variable}>{math(formula)}</{kind}>"


def assigned(key, formula):
    return f'<initialAssignment symbol="{key}">{math(formula)}</initialAssignment>'


def reference(key, number=1):
    given = f'stoichiometry="{number}"' if number else ""
    return f'<speciesReference species="{key}" {given} constant="true"/>'


def reaction(key, left, right, law, local="", fast="false", also=""):
    reactants = f"<listOfReactants>{left}</listOfReactants>" if left else ""
    products = f"<listOfProducts>{right}</listOfProducts>" if right else ""
    also = f'<listOfModifiers><modifierSpeciesReference species="{also}"/></listOfModifiers>' if also else ""
    local = f"<listOfLocalParameters>{local}</listOfLocalParameters>" if local else ""
    law = f"<kineticLaw>{math(law)}{local}</kineticLaw>" if law else ""
    return f'<reaction id="{key}" reversible="false" fast="{fast}">{reactants}{products}{also}{law}</reaction>'


def event(trigger, sets, inside="", initial="true"):
    assignments = "".join(f'<eventAssignment variable="{k}">{math(v)}</eventAssignment>' for k, v in sets.items())
    return (
        f'<event id="e" useValuesFromTriggerTime="true"><trigger initialValue="{initial}" persistent="true">'
        f"{math(trigger)}</trigger>{inside}<listOfEventAssignments>{assignments}</listOfEventAssignments></event>"
    )


DECAY = ruled("rateRule", "x", "-x")
X, Y = parameter("x", 2, "false"), parameter("y", 2, "false")
UNIT = (
    '<unitDefinition id="amount"><listOfUnits><unit kind="mole" exponent="1" scale="-3" multiplier="1"/></listOfUnits>'
    "</unitDefinition>"
)


def test_species_reactions_rules_and_assignments_are_read():
    units = 'substanceUnits="amount"'
    text = from_sbml(
        model(
            f'<functionDefinition id="f">{math("lambda(u, t, u/(1 + t*u))")}</functionDefinition>', UNIT,
            '<compartment id="cell" size="2" units="litre" spatialDimensions="3" constant="true"/>',
            species("A", "cell", 'initialAmount="3"', extra=units),
            species("B", "cell", 'initialConcentration="1"', amounts="true"),
            species("E", "cell", 'initialAmount="8"', "true"),
            parameter("k", 0.5), parameter("twice"), parameter("q", 1, "false"), parameter("sum", 0, "false"),
            parameter("t", 4), assigned("twice", "2*k"), assigned("q", "twice + A"),
            ruled("rateRule", "q", "J*time - t + pi"), ruled("assignmentRule", "sum", "A + q"),
            reaction("J", reference("A") + reference("E"), reference("B", 2), "k*f(A, E)*cell*sum"),
            reaction("K", reference("B"), "", "k*B", local='<localParameter id="k" value="7"/>'),
        )
    )  # fmt: skip
    flow = ds.system(text, cell=4.0)
    assert (flow.names, flow.units) == (("A", "B", "q"), ("millimole/litre", "", ""))
    assert flow.parameter_units == (("cell", "litre"),)
    assert flow.start == (1.5, 2.0, 2.5)
    assert {name: float(value) for name, value in flow.parameters.items()} == {
        "cell": 4.0, "E": 4.0, "k": 0.5, "t_": 4.0, "K_k": 7.0,
    }  # fmt: skip
    a, b, q = 1.5, 2.0, 3.0
    j = 0.5 * a / (1 + 4 * a) * 4 * (a + q)
    found = flow.vector_field(2.0, np.array([a, b, q]))
    assert np.asarray(found) == pytest.approx([-j / 4, 2 * j - 7 * b, 2 * j - 4 + np.pi], rel=1e-14)
    assert "twice = 2*k" in text


def test_stoichiometries_have_denominators_and_conversion_factors_are_those_of_the_species_first():
    level_2 = (
        '<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model><listOfCompartments>'
        '<compartment id="c" size="1"/></listOfCompartments><listOfSpecies>'
        '<species id="A" compartment="c" initialAmount="1"/>'
        '</listOfSpecies><listOfReactions><reaction id="J" reversible="false"><listOfReactants>'
        '<speciesReference species="A" stoichiometry="2"/></listOfReactants><kineticLaw>'
        f"{math('A')}</kineticLaw></reaction></listOfReactions></model></sbml>"
    )
    assert "A' = -(2*J)" in from_sbml(level_2)
    level_1 = (
        '<sbml xmlns="http://www.sbml.org/sbml/level1" level="1" version="2"><model name="m"><listOfCompartments>'
        '<compartment name="c" volume="1"/></listOfCompartments><listOfSpecies>'
        '<species name="A" compartment="c" initialAmount="1"/></listOfSpecies><listOfReactions>'
        '<reaction name="J" reversible="false"><listOfReactants>'
        '<speciesReference species="A" stoichiometry="2" denominator="4"/></listOfReactants><kineticLaw formula="A"/>'
        "</reaction></listOfReactions></model></sbml>"
    )
    assert "A' = -(0.5*J)" in from_sbml(level_1)
    given = (
        compartment("c"), species("A", "c", 'initialAmount="1"', amounts="true", extra='conversionFactor="f"'),
        species("B", "c", 'initialAmount="1"', amounts="true"), parameter("f", 2), parameter("g", 3),
        reaction("J", reference("A"), reference("B"), "A"),
    )  # fmt: skip
    text = from_sbml(model(*given).replace("<model>", '<model conversionFactor="g">'))
    assert np.asarray(ds.system(text).vector_field(0.0, np.array([5.0, 1.0]))).tolist() == [-10.0, 15.0]


def test_a_species_on_a_point_has_an_amount_and_units_with_multipliers_have_no_name():
    point = '<compartment id="c" spatialDimensions="0" constant="true"/>'
    unit = UNIT.replace('multiplier="1"', 'multiplier="60"')
    text = from_sbml(
        model(unit, point, species("A", "c", 'initialAmount="3"', extra='substanceUnits="amount"'),
              reaction("J", reference("A"), "", "A"))
    )  # fmt: skip
    flow = ds.system(text)
    assert (flow.start, flow.units) == ((3.0,), ("amount",))
    assert np.asarray(flow.vector_field(0.0, np.array([3.0]))).tolist() == [-3.0]


def test_amounts_stay_when_a_compartment_changes_its_size():
    parts = (
        compartment("V", 2, "false"), species("S", "V", 'initialConcentration="3"'),
        species("R", "V", 'initialConcentration="5"', "true"), species("E", "V", 'initialAmount="4"', "true"),
        ruled("rateRule", "R", "1"), reaction("J", reference("S"), "", "S*E", also="E"),
    )  # fmt: skip
    flow = ds.system(from_sbml(model(*parts, ruled("rateRule", "V", "0.1*V"))))
    assert (flow.names, flow.start) == (("V", "S_amount", "R"), (2.0, 6.0, 5.0))
    assert np.asarray(flow.vector_field(0.0, np.array([4.0, 6.0, 5.0]))) == pytest.approx([0.4, -1.5, 1.0])
    text = from_sbml(model(*parts, event("S < 1 && time > 2", {"V": "V/2", "S": "7"})))
    assert "when(min(1 - S, t - 2) > 0, V = V/2, S_amount = 7*V, R = R*V/(V/2))" in text
    text = from_sbml(model(*parts, event("S < 1 && time > 2", {"S": "7"})))
    assert "when(min(1 - S, t - 2) > 0, S = 7)" in text


def test_events_are_transitions():
    text = from_sbml(model(X, parameter("k", 1, "false"), ruled("rateRule", "x", "k"), event("x >= 3", {"k": "-x"})))
    assert "when(x >= 3, k = -x)" in text
    once = from_sbml(model(X, DECAY, event("xor(x < 1, x < 0.5)", {"x": "3"}, initial="false")))
    guard = ds.hybrid_system(once).transitions(ds.hybrid_system(once).flow)[0].guard.fn
    assert [float(np.sign(guard(0.0, np.array([x])))) for x in (2.0, 0.75, 0.25)] == [-1.0, 1.0, -1.0]
    both = ds.hybrid_system(text)
    after, _ = both.transitions(both.flow)[0].reset(both.flow, 1.0, np.array([3.0]))
    assert float(after.parameters["k"]) == -3.0


FORMULAS = {
    "piecewise(1, x < 1, 5, x < 3, 2)": 5.0, "root(3, x)": 2 ** (1 / 3), "log(2, x^5)": 5.0, "log10(x)": np.log10(2),
    "factorial(x + 2)": 24.0, "-x^2": -4.0, "sqrt(x) - (x - 3)": np.sqrt(2) + 1, "arccot(x)": np.arctan(0.5),
    "arcsech(1/x)": np.arccosh(2), "quotient(-7, x)": -3.0, "rem(-7, x)": -1.0, "max(x, 3, 1)": 3.0,
    "piecewise(1, xor(x > 1, x > 3, true), 0)": 0.0, "piecewise(1, 1 < x < 3, 0)": 1.0,
    "piecewise(1, 1 < x < 2, 0)": 0.0, "rem(7, x)": 1.0, "quotient(7, -x)": -3.0,
    "avogadro*0 + exponentiale": np.e, "piecewise(1, xor(x > 3), 0)": 0.0,
    "piecewise(1, implies(x > 3, false) && !(x == 3), 0)": 1.0, "plus() + times()": 1.0, "2e-3*x": 4e-3,
}  # fmt: skip


def test_formulas_of_mathml():
    parts = [parameter(f"a{k}", constant="false") for k in range(len(FORMULAS))]
    rules = [ruled("assignmentRule", f"a{k}", formula) for k, formula in enumerate(FORMULAS)]
    content = from_sbml(model(X, DECAY, parameter("y", constant="false"), *parts, *rules, version=2))
    flow = ds.system(content)
    found = [float(flow.quantity(f"a{k}", 0.0, [2.0])) if f"a{k}" not in flow.parameters else
             float(flow.parameters[f"a{k}"]) for k in range(len(FORMULAS))]  # fmt: skip
    assert found == pytest.approx(list(FORMULAS.values()), rel=1e-13)


DELAY = f"<delay>{math('1')}</delay>"
PRIORITY = f"<priority>{math('1')}</priority>"
COMP = 'xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" comp:required="true"'
CELL = (compartment("c"), species("S", "c", 'initialAmount="1"'))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (model(X, DECAY, ruled("algebraicRule", "", "x - 1")), "has algebraic rules"),
        (model(X, DECAY, event("x < 1", {"x": "2"}, DELAY)), "has events with delays, `e`"),
        (model(X, DECAY, event("x < 1", {"x": "2"}, PRIORITY)), "has events with priorities, `e`"),
        (model(X, DECAY, event("x < 1", {"y": "2"})), "has an error: Invalid 'variable' attribute value in Event"),
        (model(X, DECAY, DECAY), "has an error: "),
        (model(X, DECAY, ruled("assignmentRule", "y", "x"), Y, event("x < 1", {"y": "2"})), "has an error: "),
        (model(X, DECAY, event("x == 1", {"x": "2"})), "has the trigger of an event that is not made of"),
        (model(X, DECAY, event("x > 1", {"x": "2"}, initial="false")), "has events that occur at the start"),
        (model(X, DECAY, event("x < 2", {"x": "2"})), "has events that occur at the start"),
        (model(X, DECAY, event("x <= 2", {"x": "3"})), "has events that occur at the start"),
        (model(*CELL, reaction("J", reference("S"), "", "S", fast="true")), "has fast reactions, `J`"),
        (model(*CELL, reaction("J", reference("S"), "", "")), "has reactions without a kinetic law, `J`"),
        (model(*CELL, reaction("J", reference("S", 0), "", "S")), "has a stoichiometry in `J` without"),
        (model(X, DECAY, attributes=COMP), "has the package `comp`"),
        (model(X, ruled("rateRule", "x", "delay(x, 1)")), "has delays"),
        (model(X, DECAY, Y, ruled("assignmentRule", "y", "rateOf(x)"), version=2), "has rates of change in formulas"),
        (model(X, ruled("rateRule", "x", "piecewise(1, x > 1)")), "has a piecewise formula without a value"),
        (model(X, DECAY, parameter("y"), assigned("y", "k"), parameter("k")), "every value, but has none for `k`"),
        (model(parameter("x", None, "false"), DECAY), "gives every value, but has none for `x`"),
        (model(X, ruled("rateRule", "x", "x*k")), "has an error: .*"),
        (model(X), "something changes by reactions or rate rules, but has none"),
        ("<sbml", "name a valid file in SBML, but line 1 has an error: "),
        ("x' = -x", "name a valid file in SBML, but line 1 has an error: "),
        (model(X).replace("<model>", "").partition("<list")[0] + "</sbml>", "line 1 has an error: No model definition"),
        (model(version=2).replace("<model></model>", ""), "name a file in SBML with a model, but has none"),
    ],
)  # fmt: skip
def test_what_dynsim_does_not_have_is_refused_by_name(content, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        from_sbml(content)


def test_exported_models_have_the_same_field():
    flow = ds.system(TEXT, {"lambda": 2.0})
    content = ds.export(flow, "sbml")
    assert libsbml.readSBMLFromString(content).checkInternalConsistency() == 0
    again = ds.system(from_sbml(content))
    assert (again.names, again.start) == (("x", "y", "v", "dv"), flow.start)
    for t, y in ((0.5, 0.3), (2.0, 3.0)):
        state = np.array([0.7, y, 0.2, 0.9])
        expected = np.asarray(flow.vector_field(t, state))
        assert np.asarray(again.vector_field(t, state)) == pytest.approx(expected, rel=1e-14)


def test_functions_of_derivatives_and_of_the_time_are_written_out():
    flow = ds.system("x'' = f(x) + t; f(u) = -u*x' + pi; x(0) = 1")
    again = ds.system(from_sbml(ds.export(flow, "sbml")))
    state = np.array([2.0, 3.0])
    assert np.asarray(again.vector_field(0.5, state)) == pytest.approx(np.asarray(flow.vector_field(0.5, state)))


def test_functions_of_the_grammar_are_written_out():
    text = (
        "x' = mod(x, y) + hypot(x, y) + cbrt(y) + sign(y) + log2(x) + round(x) + atan2(y, x) + atan2(x, y); "
        "y' = pi*t + 3000000000*x + log10(3 + y)"
    )
    flow = ds.system(text)
    again = ds.system(from_sbml(ds.export(flow, "sbml")))
    assert again.start == (0.0, 0.0)
    for state in ([2.5, -3.0], [3.5, 2.0], [4.5, -2.0]):
        expected = np.asarray(flow.vector_field(1.5, np.array(state)))
        assert np.asarray(again.vector_field(1.5, np.array(state))) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("text", "sentence"), [
    ("x[n+1] = x", "be another format for a map"),
    ("x' = erf(x)", "be another format for sums, `erf`, `erfc` and `lgamma`"),
])  # fmt: skip
def test_what_sbml_does_not_have_is_refused(text, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        ds.export(ds.system(text), "sbml")


def test_a_file_is_named_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "decay.xml"
    assert main(["export", "x' = -k*x; x(0) = 2", "--k", "3", "--to", "sbml", "--out", str(path)]) == 0
    assert main(["export", str(path), "--k", "4", "--to", "xpp"]) == 0
    assert capsys.readouterr().out.endswith("x'=-k*x\npar k=4\ninit x=2\ndone\n")


def test_the_library_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "libsbml", None)
    with pytest.raises(ArgumentError, match=r"pip install dynsim\[sbml\].*python-libsbml is not installed"):
        from_sbml(model(X, DECAY))
