"""Write equations for other programs: XPPAUT, LaTeX, SBML, Python with SciPy, and Julia with OrdinaryDiffEq."""

import graphlib
import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynsim._core.validation import choice
from dynsim.equations.characters import source
from dynsim.equations.expressions import Instruction, Span
from dynsim.equations.flows import EquationFlow, EquationMap
from dynsim.equations.functions import ALIASES, GREEK, SYMBOLS
from dynsim.equations.lines import EquationLine, lines
from dynsim.equations.model import ordered
from dynsim.equations.sbml_export import to_sbml
from dynsim.equations.sbml_math import Body, constant, substituted
from dynsim.equations.transitions import TransitionRule, WhenStatement
from dynsim.equations.writing import RATIOS, Format, number, written
from dynsim.errors import ArgumentError

LONGEST = 10_000  # parts of an expression with the quantities that it uses written out
FORMATS = ("xpp", "latex", "python", "julia", "sbml")


def _python_name(name: str) -> str:
    plain = "d" * name.count("'") + name.replace("'", "")
    return f"{plain}_" if keyword.iskeyword(plain) or plain in ("np", "solve_ivp", "field", "state", "t_") else plain


def _latex_name(name: str) -> str:
    base, primes = name.rstrip("'"), "'" * name.count("'")
    found = re.fullmatch(rf"({'|'.join(GREEK)}|[A-Za-z])_?(\w*)", base)
    if found is None or found[2] and len(found[1]) == 1 and not re.search(r"_|\d$", base):
        word = base.replace("_", r"\_")
        return rf"\mathrm{{{word}}}{primes}"
    letter = rf"\{found[1]}" if len(found[1]) > 1 else found[1]
    return f"{letter}{primes}_{{{found[2]}}}" if found[2] else letter + primes


