"""Options of `dynsim theorem`, in a module without heavy imports so that `--help` is quick."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynsim.cli.parsing.options import Force
from dynsim.cli.parsing.system import SystemOptions


@dataclass(frozen=True)
class Theorem(SystemOptions):
    """Check a theorem's conditions: dynsim theorem poincare-bendixson "x' = ..." --annulus 0 0 0.5 1.5.

    The first word names the theorem, as `dynsim list theorems` shows them. Each condition is printed with its margin
    and how it was decided: by intervals or balls (proved for the equations as given), by algebra, or by floats. The
    exit status is 0 if the theorem applies, 1 if a condition fails, and 3 if it is undecided.

    SYSTEM is a name that `dynsim list systems` shows, `file.py:name` of yours, or a text of equations; each of its
    parameters is an option of its own. Texts of functions use the names of components and parameters.
    """

    box: tuple[float, ...] = ()
    """the region, or the bounds of `--where`: lower and upper bound of each component"""
    ball: tuple[float, ...] = ()
    """a ball as the region: the components of its centre and its radius"""
    annulus: tuple[float, ...] = ()
    """an annulus as the region: the components of its centre and the inner and the outer radius"""
    where: tuple[str, ...] = ()
    """inequalities as the region: functions that are at least 0 in it, such as '4 - x^2 - y^2'; for multiple-lyapunov,
    where a mode is active, and they may name the parameters that transitions set"""
    function: str = ""
    """the Lyapunov function, the Dulac function or the first integral, as a text; for multiple-lyapunov, it may name
    the parameters that transitions set"""
    near: tuple[float, ...] = ()
    """the equilibrium, or a point near it, and for lasalle several one after the other; for Picard and Lindeloef,
    Newton's method and Tikhonov, the start"""
    along: tuple[float, ...] = ()
    """the direction of a line through the equilibrium on which the function of lasalle rests"""
    parameter: tuple[str, ...] = ()
    """the parameter of a bifurcation with its value nearby: NAME=VALUE; two of them for a cusp and the like"""
    norm: Literal["1", "2", "inf"] = "2"
    """the norm of contraction"""
    rate: float = 0.0
    """the rate that is asked for: of contraction, of growth (chetaev), of decay with an input (input-to-state), or of
    the mean drift (foster, 1 if it is left out)"""
    reach: float | None = None
    """half the side of the box around the start of Newton's method, by default 0.1; for lyapunov-quadratic and
    lyapunov-polynomial, the largest distance from the equilibrium; for lienard, the largest |x| that counts as near"""
    degree: int = 2
    """the degree of a polynomial Lyapunov function that is looked for"""
    weights: tuple[float, ...] = ()
    """positive weights of the components: of the norm (banach, contraction), or in Lyapunov's equation"""
    drive: str = ""
    """the parameter that is an input, with its range: NAME=LOW:HIGH"""
    supply: str = ""
    """the rate of supply of dissipativity, a text that may name the input"""
    gain: float = 1.0
    """the factor of the squared input in input-to-state stability"""
    period: float | None = None
    """the time after which the field repeats itself; the least period for Sharkovskii's theorem, by default 3; or the
    number of points of a cycle of a map (flip, neimark-sacker), by default 1"""
    modes: str = ""
    """the modes of a switched system, as values of a parameter: NAME=VALUE,VALUE"""
    time: float | None = None
    """the mean time between switches, the least time in each mode (multiple-lyapunov), or the final time of the reduced
    problem of Tikhonov's theorem"""
    method: str = "euler-maruyama"
    """the integrator for equations with noise: euler-maruyama, milstein, euler-heun, stochastic-heun, sra1, sriw1 or
    platen-weak-2"""
    strong: float | None = None
    """the strong order that is asked for: 0.5, 1 or 1.5"""
    weak: int | None = None
    """the weak order that is asked for: 1 or 2"""
    jump: tuple[str, ...] = ()
    """the jumps of a chain, each as RATE:CHANGES, such as 'k:1,0' 'g*x:-1,0'"""
    beyond: int = 1
    """the finite set of Foster's criterion holds the states with all components below this number"""
    primitive: bool = False
    """ask that a matrix is primitive, too"""
    fast: tuple[str, ...] = ()
    """names of the one or two fast components; by default the first"""
    sets: tuple[float, ...] = ()
    """the sets of a horseshoe: for each its centre and the vectors to an exit and to an entry edge, six numbers"""
    covers: tuple[str, ...] = ()
    """pairs of sets, such as 1-2, of which the first covers the second; by default all pairs"""
    iterates: int = 1
    """steps of the map that count as one for a horseshoe"""
    homoclinic: bool = False
    """say that an orbit leads from the saddle focus to itself, as shown elsewhere"""
    turned: tuple[str, ...] = ()
    """names of the components that a symmetry, or an involution, turns around; by default all"""
    backwards: bool = False
    """ask for an orbit that attracts backwards in time"""
    strictly: bool = False
    """ask that the field points inwards, and not only nowhere outwards"""
    semidefinite: bool = False
    """ask only that the Lyapunov function does not grow"""
    conservative: bool = False
    """ask that volumes are kept, not that they shrink"""
    competitive: bool = False
    """ask for a competitive flow, not for a cooperative one"""
    boxes: int = 200_000
    """largest number of boxes that are examined for one condition"""
    out: Path | None = None
    """a file (.json) for the conditions"""
    figure: Path | None = None
    """a figure (.pdf, .svg or .png) of the region in the plane"""
    force: Force = False


OWN = (
    "box", "ball", "annulus", "where", "function", "near", "along", "parameter", "norm", "rate", "reach", "degree",
    "weights", "drive", "supply", "gain", "period", "modes", "time", "method", "strong", "weak", "jump", "beyond",
    "primitive", "fast", "turned", "backwards", "strictly", "semidefinite", "conservative", "competitive", "sets",
    "covers", "iterates", "homoclinic",
)  # fmt: skip
