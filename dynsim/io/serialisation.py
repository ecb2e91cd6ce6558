"""Serialise objects to JSON and named arrays, from which another process rebuilds the same object.

The JSON and the arrays are members of the same file. Nothing is executed: classes and functions are stored by import
path, and a path outside the packages of `TRUSTED` is imported only if the reader of the file declares it trusted.
"""

import dataclasses
import enum
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import math
import re
import sys
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dynsim.errors import ArgumentError, reason
from dynsim.exact import fraction_of, fraction_text
from dynsim.io.neighbours import importable

TRUSTED = ("dynsim", "analysis", "diffrax", "optimistix", "lineax")  # packages whose classes a file may name

KINDS: dict[str, type] = {"tuple": list, "list": list, "dict": dict, "pairs": list}
"""Type of a node's content, by its tag; the content of all other tags is a string."""

ARRAYS = ("jax", "numpy", "key", "fractions")
"""Tags of the nodes whose content is the name of an array."""

Arrays = dict[str, np.ndarray]


def describe(name: str, value: Any, arrays: Arrays) -> Any:
    """Serialise `value` as JSON, adding its arrays to `arrays` under names that begin with `name`.

    Raises:
        ValueError: if another process could not import a part of it, for example a lambda.
    """
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, Fraction):
        return {"fraction": fraction_text(value)}
    if isinstance(value, enum.Enum):
        return {"name": f"{import_path(name, type(value))}.{value.name}"}
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return _describe_array(name, value, arrays)
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in value):
        return {"dict": {k: describe(f"{name}.{k}", v, arrays) for k, v in value.items()}}
    if isinstance(value, Mapping):
        return {"pairs": [[describe(name, k, arrays), describe(f"{name}.{k}", v, arrays)] for k, v in value.items()]}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [describe(f"{name}.{k}", v, arrays) for k, v in enumerate(value)]}
    if isinstance(value, tuple) or dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {k: describe(f"{name}.{k}", getattr(value, k), arrays) for k in _field_names(type(value))}
        return {"class": import_path(name, type(value)), "fields": parts}
    if callable(value) or isinstance(value, type):
        return {"name": import_path(name, value), "sha256": _source_digest(value)}
    return {"name": _constant_path(name, value)}


def rebuild(node: Any, arrays: Mapping[str, np.ndarray], trust: Collection[str] = ()) -> Any:
    """Rebuild the object that `describe` serialised as `node` and `arrays`.

    Args:
        node: the JSON.
        arrays: the arrays by name.
        trust: import paths, or their modules, that may be imported in addition to the packages of `TRUSTED`.

    Raises:
        ValueError: if a part is unknown or missing, is not trusted, or cannot be imported.
    """
    if not isinstance(node, dict) or not node:
        return node
    tag, content = next(iter(node.items()))
    kind = KINDS.get(tag, str)
    if not isinstance(content, kind) or tag == "class" and not isinstance(node.get("fields"), dict):
        raise ArgumentError("path", f"hold a {kind.__name__} in every `{tag}`", f"holds a {type(content).__name__}")
    if tag in ("tuple", "list"):
        return (tuple if tag == "tuple" else list)(rebuild(part, arrays, trust) for part in content)
    if tag == "dict":
        return {key: rebuild(part, arrays, trust) for key, part in content.items()}
    if tag == "pairs":
        return {rebuild(key, arrays, trust): rebuild(part, arrays, trust) for key, part in content}
    if tag == "class":
        return _rebuild_instance(content, node["fields"], arrays, trust)
    if tag == "name":
        return resolve(content, trust)
    if tag == "float":
        return float(content)
    if tag == "fraction":
        return _fraction(content)
    return _rebuild_array(tag, node, arrays)