NUMPY = {name: f"np.arc{name[1:]}({{0}})" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")} | {
    **{name: f"np.{name}({{0}})" for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "log10", "log2", "sqrt", "cbrt", "abs", "sign",
        "floor", "ceil", "round",
    )}, **{name: text.replace("/", "/np.") for name, text in RATIOS.items()},
    "atan2": "np.arctan2({0}, {1})", "hypot": "np.hypot({0}, {1})", "mod": "np.mod({0}, {1})",
    "min": "min({all})", "max": "max({all})", "if": "({1} if {0} else {2})", "heaviside": "(1.0 if {0} >= 0 else 0.0)",
    "erf": "math.erf({0})", "erfc": "math.erfc({0})", "lgamma": "math.lgamma({0})",
}  # fmt: skip
JULIA = {
    **RATIOS, "atan2": "atan({0}, {1})", "min": "min({all})", "max": "max({all})", "if": "({0} ? {1} : {2})",
    "heaviside": "ifelse({0} >= 0, 1.0, 0.0)", "lgamma": "loggamma({0})",
}  # fmt: skip
XPP = {
    **RATIOS, "if": "if({0})then({1})else({2})", "heaviside": "heav({0})", "floor": "flr({0})", "log": "ln({0})",
    "ceil": "(-flr(-({0})))", "hypot": "sqrt(({0})^2+({1})^2)", "cbrt": "(sign({0})*abs({0})^(1/3))",
    "log2": "(ln({0})/ln(2))",
    "round": "if(abs(({0})-flr({0})-0.5)>0)then(flr(({0})+0.5))else(2*flr(({0})/2+0.5))",
    "two": "min and max take two arguments",
}  # fmt: skip
LATEX = {
    **{name: rf"\{name}\left({{0}}\right)" for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sec", "csc", "cot", "coth", "min", "max",
    )}, "min": r"\min\left({all}\right)", "max": r"\max\left({all}\right)",
    **{name: rf"\arc{name[1:]}\left({{0}}\right)" for name in ("asin", "acos", "atan")},
    "sqrt": r"\sqrt{{{0}}}", "abs": r"\left|{0}\right|", "heaviside": r"H\left({0}\right)",
    "if": r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}", "floor": r"\lfloor {0} \rfloor",
    "mod": r"\left({0} \bmod {1}\right)",
}  # fmt: skip
TAKEN = {
    "xpp": (
        "t", "pi", "then", "else", "of", "ran", "normal", "poisson", "shift", "ishift", "del_shft", "set", "hom_bcs",
        "besselj", "bessely", "besseli", "flr", "heav", "nxxqq", *(f"arg{k}" for k in range(1, 21)),
    ), "python": ("t",), "julia": ("t",),
}  # fmt: skip
"""Names that the text may define for itself, and that mean something else in these formats."""
XPP_NAMES = 10
"""Most characters of a name in XPPAUT, which does not read what follows them (MXLEN in parserslow.h)."""
SPECIAL_IN_JULIA = ("erf", "erfc", "lgamma")
"""Functions that the package SpecialFunctions gives."""
PYTHON_SIGNS = {**SYMBOLS, "pow": "**", "and": "and", "or": "or", "not": "not "}
JULIA_SIGNS = {**SYMBOLS, "and": "&&", "or": "||", "not": "!"}
XPP_SIGNS = {**SYMBOLS, "and": "&", "or": "|", "not": "not "}
LATEX_SIGNS = {
    **SYMBOLS, "mul": r"\,", "le": r"\le", "ge": r"\ge", "ne": r"\ne", "eq": "=", "and": r"\wedge", "or": r"\vee",
    "not": r"\neg ",
}  # fmt: skip
PLACES = {
    "python": Format(_python_name, PYTHON_SIGNS, NUMPY, as_number="float(bool({0}))"),
    "julia": Format(_python_name, JULIA_SIGNS, JULIA, as_truth="{0} != 0"),
    "xpp": Format(_python_name, XPP_SIGNS, XPP, explicit=True),
    "latex": Format(_latex_name, LATEX_SIGNS, LATEX, sums=r"\sum_{{{index}={low}}}^{{{high}}} {term}"),
    "sbml": Format(lambda name: "d" * name.count("'") + name.replace("'", ""), SYMBOLS, {}),
}  # fmt: skip


def export(system: Any, to: str) -> str:
    r"""Write a system from equations for another program.

    ```python
    >>> import dynsim as ds
    >>> print(ds.export(ds.system("x' = mu*x - x^3; mu = 1; x(0) = 0.1"), "xpp"))
    x'=mu*x-x^3
    par mu=1
    init x=0.1
    done
    ```

    Args:
        system: a flow or a map that `dynsim.system` has made, or a hybrid system of `dynsim.hybrid_system`.
        to: `xpp` for an `.ode` file, `latex` for an aligned display, `python` for a script with SciPy, `julia` for one
            with OrdinaryDiffEq, or `sbml` for a model in SBML, whose variables are parameters with rate rules.

    Raises:
        ArgumentError: for a system that is not made of equations without noise, or that has families of components,
            which only LaTeX has; for a hybrid system if `to` is not xpp or sbml.
    """
    choice("to", to, FORMATS)
    statements = getattr(getattr(system, "transitions", None), "statements", ())
    system = system.flow if statements else system
    if statements and to not in ("xpp", "sbml"):
        raise ArgumentError("to", "be xpp or sbml for equations with transitions", f"is `{to}`")
    if not isinstance(system, EquationFlow | EquationMap):
        raise ArgumentError("system", "be equations without noise", f"is a {type(system).__name__}")
    rhs: Any = system.equations
    text = source(rhs.text)
    parts, _ = lines(text)
    if to != "latex":
        parts = [line._replace(body=_summed(line.body, to)) for line in parts]
        if any(line.index is not None or any(one.kind == "element" for one in line.body) for line in parts):
            raise ArgumentError("to", "be latex for equations with families `x[i=1..N]`", f"is `{to}`")
    definitions = ordered(text, [line for line in parts if line.kind in ("definition", "function")])
    equations = [line for line in parts if line.kind in ("derivative", "next")]
    system, definitions, rules = _with_transitions(system, definitions, statements)
    arguments = {name for line in definitions for name in line.arguments} - {"t", "pi"}  # these two hide the others
    form, taken = PLACES[to], (_own(system, definitions) | arguments) & set(TAKEN.get(to, ()))
    form = form._replace(name=lambda word, name=form.name: name(f"{word}_" if word in taken else word))
    return _WRITERS[to](system, [*definitions, *equations], form, rules)


