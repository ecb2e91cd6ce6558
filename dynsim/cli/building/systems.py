"""Build the system that a command names, with its parameters: from the catalogue, a paper or a user's file."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dynsim._core.types import State
from dynsim._core.validation import signature_of
from dynsim.cli.building.equations import first_value, from_text, has_value, is_code, is_equations, names, title
from dynsim.cli.building.own_code import check_function, imported, own_code, without_name
from dynsim.cli.building.spaces import space
from dynsim.cli.parsing.options import nearest_option, parse, refuse_unused, typed_as, warn
from dynsim.cli.parsing.system import SystemOptions
from dynsim.cli.parsing.tables import number
from dynsim.cli.simulate import WITH_OWN_OPTIONS
from dynsim.errors import ArgumentError, check_positive, counted, nearest
from dynsim.keys import random_key
from dynsim.systems.angles import turning
from dynsim.systems.base import AbstractFlow, AbstractMap, FunctionFlow, FunctionMap, Switched, needed_arguments
from dynsim.systems.named import Components, changed, components, declared, listed, parameters

if TYPE_CHECKING:
    from dynsim.simulation.hybrid_equations import HybridSystem

System = AbstractFlow | AbstractMap
NO_PARAMETERS = ("system", "out", "figure", "force", "trust", "end", "frames", "integrator", "rtol", "atol", "members",
                 "seed", "epsilon", "compare", "max_steps", "window", "guess", "euler", "method", "discrete",
                 "precision")  # fmt: skip
OF_FUNCTIONS = ("names", "units", "space", "map", "breaks", "longest_step")  # options that describe a user's function
ELSEWHERE = {("basins", "movie"): "`dynsim portrait SYSTEM --basins --vary NAME=LOW:HIGH --movie FILE` makes one"}
NUMBERS = int | float | np.ndarray | list | tuple  # defaults of arguments that are parameters
TRUTHS = {"": True, "true": True, "1": True, "false": False, "0": False}
WITH_TRANSITIONS = ("simulate", "export", "theorem")  # commands that take hybrid systems
STARTED = ("prototypes", "fast-slow", "master-equation")  # the papers' flows that have options of their own


class Found(NamedTuple):
    """A system for a command.

    Attributes:
        name: its name.
        system: the flow or the map.
        start: its initial state; None if its dimension is unknown, or if a random one is to be drawn when it is needed.
        box: a window for portraits, or ().
        random: seed and dimension of a random initial state.
        hybrid: the hybrid system whose first flow it is, if it has transitions.
    """

    name: str
    system: Any
    start: State | None
    box: tuple[float, ...] = ()
    random: tuple[int, int] | None = None
    hybrid: "HybridSystem | None" = None

    def state(self) -> State | None:
        """Get the initial state, drawn if that is to be done, or None if the dimension is unknown."""
        if self.start is not None or self.random is None:
            return self.start
        seed, dimension = self.random
        return self.system.space.sample(random_key(seed, "start"), (dimension,))

    def begun(self, dimension: int | None = None) -> State:
        """Get the initial state, or draw a random one of this dimension, or with an entry for each declared name.

        Raises:
            ValueError: if neither is known.
        """
        known, dimension = self.state(), len(self.system.names) or dimension
        if known is not None:
            return known
        if dimension is None:
            must = f"be given for `{self.name}`, whose dimension is unknown"
            raise ArgumentError("start", must, "is not")
        return self.system.space.sample(random_key(0, "start"), (dimension,))


def found(o: SystemOptions, command: str) -> Found:
    """Build the system that the options name, with its parameters, its angles and its initial state.

    Raises:
        ValueError: for a name, a parameter, an angle or an initial state that does not fit, with the closest name.
    """
    made = _named(o, command)
    _warn_of_hidden(o, made.system)
    if not o.angle:
        return made
    return made._replace(system=turning(made.system, _angles(o, made), "angle"))


def _warn_of_hidden(o: SystemOptions, system: Any) -> None:
    """Warn about an option that is given and has the name of a parameter of the system, which keeps its value."""
    hidden = set(parameters(system)) - set(by_name(o.parameters))
    for field in dataclasses.fields(o):
        if field.name in hidden and getattr(o, field.name) != field.default:
            option = f"--{field.name.replace('_', '-')}"
            also = f"`{field.name}` of the system is set by `--parameters {field.name}=VALUE`"
            warn([f"`{option}` is an option of the command; the parameter {also}."])


def _angles(o: SystemOptions, made: Found) -> dict[str | int, float]:
    """Parse the angles with their periods; components without declared names are given by their index."""
    turns: dict[str | int, float] = {}
    size = _size(o)
    x = made.start if made.start is not None or size is None else jnp.zeros(size)
    known = Components(tuple(made.system.names), ()) if x is None else components(made.system, x)
    for word in o.angle:
        name, given, value = word.partition("=")
        place = known.index(name, "angle")
        try:
            period = float(number(value)) if given else 2 * math.pi
        except (ValueError, OverflowError):
            raise ArgumentError("angle", "be given as NAME or NAME=PERIOD", f"is `{word}`") from None
        if place in turns:
            raise ArgumentError("angle", "name each component once", f"names `{name}` twice")
        turns[place] = period
    return {made.system.names[k] if made.system.names else k: period for k, period in turns.items()}


def _named(o: SystemOptions, command: str) -> Found:
    given = by_name(o.parameters)
    if is_equations(o.system):
        refuse_unused(o, OF_FUNCTIONS, "unless the system is a function of yours, which equations are not")
        return _started(o, _of_text(o, given, command))
    if ":" in o.system and o.system.partition("/")[0] not in STARTED:
        return _fitting(o, _started(o, _own(o, given, command)), command)
    from dynsim.cli.building.papers import SYSTEMS
    from dynsim.systems.catalogue.entries import CATALOGUE

    own = [name for name in OF_FUNCTIONS if name != "space" or o.system not in SYSTEMS]
    refuse_unused(o, own, f"unless the system is a function of yours, which `{o.system}` is not")
    if o.system in CATALOGUE:
        entry = CATALOGUE[o.system]
        _only(given, parameters(entry.system()), o, command)
        made = entry.system(**_values(given))
        start: Any = jnp.asarray(entry.start)
        if o.system == "kuramoto" and len(made.names) != len(entry.start):
            start = jnp.linspace(0.0, 3.0, len(made.names))
        warn_below_zero(o.system, "start", o.start)
        warn_below_zero(o.system, "box", getattr(o, "box", ())[::2])
        return _started(o, Found(o.system, made, start, entry.box))
    if o.system in SYSTEMS:
        return _started(o, _of_tokens(o, given, command))
    if o.system.partition("/")[0] in STARTED:
        return _started(o, _of_paper(o, given, command))
    if o.system.endswith(".py"):
        raise without_name("system", o.system)
    names = (*CATALOGUE, *SYSTEMS, *WITH_OWN_OPTIONS)
    forms = "equations such as `x' = -x` or `x[n+1] = x[n]/2`"
    must = f"be a name that `dynsim list systems` shows, {forms}, `file.py:name` or `module:name`"
    why = (
        f"`{o.system}` is not a single flow"
        if o.system in WITH_OWN_OPTIONS
        else f"is `{o.system}`{nearest(o.system, names)}"
    )
    raise ArgumentError("system", must, why)


def _of_text(o: SystemOptions, given: Mapping[str, str], command: str) -> Found:
    """Build the system of a text of equations, or of a file with one."""
    known = names(o.system)
    _only(given, known, o, command)
    values = _values(given)
    for name in known:  # a parameter that an option varies, as in `--parameter mu=0:2`, begins at its first value
        if name not in values and not has_value(o.system, name) and (first := first_value(o, name)) is not None:
            values[name] = first
    read: Any = from_text(o.system, values, getattr(o, "calculus", None), hybrid=command in WITH_TRANSITIONS)
    hybrid = read if hasattr(read, "transitions") else None
    made: Any = read if hybrid is None else hybrid.flow
    windows = {name: (low, high) for name, low, high in made.ranges}
    box = tuple(end for name in made.names for end in windows.get(name, ()))
    start = jnp.asarray(made.start) if made.start else None
    return Found(title(o.system), made, start, box if len(box) == 2 * len(made.names) else (), hybrid=hybrid)


def warn_below_zero(system: str, argument: str, values: Any) -> None:
    """Warn about negative values of populations and concentrations in the catalogue, which have no meaning."""
    from dynsim.systems.catalogue.entries import CATALOGUE

    entry = CATALOGUE.get(system)
    if entry is not None and entry.counted and np.any(np.asarray(values, float) < 0):
        warn([f"`{argument}` reaches below zero, where the {entry.counted} of `{system}` have no meaning."])


def flow(o: SystemOptions, command: str) -> Found:
    """Build the system as `found` does; raise `ValueError` if it is a map."""
    made = found(o, command)
    if not isinstance(made.system, AbstractFlow):
        raise ArgumentError("system", f"be a flow for `dynsim {command}`", f"`{o.system}` is a map")
    return made


def by_name(words: tuple[str, ...]) -> dict[str, str]:
    """Collect the parameters by name, with "" for one without a value."""
    pairs = {}
    for word in words:
        name, _, value = word.partition("=")
        if not name:
            raise ArgumentError("parameters", "be given as NAME=VALUE", f"has `{word}`")
        pairs[name[0] + name[1:].replace("-", "_")] = value
    return pairs


def _only(given: Mapping[str, str], known: Any, o: SystemOptions, command: str) -> None:
    """Raise `ValueError` for the first name that is not a parameter, with the closest parameter or option."""
    options = tuple(vars(o))
    for name in given:
        if name not in known:
            these = listed(tuple(known)) or "it has none"
            must = f"be an option of `dynsim {command}` or a parameter of `{o.system}` ({these})"
            elsewhere = ELSEWHERE.get((command, name))
            near = f" ({elsewhere})" if elsewhere else nearest_option(name, {*known, *options} - {name})
            raise ArgumentError(name, must, f"is neither{near}")


def _values(given: Mapping[str, str]) -> dict[str, Any]:
    """Convert the values of parameters to numbers."""
    return {name: _value(name, word) for name, word in given.items()}


def _value(name: str, word: str) -> Any:
    """Parse a number, or a list of numbers with commas; raise `ValueError` for anything else."""
    if not word:
        raise ArgumentError(name, "be given with a value", "is given without")
    try:
        values = [float(number(part)) for part in word.split(",")]
    except (ValueError, OverflowError):
        raise ArgumentError(name, "be a finite number, or several separated by commas", f"is `{word}`") from None
    return values if len(values) > 1 else values[0]


def _words(given: Mapping[str, str]) -> list[str]:
    """Write options as words of a command line."""
    found: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        found += [option] if value in ("", "true") else [option, *value.split(",")]
    return found


def _of_tokens(o: SystemOptions, given: Mapping[str, str], command: str) -> Found:
    """Build a flow of tokens from the options of `dynsim simulate`."""
    from dynsim.cli.building.flow_options import Simulate, with_dimension
    from dynsim.cli.building.papers import MODEL, build, unused
    from dynsim.cli.building.starts import start

    known = ("tokens", "dimension", "initial", *MODEL)
    _only(given, known, o, command)
    of_space = ["--space", o.space] if o.space else []
    words = [o.system, "--seed", str(o.seed), *of_space, *_words(given)]
    parsed = parse(Simulate, words, f"simulate {o.system}")
    options = with_dimension(parsed)
    made = build(options)
    refuse_unused(parsed, unused(options, made), f"for `{o.system}`, on which it has no effect")
    return Found(o.system, made, start(options, made, 0))


def _of_paper(o: SystemOptions, given: Mapping[str, str], command: str) -> Found:
    """Build one of the papers' flows that have options of their own."""
    name, _, example = o.system.partition("/")
    kind, build = {"prototypes": _prototypes, "fast-slow": _fast_slow, "master-equation": _chain}[name]()
    fields = [f for f in kind.__dataclass_fields__ if f not in NO_PARAMETERS or f == "epsilon"]
    _only(given, fields, o, command)
    seed = ["--seed", str(o.seed)] if "seed" in kind.__dataclass_fields__ else []
    words = ([example] if example else []) + seed + _words(given)
    system, start = build(parse(kind, words, f"simulate {name}"))
    return Found(o.system, system, start)


