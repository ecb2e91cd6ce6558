"""Read models in SBML as the text of equations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynsim.equations.characters import source
from dynsim.equations.evaluation import values
from dynsim.equations.functions import ALIASES, ARGUMENTS, CONSTANTS, SPECIAL
from dynsim.equations.lines import lines
from dynsim.equations.model import built
from dynsim.equations.sbml_math import (
    Body,
    body_of,
    constant,
    guard_of,
    libsbml,
    name,
    operated,
    refused,
)
from dynsim.equations.writing import PLAIN, written
from dynsim.errors import ArgumentError

RESERVED = {*ARGUMENTS, *ALIASES, *SPECIAL, *CONSTANTS, "t", "and", "or", "not", "when", "stop"}
"""Words of the grammar; an identifier that is one is followed by an underscore."""
IGNORED = ("l3v2extendedmath", "layout", "render")
"""Packages that do not change what a model computes."""
PREFIXES = {0: "", -3: "milli", -6: "micro", -9: "nano", -12: "pico", -15: "femto", 3: "kilo", -1: "deci", -2: "centi"}


class SbmlQuantity(NamedTuple):
    """What a name of a model stands for.

    `kind` is fixed, derived, state or defined; `rate` gives the derivative of a state and `value` the formula of a
    derived or a defined quantity. `amount` is the name of the state or the parameter that holds the amount of a
    species in a compartment whose size changes.
    """

    kind: str
    value: Body = ()
    rate: Body = ()
    amount: str = ""


def from_sbml(content: str) -> str:
    """The text of equations that a model in SBML stands for.

    Species, compartments, parameters, reactions, rate and assignment rules, initial assignments, functions and events
    without delays are read. A species has the meaning that it has in the formulas of the model: a concentration, or
    an amount if it has only substance units. In a compartment whose size changes, the state is its amount,
    `NAME_amount`. Reactions are quantities of their names, and local parameters are called `REACTION_NAME`. Species
    and sizes that nothing changes are parameters. Initial assignments of what never changes are kept as formulas, and
    others are evaluated. A parameter without a value must be given to `dynsim.system`.

    Raises:
        ArgumentError: for a file that is not SBML or holds no model, and for what has no equation here: algebraic
            rules, delays, priorities, fast reactions, and packages such as comp and fbc that a model requires.
    """
    try:
        return "\n".join(_Model(_read(content)).text())
    except RecursionError:
        raise refused("formulas that are nested too deeply") from None


def _read(content: str) -> Any:
    """The document of a file without errors."""
    library = libsbml()
    document = library.readSBMLFromString(content)
    _check_valid(document, content)
    if document.getModel() is None:
        raise ArgumentError("path", "name a file in SBML with a model", "has none")
    for k in range(document.getNumPlugins()):
        package = document.getPlugin(k).getPackageName()
        if document.getPackageRequired(package) and package not in IGNORED:
            raise refused(f"the package `{package}`")
    for k in range(document.getNumUnknownPackages()):
        prefix = document.getUnknownPackagePrefix(k)
        if document.getPackageRequired(prefix):
            raise refused(f"the package `{prefix}`")
    for category in range(library.LIBSBML_CAT_SBML, library.LIBSBML_CAT_MODELING_PRACTICE + 1):
        document.setConsistencyChecks(category, category in (
            library.LIBSBML_CAT_GENERAL_CONSISTENCY, library.LIBSBML_CAT_IDENTIFIER_CONSISTENCY,
            library.LIBSBML_CAT_MATHML_CONSISTENCY,
        ))  # fmt: skip
    document.checkConsistency()
    _check_valid(document, content)
    return document


def _check_valid(document: Any, content: str) -> None:
    """Raise `ArgumentError` for the first error that libSBML has found."""
    for k in range(document.getNumErrors()):
        error = document.getError(k)
        if error.getSeverity() >= libsbml().LIBSBML_SEV_ERROR:
            said = " ".join(error.getShortMessage().split()).rstrip(".") or "unknown"
            line = error.getLine() - (not content.lstrip().startswith("<?xml"))  # libSBML puts a header before others
            raise ArgumentError("path", "name a valid file in SBML", f"line {max(1, line)} has an error: {said}")


def _each(parent: Any, what: str) -> list[Any]:
    """All parts of one kind, as from `getNumSpecies` and `getSpecies`."""
    many = {"Species": "Species", "EventAssignment": "EventAssignments"}.get(what, f"{what}s")
    return [getattr(parent, f"get{what}")(k) for k in range(getattr(parent, f"getNum{many}")())]


def _names_in(body: Body) -> set[str]:
    return {str(one.value) for one in body if one.kind in ("name", "call")}


class _Model:
    """A model, and the names of ours for its identifiers."""

    def __init__(self, document: Any):
        self.document, self.model = document, document.getModel()
        model = self.model
        self.species = {one.getId(): one for one in _each(model, "Species")}
        self.compartments = {one.getId(): one for one in _each(model, "Compartment")}
        self.parameters = {one.getId(): one for one in _each(model, "Parameter")}
        self.reactions = {one.getId(): one for one in _each(model, "Reaction")}
        references = [r for one in self.reactions.values() for r in (*_each(one, "Reactant"), *_each(one, "Product"))]
        self.references = {one.getId(): one for one in references if one.isSetId() and not one.isSetStoichiometryMath()}
        self.functions = {one.getId(): one for one in _each(model, "FunctionDefinition")}
        self.names: dict[str, str] = {}
        tables = (self.compartments, self.species, self.parameters, self.references, self.reactions, self.functions)
        for one in (key for table in tables for key in table):
            self.names[one] = self.new(one)
        self.symbols = [key for table in tables[:4] for key in table]
        self.refuse()
        self.rules = {one.getVariable(): one for one in _each(model, "Rule") if one.getMath() is not None}
        self.assigned = {
            one.getSymbol(): self.body(one.getMath())
            for one in _each(model, "InitialAssignment")
            if one.getMath() is not None
        }
        self.events = [one for one in _each(model, "Event") if one.isSetTrigger() and one.getTrigger().isSetMath()]
        self.set = {a.getVariable() for one in self.events for a in _each(one, "EventAssignment")}
        self.local: dict[str, float] = {}
        self.rates = {key: self.reaction_rate(key, one) for key, one in self.reactions.items()}
        self.changes = self.changes_of_amounts()
        self.quantities: dict[str, SbmlQuantity] = {}
        for key in self.symbols:
            self.quantities[key] = self.quantity(key)
        self.initial = self.initial_values()

    def new(self, wanted: str) -> str:
        """A name that the grammar allows and nothing else has."""
        taken = set(self.names.values())
        found = f"{wanted}_" if wanted in RESERVED or re.match(r"when\d|d[WB]", wanted) else wanted
        while found in taken:
            found += "_"
        return found

    def refuse(self) -> None:
        """Raise `ArgumentError` for what dynsim does not have."""
        for rule in _each(self.model, "Rule"):
            if rule.isAlgebraic():
                raise refused("algebraic rules")
        for key, one in self.reactions.items():
            if one.isSetFast() and one.getFast():
                raise refused(f"fast reactions, `{key}`")
        for event in _each(self.model, "Event"):
            shown = f", `{event.getId()}`" if event.isSetId() else ""
            if event.isSetDelay() and event.getDelay().isSetMath():
                node = event.getDelay().getMath()
                if not (node.isNumber() and node.getValue() == 0):
                    raise refused(f"events with delays{shown}")
            if event.isSetPriority():
                raise refused(f"events with priorities{shown}")
            for one in _each(event, "EventAssignment"):
                if one.getVariable() in self.references:
                    raise refused(f"events that change stoichiometries{shown}")

    def body(self, node: Any, local: Mapping[str, str] | None = None) -> Body:
        """An expression of the model, in our names."""
        known = {**self.names, **(local or {})}
        return body_of(node, known.__getitem__)

    def reaction_rate(self, key: str, reaction: Any) -> Body:
        """The rate of a reaction; its local parameters get names of their own."""
        law = reaction.getKineticLaw()
        if law is None or law.getMath() is None:
            raise refused(f"reactions without a kinetic law, `{key}`")
        local = {}
        for one in _each(law, "LocalParameter") if law.getNumLocalParameters() else _each(law, "Parameter"):
            own = self.new(f"{self.names[key]}_{one.getId()}")
            self.names[f"{key}.{one.getId()}"] = local[one.getId()] = own
            self.local[own] = self.value_of(one, f"{key}.{one.getId()}")
        return self.body(law.getMath(), local)

    def value_of(self, one: Any, key: str) -> float:
        if not one.isSetValue():
            raise ArgumentError("path", "name a model that gives every value", f"has none for `{key}`")
        return one.getValue()

    def moves(self, compartment: str) -> bool:
        """Whether the size of a compartment changes."""
        return compartment in self.rules or compartment in self.set

    def is_amount(self, key: str) -> bool:
        """Whether formulas mean the amount of a species."""
        one = self.species[key]
        return one.getHasOnlySubstanceUnits() or self.compartments[one.getCompartment()].getSpatialDimensions() == 0

    def changes_of_amounts(self) -> dict[str, Body]:
        """The derivative of the amount of each species that reactions change."""
        found: dict[str, Body] = {}
        for key, reaction in self.reactions.items():
            for sign, side in (("sub", "Reactant"), ("add", "Product")):
                for reference in _each(reaction, side):
                    species = reference.getSpecies()
                    one = self.species[species]
                    if not (one.getBoundaryCondition() or one.getConstant()):
                        term = self.term(key, reference, one)
                        begun = found.get(species)
                        first = term if sign == "add" else operated("neg", term)
                        found[species] = first if begun is None else operated(sign, begun, term)
        return found

    def term(self, key: str, reference: Any, species: Any) -> Body:
        """The rate of a reaction times a stoichiometry and a conversion factor."""
        rate = name(self.names[key])
        if reference.isSetStoichiometryMath():
            rate = operated("mul", self.body(reference.getStoichiometryMath().getMath()), rate)
        elif reference.getId() in self.references:
            rate = operated("mul", name(self.names[reference.getId()]), rate)
        elif reference.isSetStoichiometry() or self.document.getLevel() < 3:
            number = reference.getStoichiometry() / (reference.getDenominator() or 1)
            rate = rate if number == 1 else operated("mul", constant(number), rate)
        else:
            raise ArgumentError(
                "path", "name a model that gives every value", f"has a stoichiometry in `{key}` without"
            )
        factor = species.getConversionFactor() or self.model.getConversionFactor()
        return operated("mul", name(self.names[factor]), rate) if factor else rate

    def quantity(self, key: str) -> SbmlQuantity:
        """What a compartment, a species, a parameter or a stoichiometry is in our equations."""
        rule = self.rules.get(key)
        if rule is not None:
            body = self.body(rule.getMath())
            return SbmlQuantity("state", rate=body) if rule.isRate() else SbmlQuantity("defined", body)
        if key not in self.species:
            return SbmlQuantity("fixed")
        change = self.changes.get(key)
        room = self.species[key].getCompartment()
        kind = "fixed" if change is None and key not in self.set else "state"
        rate = constant(0) if change is None else change
        if self.is_amount(key):
            return SbmlQuantity(kind, rate=rate)
        size = name(self.names[room])
        if self.moves(room):
            amount = self.new(f"{self.names[key]}_amount")
            self.names[f"{key} amount"] = amount
            return SbmlQuantity(kind, operated("div", name(amount), size), rate, amount)
        return SbmlQuantity(kind, rate=rate if change is None else operated("div", change, size))

    def initial_values(self) -> dict[str, float]:
        """Values at time zero of everything that has one, by our names."""
        formulas = {self.names[key]: body for key, body in self.rates.items()}
        formulas |= {key: constant(value) for key, value in self.local.items()}
        for key in self.symbols:
            found = self.initial_formula(key)
            if found is not None:
                formulas[self.names[key]] = found
        used = {one for body in (*formulas.values(), *self.function_bodies().values()) for one in _names_in(body)}
        for key in self.symbols:
            if self.names[key] in used and self.names[key] not in formulas:
                raise ArgumentError("path", "name a model that gives every value", f"has none for `{key}`")
        numbers: dict[str, Any] = {
            key: body[0].value for key, body in formulas.items() if len(body) == 1 and body[0].kind == "number"
        }
        others = {key: body for key, body in formulas.items() if key not in numbers}
        return numbers | self.at_start(others, numbers)

    def at_start(self, formulas: Mapping[str, Body], known: Mapping[str, Any]) -> dict[str, float]:
        """Values of formulas at time zero, by name, where those of other names are known."""
        definitions = (f"{key} = {_text(body)}" for key, body in formulas.items())
        plain = source("\n".join([*self.function_lines(), *definitions, f"{self.new('nothing')}' = 0"]))
        made = built(plain, lines(plain)[0], tuple(known))
        given = {key: np.float64(value) for key, value in known.items()}
        with np.errstate(all="ignore"):
            found = values(made.graph, [made.quantities[key] for key in formulas], np.float64(0), np.zeros(1), given)
        return {key: float(np.asarray(value)) for key, value in zip(formulas, found, strict=True)}

    def initial_formula(self, key: str) -> Body | None:
        """The value of a quantity at time zero, or None if the model gives none."""
        rule = self.rules.get(key)
        if rule is not None and rule.isAssignment():
            return self.body(rule.getMath())
        if key in self.assigned:
            return self.assigned[key]
        if key in self.parameters:
            one = self.parameters[key]
            return constant(one.getValue()) if one.isSetValue() else None
        if key in self.compartments:
            one = self.compartments[key]
            return constant(one.getSize()) if one.isSetSize() else None
        if key in self.references:
            one = self.references[key]
            return constant(one.getStoichiometry()) if one.isSetStoichiometry() else None
        one, size = self.species[key], name(self.names[self.species[key].getCompartment()])
        if one.isSetInitialAmount():
            found = constant(one.getInitialAmount())
            return found if self.is_amount(key) else operated("div", found, size)
        if one.isSetInitialConcentration():
            found = constant(one.getInitialConcentration())
            return operated("mul", found, size) if self.is_amount(key) else found
        return None

    def function_bodies(self) -> dict[str, Body]:
        """Bodies of functions, by our names."""
        found = {}
        for key, one in self.functions.items():
            if one.getBody() is None:
                raise refused(f"functions without a formula, `{key}`")
            arguments = {a: self.argument(a) for a in self.arguments(one)}
            found[self.names[key]] = self.body(one.getBody(), arguments)
        return found

    def arguments(self, function: Any) -> list[str]:
        return [function.getArgument(k).getName() for k in range(function.getNumArguments())]

    def argument(self, wanted: str) -> str:
        return f"{wanted}_" if wanted in RESERVED else wanted

    def function_lines(self) -> Iterable[str]:
        """Definitions of functions; one without arguments is a quantity."""
        bodies = self.function_bodies()
        for key, one in self.functions.items():
            arguments = ", ".join(map(self.argument, self.arguments(one)))
            head = f"{self.names[key]}({arguments})" if arguments else self.names[key]
            yield f"{head} = {_text(bodies[self.names[key]])}"

    def text(self) -> Iterable[str]:
        """The lines of the equations."""
        if not any(one.kind == "state" for one in self.quantities.values()):
            raise ArgumentError(
                "path", "name a model in which something changes by reactions or rate rules", "has none"
            )
        yield from self.function_lines()
        yield from self.constants()
        defined = {key: one for key, one in self.quantities.items() if one.value and one.kind != "derived"}
        yield from (f"{self.names[key]} = {_text(one.value)}" for key, one in defined.items())
        yield from (f"{self.names[key]} = {_text(body)}" for key, body in self.rates.items())
        states = {key: one for key, one in self.quantities.items() if one.kind == "state"}
        yield from (f"{one.amount or self.names[key]}' = {_text(one.rate)}" for key, one in states.items())
        yield from self.transitions()
        for key, one in states.items():
            yield from self.start(key, one.amount)
            unit = self.unit(key, bool(one.amount))
            if unit:
                yield f"# {one.amount or self.names[key]}: [{unit}]"
        time = self.unit_name(self.model.getTimeUnits() or ("time" if self.document.getLevel() < 3 else ""))
        if time:
            yield f"# t [{time}]"

    def start(self, key: str, amount: str) -> Iterable[str]:
        """The initial value of a state."""
        if self.names[key] not in self.initial:
            raise ArgumentError("path", "name a model that gives every value", f"has none for `{key}`")
        size = self.initial[self.names[self.species[key].getCompartment()]] if amount else 1.0
        yield f"{amount or self.names[key]}(0) = {_text(constant(self.initial[self.names[key]] * size))}"

    def constants(self) -> Iterable[str]:
        """Parameters, and formulas of what is initially assigned and never changes."""
        yield from (f"{key} = {_text(constant(value))}" for key, value in self.local.items())
        fixed = [key for key, one in self.quantities.items() if one.kind == "fixed"]
        never = {self.names[key] for key in fixed if key not in self.set} | {*self.local, *self.function_bodies()}
        for key in fixed:
            own, one = self.names[key], self.quantities[key]
            derived = key in self.assigned and key not in self.set and not one.amount
            if derived and all(word in never or word in RESERVED - {"t"} for word in _names_in(self.assigned[key])):
                yield f"{own} = {_text(self.assigned[key])}"
            elif own in self.initial:
                size = self.initial[self.names[self.species[key].getCompartment()]] if one.amount else 1.0
                unit = self.unit(key, bool(one.amount))
                remark = f"  # [{unit}]" if unit else ""
                yield f"{one.amount or own} = {_text(constant(self.initial[own] * size))}{remark}"

    def transitions(self) -> Iterable[str]:
        """Events as statements `when(...)`."""
        for event in self.events:
            named = lambda key: self.names[key]
            trigger = event.getTrigger()
            guard = guard_of(trigger.getMath(), named)
            sets = {a.getVariable(): self.body(a.getMath()) for a in _each(event, "EventAssignment") if a.isSetMath()}
            found = [f"{key} = {_text(body)}" for key, body in self.after(sets).items()]
            condition = self.body(trigger.getMath())
            begun = self.at_start({"when": condition, "when1": guard}, self.initial)
            armed = trigger.isSetInitialValue() and not trigger.getInitialValue()
            if armed and begun["when"] or begun["when1"] == 0:  # a guard that begins at zero would be crossed at once
                raise refused("events that occur at the start")
            if found:
                plain = condition[-1].value in ("lt", "le", "gt", "ge")
                yield f"when({_text(condition) if plain else _text(guard) + ' > 0'}, {', '.join(found)})"

    def after(self, sets: Mapping[str, Body]) -> dict[str, Body]:
        """What an event sets, by our names: concentrations are set first, and amounts stay when sizes change."""
        found = {}
        for key, body in sets.items():
            if key not in self.species:
                found[self.names[key]] = body
        for key, one in self.species.items():
            amount, room = self.quantities[key].amount, one.getCompartment()
            size = name(self.names[room])
            if amount and key in sets:
                found[amount] = operated("mul", sets[key], size)
            elif not amount and (key in sets or room in sets and self.quantities[key].kind == "state"):
                body = sets.get(key, name(self.names[key]))
                diluted = room in sets and not self.is_amount(key)
                found[self.names[key]] = operated("div", operated("mul", body, size), sets[room]) if diluted else body
        return found

    def unit(self, key: str, is_amount: bool) -> str:
        """The label of the unit of a quantity, or ""."""
        model = self.model
        if key in self.parameters:
            return self.unit_name(self.parameters[key].getUnits())
        room = self.compartments.get(key)
        if room is not None:
            return self.unit_name(room.getUnits() or model.getVolumeUnits())
        if key in self.references:
            return ""
        one = self.species[key]
        substance = self.unit_name(one.getSubstanceUnits() or model.getSubstanceUnits())
        if is_amount or self.is_amount(key) or not substance:
            return substance
        size = self.unit(one.getCompartment(), False)
        return f"{substance}/{size}" if size else ""

    def unit_name(self, key: str) -> str:
        """The name of a unit, as a label."""
        found = self.model.getUnitDefinition(key) if key else None
        label = key if found is None else found.getName() or _base_unit(found) or key
        return "" if label in ("dimensionless", "time") else re.sub(r"[\[\]#\n]|\.\.", "", label)


def _base_unit(definition: Any) -> str:
    """The name of a unit that is a base unit times a power of ten, such as `millimole`, or ""."""
    one = definition.getUnit(0) if definition.getNumUnits() == 1 else None
    if one is None or one.getMultiplier() != 1 or one.getExponentAsDouble() != 1 or one.getScale() not in PREFIXES:
        return ""
    return PREFIXES[one.getScale()] + libsbml().UnitKind_toString(one.getKind())


def _text(body: Sequence[Any]) -> str:
    return written(body, PLAIN).text