def _summed(body: Body, to: str) -> Body:
    """An expression with the terms of its sums written out."""
    found: list[Instruction] = []
    k = 0
    while k < len(body):
        one, k = body[k], k + 1
        if one.kind != "sum":
            found.append(one)
            continue
        span: Any = one.value
        term = body[k : k + one.count]
        k += one.count
        for place in range(span.low, span.high + 1):
            found += _summed(substituted(term, {span.index: constant(place)}), to)
            found += [Instruction("operator", "add", 2, one.at)] if place > span.low else []
            if len(found) > LONGEST:
                raise ArgumentError("to", "be latex for sums of so many terms", f"is `{to}`")
    return tuple(found)


def _own(system: Any, parts: Sequence[EquationLine]) -> set[str]:
    """Names that the text defines."""
    return {*system.names, *system.parameters, *(line.name for line in parts)}


def _with_transitions(
    system: Any, definitions: Sequence[EquationLine], statements: Sequence[WhenStatement]
) -> tuple[Any, list[EquationLine], list[TransitionRule]]:
    """Take guards and values of transitions out of the quantities and the parameters of a flow."""
    bodies = {line.name: line.body for line in definitions}
    numbers = dict(system.parameters)
    taken, rules = set[str](), []

    def body(name: str) -> Body:
        taken.add(name)
        return bodies[name] if name in bodies else constant(float(np.asarray(numbers[name])))

    for one in statements:
        sets = {target: body(f"{one.name}_{target}") for target in one.targets}
        rules.append(TransitionRule(body(one.name), one.direction, sets, one.terminal))
    if taken:
        kept = {name: value for name, value in numbers.items() if name not in taken}
        system = EquationFlow(system.equations, parameters=kept, start=system.start)  # pyright: ignore[reportCallIssue]
    return system, [line for line in definitions if line.name not in taken], rules


def _values(system: Any) -> dict[str, Any]:
    return {name: np.asarray(value, float).tolist() for name, value in system.parameters.items()}


def _rates(parts: Sequence[EquationLine], form: Format) -> list[str]:
    """Right-hand sides of all components, in order; an equation of higher order gives several."""
    found = []
    for line in parts:
        if line.kind in ("derivative", "next"):
            found += [form.name(line.name + "'" * k) for k in range(1, line.order)]
            found.append(written(line.body, form).text)
    return found


def _to_xpp(system: Any, parts: Sequence[EquationLine], form: Format, rules: Sequence[TransitionRule]) -> str:
    names = [form.name(name) for name in system.names]
    mapped = isinstance(system, EquationMap)
    step, own = next((line.step for line in parts if line.step), "t"), _own(system, parts)
    given = form.name
    form = form._replace(name=lambda name: "t" if name == step and name not in own else given(name))
    used = {form.name(name) for name in (*own, *(name for line in parts for name in line.arguments))}
    if len({name.lower() for name in used}) < len(used):
        raise ArgumentError("to", "be another format for names that differ in capitals only", "is `xpp`")
    if any(len(name) > XPP_NAMES for name in used):
        longest = max(used, key=len)
        must = f"be another format for names of more than {XPP_NAMES} characters, such as `{longest}`"
        raise ArgumentError("to", must, "is `xpp`")
    found = []
    for line in parts:
        if line.kind in ("definition", "function"):
            arguments = f"({','.join(map(form.name, line.arguments))})" if line.arguments else ""
            found.append(f"{form.name(line.name)}{arguments}={written(line.body, form).text}")
    for name, rate in zip(names, _rates(parts, form), strict=True):
        found.append(f"{name}(t+1)={rate}" if mapped else f"{name}'={rate}")
    found += [f"par {form.name(name)}={number(value)}" for name, value in _values(system).items()]
    found += [f"init {name}={number(value)}" for name, value in zip(names, system.start, strict=False)]
    return "\n".join([*map(_tight, found), *_events(rules, parts, system.names, form), "done"])


