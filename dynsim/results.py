"""Results as tables: `table`, `to_pandas` and `to_xarray` take every result that holds numbers.

The package that knows the results imports this one, so it is looked up by name.
"""

from typing import TYPE_CHECKING, Any

from dynsim._core.siblings import sibling
from dynsim.io.tables import Table, frame

if TYPE_CHECKING:
    import pandas
    import xarray

TABLES = "analysis.tables"


def table(result: Any) -> Table:
    """Convert a result to a table: columns with names and units, one row for each time, point or solution.

    Takes trajectories, ensembles, lists of equilibria, phase planes, branches and diagrams, orbits, Lyapunov exponents,
    sections, attractors, basins, and any other result whose fields are numbers or arrays of equal length. Periodic
    orbits on branches have their `period`, `frequency`, and the minimum, maximum and amplitude of every component.

    Args:
        result: the result, or a list of equilibria, bifurcations or other results of one kind.

    Raises:
        ValueError: for what is no result of dynsim.

    Example:
        >>> import dynsim as ds
        >>> run = ds.iterate(ds.catalogue.Logistic(r=2.0), [0.25], 2)
        >>> print(ds.table(run))
        k        x
        0     0.25
        1    0.375
        2  0.46875
    """
    return sibling(TABLES).table(result)


def to_pandas(result: Any) -> "pandas.DataFrame":
    """Convert a result to a pandas DataFrame with the columns of `table`; `attrs["units"]` holds their units.

    Args:
        result: the result, or a list of equilibria, bifurcations or other results of one kind.

    Raises:
        ValueError: for what is no result of dynsim, or if pandas is not installed.

    Example:
        >>> import dynsim as ds
        >>> run = ds.iterate(ds.catalogue.Logistic(r=2.0), [0.25], 2)
        >>> ds.to_pandas(run)["x"].tolist()
        [0.25, 0.375, 0.46875]
    """
    return frame(table(result))


def to_xarray(result: Any) -> "xarray.Dataset":
    """Convert a result to an xarray Dataset; a trajectory has the dimensions time (or layer), token and coordinate.

    If the system declares names and units, they become labels of the coordinate and its `unit`. Results on a grid, such
    as basins, keep its axes as dimensions. Any other result has the columns of `table` along the dimension `row`, with
    `units` as attributes.

    Args:
        result: the result, or a list of equilibria, bifurcations or other results of one kind.

    Raises:
        ValueError: for what is no result of dynsim, or if xarray is not installed.

    Example:
        >>> import dynsim as ds
        >>> found = ds.to_xarray(ds.iterate(ds.hardmax.HardmaxMap(1), [[1.0], [2.0]], 2))
        >>> found["state"].dims, found["state"].shape
        (('layer', 'token', 'coordinate'), (3, 2, 1))
    """
    return sibling(TABLES).dataset(result)
