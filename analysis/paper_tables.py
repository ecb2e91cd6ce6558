"""Tables of results on the papers' systems, of theorems and of tori, for `analysis.tables`."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dynsim.io.tables import Table, numbered

if TYPE_CHECKING:
    from analysis.chains.convergence import Convergence
    from analysis.dynamics.tori.branches import TorusBranch
    from analysis.dynamics.tori.torus import InvariantTorus
    from analysis.fast_slow.critical_manifold import ManifoldBranch
    from analysis.theorems.conditions import Conditions
    from analysis.tokens.densities import TokenDensity
    from dynsim.systems.parameter import Parameter


def density_table(found: "TokenDensity") -> Table:
    """List the share of the tokens in each cell over time, with the centre of the cell."""
    times, cells = found.shares.shape
    centres = np.tile(found.grid.centres(), (times, 1))
    columns = {"t": np.repeat(found.ts, cells), "cell": np.tile(np.arange(cells), times)}
    return Table(columns | numbered("x", centres) | {"share": np.ravel(found.shares)})


def convergence_table(found: "Convergence") -> Table:
    """List the distribution at each time, or after each step, with its distance to the limit."""
    first = "k" if found.steps else "t"
    return Table({first: found.ts, "distance": found.distances} | numbered("p", found.probabilities))


def manifold_table(found: "ManifoldBranch") -> Table:
    """List the points of a branch of a critical manifold, then those where normal hyperbolicity is lost."""
    lost = found.bifurcations
    rows = lambda on_branch, values: np.concatenate([
        np.reshape(on_branch, (len(found.kinds), -1)), *(np.reshape(value, (1, -1)) for value in values)
    ])  # fmt: skip
    modes = np.shape(found.spectra)[1]
    columns = numbered("y", rows(found.slow, [one.slow for one in lost]))
    columns |= numbered("x", rows(found.fast, [one.fast for one in lost]))
    columns |= {"stability": [*found.kinds, *("undecided" for _ in lost)]}
    columns |= {"loss": [*("" for _ in found.kinds), *(one.kind for one in lost)]}
    return Table(columns | numbered("eigenvalue", rows(found.spectra, [np.full(modes, np.nan) for _ in lost])))


def conditions_table(found: "Conditions") -> Table:
    """List the conditions of a theorem with their status, their margin and how they were decided."""
    rows = found.hypotheses
    names = ("words", "inequality", "status", "margin", "error", "decided", "boxes")
    return Table({
        {"words": "condition", "decided": "decided by"}.get(name, name): [getattr(row, name) for row in rows]
        for name in names
    })  # fmt: skip


def torus_table(found: "InvariantTorus") -> Table:
    """List the states on the section of a torus, by their angle in turns; the last one is the first one."""
    rows = found.circle()
    columns = {"angle": np.linspace(0.0, 1.0, len(rows))} | dict(zip(found.names, rows.T, strict=True))
    return Table(columns, dict(zip(found.names, found.units, strict=True)))


def tori_table(found: "TorusBranch", of: "Parameter | None" = None) -> Table:
    """List the tori of a branch: parameter, rotation number, period, multiplier, error, stability and extremes.

    The extremes are those of the whole torus if the parameter with its system is given, and otherwise of the section.
    """
    from analysis.dynamics.tori.branches import torus_ranges

    first = found.tori[0]
    columns: dict[str, Any] = {found.name: found.parameters, "rotation": found.rotations}
    columns |= {name: np.array([getattr(one, name) for one in found.tori]) for name in ("period", "error")}
    columns["multiplier"] = np.array([one.multipliers[0] if len(one.multipliers) else np.nan for one in found.tori])
    columns["stability"] = [one.kind for one in found.tori]
    for k, name in enumerate(first.names):
        rows = np.stack([one.circle()[:, k] for one in found.tori]) if of is None else torus_ranges(of, found, k)
        low, high = np.min(rows, axis=1), np.max(rows, axis=1)
        columns |= {f"{name}_min": low, f"{name}_max": high, f"{name}_amplitude": (high - low) / 2}
    units = zip(first.names, first.units, strict=True)
    return Table(columns, {f"{name}_{end}": unit for name, unit in units for end in ("min", "max", "amplitude")})


BY_KIND = {
    "InvariantTorus": torus_table,
    "TorusBranch": tori_table,
    "TokenDensity": density_table,
    "Convergence": convergence_table,
    "ManifoldBranch": manifold_table,
    "Conditions": conditions_table,
}
"""The conversion of each kind of result, by its name, so that its package is loaded only by those who use it."""