def _prototypes() -> tuple[Any, Callable]:
    from dynsim.cli.simulate.prototypes.flow import data, flow_and_start
    from dynsim.cli.simulate.prototypes.options import Prototypes, check_options

    def build(o: Any) -> tuple[System, State]:
        check_options(o)
        return flow_and_start(o, data(o)[0])

    return Prototypes, build


def _fast_slow() -> tuple[Any, Callable]:
    from dynsim.cli.simulate.fast_slow import FastSlowOptions, example

    def build(o: Any) -> tuple[System, State]:
        case = example(o)
        return case.flow(o.epsilon[0]), case.start

    return FastSlowOptions, build


def _chain() -> tuple[Any, Callable]:
    from dynsim.cli.simulate.master_equation import MasterEquation, chain, start
    from dynsim.systems.master_equation.flow import MasterEquationFlow

    def build(o: Any) -> tuple[System, State]:
        Q = chain(o)
        return MasterEquationFlow(Q), jnp.asarray(start(o, Q.shape[0]))

    return MasterEquation, build


def names_of_parameters(o: SystemOptions) -> set[str]:
    """Names of the parameters of equations, of a user's system or of one of the catalogue; none for another one."""
    from dynsim.systems.catalogue.entries import CATALOGUE

    if is_equations(o.system):
        return set(names(o.system))
    if o.system in CATALOGUE:
        return set(parameters(CATALOGUE[o.system].system()))
    if not is_code(o.system):
        return set()
    made: Any = imported(o.system)
    if isinstance(made, AbstractFlow | AbstractMap):
        return set(parameters(made))
    return (
        {*_defaults(made, NUMBERS), *needed_arguments(made)} if callable(made) and not isinstance(made, type) else set()
    )


