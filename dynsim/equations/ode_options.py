"""Read the options `@` of an `.ode` file as comments of equations: ranges, times and defaults of `dynsim simulate`."""

import math
from collections.abc import Collection, Mapping, Sequence

STIFF = ("b", "c", "g", "s", "2")
"""First letters of XPPAUT's methods for stiff systems, by which it tells them: backeul, cvode, gear, stiff, 2rb."""
UNUSED = "# not used: "
"""Begins the comment that names options without effect here."""


def method(options: Mapping[str, str]) -> str:
    """First letter of the method of integration, or ""."""
    return options.get("method", options.get("meth", ""))[:1]


def option_comments(
    options: Mapping[str, str], states: Collection[str], parameters: Sequence[str], *, is_map: bool
) -> list[str]:
    """Comments for the options of a file, the last of which names those that are not used.

    Args:
        options: the options with their values, as they are written.
        states: names of the components.
        parameters: names of the parameters, of which AUTO varies the first.
        is_map: whether the equations are those of a map, which has no step size.
    """
    left = _LeftOptions(options)
    comments = []
    for axis in "xy":
        shown = next((name for name in (f"{axis}p", f"{axis}plot") if left.get(name) in states), None)
        if shown and (ends := left.numbers(f"{axis}lo", f"{axis}hi")):
            comments.append(f"# {left.pop(shown)}: {ends[0]!r}..{ends[1]!r}")
    if parameters and (ends := left.numbers("parmin", "parmax")):
        comments.append(f"# {parameters[0]}: {ends[0]!r}..{ends[1]!r}")
    if total := left.numbers("total"):
        begin = 0.0 if is_map else next(iter(left.numbers("t0")), 0.0)
        comments.append(f"# t: {begin!r}..{begin + total[0]!r}")
    defaults = [f"step_size={value!r}" for value in left.numbers("dt", positive=True) if not is_map]
    defaults += [f"bounds={value!r}" for name in ("bounds", "bound") for value in left.numbers(name, positive=True)]
    defaults += ["integrator=stiff"] if method(options) in STIFF else []
    if method(options) in ("d", *STIFF):
        left.pop("method" if "method" in left else "meth")
    comments += [f"# simulate: {', '.join(defaults)}"] if defaults else []
    return comments + ([f"{UNUSED}{', '.join(left)}"] if left else [])


class _LeftOptions(dict[str, str]):
    """Options that nothing has used yet."""

    def numbers(self, *names: str, positive: bool = False) -> list[float]:
        """Use up some options and return their values; none unless all are given and finite numbers."""
        try:
            found = [float(self[name]) for name in names]
        except (KeyError, ValueError):
            return []
        if not all(math.isfinite(value) and (value > 0 or not positive) for value in found):
            return []
        for name in names:
            del self[name]
        return found