def share(node: Any, arrays: Arrays, names: dict[tuple, str]) -> Any:
    """Store each array once: remove duplicates from `arrays` and refer to the first equal array by name.

    `names` maps dtype, shape and content of the arrays seen so far to their names.
    """
    if not isinstance(node, dict):
        return node
    tag, content = next(iter(node.items()))
    if tag in ("tuple", "list"):
        return {tag: [share(part, arrays, names) for part in content]}
    if tag == "pairs":
        return {tag: [[key, share(part, arrays, names)] for key, part in content]}
    if tag in ("dict", "class"):
        inner = "dict" if tag == "dict" else "fields"
        return {**node, inner: {key: share(part, arrays, names) for key, part in node[inner].items()}}
    if tag not in ARRAYS:
        return node
    name, value = node[tag], arrays[node[tag]]
    first = names.setdefault((value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).digest()), name)
    if first != name:
        del arrays[name]
    return {**node, tag: first}


def _fraction(text: str) -> Fraction:
    """Read a fraction such as "3" or "-1/3" as written by `describe`; exponents are refused, as they could be huge."""
    if re.fullmatch(r"-?[0-9]+(/[0-9]+)?", text) is None or re.search(r"/0+$", text) is not None:
        raise ArgumentError("path", "hold fractions of integers", f"holds `{text[:40]}`")
    return fraction_of(text)


def _field_names(kind: type) -> tuple[str, ...]:
    """Names of the fields of a dataclass (every equinox Module is one) or a named tuple."""
    named = getattr(kind, "_fields", None)
    return tuple(named) if named is not None else tuple(f.name for f in dataclasses.fields(kind))


def _describe_array(name: str, value: Any, arrays: Arrays) -> Any:
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        arrays[name] = np.asarray(jax.random.key_data(value))
        return {"key": name, "impl": str(jax.random.key_impl(value))}
    if isinstance(value, jax.Array):
        arrays[name] = np.asarray(value)
        # A weak type, such as that of `jnp.asarray(0.5)`, affects type promotion and hence the compiled program of a
        # rerun.
        return {"jax": name, "weak": True} if value.weak_type else {"jax": name}
    value = np.asarray(value)
    if value.dtype != object:
        arrays[name] = value
        return {"numpy": name}
    if not all(isinstance(entry, int | Fraction) for entry in value.flat):
        raise ArgumentError(name, "hold numbers or fractions", "holds other objects")
    arrays[name] = np.array([fraction_text(entry) for entry in value.flat], dtype=str).reshape(value.shape)
    return {"fractions": name}


