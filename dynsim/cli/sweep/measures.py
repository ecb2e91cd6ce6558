"""What `dynsim sweep` measures of a system: final value, mean and range of every component, in lanes where it can."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynsim.systems.named import Components

KINDS = ("final", "mean", "least", "largest")  # numbers that are kept of each component of a run
IN_LANES = "in lanes"  # how runs are solved that are solved together
Run = tuple[float, int, float, int | None, float | None]  # end, frames, rtol, max_steps, atol


class RunMeasures:
    """Function of parameters that measures a run of a system, point by point or many points together."""

    def __init__(self, system: Callable[[dict[str, Any]], Any], run: Run):
        """Store the function that builds the system at a point, and the options of a run."""
        self.system, self.run = system, run

    def __call__(self, key: Any = None, **values: Any) -> dict[str, Any]:
        """Measure the run at a point."""
        from dynsim.cli.parsing.solvers import advising_options

        with advising_options("sweep"):  # also in another process
            return run_measures(self.system(values), key, *self.run)

    def together(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Measure the runs at many points in lanes; None where a run fails, or if lanes do not serve.

        Runs that fail are left to `__call__`, which says why.
        """
        import jax
        import numpy as np

        from analysis.dynamics.scaling.flat import flat_states
        from dynsim.simulation.ensemble import ensemble

        made, starts = self._starts(rows)
        if not made or self._why_not(made, starts):
            return [None] * len(rows)
        end, frames, *_ = self.run
        begun = jax.tree.map(lambda *y: np.stack(y), *starts)
        flows = [one.system for one in made]
        found = ensemble(
            flows, begun, np.linspace(0.0, end, frames), _state, integrator=self._solver(), shown=False
        )  # fmt: skip
        whole, values = np.asarray(found.stats.succeeded), jax.tree.map(np.asarray, found.values)
        states = lambda k: flat_states(jax.tree.map(lambda y: y[k], values))
        names = quantities(flows[0], starts[0]).names
        return [measures(names, states(k)) if whole[k] else None for k in range(len(rows))]

    def explain(self, values: dict[str, Any]) -> str:
        """Say how runs at points such as this one are solved together."""
        made, starts = self._starts([values] * 2)
        why = self._why_not(made, starts) if made else "the system cannot be built"
        return f"not in lanes, because {why}" if why else IN_LANES

    def _solver(self) -> Any:
        from dynsim.cli.parsing.solvers import integrator

        _, _, rtol, max_steps, atol = self.run
        return integrator("diffrax", rtol, max_steps, atol)

    def _starts(self, rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
        """Build the systems at points, and their starts; none if one of them is refused."""
        from dynsim.errors import ArgumentError

        try:
            made = [self.system({name: value for name, value in row.items() if name != "key"}) for row in rows]
            return made, [begin(one, row.get("key")) for one, row in zip(made, rows, strict=True)]
        except ArgumentError:
            return [], []

    def _why_not(self, made: Sequence[Any], starts: Sequence[Any]) -> str:
        """Say why the runs are not solved in lanes, or ""."""
        import jax
        import numpy as np

        from dynsim.integrators.in_lanes import Ways
        from dynsim.simulation.ensemble import alike
        from dynsim.systems.base import AbstractFlow

        flows = tuple(one.system for one in made)
        if not isinstance(flows[0], AbstractFlow):
            return "a map is iterated by itself"
        if _of_tokens(jax.tree.leaves(starts[0])):
            return "the state consists of tokens"
        if len(flows) == 1 or not alike(flows):
            return "the systems differ in more than numbers"
        end, frames, *_ = self.run
        begun = jax.tree.map(lambda y: np.asarray(y)[None], starts[0])
        found = self._solver().lanes(flows, begun, np.linspace(0.0, end, frames))
        return "" if isinstance(found, Ways) else found


def _state(t: Any, x: Any) -> Any:
    del t
    return x


def begin(made: Any, key: Any) -> Any:
    """Choose the initial state of a run: the given one, or with a key a random one of the same shape."""
    import jax

    start = made.begun()
    return start if key is None else made.system.space.sample(key, jax.tree.map(lambda y: y.shape, start))


def quantities(system: Any, start: Any) -> "Components":
    """Name the measured quantities of a run with their units: the components, or the diameter and E of tokens."""
    import jax

    from dynsim.systems.named import Components, components

    leaves = jax.tree.leaves(start)
    known = components(system, start)
    return Components(("diameter", "E"), ("", ""), known.time_unit) if _of_tokens(leaves) else known


def _of_tokens(leaves: Sequence[Any]) -> bool:
    import numpy as np

    return len(leaves) == 1 and np.ndim(leaves[0]) == 2


def run_measures(
    made: Any, key: Any, end: float, frames: int, rtol: float, max_steps: int | None, atol: float | None
) -> dict[str, Any]:
    """Simulate a system, and measure each component's final value and its mean and range over the second half."""
    import jax
    import numpy as np

    from analysis.dynamics.scaling.flat import flat_states
    from dynsim.cli.parsing.solvers import integrator
    from dynsim.cli.simulate.ensembles import measurements
    from dynsim.simulation.simulate import iterate, simulate
    from dynsim.systems.base import AbstractMap

    start = begin(made, key)
    if isinstance(made.system, AbstractMap):
        path = iterate(made.system, start, round(end))
    else:
        solver = integrator("diffrax", rtol, max_steps, atol)
        path = simulate(made.system, start, np.linspace(0.0, end, frames), integrator=solver)
    tokens = _of_tokens(jax.tree.leaves(start))
    values = np.asarray(path.along(measurements)) if tokens else flat_states(path.ys)
    return measures(quantities(made.system, start).names, values)


def measures(names: Sequence[str], values: Any) -> dict[str, Any]:
    """Compute final value, mean and range over the second half of each quantity, from its values (frames, names)."""
    late = values[len(values) // 2 :]
    rows = values[-1], late.mean(axis=0), late.min(axis=0), late.max(axis=0)
    kinds = dict(zip(KINDS, rows, strict=True))
    return {f"{name}_{kind}": row[k] for k, name in enumerate(names) for kind, row in kinds.items()}
