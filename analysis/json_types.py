"""Values in JSON types: short for the ledger, exact for counterexamples; the trials of a check as rows."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from analysis.ledger.check import Check
from analysis.ledger.evidence import Measurement
from dynsim.errors import ArgumentError
from dynsim.exact import fraction_text

LARGEST_WITNESS = 64  # entries; a larger array of a witness is replaced by its shape


def plain(value: Any) -> Any:
    """Convert a value to JSON types: fractions as "p/q", floats that are not finite as text, large arrays by shape."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Fraction) or _long(value):
        return fraction_text(value)
    array = _array(value)
    if array is not None:
        return plain(array.tolist()) if array.size <= LARGEST_WITNESS else f"array of shape {array.shape}"
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, (bool, int, str)) or value is None else _text(value)


def exact(value: Any) -> Any:
    """Convert a value to JSON types without loss: every number becomes an integer or a fraction "p/q".

    Arrays are whole. A float is a fraction whose denominator is a power of two. A ball of python-flint is the enclosure
    ["lo", "hi"], a complex number {"real": "p/q", "imag": "p/q"}.
    """
    if _long(value):
        return fraction_text(value)
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, Mapping):
        return {str(k): exact(v) for k, v in value.items()}
    array = _array(value)
    if array is not None:
        return exact(array.tolist())
    if isinstance(value, (list, tuple)):
        return [exact(v) for v in value]
    if isinstance(value, complex):
        return {"real": exact(value.real), "imag": exact(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, float | Fraction):
        return fraction_text(Fraction(value))
    return _enclosure(value)


def _long(value: Any) -> bool:
    """Whether a value is an integer with more digits than Python writes as a number in JSON."""
    return isinstance(value, int) and value.bit_length() > 10_000


def _array(value: Any) -> np.ndarray | None:
    """Convert a NumPy or JAX array to NumPy, with random keys as integers; None for anything else."""
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(value))
    arrays = isinstance(value, np.ndarray | np.generic | jax.Array) or hasattr(value, "__jax_array__")
    return np.asarray(value) if arrays else None


def _enclosure(value: Any) -> Any:
    """Convert a python-flint ball to its ends, a rational number of another library to "p/q", and others to text."""
    if all(hasattr(value, name) for name in ("mid", "rad", "is_finite")):
        if not value.is_finite():
            return str(value)
        middle, radius = (_dyadic(part) for part in (value.mid(), value.rad()))
        return [fraction_text(middle - radius), fraction_text(middle + radius)]
    if all(isinstance(getattr(value, name, None), int) for name in ("numerator", "denominator")):
        return fraction_text(Fraction(value.numerator, value.denominator))
    return _text(value)


def _text(value: Any) -> str:
    """Convert an object to text without its memory address, which differs between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def _dyadic(ball: Any) -> Fraction:
    mantissa, exponent = (int(part) for part in ball.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def trial_rows(c: Check) -> list[dict[str, Any]]:
    """Convert the trials of a check to JSON types, with the verdict on each measurement."""
    return [
        {
            "claim": c.claim.id,
            "index": index,
            "seed": c.seed,
            "hypotheses": [_measured(m) for m in trial.hypotheses],
            "conclusions": [_measured(m) for m in trial.conclusions],
            "witness": plain(dict(trial.witness)),
            "parameters": plain(dict(trial.parameters)),
            "reason": trial.reason,
        }
        for index, trial in enumerate(c.trials)
    ]


def _measured(m: Measurement) -> dict[str, Any]:
    verdict = "holds" if m.holds_clearly else "fails" if m.fails_clearly else "unclear" if m.decided else "undecided"
    return {"what": m.what, "slack": plain(m.slack), "tolerance": plain(m.tolerance), "verdict": verdict}


def json_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as text, one JSON object per line."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def counterexample(c: Check) -> str:
    """Write the counterexample to a refuted claim as JSON text, with exact numbers.

    Raises:
        ValueError: for another verdict than REFUTED.
    """
    found = c.counterexample
    if found is None:
        must = "be requested for a claim whose verdict is REFUTED (`--trials-out` writes the instances of any claim)"
        raise ArgumentError("witness", must, f"the verdict on `{c.claim.id}` is {c.verdict.name}")
    measured = {
        kind: [{"what": m.what, "slack": exact(m.slack), "tolerance": exact(m.tolerance)} for m in measurements]
        for kind, measurements in (("hypotheses", found.hypotheses), ("conclusions", found.conclusions))
    }
    head = {"claim": c.claim.id, "source": str(c.claim.source), "statement": c.claim.statement}
    place = {"seed": c.seed, "index": len(c.trials) - 1, "evidence": c.claim.evidence}
    return json.dumps({**head, **place, **measured, "witness": exact(dict(found.witness))}) + "\n"
