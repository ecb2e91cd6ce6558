"""What `dynsim sweep` measures of a system: final value, mean and range of every component, in lanes where it can."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from dynsim.systems.named import Components

KINDS = ("final", "mean", "least", "largest")  # numbers that are kept of each component of a run
IN_LANES = "in lanes"  # how runs are solved that are solved together


class Run(NamedTuple):
    """Options of a run: plain numbers, by which saved parts of sweeps are told apart."""

    begin: float
    end: float
    frames: int
    rtol: float
    max_steps: int | None
    atol: float | None
    reduced: bool

    def ts(self, system: Any) -> "np.ndarray":
        """The times at which states are measured: those of the frames, or every step of a map."""
        import numpy as np

        if is_map(system):
            return np.arange(round(self.end) + 1)
        return np.linspace(self.begin, self.end, self.frames)

    def solver(self, system: Any) -> Any:
        """The integrator; raise `ValueError` for options that would fail at every point."""
        from dynsim.cli.parsing.solvers import integrator
        from dynsim.integrators.fixed_step.maps import Iteration

        return Iteration() if is_map(system) else integrator("diffrax", self.rtol, self.max_steps, self.atol)

    def periods(self, system: Any, start: Any) -> "np.ndarray":
        """The periods by which values of components are reduced; infinite for those that are not."""
        import numpy as np

        from analysis.dynamics.scaling.flat import flat_state

        return flat_state(system.space.periods(start)) if self.reduced else np.full(1, np.inf)


class RunMeasures:
    """Function of parameters that measures a run of a system, point by point or many points together."""

    def __init__(self, system: Callable[[dict[str, Any]], Any], run: Run):
        """Store the function that builds the system at a point, and the options of a run."""
        self.system, self.run = system, run

    def __call__(self, key: Any = None, **values: Any) -> dict[str, Any]:
        """Measure the run at a point."""
        from dynsim.cli.parsing.solvers import advising_options

        with advising_options("sweep"):  # also in another process
            return run_measures(self.system(values), key, self.run)

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
        begun = jax.tree.map(lambda *y: np.stack(y), *starts)
        flows = [one.system for one in made]
        # a map is iterated by its own integrator
        options = {} if is_map(flows[0]) else {"integrator": self.run.solver(flows[0])}
        found = ensemble(flows, begun, self.run.ts(flows[0]), _state, shown=False, **options)
        whole, values = np.asarray(found.stats.succeeded), jax.tree.map(np.asarray, found.values)
        states = lambda k: flat_states(jax.tree.map(lambda y: y[k], values))
        names, periods = quantities(flows[0], starts[0]).names, self.run.periods(flows[0], starts[0])
        return [measures(names, states(k), periods) if whole[k] else None for k in range(len(rows))]

    def explain(self, values: dict[str, Any]) -> str:
        """Say how runs at points such as this one are solved together."""
        made, starts = self._starts([values] * 2)
        why = self._why_not(made, starts) if made else "the system cannot be built"
        return f"not in lanes, because {why}" if why else IN_LANES

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
        from dynsim.simulation.ensemble_work import alike

        flows = tuple(one.system for one in made)
        if _of_tokens(jax.tree.leaves(starts[0])):
            return "the state consists of tokens"
        if len(flows) == 1 or not alike(flows):
            return "the systems differ in more than numbers"
        if self.run.end < self.run.begin:
            return "they run backwards in time"
        begun = jax.tree.map(lambda y: np.asarray(y)[None], starts[0])
        found = self.run.solver(flows[0]).lanes(flows, begun, self.run.ts(flows[0]))
        return "" if isinstance(found, Ways) else found


def is_map(system: Any) -> bool:
    """Whether a system is iterated, and not integrated."""
    from dynsim.systems.base import AbstractMap

    return isinstance(system, AbstractMap)


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


def run_measures(made: Any, key: Any, run: Run) -> dict[str, Any]:
    """Simulate a system, and measure each component's final value and its mean and range over the second half."""
    import jax
    import numpy as np

    from analysis.dynamics.scaling.flat import flat_states
    from dynsim.cli.simulate.ensembles import measurements
    from dynsim.simulation.simulate import iterate, simulate

    start = begin(made, key)
    if is_map(made.system):
        path = iterate(made.system, start, round(run.end))
    else:
        path = simulate(made.system, start, run.ts(made.system), integrator=run.solver(made.system))
    names = quantities(made.system, start).names
    if _of_tokens(jax.tree.leaves(start)):
        return measures(names, np.asarray(path.along(measurements)))
    return measures(names, flat_states(path.ys), run.periods(made.system, start))


def measures(names: Sequence[str], values: Any, periods: Any = float("inf")) -> dict[str, Any]:
    """Compute final value, mean and range over the second half of each quantity, from its values (frames, names).

    Those with a finite period are angles: their mean is that on the circle, between minus half a period and half a
    period, and their range lies around it; an angle that turns round covers a whole period.
    """
    import numpy as np

    from dynsim.spaces.base import nearest

    periods = np.asarray(periods)
    late, turning = values[len(values) // 2 :], np.isfinite(periods)
    unit = 2 * np.pi / np.where(turning, periods, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):  # values that are not finite are named as failures
        means = np.where(turning, np.angle(np.exp(1j * unit * late).mean(axis=0)) / unit, late.mean(axis=0))
        late = np.where(turning, means + nearest(late - means, periods), late)
        rows = nearest(values[-1], periods), means, late.min(axis=0), late.max(axis=0)
    kinds = dict(zip(KINDS, rows, strict=True))
    return {f"{name}_{kind}": row[k] for k, name in enumerate(names) for kind, row in kinds.items()}