def _tight(line: str) -> str:
    """A line without spaces around operators."""
    return re.sub(r" ?([-+*/<>=&|]) ?", r"\1", line)


def _events(
    rules: Sequence[TransitionRule], parts: Sequence[EquationLine], states: Sequence[str], form: Format
) -> list[str]:
    """Transitions as global events of XPPAUT, where quantities have values from before a step: they are written out.

    An event whose sign is 0 occurs only where its condition stays zero, so that one for each direction is written.
    """
    inside: dict[str, Body] = {}
    for line in parts:
        if rules and line.kind == "definition":
            inside[line.name] = substituted(line.body, inside)
            if len(inside[line.name]) > LONGEST:
                raise ArgumentError("to", "be another format for quantities inside quantities", "is `xpp`")
    text = lambda body: _tight(written(substituted(body, inside), form).text)
    found = []
    for one in rules:
        sets = [f"{form.name(name)}={text(one.sets[name])}" for name in _in_order(one, states, inside)]
        done = ";".join([*sets, *(["arret=1"] if one.terminal else [])])
        found += [
            f"global {sign} {text(one.guard)} {{{done}}}" for sign in ([one.direction] if one.direction else [1, -1])
        ]
    return found


def _in_order(rule: TransitionRule, states: Sequence[str], inside: Mapping[str, Body]) -> list[str]:
    """Names that a transition sets: XPPAUT reads components that it has set, so those that read others come first."""
    reads = {
        name: {str(one.value) for one in substituted(body, inside) if one.kind == "name"}
        for name, body in rule.sets.items()
    }
    before = {
        name: [other for other in reads if other != name and name in states and name in reads[other]] for name in reads
    }
    try:
        return list(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError:
        must = "be another format for transitions that set components from each other's values"
        raise ArgumentError("to", must, "is `xpp`") from None


def _to_latex(system: Any, parts: Sequence[EquationLine], form: Format, rules: Sequence[TransitionRule]) -> str:
    del system, rules
    found = []
    for line in [*(one for one in parts if one.kind in ("derivative", "next")),
                 *(one for one in parts if one.kind not in ("derivative", "next"))]:  # fmt: skip
        span = line.index
        below = "" if span is None else f"_{{{span.index if isinstance(span, Span) else span}}}"
        name = form.name(line.name) + below
        if line.kind == "derivative":
            power = "" if line.order == 1 else f"^{line.order}"
            name = rf"\frac{{\mathrm{{d}}{power} {name}}}{{\mathrm{{d}}t{power}}}"
        elif line.kind == "next":
            name = f"{name}_{{{line.step}+1}}"
        elif line.kind == "function":
            name = rf"{name}({', '.join(map(form.name, line.arguments))})"
        index = isinstance(span, Span) and rf" && {span.index} = {span.low}, \dots, {span.high}"
        found.append(f"  {name} &= {written(line.body, form, to_latex=True).text}{index or ''}")
    return "\\begin{aligned}\n" + " \\\\\n".join(found) + "\n\\end{aligned}"


def _to_python(system: Any, parts: Sequence[EquationLine], form: Format, rules: Sequence[TransitionRule]) -> str:
    del rules
    return _script(system, parts, form, {
        "head": "import math\n\nimport numpy as np\nfrom scipy.integrate import solve_ivp\n",
        "def": "def field(t, state, {parameters}):" if system.parameters else "def field(t, state):",
        "state": "    {names} = state", "pi": ["    pi = np.pi"],
        "function": "    {name} = lambda {arguments}: {value}",
        "return": "    return np.array([{rates}])\n",
        "flow": "solution = solve_ivp(field, (0.0, 20.0), {start}, method=\"DOP853\", rtol=1e-9, atol=1e-11)\n"
                "print(solution.y[:, -1])",
        "map": "state = np.array({start})\nfor t in range(100):\n    state = field(t, state)\nprint(state)",
    })  # fmt: skip


def _to_julia(system: Any, parts: Sequence[EquationLine], form: Format, rules: Sequence[TransitionRule]) -> str:
    del rules
    used = {ALIASES.get(str(one.value), one.value) for line in parts for one in line.body if one.kind == "call"}
    packages = ["OrdinaryDiffEq"] * isinstance(system, EquationFlow)
    packages += ["SpecialFunctions"] * any(name in SPECIAL_IN_JULIA for name in used)
    return _script(system, parts, form, {
        "head": f"using {', '.join(packages)}" if packages else "",
        "def": "\nfunction field(state, parameters, t)", "state": "    {names} = state",
        "parameters": "    {parameters} = parameters", "function": "    {name}({arguments}) = {value}",
        "return": "    return [{rates}]\nend\n",
        "flow": "problem = ODEProblem(field, {start}, (0.0, 20.0), {values})\n"
                "solution = solve(problem, Vern7(); reltol=1e-9, abstol=1e-11)\nprintln(solution.u[end])",
        "map": "state = {start}\nfor t in 0:99\n    global state = field(state, {values}, t)\nend\nprintln(state)",
    })  # fmt: skip


def _script(system: Any, parts: Sequence[EquationLine], form: Format, words: Mapping[str, Any]) -> str:
    """A script that defines the right-hand side and follows one trajectory."""
    names, values = [form.name(name) for name in system.names], _values(system)
    keywords = ", ".join(f"{form.name(name)}={value!r}" for name, value in values.items())
    found = [words["head"], words["def"].format(parameters=keywords)]
    found.append(words["state"].format(names=", ".join(names) + ("," if len(names) == 1 else "")))
    if "parameters" in words and values:
        listed = ", ".join(map(form.name, values)) + ("," if len(values) == 1 else "")
        found.append(words["parameters"].format(parameters=listed))
    steps = {line.step for line in parts if line.step}
    if steps and any(one.value in steps for line in parts for one in line.body):
        found.append(f"    {steps.pop()} = t")
    if any(one.value == "pi" for line in parts for one in line.body) and "pi" not in _own(system, parts):
        found += words.get("pi", [])
    for line in parts:
        value = written(line.body, form).text if line.kind in ("definition", "function") else ""
        if line.kind == "definition":
            found.append(f"    {form.name(line.name)} = {value}")
        elif line.kind == "function":
            arguments = ", ".join(map(form.name, line.arguments))
            found.append(words["function"].format(name=form.name(line.name), arguments=arguments, value=value))
    found.append(words["return"].format(rates=", ".join(_rates(parts, form))))
    start = list(system.start) or [1.0] * len(names)
    listed = f"({', '.join(map(repr, values.values()))}{',' if len(values) == 1 else ''})"
    found.append(words["map" if isinstance(system, EquationMap) else "flow"].format(start=start, values=listed))
    return "\n".join(found).strip()


_WRITERS: Mapping[str, Callable[[Any, Sequence[EquationLine], Format, Sequence[TransitionRule]], str]] = {
    "xpp": _to_xpp, "latex": _to_latex, "python": _to_python, "julia": _to_julia, "sbml": to_sbml,
}  # fmt: skip
