"""Where work runs: small work on the host's processor, large work on JAX's default device."""

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from dynsim.errors import ArgumentError, nearest, shown

P = ParamSpec("P")
T = TypeVar("T")

VARIABLE = "DYNSIM_DEVICE"
"""The environment variable that overrules the rule: `cpu`, `gpu`, `gpu:1`, or `auto` for the rule itself."""
SMALL = 2_000
"""Numbers below which a step is faster on the host: 2.4 us against 24 us for 32 numbers, equal near 1,000 to 2,000."""
LOOPED = 10_000
"""Numbers of a call in a loop of Python below which the host is faster: as many take it 320 us, about as long as a call
of a GPU and its result take."""
PAIRS = 40
"""Numbers of a state up to which the field is not looked at, because all pairs of them are fewer than `SMALL`."""

KNOWN = ("cpu", "gpu", "cuda", "rocm", "tpu")
"""Platforms of JAX."""

_state: ContextVar[tuple[str, Any]] = ContextVar("placement", default=("", None))
"""Who chose JAX's default device here, "rule", "told" or nobody, and the value that JAX was given for it."""


def host() -> Any:
    """The processor of this machine as a device of JAX, or None if JAX was started without it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS names other platforms only
        return None


def default() -> Any:
    """The device that JAX uses where nobody names one."""
    return jax.local_devices()[0]


def named(word: str) -> list[Any]:
    """Devices of this process on a platform of JAX, such as "cpu", "gpu" or "tpu"; none if it is not here."""
    try:
        return list(jax.local_devices(backend=word))
    except RuntimeError:
        return []


def _setting() -> Any:
    """JAX's own setting of the default device: a device, a platform, or None."""
    return jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]


def current() -> Any:
    """The device on which new arrays are made here."""
    chosen = _setting()
    if isinstance(chosen, str):
        return named(chosen)[0]
    return default() if chosen is None else chosen


def as_device(name: str, value: Any) -> Any:
    """Find the device that `value` names: a device of JAX, a platform such as "gpu", or one of several, "gpu:1".

    "auto" and None leave the choice to the rule, and give None.

    Raises:
        ValueError: for anything else, or a device that is not here; `name` is the argument or the variable.
    """
    if value is None or isinstance(value, jax.Device):
        return value
    platforms = [word for word in dict.fromkeys(("cpu", "gpu", default().platform)) if named(word)]
    must = f"be one of {', '.join(f'`{word}`' for word in ('auto', *platforms))}, or a device of JAX"
    if not isinstance(value, str):
        raise ArgumentError(name, must, f"is {shown(value)}")
    platform, _, number = value.strip().lower().partition(":")
    if platform == "auto":
        return None
    if platform not in {*KNOWN, *platforms}:
        raise ArgumentError(name, must, f"is `{value}`{nearest(platform, ['auto', *platforms])}")
    found = named(platform)
    if not found:
        raise ArgumentError(name, must, f"is `{value}`, which JAX {jax.__version__} does not find here")
    if number and not (number.isdigit() and int(number) < len(found)):
        last = f" to `{platform}:{len(found) - 1}`" if len(found) > 1 else ""
        raise ArgumentError(name, f"name a device that is here, `{platform}:0`{last}", f"is `{value}`")
    return found[int(number or 0)]


def told() -> Any:
    """The device that the environment variable names, or None where it names none."""
    return as_device(VARIABLE, os.environ.get(VARIABLE, "").strip() or None)


def chosen_device(numbers: int | Callable[[], int], trees: Any, device: Any = None) -> tuple[Any, str]:
    """Choose the device for work on some arrays, and say who chose it.

    A device that the caller names comes first; then the one on which an array was put explicitly; then JAX's own
    default device, if the caller has set it; then the environment variable; then the size.

    Args:
        numbers: the numbers of a step, or a function that counts them.
        trees: the arrays of the work.
        device: the device that the caller names, or None.

    Returns:
        The device, or None where nothing is to be changed, and "told" or "rule".
    """
    wanted = as_device("device", device)
    one, (who, given) = default() == host(), _state.get()
    if one and not who and wanted is None and VARIABLE not in os.environ:
        return None, ""
    leaves = [leaf for leaf in jax.tree.leaves(trees) if isinstance(leaf, jax.Array)]
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return None, ""
    if wanted is not None:
        return wanted, "told"
    bound = {frozenset(leaf.devices()) for leaf in leaves if leaf.committed}
    if bound:
        first = next(iter(bound))
        return (next(iter(first)), "told") if len(bound) == len(first) == 1 else (None, "")
    if who == "told" or _setting() is not given:
        return None, ""
    if (wanted := told()) is not None:
        return wanted, "told"
    if one or host() is None:
        return None, ""
    return (host() if (numbers() if callable(numbers) else numbers) < SMALL else default()), "rule"


@contextlib.contextmanager
def placed(numbers: int | Callable[[], int], trees: T, device: Any = None) -> Iterator[T]:
    """Run what is inside on the device of `chosen_device`, and give the arrays there.

    The arrays that come out are not bound to the device: together with others they go wherever JAX puts those.

    Raises:
        ValueError: for a device that is not here.
    """
    where, who = chosen_device(numbers, trees, device)
    if where is None:
        yield trees
        return
    # JAX compiles anew where its setting changes, even if it then names the same device
    config = _setting()
    if where != current():
        config = None if where == default() else where
    with _set(who, config):
        yield moved(trees, where, device is not None)


