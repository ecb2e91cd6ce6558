"""Figures of `multirate`: critical manifolds with trajectories, and the error of the reduced flow against epsilon."""

import matplotlib.figure
import numpy as np

from analysis.fast_slow.critical_manifold import ManifoldBranch, connected_branches
from analysis.fast_slow.reductions import reduction_error
from dynsim._core.types import Key
from dynsim.integrators import stiff
from dynsim.papers import MULTIRATE
from dynsim.simulation.simulate import simulate
from dynsim.systems.fast_slow.examples import EXAMPLES, michaelis_menten_flow, van_der_pol_flow
from dynsim.systems.fast_slow.flow import FastSlow
from figures import panels
from figures.figure import Numbers, figure
from figures.panels.exponents import measured
from figures.style import COLUMN, PAGE, SERIES, canvas, letter

EPSILONS = (0.3, 0.05, 0.002)
RATIOS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4)


def _branches(name: str, found: tuple[ManifoldBranch, ...]) -> Numbers:
    """Branches of a critical manifold as arrays: all points in order, with their stability and branch index."""
    numbers = np.concatenate([np.full(len(branch.kinds), k) for k, branch in enumerate(found)])
    folds = {(float(at.slow), float(at.fast)) for branch in found for at in branch.bifurcations if at.kind == "fold"}
    return {
        f"{name} slow": np.concatenate([branch.slow for branch in found]),
        f"{name} fast": np.concatenate([branch.fast for branch in found]),
        f"{name} kinds": np.concatenate([np.array(branch.kinds) for branch in found]),
        f"{name} branches": numbers,
        f"{name} folds": np.array(sorted(folds)).reshape(-1, 2),
    }


@figure("multirate/manifold", MULTIRATE.at("Section 2.1", equation="(1)"))
def manifold_figure(key: Key) -> Numbers:
    """Critical manifolds {f = 0}, the sets of quasi-steady states, and trajectories at three values of epsilon.

    Trajectories relax to a slow manifold within O(epsilon) of an attracting branch of the critical manifold. (a) The
    Van der Pol oscillator: the attracting branches (solid) end at folds (diamonds), where trajectories jump; the middle
    branch (dashed) is repelling. (b) The Michaelis-Menten reaction in terms of the total substrate, from two initial
    states: the lower root of the quadratic is attracting. Open circles are initial states.
    """
    del key
    case, found = EXAMPLES["van-der-pol"], {}
    found |= _branches("cubic", connected_branches(case.flow(1.0), FastSlow(case.guess, case.path[0]), case.path))
    enzyme = EXAMPLES["michaelis-menten"]
    guess = FastSlow(enzyme.guess, enzyme.path[0])
    found |= _branches("enzyme", connected_branches(enzyme.flow(1.0), guess, enzyme.path))
    for number, ratio in enumerate(EPSILONS):
        ts = np.linspace(0.0, 4.0, 4001)
        path = simulate(van_der_pol_flow(ratio), case.start, ts, integrator=stiff())
        found |= {f"cubic path {number}": np.stack([path.ys.slow, path.ys.fast])}
        for start, fast in enumerate((0.0, 0.9)):
            y0 = FastSlow(np.asarray(fast), np.asarray(2.0))
            path = simulate(michaelis_menten_flow(ratio), y0, np.linspace(0.0, 2.0, 2001), integrator=stiff())
            found |= {f"enzyme path {number} {start}": np.stack([path.ys.slow, path.ys.fast])}
    return found


@manifold_figure.with_drawing
def manifold_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw both critical manifolds."""
    drawn, (left, right) = canvas(PAGE, 0.42, columns=2)
    for ax, name in ((left, "cubic"), (right, "enzyme")):
        for branch in np.unique(data[f"{name} branches"]):
            mine = data[f"{name} branches"] == branch
            slow, fast, kinds = (data[f"{name} {part}"][mine] for part in ("slow", "fast", "kinds"))
            panels.critical_manifold(ax, slow, fast, [str(word) for word in kinds], folds=data[f"{name} folds"])
    labels = [rf"$\varepsilon = {ratio:g}$" for ratio in EPSILONS]
    paths = [data[f"cubic path {k}"] for k in range(len(EPSILONS))]
    panels.relaxations(left, [p[0] for p in paths], [p[1] for p in paths], labels=labels)
    for start in range(2):
        paths = [data[f"enzyme path {k} {start}"] for k in range(len(EPSILONS))]
        names = labels if start == 0 else [""] * len(labels)
        panels.relaxations(right, [p[0] for p in paths], [p[1] for p in paths], labels=names)
    right.set_xlabel("total substrate $y$")
    right.set_ylabel("complex $x$")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=6)
    letter([left, right], ("Van der Pol oscillator", "Michaelis-Menten reaction"))
    return drawn


@figure("multirate/error-against-eps", MULTIRATE.at("Section 2.1"))
def error_figure(key: Key) -> Numbers:
    """Errors of the reduced flow against epsilon, after the boundary layer, for the Michaelis-Menten reaction.

    The largest errors of x and y, and the largest distance of the full solution from the critical manifold {f = 0}, are
    of first order in epsilon. Its distance from the first-order approximation of the slow manifold, x = phi(y) +
    epsilon h_1(y), is of second order.
    """
    del key
    case = EXAMPLES["michaelis-menten"]
    found = reduction_error(case.flow(1.0), case.start, case.compare, RATIOS, integrator=stiff(1e-11))
    errors = (found.fast_errors, found.slow_errors, found.distances, found.corrected_distances)
    fits = [found.order(part) for part in errors]
    return {
        "epsilons": found.epsilons,
        "errors": np.stack(errors),
        "orders": np.array([fit.rate for fit in fits]),
        "standard errors": np.array([fit.error for fit in fits]),
    }


@error_figure.with_drawing
def error_figure(data: Numbers) -> matplotlib.figure.Figure:
    """Draw the errors, and reference lines of slopes one and two."""
    drawn, (ax,) = canvas(COLUMN, 1.05)
    names = ("error of $x$", "error of $y$", "distance from $f = 0$", r"distance from $\varphi + \varepsilon h_1$")
    fits = zip(names, data["orders"], data["standard errors"], strict=True)
    labels = [f"{name}: order ${measured(rate, error)}$" for name, rate, error in fits]
    panels.error_against(
        ax, data["epsilons"], data["errors"], labels=labels, roles=SERIES[: len(labels)], slopes=(1, 2)
    )
    drawn.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=1, handlelength=3.0)
    return drawn
