"""Integrators that note whether they were called, so that the ledger names two of them only where two ran."""

import functools
from typing import Any

from dynsim.integrators import AbstractIntegrator

_called: list[bool] = [False]


def watched(integrator: AbstractIntegrator) -> AbstractIntegrator:
    """Return an equal integrator whose calls are noted until the next one is asked for; see `was_called`."""
    _called[0] = False
    fields = {name: getattr(integrator, name) for name in type(integrator).__dataclass_fields__}
    return _watched_class(type(integrator))(**fields)


def was_called() -> bool:
    """Return whether an integrator made by `watched` has been called since the last one was made."""
    return _called[0]


@functools.cache
def _watched_class(cls: type[AbstractIntegrator]) -> type[AbstractIntegrator]:
    """Return a subclass whose three methods note the call; one for each class, for programs compiled once."""

    def noted(name: str) -> Any:
        method = getattr(cls, name)

        @functools.wraps(method)
        def call(self: AbstractIntegrator, *args: Any, **options: Any) -> Any:
            _called[0] = True
            return method(self, *args, **options)

        return call

    methods = {name: noted(name) for name in ("integrate", "observe", "locate")}
    metaclass: Any = type(cls)
    return metaclass(cls.__name__, (cls,), {**methods, "__module__": cls.__module__, "__doc__": cls.__doc__})
