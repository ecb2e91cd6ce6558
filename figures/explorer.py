"""A notebook widget with a trajectory and sliders for the system's parameters and initial state."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dynsim._core.validation import instance, integer
from dynsim.errors import ArgumentError, IntegrationError, nearest
from dynsim.keys import random_key
from dynsim.simulation.checks import as_state, as_times
from dynsim.simulation.simulate import iterate, simulate
from dynsim.systems.base import AbstractFlow, AbstractMap
from dynsim.systems.named import changed, components, listed, parameters
from figures.files import rendered
from figures.trajectories import trajectory

STEPS = 100  # number of steps of a slider
TIMES = np.linspace(0.0, 50.0, 2001)


def explorer(system: Any, start: Any, ts: Any, ranges: Mapping[str, tuple[float, float]]) -> Any:
    """Build the widget of `dynsim.explore`: an image of the trajectory above its sliders."""
    import ipywidgets

    instance("system", system, AbstractFlow | AbstractMap, "a flow or a map")
    if start is None and not system.names:
        raise ArgumentError("start", "be given for a system whose components have no names", "is not")
    x = system.space.sample(random_key(0, "start"), (len(system.names),)) if start is None else as_state("start", start)
    shapes = [leaf.shape for leaf in jax.tree.leaves(x)]
    flat, restored = ravel_pytree(x)
    if not flat.size or any(len(shape) > 1 for shape in shapes):
        must = "be a number or a vector, or a named tuple of these, with at least one component"
        raise ArgumentError("start", must, f"has shape {', '.join(map(str, shapes))}")
    known = components(system, x)
    values = {name: float(leaf) for name, leaf in parameters(system).items() if not leaf.ndim}
    firsts = {f"{name}(0)" if name in values else name: float(v) for name, v in zip(known.names, flat, strict=True)}
    for name in ranges:
        if name not in values and name not in firsts:
            must = f"name a parameter or a component, {listed((*values, *firsts))}"
            raise ArgumentError("ranges", must, f"names `{name}`{nearest(name, (*values, *firsts))}")
    sliders = {name: _slider(ipywidgets, name, v, ranges.get(name)) for name, v in (values | firsts).items()}
    image, said = ipywidgets.Image(format="png"), ipywidgets.Label()

    def show(change: Any = None) -> None:
        del change
        now = {name: slider.value for name, slider in sliders.items()}
        made = changed(system, {name: now[name] for name in values})
        try:
            run = _run(made, restored(jnp.asarray([now[name] for name in firsts], flat.dtype)), ts)
        except (IntegrationError, ArgumentError) as error:
            said.value = str(error)
            return
        (image.value, size), said.value = rendered(trajectory(run).figure), str(run)
        image.width, image.height = size["width"], size["height"]

    for slider in sliders.values():
        slider.observe(show, "value")
    show()
    return ipywidgets.VBox([image, said, *sliders.values()])


def _slider(ipywidgets: Any, name: str, value: float, ends: tuple[float, float] | None) -> Any:
    """A slider that triggers drawing when it is released."""
    reach = 2 * abs(value) or 1.0
    low, high = ends or ((0.0, reach) if value > 0 else (-reach, reach))
    if not low < high:
        raise ArgumentError("ranges", "hold a lower and a higher number for each name", f"holds {ends} for `{name}`")
    return ipywidgets.FloatSlider(
        value, min=min(low, value), max=max(high, value), step=(high - low) / STEPS, description=name,
        continuous_update=False, readout_format=".3g",
    )  # fmt: skip


def _run(system: Any, x: Any, ts: Any) -> Any:
    if isinstance(system, AbstractMap):
        return iterate(system, x, 50 if ts is None else integer("ts", ts, least=1))
    return simulate(system, system.space.project(x), TIMES if ts is None else as_times(ts))