def _rebuild_array(tag: str, node: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    if tag not in ARRAYS:
        raise ArgumentError("path", "hold only parts that this version knows", f"holds a `{tag}`")
    if node[tag] not in arrays:
        raise ArgumentError("path", f"hold the array `{node[tag]}`", "does not")
    value = arrays[node[tag]]
    if tag == "key":
        return jax.random.wrap_key_data(jnp.asarray(value), impl=node["impl"])
    if tag == "fractions":
        entries = np.array([_fraction(str(entry)) for entry in value.ravel()] + [None], dtype=object)[:-1]
        return entries.reshape(value.shape)
    if tag == "jax":
        return _weak(value) if node.get("weak", False) else jnp.asarray(value)
    return value


def _weak(value: np.ndarray) -> jax.Array:
    """An array of weak type, as produced by arithmetic with Python numbers."""
    if value.ndim == 0:
        return jnp.asarray(value.item())
    return jnp.full(value.shape, value.dtype.type(0).item()).at[...].set(value)


def _rebuild_instance(path: str, parts: Mapping[str, Any], arrays: Mapping[str, np.ndarray], trust: Collection[str]):
    """Rebuild an instance from its stored fields without calling `__init__`, which may round or sample."""
    kind = resolve(path, trust)
    if not isinstance(kind, type) or not (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
        raise ArgumentError("path", "name only classes with fields", f"names `{path}`")
    names = _field_names(kind)
    if set(names) != set(parts):
        missing = ", ".join(f"`{k}`" for k in sorted(set(names) ^ set(parts)))
        raise ArgumentError("path", f"hold the fields that `{path}` has in this version", f"differs in {missing}")
    values = {k: rebuild(parts[k], arrays, trust) for k in names}
    if hasattr(kind, "_fields"):
        return kind(**values)
    instance = object.__new__(kind)
    for k, value in values.items():
        object.__setattr__(instance, k, value)
    return instance


def import_path(name: str, value: Any) -> str:
    """Import path of a class or function: `module:name`, or `file.py:name` for one in a script.

    Raises:
        ValueError: for a lambda, an inner function, or anything else that its module does not name.
    """
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    must = "be named at the top level of a module, so that another process can import it"
    if not module or not qualified:
        raise ArgumentError(name, must, f"is a {type(value).__name__}")
    if "<" in qualified:
        raise ArgumentError(
            name, must, "is a lambda" if "<lambda>" in qualified else f"`{qualified}` is defined inside a function"
        )
    if _look_up(sys.modules.get(module), qualified) is not value:
        raise ArgumentError(name, must, f"`{module}:{qualified}` is a different object")
    return f"{_module_or_file(module)}:{qualified}"


def _module_or_file(module: str) -> str:
    """Name of a module if a new process can import it by that name, otherwise the path of its file."""
    file = getattr(sys.modules[module], "__file__", None)
    top, _, inner = module.partition(".")
    spec = importlib.machinery.PathFinder.find_spec(top)  # `importlib.util.find_spec` would consult `sys.modules`
    if file is None or spec is not None and (inner or spec.origin == file):
        return module
    path, here = Path(file).resolve(), Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _constant_path(name: str, value: Any) -> str:
    """Import path of an object that is a constant in the module of its class."""
    module = type(value).__module__
    for key, candidate in vars(sys.modules[module]).items():
        if candidate is value:
            return f"{module}:{key}"
    raise ArgumentError(name, "be made of numbers, arrays and modules", f"is a {type(value).__name__}")


def _source_digest(value: Any) -> str | None:
    """Digest of the source of a function or class, to detect later changes; None if it has no source."""
    inner = inspect.unwrap(value)
    if isinstance(inner, BuiltinFunctionType) or not isinstance(inner, FunctionType | type):
        return None
    try:
        return hashlib.sha256(inspect.getsource(inner).encode()).hexdigest()
    except (OSError, TypeError):
        return None


def resolve(path: str, trust: Collection[str] = ()) -> Any:
    """Import the object at an import path.

    Raises:
        ValueError: if the path is neither in a package of `TRUSTED` nor listed in `trust`, or cannot be imported.
    """
    origin, _, qualified = path.rpartition(":")
    own = origin.split(".")[0] in TRUSTED and not origin.endswith(".py")
    if not own and not {path, origin} & set(trust):
        raise ArgumentError("trust", f"name `{path}` before the file may import it", f"is {tuple(trust)}")
    try:
        module = loaded_file(origin) if origin.endswith(".py") else importlib.import_module(origin)
    except Exception as error:  # noqa: BLE001  (a user's file may raise anything)
        but = f"`{path}` fails ({type(error).__name__}: {reason(error)})"
        raise ArgumentError("path", "name only objects that can be imported", but) from None
    found = _look_up(module, qualified)
    if found is None:
        raise ArgumentError("path", "name only objects that exist", f"`{path}` does not")
    # `diffrax:os.system` would reach another module through a trusted one, so check where the object is defined.
    home = getattr(found, "__module__", None) or type(found).__module__
    if own and home.split(".")[0] not in TRUSTED:
        raise ArgumentError("path", "name objects of trusted packages by their own modules", f"names `{path}`")
    return found


def _look_up(owner: Any, qualified: str) -> Any:
    for part in qualified.split("."):
        owner = getattr(owner, part, None)
    return owner


def loaded_file(file: str) -> Any:
    """Module of a file, executed at most once in each process."""
    path = Path(file).resolve()
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) and Path(str(module.__file__)) == path:
            return module
    return execute_file(file)


def execute_file(file: str) -> Any:
    """Execute a file as a new module, registered under a name that `import_path` maps back to the file.

    It can import the modules of its folder, as a script can.

    Raises:
        ArgumentError: if another module has the name of one in its folder that it imports.
    """
    path = Path(file).resolve()
    name = f"dynsim_file_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"`{file}` is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with importable(file):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # a module whose execution failed must not be found by later imports
        raise
    return module