@contextlib.contextmanager
def _set(who: str, config: Any) -> Iterator[None]:
    token = _state.set((who, config))
    try:
        with jax.default_device(config):
            yield
    finally:
        _state.reset(token)


def on_host_by_default(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function that calls JAX in a loop of Python run on the host, with the arrays among its arguments.

    With large arrays among its further arguments, such as a state of 10,000 numbers, it runs on the default device.
    What it integrates by `simulate` or `ensemble` is placed by its own size.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        sizes = lambda: [np.size(leaf) for leaf in jax.tree.leaves((args[1:], kwargs))]
        with placed(lambda: SMALL * max(sizes(), default=0) // LOOPED, (args, kwargs)) as (args, kwargs):
            return function(*args, **kwargs)

    return run


@contextlib.contextmanager
def beside(tree: Any) -> Iterator[None]:
    """Evaluate functions of arrays on the device on which the arrays lie."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    traced = any(isinstance(leaf, Tracer) or len(leaf.devices()) > 1 for leaf in leaves)
    device = None if traced or not leaves else next(iter(leaves[0].devices()))
    if device is None or device == current():
        yield
    else:
        with _set("rule", None if device == default() else device):
            yield


def carried(function: Callable[P, T]) -> Callable[P, T]:
    """A function that runs in other threads on the device that is chosen here."""
    who, _ = _state.get()
    config = _setting()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with _set(who, config):
            return function(*args, **kwargs)

    return run


def moved(trees: T, device: Any, bound: bool = False) -> T:
    """Put arrays on a device, without binding them to it; those that are bound to another one only if `bound`.

    Random keys stay where they are: JAX takes them along.
    """

    def elsewhere(leaf: Any) -> bool:
        known = isinstance(leaf, jax.Array) and leaf.devices() != {device} and (bound or not leaf.committed)
        return known and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)

    def of(leaf: Any) -> Any:
        if not elsewhere(leaf):
            return leaf
        if leaf.weak_type:  # a Python number keeps this, which decides the type of what is computed from it
            return same if leaf.ndim == 0 and (same := jnp.asarray(leaf.item())).dtype == leaf.dtype else leaf
        return jnp.asarray(np.asarray(leaf))

    return jax.tree.map(of, trees) if any(map(elsewhere, jax.tree.leaves(trees))) else trees


def step_numbers(function: Callable[[Any], Any], state: Any) -> int:
    """Most numbers in an array that one call of a function of a state makes, at least those of the state.

    A field of n tokens makes arrays of n^2 numbers. A function that JAX cannot trace counts as large as its state.
    """
    count = sum(np.size(leaf) for leaf in jax.tree.leaves(state))
    if not PAIRS < count < SMALL:
        return count
    try:
        whole = hasattr(state, "shape") or hasattr(state, "_fields")
        traced = jax.make_jaxpr(function)(state if whole else np.asarray(state, float))
    except Exception:  # noqa: BLE001  (whatever is wrong with the function or the state is reported where it is used)
        return count
    return max([count, *_sizes(traced.jaxpr)])


def _sizes(jaxpr: Any) -> Iterator[int]:
    for equation in jaxpr.eqns:
        yield from (int(np.prod(getattr(out.aval, "shape", ()))) for out in equation.outvars)
        for part in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield from _sizes(inner)


@contextlib.contextmanager
def memory_explained(name: str) -> Iterator[None]:
    """Say in one sentence that the memory of a device does not suffice for the work on an argument.

    Raises:
        ValueError: instead of JAX's error.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        wanted = re.search(r"allocat\w* ([\d.]+ ?\w+)", str(error))
        must = f"fit into the memory of {_described(current())}, where float32 takes half of what float64 does"
        raise ArgumentError(name, must, f"{wanted[1] if wanted else 'more'} could not be allocated") from error


def _described(device: Any) -> str:
    """The name of a device, with its memory if JAX knows it."""
    stats = device.memory_stats() if device.platform != "cpu" else None
    room = f", {stats['bytes_limit'] / 2**30:.0f} GiB" if stats and "bytes_limit" in stats else ""
    return f"{device} ({device.device_kind}{room})"


def where(tree: Any) -> str:
    """Name the devices on which the arrays of a result lie; "" if they can only lie on the host."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer)]
    devices = {device for leaf in leaves for device in leaf.devices()}
    if default() == host() and devices <= {host()}:
        return ""
    return ", ".join(f"{device} ({device.device_kind})" for device in sorted(devices, key=str))


def report() -> str:
    """Describe the devices of JAX, the rule of placement, and what overrules it."""
    devices = list(dict.fromkeys([*jax.local_devices(), *([host()] if host() else [])]))
    rows = [f"JAX {jax.__version__}; default device {default()}"]
    rows += [f"  {_described(device)}" for device in devices]
    rows.append(
        f"Work of fewer than {SMALL:,} numbers a step runs on the host, larger work on the default device. An array "
        "that you put on a device stays there."
    )
    try:
        found = told()
        says = "is not set" if VARIABLE not in os.environ else f"is `{os.environ[VARIABLE]}`"
        says += ": the rule decides" if found is None else f": everything runs on {found}"
    except ArgumentError as error:
        says = f"cannot be used: {error}"
    rows.append(f"{VARIABLE} (cpu, gpu, gpu:1, auto) overrules this, and so does `device`. It {says}.")
    return "\n".join(rows)