def _own(o: SystemOptions, given: Mapping[str, str], command: str) -> Found:
    """Build a user's system: a function with its arguments, a flow or a map, or a class of these."""
    made: Any = imported(o.system)
    if isinstance(made, type) and issubclass(made, AbstractFlow | AbstractMap):
        with own_code("system", "be built without arguments"):
            made = made()  # pyright: ignore[reportCallIssue]
    if isinstance(made, AbstractFlow | AbstractMap):
        refuse_unused(o, OF_FUNCTIONS, f"unless the system is a function of yours, which `{o.system}` is not")
        _only(given, parameters(made), o, command)
        return Found(o.system, changed(made, _values(given)), None)
    if not callable(made):
        raise ArgumentError("system", "be a function, a flow or a map", f"`{o.system}` is a {type(made).__name__}")
    defaults, switches = _defaults(made, NUMBERS), _defaults(made, bool)
    off = {f"no_{name}": name for name in switches}
    given = {off.get(name, name): "false" if name in off else word for name, word in given.items()}
    # An argument without a default that an option varies, as in `--parameter mu=0:2`, begins at its first value.
    needed = {name: first_value(o, name) for name in needed_arguments(made)}
    _only(given, defaults | needed | switches, o, command)
    turned = tuple((name, _truth(name, given[name])) for name in switches if name in given)
    known = defaults | {name: value for name, value in needed.items() if value is not None}
    chosen = known | _values({name: word for name, word in given.items() if name not in switches})
    for name, default in defaults.items():
        if isinstance(default, int | float) and isinstance(chosen[name], list):
            raise ArgumentError(name, f"be one number, as its default, {default:g}", f"is `{given[name]}`")
    function = Switched(made, turned) if turned else made
    described: Any = {"names": declared("names", o.names), "units": declared("units", o.units), "parameters": chosen}
    on = space(o.space or "euclidean")
    if o.map:
        refuse_unused(o, ("breaks", "longest_step"), "for a map")
        with typed_as(step_function="system"):
            return Found(o.system, FunctionMap(function, on, **described), None)
    check_positive(longest_step=o.longest_step)
    period = math.inf if o.longest_step is None else 2 * o.longest_step  # steps are limited to half of it
    with typed_as(rhs="system"):
        return Found(o.system, FunctionFlow(function, on, breaks=o.breaks, fastest_period=period, **described), None)


