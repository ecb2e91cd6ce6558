"""Record whether an integrator was called, so that the ledger names two of them only where two ran."""

import functools
from typing import Any

from dynsim.integrators import AbstractIntegrator

_called: list[bool] = [False]


def watched(integrator: AbstractIntegrator) -> AbstractIntegrator:
    """Make an equal integrator whose calls are recorded until the next one is made; see `was_called`."""
    _called[0] = False
    fields = {name: getattr(integrator, name) for name in type(integrator).__dataclass_fields__}
    return _watched_class(type(integrator))(**fields)


def was_called() -> bool:
    """Test whether the integrator last made by `watched` has been called."""
    return _called[0]


@functools.cache
def _watched_class(cls: type[AbstractIntegrator]) -> type[AbstractIntegrator]:
    """Make a subclass whose three methods record the call; one for each class, so that programs compile once."""

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
