"""Run files: one npz with a JSON header, from which a run is loaded or reproduced bit for bit.

The arrays are plain members (`numpy.load(path)["ys"]`), the text is the member `header`. No pickle, no code.
"""

import contextlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dynsim._core.checked import checked
from dynsim._core.placement import beside, current
from dynsim._core.types import Key
from dynsim._core.validation import instance
from dynsim.errors import ArgumentError, IntegrationError, reason
from dynsim.integrators import AbstractIntegrator, Diffrax, Scipy, Stats, backwards
from dynsim.io.npz import read_arrays, write_arrays
from dynsim.io.serialisation import describe, rebuild, share
from dynsim.simulation.checks import as_ordered
from dynsim.simulation.hybrid_trajectory import AbstractRecipe, Ending, HybridTrajectory, Jump
from dynsim.simulation.simulate import iterate
from dynsim.simulation.trajectory import Trajectory
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import components
from dynsim.systems.tokens.interactions.sharded import Sharded

if TYPE_CHECKING:
    import xarray

    from dynsim.simulation.ensemble import Ensemble

    Run = Trajectory | HybridTrajectory | Ensemble

FORMAT = "dynsim run"
FORMAT_VERSION = 2
# Environment variables that select linear-algebra kernels, and hence the last bits of a run.
KERNELS = ("XLA_FLAGS", "OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PACKAGES = ("dynsim", "jax", "jaxlib", "diffrax", "equinox", "optimistix", "lineax", "numpy", "scipy")


def save(path: str | Path, run: "Run", *, key: Key | None = None, seed: int | None = None) -> None:
    """Write a trajectory, a run of a hybrid system or an ensemble to a file, atomically.

    A flow whose tokens are distributed over the devices of a mesh is stored without the mesh, as its equivalent on one
    device. The states that are loaded have the same bits, but a rerun of them differs by rounding.

    Args:
        path: the file; its folder is created if it is missing.
        run: a result of `simulate`, `iterate`, `simulate_hybrid` or `ensemble`.
        key: the random key from which the initial state and parameters were drawn, if any.
        seed: the seed of that key, if it has one.

    Raises:
        ValueError: for anything else, if the folder is not writable, or if the system contains a function that cannot
            be imported again (a lambda).

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> run = ds.iterate(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]], 2)  # token 0 goes halfway to token 1 twice
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.save(f"{folder}/run.npz", run)
        ...     ds.load(f"{folder}/run.npz").final.tolist()
        [[1.75], [2.0]]
    """
    from dynsim.simulation.ensemble import Ensemble

    instance(
        "run", run, Trajectory | HybridTrajectory | Ensemble, "a trajectory, a run of a hybrid system or an ensemble"
    )
    parts, arrays = _described(run)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kind": type(run).__name__,
        "seed": None if seed is None else int(seed),
        "key": None if key is None else _key(key),
        "dtype": str(_dtype(run)),
        "versions": versions(getattr(run, "ys", run.initial)),
        "environment": {name: os.environ[name] for name in KERNELS if name in os.environ},
        "run": {"class": f"{type(run).__module__}:{type(run).__name__}", "fields": parts},
    }
    text = json.dumps(header, allow_nan=False)
    write_arrays(path, {"header": np.array(text), **arrays})