def _truth(name: str, word: str) -> bool:
    """Parse a true or false value; an option without a value is true."""
    if word.lower() not in TRUTHS:
        raise ArgumentError(name, f"be true or false (`--{name}`, `--no-{name}`)", f"is `{word}`")
    return TRUTHS[word.lower()]


def _fitting(o: SystemOptions, made: Found, command: str) -> Found:
    """Check that names, units and a user's function fit the initial state; raise `ValueError` otherwise.

    Without an initial state the centre of the box is used. `dynsim simulate` checks at the state that it draws instead.
    """
    size, x = _size(o), cast(Any, made.start)
    if x is None:
        centre = None if size is None else np.mean(np.reshape(getattr(o, "box", ()), (-1, 2)), axis=1)
        x = made.state() if centre is None else jnp.asarray(centre, float)
    if x is None or command == "simulate" and not o.start:
        return made
    host = isinstance(made.system, AbstractMap) and made.system.on_host
    if isinstance(x, jax.Array) and not host and (command != "simulate" or isinstance(made.system, AbstractMap)):
        options = "`--start`, `--box`" if hasattr(o, "box") else "`--start`"
        check_function(made.system, x, options=options, by_names=bool(o.names) and not o.start and size is None)
    components(made.system, x)
    return made


def _size(o: SystemOptions) -> int | None:
    """Get the number of components from the window, or None."""
    box = getattr(o, "box", ())
    return len(box) // 2 if box and len(box) % 2 == 0 and not getattr(o, "plane", ()) else None


def _defaults(function: Callable, kind: Any) -> dict[str, Any]:
    """Collect the arguments of a function after the first two with defaults of a kind; booleans are not numbers."""
    arguments = list(signature_of(function).parameters.values())[2:]
    fits = lambda value: isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return {argument.name: argument.default for argument in arguments if fits(argument.default)}


def _started(o: SystemOptions, made: Found) -> Found:
    """Set the initial state that the options give, if any, on the system's space."""
    if not o.start:
        size, names = _size(o), made.system.names
        if made.start is None and names and size in (None, len(names)):
            return made._replace(random=(o.seed, len(names)))
        return made
    if not all(map(math.isfinite, o.start)):
        raise ArgumentError("start", "hold finite numbers", f"is {o.start}")
    values = jnp.asarray(o.start)
    flat, restored = (values, lambda x: x) if made.start is None else ravel_pytree(made.start)
    declared_size = 0 if o.names or made.start is not None else len(made.system.names)
    size = declared_size or flat.size
    if values.size != size:
        raise ArgumentError("start", f"have {counted(size, 'number')}, one for each component", f"has {values.size}")
    return made._replace(start=restored(values.astype(flat.dtype)))
