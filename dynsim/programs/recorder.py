"""Record scalar operations without duplicates, and prune those that the outputs do not need."""

from typing import Any, NamedTuple

import numpy as np

from dynsim.programs.program import Operation, ProgramError

LIMIT = 200_000
"""Largest number of operations in a program by default, and of constants."""
LARGEST = 10 * LIMIT
"""Largest number of array entries while recording; moving more takes longer than compiling the function."""

REPEATED = 20
"""Largest number of entries of arrays while recording, for each operation of the limit."""


class Entries(NamedTuple):
    """Array that depends on the input: the value numbers of its entries, and their type."""

    where: np.ndarray
    dtype: np.dtype


class Recorder:
    """Builder of a program: the operations recorded so far."""

    def __init__(self, size: int, drop_zeros: bool, limit: int, lookups: bool = False):
        """Start with a number of inputs; `drop_zeros` omits products with zero, `lookups` admits varying indices."""
        self.size, self.drop_zeros, self.limit, self.lookups = size, drop_zeros, limit, lookups
        self.operations: list[Operation | None] = [None] * size
        self.numbers: dict[int, Any] = {}
        self.seen: dict[Any, int] = {}
        self.work, self.looked = 0, 0

    def spend(self, count: int = 1) -> None:
        """Count operations or loop iterations towards the limit; raise `ProgramError` beyond it."""
        self.check(count)
        self.work += count

    def check(self, count: int) -> None:
        """Raise `ProgramError` if this many more operations would exceed the limit."""
        if self.work + count > self.limit:
            raise ProgramError(f"more than {self.limit:,} of them")

    def constant(self, value: Any, dtype: Any) -> int:
        """Record a constant, and return its value number."""
        dtype = np.dtype(dtype)
        value = dtype.type(value)
        key = ("constant", repr(value), dtype)
        if key not in self.seen:
            self.seen[key] = len(self.operations)
            self.numbers[len(self.operations)] = value
            self.operations.append(None)
        return self.seen[key]

    def placed(self, value: Any) -> np.ndarray:
        """Get the value numbers of the entries of an array, recording constants."""
        if isinstance(value, Entries):
            return value.where
        array = np.asarray(value)
        if array.dtype.kind not in "fiubV":  # V: bfloat16 and others that NumPy does not know
            raise ProgramError(f"numbers of type {array.dtype}")
        if array.size > LIMIT:
            raise ProgramError(f"more than {LIMIT:,} constants")
        return np.array([self.constant(v, array.dtype) for v in array.ravel()], int).reshape(array.shape)

    def apply(self, name: str, *places: int, dtype: np.dtype, parameter: Any = None) -> int:
        """Record an operation, and return its value number; sums with 0 and products with 1 are not recorded."""
        known = self._without(name, places, dtype)
        if known is not None:
            return known
        found = Operation(name, places, dtype, parameter)
        if found not in self.seen:
            self.spend()
            self.seen[found] = len(self.operations)
            self.operations.append(found)
        return self.seen[found]

    def _without(self, name: str, places: tuple[int, ...], dtype: np.dtype) -> int | None:
        """Simplify an operation to an existing value if possible, such as a sum with 0."""
        if dtype.kind == "b" or len(places) != 2:
            return None
        left, right = (self.numbers.get(k) for k in places)
        if name in ("add", "add_any", "mul"):
            neutral = 1 if name == "mul" else 0
            for k, given in enumerate((left, right)):
                if given == neutral:
                    return places[1 - k]
                if self.drop_zeros and name == "mul" and given == 0:
                    return self.constant(0, dtype)
        return places[0] if name == "sub" and right == 0 else None

    def each(self, name: str, *parts: np.ndarray, dtype: np.dtype, parameter: Any = None) -> np.ndarray:
        """Record an elementwise operation on arrays, which broadcast, and return the value numbers."""
        parts = tuple(np.broadcast_arrays(*parts))
        self.looked += parts[0].size  # also entries whose operations are known, as those of equal entries
        most = max(LIMIT, REPEATED * self.limit)
        if self.looked > most:
            raise ProgramError(f"more than {most:,} entries of arrays")
        rows = zip(*(p.ravel().tolist() for p in parts), strict=True)
        found = [self.apply(name, *one, dtype=dtype, parameter=parameter) for one in rows]
        return np.array(found, int).reshape(parts[0].shape)

    def chain(self, name: str, places: list[int], dtype: np.dtype) -> list[int]:
        """Record the partial results of an operation accumulated over values, as in a cumulative sum."""
        found = places[:1]
        for k in places[1:]:
            found.append(self.apply(name, found[-1], k, dtype=dtype))
        return found

    def pruned(self, outputs: list[np.ndarray]) -> tuple[tuple[Any, ...], tuple[Operation, ...], list[np.ndarray]]:
        """Remove operations that the outputs do not need, and renumber the rest."""
        needed = np.zeros(len(self.operations), bool)
        for output in outputs:
            needed[output.ravel()] = True
        for k in range(len(self.operations) - 1, self.size - 1, -1):
            operation = self.operations[k]
            if needed[k] and operation is not None:
                needed[list(operation.operands)] = True
        constants = [k for k in self.numbers if needed[k]]
        kept = [(k, o) for k, o in enumerate(self.operations) if o is not None and needed[k]]
        order = [*range(self.size), *constants, *(k for k, _ in kept)]
        new = np.full(len(self.operations), -1)
        new[order] = np.arange(len(order))
        renumbered = new.tolist()
        moved = tuple(o._replace(operands=tuple(renumbered[j] for j in o.operands)) for _, o in kept)
        return tuple(self.numbers[k] for k in constants), moved, [np.asarray(new[output]) for output in outputs]