def _described(run: "Run") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Parts of a run as JSON, and their arrays by name."""
    arrays: dict[str, np.ndarray] = {}
    run = _on_one_device(run)
    parts = {name: describe(name, getattr(run, name), arrays) for name in type(run).__dataclass_fields__}
    if isinstance(run, HybridTrajectory):  # the flows of its phases share most of their arrays
        names: dict[tuple, str] = {}
        parts = {name: share(part, arrays, names) for name, part in parts.items()}
    return parts, arrays


def _on_one_device(run: "Run") -> "Run":
    """The run with flows that name no devices, which another process may not have."""
    sharded = lambda part: isinstance(part, Sharded)
    if not any(map(sharded, jax.tree.leaves(run, is_leaf=sharded))):
        return run
    return jax.tree.map(lambda part: part.inner if sharded(part) else part, run, is_leaf=sharded)


def header(path: str | Path) -> dict[str, Any]:
    """Read the header of a run file: format, kind, seed, key, dtype, versions, and the recipe of the run."""
    return _parsed(path, read_arrays(path))


def load(path: str | Path, *, trust: Collection[str] = ()) -> "Run":
    """Load the run of a file and rebuild its system.

    Args:
        path: a file written by `save`.
        trust: import paths (`module:name`, `file.py:name`, or a module) of your own functions and classes, which
            loading imports and hence executes. Anything that belongs to dynsim need not be listed.

    Raises:
        ValueError: if the file is truncated, of another format or version, incomplete, or refers to untrusted code.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> run = ds.iterate(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]], 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.save(f"{folder}/run.npz", run)
        ...     loaded = ds.load(f"{folder}/run.npz")
        >>> loaded.system.alpha, loaded.ys.shape
        (1.0, (3, 2, 1))
    """
    arrays = read_arrays(instance("path", path, str | Path, "a path"))
    recipe = _parsed(path, arrays)["run"]
    with _fault_of(path, "be a complete run file"):
        run = rebuild(recipe, arrays, trust)
        wrong = _wrong_part(run)
    if wrong:
        raise ArgumentError("path", "be a complete run file", f"{wrong} of `{path}` does not fit a run")
    return run


@contextlib.contextmanager
def _fault_of(path: str | Path, must: str) -> Iterator[None]:
    """Turn any exception into one sentence about the file, because wrong types in it can cause any of them."""
    try:
        yield
    except IntegrationError:
        raise
    except Exception as error:
        if str(error).startswith(("Argument `path`", "Argument `trust`")):
            raise
        raise ArgumentError("path", must, f"`{path}` is not ({type(error).__name__}: {reason(error)})") from None


def _wrong_part(run: Any) -> str:
    """Name of the first part of a run that has the wrong type or shape, or ""."""
    from dynsim.simulation.ensemble import Ensemble

    if isinstance(run, HybridTrajectory):
        return _wrong_part_of_hybrid(run)
    if not isinstance(run, Trajectory | Ensemble):
        return "the class"
    path = isinstance(run, Trajectory)
    ts = np.asarray(run.ts)
    if ts.ndim != 1 or ts.size == 0 or ts.dtype.kind not in "iuf":
        return "the array `ts`"
    back = path and isinstance(run.system, AbstractFlow) and backwards.decrease(ts)
    if not np.all((np.diff(ts) < 0) if back else (np.diff(ts) > 0)):
        return "the array `ts`"
    parts = {"ys": run.ys} if path else {"values": run.values, "initial": run.initial, "final": run.final}
    for name, part in parts.items():
        lengths = {len(leaf) if _is_array(leaf) and leaf.ndim else 0 for leaf in jax.tree.leaves(part)}
        if len(lengths) != 1 or path and lengths != {ts.size}:
            return f"the array `{name}`"
    systems = [run.system] if path else run.flow if isinstance(run.flow, tuple) else [run.flow]
    if not all(isinstance(system, AbstractFlow | AbstractMap) for system in systems):
        return "the system"
    if not isinstance(run.stats, Stats) or not all(_is_array(leaf) for leaf in jax.tree.leaves(run.stats)):
        return "the part `stats`"
    return "" if run.integrator is None or isinstance(run.integrator, AbstractIntegrator) else "the integrator"


def _wrong_part_of_hybrid(run: HybridTrajectory) -> str:
    """Name of the first wrong part of a hybrid run, starting with its phases."""
    if not isinstance(run.phases, tuple) or not all(isinstance(path, Trajectory) for path in run.phases):
        return "the part `phases`"
    wrong = next((part for path in run.phases if (part := _wrong_part(path))), "")
    if wrong:
        return wrong
    if not isinstance(run.jumps, tuple) or not (run.phases or run.jumps):
        return "the part `jumps`"
    if not all(isinstance(jump, Jump) and type(jump.time) is float for jump in run.jumps):
        return "the part `jumps`"
    if not isinstance(run.ending, Ending):
        return "the part `ending`"
    return "" if run.recipe is None or isinstance(run.recipe, AbstractRecipe) else "the recipe"


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray) and np.asarray(leaf).dtype.kind in "biufO"


@checked
def rerun(path: str | Path, *, trust: Collection[str] = ()) -> Trajectory | HybridTrajectory:
    """Recompute the trajectory of a run file from its system, initial state, times and integrator.

    All phases of a hybrid system are recomputed, from its first flow and its transitions.

    On the machine, with the versions and the environment that produced the file, the result is the same bit for bit.
    Tokens that were distributed over several devices are an exception: they are computed on one, with other rounding.

    Args:
        path: a file written by `save`.
        trust: import paths of your own functions and classes, as for `load`.

    Raises:
        ValueError: as for `load`, for an ensemble, for a path cut at an event, and if a function has changed since.

    Example:
        >>> import tempfile
        >>> import dynsim as ds
        >>> run = ds.iterate(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]], 2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ds.save(f"{folder}/run.npz", run)
        ...     again = ds.rerun(f"{folder}/run.npz")
        >>> again.final.tolist() == run.final.tolist()
        True
    """
    stored, run = header(path), load(path, trust=trust)
    if not isinstance(run, Trajectory | HybridTrajectory):
        raise ArgumentError("path", "hold a trajectory, to be recomputed", f"holds an {type(run).__name__}")
    source = "system" if isinstance(run, Trajectory) else "recipe"
    with _fault_of(path, "be a run file whose run can be computed again"):
        if _described(run)[0][source] != stored["run"]["fields"][source]:
            raise ArgumentError("path", "refer to functions as they were when it was written", "one has changed since")
        return _again(run) if isinstance(run, Trajectory) else _hybrid_again(run)


def _again(run: Trajectory) -> Trajectory:
    """Recompute a trajectory; times and tolerances are checked, because a file can contain any."""
    times = as_ordered(run.ts)
    if isinstance(run.system, AbstractMap):
        every = round(times[1] - times[0])
        if not np.array_equal(times, np.arange(0, times[-1] + 1, every)):
            raise ArgumentError("ts", "be the evenly spaced step numbers of a map", "are not")
        return iterate(run.system, run.initial, int(times[-1]), every=every)
    if run.integrator is None:
        raise ArgumentError("path", "hold the integrator of its trajectory", "does not, as for a path cut at an event")
    _check_settings(run.integrator)
    run.system.check_horizon(*sorted((float(times[0]), float(times[-1]))))
    ys, stats = backwards.integrate(run.integrator, run.system, run.initial, run.ts)
    return Trajectory(run.ts, ys, run.system, stats, run.integrator)


def _hybrid_again(run: HybridTrajectory) -> HybridTrajectory:
    """Recompute a run of a hybrid system; its recipe checks its own arguments."""
    if run.recipe is None:
        raise ArgumentError("path", "hold the recipe of its run", "does not, because it is only part of a run")
    _check_settings(getattr(run.recipe, "integrator", None))
    return run.recipe.again()


def _check_settings(integrator: AbstractIntegrator | None) -> None:
    """Check the settings of an integrator, which rebuilding skips."""
    if isinstance(integrator, Diffrax | Scipy):
        fields = {name: getattr(integrator, name) for name in type(integrator).__dataclass_fields__}
        type(integrator)(**fields)


def to_xarray(run: Any) -> "xarray.Dataset":  # the type is checked here, with one sentence
    """Convert a trajectory to an xarray Dataset with the dimensions time (or layer), token and coordinate.

    If the system declares names and units, they become labels of the coordinate and its `unit`.

    Raises:
        ValueError: if xarray is not installed.

    Example:
        >>> import dynsim as ds
        >>> table = ds.to_xarray(ds.iterate(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]], 2))
        >>> table["state"].dims, table["state"].shape
        (('layer', 'token', 'coordinate'), (3, 2, 1))
    """
    try:
        import xarray
    except ImportError:
        raise ArgumentError(
            "run", "be converted by xarray (`pip install dynsim[io]`)", "xarray is not installed"
        ) from None
    if not isinstance(run, Trajectory):
        must = "be a trajectory, such as one of the `phases` of a hybrid run"
        raise ArgumentError("run", must, f"is {type(run).__name__}")
    first = "layer" if isinstance(run.system, AbstractMap) else "time"
    parts = run.ys._asdict() if hasattr(run.ys, "_asdict") else {"state": run.ys}
    states = {name: ((first, *_axes(name, np.ndim(y) - 1)), np.asarray(y)) for name, y in parts.items()}
    stats = {name: np.asarray(value).item() for name, value in vars(run.stats).items() if name != "error"}
    stats["succeeded"] = int(stats["succeeded"])
    known = {f"version_{k}": v for k, v in versions(run.ys).items()}
    attributes = {"system": type(run.system).__name__, **stats, **known}
    coordinates: dict[str, Any] = {first: np.asarray(run.ts)} | _labels(
        run.system, np.shape(jax.tree.leaves(run.ys)[0]) if not hasattr(run.ys, "_asdict") else ()
    )
    if run.stats.error is not None:
        gaps = run.stats.error._asdict() if hasattr(run.stats.error, "_asdict") else {"state": run.stats.error}
        states |= {f"{name}_error": (states[name][0], np.asarray(gap)) for name, gap in gaps.items()}
    made = xarray.Dataset(states, coords=coordinates, attrs=attributes)
    if getattr(run.system, "time_unit", ""):
        made[first].attrs["units"] = run.system.time_unit  # pyright: ignore[reportAttributeAccessIssue]
    return made


def _labels(system: AbstractFlow | AbstractMap, shape: tuple[int, ...]) -> dict[str, Any]:
    """Labels of the last axis and their units, as coordinates, if the system declares them."""
    if len(shape) not in (2, 3) or not (system.names or system.units):
        return {}
    known = components(system, np.zeros(shape[-1:]))
    units = {"unit": ("coordinate", list(known.units))} if system.units else {}
    return {"coordinate": list(known.names), **units}


def versions(states: Any = None) -> dict[str, str]:
    """Versions of Python and of the packages that determine the bits of a run, and the device on which states lie."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    with beside(states):
        return {**found, "python": platform.python_version(), "device": current().device_kind}


