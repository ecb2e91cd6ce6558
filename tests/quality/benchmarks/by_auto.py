"""Branches by AUTO-07p, through the package `bifpy`, as a script of a Python that has it: CPU seconds as JSON.

Models are compiled by `gfortran`. What compiling, starting and reading take is left out: it is the time of two points.
"""

import json
import resource
import sys

import numpy as np
from bifpy import auto

CELLS = 30
FIXED = {
    "ntst": 20, "ncol": 4, "iad": 3, "ilp": 1, "isp": 2, "iads": 1, "itmx": 9, "itnw": 5, "nwtn": 3, "jac": 0,
    "npar": 1, "dsmin": 1e-4, "a0": -1e300, "a1": 1e300, "rl0": -1e300, "rl1": 1e300, "epsl": 1e-7, "epsu": 1e-7,
    "epss": 1e-5, "npr": 10**6, "iid": 0, "ips": auto.IPS_EQUILIBRIUM,
}  # fmt: skip


def lorenz(u, p):
    return [10 * (u[1] - u[0]), u[0] * (p[0] - u[2]) - u[1], u[0] * u[1] - 8 * u[2] / 3]


def lorenz_start(u, p, t):
    p[0], u[2] = 1.5, 0.5
    u[0] = u[1] = (8 / 3 * 0.5) ** 0.5


def predators(u, p):
    caught = p[0] * (1 - np.exp(-5 * u[0]))
    return [3 * u[0] * (1 - u[0]) - u[0] * u[1] - caught, -u[1] + 3 * u[0] * u[1]]


def predators_start(u, p, t):
    p[0], u[0], u[1] = 0.0, 1 / 3, 2.0


def brusselator(u, p):
    x, y = [2.0, *u[0::2], 2.0], [2.725, *u[1::2], 2.725]
    out = []
    for k in range(1, CELLS + 1):
        spread = (CELLS + 1) ** 2 / p[0] ** 2
        fast = x[k] * x[k] * y[k]
        out.append(0.008 * spread * (x[k - 1] - 2 * x[k] + x[k + 1]) + fast - 6.45 * x[k] + 2.0)
        out.append(0.004 * spread * (y[k - 1] - 2 * y[k] + y[k + 1]) + 5.45 * x[k] - fast)
    return out


def brusselator_start(u, p, t):
    p[0] = 0.06
    for k in range(CELLS):
        u[2 * k], u[2 * k + 1] = 2.0, 2.725


def timed(points, run):
    """Run with two points and with all: the result, and the difference of the CPU seconds of the processes."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    times, result = [], None
    for count in (2, points):
        begin = used()
        result = run(count)
        times.append(used() - begin)
    return result, {"seconds": times[1] - times[0], "points": sum(len(one.points) for one in result.branches)}


def branch(model, start, size, points, **more):
    """Continue equilibria."""
    made = FIXED | {"ndim": size, **more}
    return timed(points, lambda nmx: auto.run(model, start, made | {"nmx": nmx}, icu=[1], transpile=True))


def cycles(model, size, found, points, **more):
    """Continue the periodic orbits of the first Hopf point of a result."""
    hopf = next(p for one in found.branches for p in one.points if p.is_labeled and "HOPF" in str(p.point_type))
    made = FIXED | {"ndim": size, "ips": auto.IPS_PERIODIC_ORBIT, **more}
    run = lambda nmx: auto.restart(
        model, made | {"nmx": nmx}, hopf, icu=(1, 11), isw=auto.ISW_HOPF_TO_PERIODIC_ORBIT,
        source_ips=auto.IPS_EQUILIBRIUM, transpile=True,
    )  # fmt: skip
    return timed(points, run)


def main():
    _, lines = branch(lorenz, lorenz_start, 3, 1000, ds=0.3, dsmax=0.3)
    found, _ = branch(lorenz, lorenz_start, 3, 300, ds=0.3, dsmax=0.3, rl1=30.0)
    _, orbits = cycles(lorenz, 3, found, 100, ds=0.1, dsmax=0.5)
    _, cells = branch(brusselator, brusselator_start, 2 * CELLS, 67, ds=0.02, dsmax=0.05, rl1=3.0)
    found, _ = branch(predators, predators_start, 2, 200, ds=0.02, dsmax=0.05, rl1=1.0)
    _, hunted = cycles(predators, 2, found, 100, ds=0.01, dsmax=0.5, ntst=30, a1=36.0)
    json.dump({"lorenz": lines, "cycles": orbits, "brusselator": cells, "predators": hunted}, sys.stdout)


if __name__ == "__main__":
    main()
