"""Runtime checks of the annotations of `dynsim` and `analysis`, which `--jaxtyping-packages` of pytest puts in.

An int may stand for a float, as everywhere in Python.
"""

import contextlib
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, ForwardRef

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import config

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))
_file = [0]
one_call = jaxtyping.jaxtyped("context")  # one size for each name of an axis


def checked(thing: Any = None, **options: Any) -> Any:
    """Return what `jaxtyping.jaxtyped` does, at a third of its cost: a function or a dataclass that checks its types.

    beartype checks arguments and result in one call, and only functions with shapes remember the sizes of axes.
    """
    if thing is None:
        return checked
    if inspect.isclass(thing):
        if dataclasses.is_dataclass(thing) and not hasattr(thing.__init__, "checks_types"):
            thing.__init__ = _checked_function(thing.__init__)
        return thing
    if isinstance(thing, classmethod | staticmethod):
        return type(thing)(_checked_function(thing.__func__))
    if isinstance(thing, property):
        return property(*(f and _checked_function(f) for f in (thing.fget, thing.fset, thing.fdel)))
    return _checked_function(thing)


def check_anew() -> None:
    """Check the next call of every function: the first one in each file of tests.

    Checks of three calls in each test took a seventh of the time of all tests.
    """
    _file[0] += 1


def _checked_function(function: Callable) -> Callable:
    prepared = functools.cache(lambda: _with_types(function))  # at its first call: a run calls few of all functions
    # the number of the file that has checked it; not a list, whose entries a digest of the function would see
    last = types.SimpleNamespace(file=-1)

    def called(*args: Any, **kwargs: Any) -> Any:
        if last.file == _file[0] or config.jaxtyping_disable:
            return function(*args, **kwargs)
        last.file = _file[0]
        return prepared()(*args, **kwargs)

    _without_file(called)
    called.checks_types = True
    return functools.wraps(function)(called)


def _with_types(function: Callable) -> Callable:
    inside = typechecked(_without_unknown_names(function))
    if not any(_has_axes(hint) for hint in getattr(inside, "__annotations__", {}).values()):
        return inside

    def with_axes(*args: Any, **kwargs: Any) -> Any:
        with one_call:
            return inside(*args, **kwargs)

    _without_file(with_axes)
    return with_axes


def _without_file(function: Callable) -> None:
    """Let a frame of a check lie in no file of the user's."""
    function.__code__ = function.__code__.replace(co_filename="<annotations>")


def _without_unknown_names(function: Callable) -> Callable:
    """Return a function without those annotations that name something which is not imported when it runs."""
    hints = getattr(function, "__annotations__", {})
    named = [name for name, hint in hints.items() if _holds(hint, lambda part: isinstance(part, str | ForwardRef))]
    if not named:
        return function
    same = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    functools.update_wrapper(same, function)
    del same.__wrapped__
    same.__kwdefaults__ = function.__kwdefaults__
    same.__annotations__ = hints | {name: _known(hints[name], function.__globals__) for name in named}
    return same


def _known(hint: Any, names: dict[str, Any]) -> Any:
    """Return an annotation with the names in it looked up, or `Any` if one is unknown."""
    holder = types.SimpleNamespace(__annotations__={"value": hint})
    try:
        return typing.get_type_hints(holder, names, include_extras=True)["value"]
    except NameError:
        return Any


def _has_axes(hint: Any) -> bool:
    """Whether an annotation has types of jaxtyping, in whose shapes one name has one size throughout a call."""
    return _holds(hint, lambda part: inspect.isclass(part) and issubclass(part, jaxtyping.AbstractArray))


def _holds(hint: Any, wanted: Callable[[Any], bool]) -> bool:
    return wanted(hint) or any(_holds(part, wanted) for part in typing.get_args(hint))


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Leave annotations unchecked, so that an error of ours comes first."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)