def _axes(name: str, ndim: int) -> tuple[str, ...]:
    """Names of a state's axes: tokens are rows, the last axis is a coordinate, and parts do not share axes."""
    names = {0: (), 1: ("coordinate",), 2: ("token", "coordinate")}.get(ndim)
    names = tuple(f"axis_{k}" for k in range(ndim)) if names is None else names
    return names if name == "state" else tuple(f"{name}_{axis}" for axis in names)


def _key(key: Key) -> dict[str, Any]:
    return {"impl": str(jax.random.key_impl(key)), "data": np.asarray(jax.random.key_data(key)).tolist()}


def _dtype(run: "Run") -> np.dtype:
    return np.asarray(jax.tree.leaves(run.initial)[0]).dtype


def _parsed(path: str | Path, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Parse the header among `arrays`; raise `ValueError` unless it belongs to a complete run file of this version."""
    try:
        parsed = json.loads(str(arrays["header"]))
    except (KeyError, ValueError, RecursionError):
        raise ArgumentError("path", "be a run file", f"`{path}` has no header") from None
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ArgumentError("path", "be a run file", f"`{path}` has the header of something else")
    if parsed.get("format_version") != FORMAT_VERSION:
        found = parsed.get("format_version")
        raise ArgumentError("path", f"be of format version {FORMAT_VERSION}", f"`{path}` is of version {found}")
    missing = [name for name in ("kind", "run", "versions", "dtype") if name not in parsed]
    if missing or not isinstance(parsed["run"], dict) or not {"class", "fields"} <= set(parsed["run"]):
        raise ArgumentError("path", "be a complete run file", f"`{path}` lacks the field `{(missing or ['run'])[0]}`")
    return parsed
