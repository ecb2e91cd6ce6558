"""Keep the linear algebra of small matrices in one thread."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@functools.cache
def _controller() -> Any:
    """Find the BLAS libraries of NumPy and SciPy."""
    import scipy.linalg  # noqa: F401  its library is found only once it is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Limit BLAS to one thread while a function runs.

    Threads of OpenBLAS wait for each other by spinning. On a machine with other work, factorisations of matrices of a
    few hundred rows then take a hundred times as long as in one thread; a large one gains little from a second thread.
    """

    @functools.wraps(function)
    def run(*args: P.args, **options: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **options)

    return run
