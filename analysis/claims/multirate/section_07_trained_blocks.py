"""Claims of Remark 30: one-step maps that are not stochastic matrices, and their fixed points."""

from fractions import Fraction
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from analysis.claims.multirate.chain_comparisons import accepts
from analysis.claims.multirate.instances.chains import irreducible_chain, null_space
from analysis.claims.rational_instances import Exact, identity, matrix, rational_matrix
from analysis.hardmax.exact_geometry import determinant, solved
from analysis.ledger.claim import certified, claim
from analysis.ledger.evidence import ROUNDING, Trial, at_least, equal, holds
from dynsim._core.types import Key
from dynsim.io.data import data_file
from dynsim.keys import numpy_rng
from dynsim.networks.decoder.pretrained import load_transformer
from dynsim.networks.decoder.transformer import Block
from dynsim.systems.master_equation.checks import check_generator
from dynsim.systems.master_equation.flow import step_bound
from dynsim.systems.master_equation.generators import random_generator

NETWORKS = ("stories260k.npz", "gpt_nano_sort.npz")
TOKENS = 4
LEAST_DIFFERENCE = 0.01  # of a column sum from 1, far above rounding
ITERATIONS = 80  # (2/3)^80 < 1e-13, 2/3 being the largest ratio of moduli of eigenvalues


@eqx.filter_jit
def _linearised(block: Block, x: Float[Array, "n d"]) -> Float[Array, "state state"]:
    """Return I + J, the Jacobian of a block's output with respect to its input tokens x."""
    return jax.jacfwd(lambda v: block(v.reshape(x.shape)).ravel())(x.ravel())


def _one_step_maps(key: Key) -> list[np.ndarray]:
    """Return I + J for the middle layer of each trained network, at random tokens of its vocabulary.

    Raises:
        UnavailableError: if a data file is missing.
    """
    maps = []
    for name in NETWORKS:
        network = load_transformer(data_file(name))
        ids = numpy_rng(key, name).integers(0, len(network.token_embedding), TOKENS)
        middle = len(network.blocks) // 2
        x = network.states(network.embed(ids))[middle - 1]
        maps.append(np.asarray(_linearised(network.blocks[middle], x)))
    return maps


def _trained_trial(maps: list[np.ndarray]) -> Trial:
    deviations = [abs(np.sum(M, axis=0) - 1) for M in maps]
    return Trial(
        hypotheses=(equal("number of one-step maps", len(maps), len(NETWORKS), tolerance=0.0),),
        conclusions=tuple(
            measured
            for name, far in zip(NETWORKS, deviations, strict=True)
            for measured in (
                at_least(f"{name}: largest difference of a column sum from 1", np.max(far), 0.1, tolerance=ROUNDING),
                at_least(
                    f"{name}: share of columns off by {LEAST_DIFFERENCE}",
                    np.mean(far > LEAST_DIFFERENCE),
                    0.5,
                    tolerance=ROUNDING,
                    within=(0, 1),
                ),
            )
        ),
        witness={"column sums": {name: np.sum(M, axis=0) for name, M in zip(NETWORKS, maps, strict=True)}},
        parameters={"networks": len(maps), "n": TOKENS, "columns": max(len(M) for M in maps)},
    )


@claim(
    "multirate/remark-30-column-sums",
    num_trials=1,
    note="the paper states this as an expectation and checks a random matrix. Measured on the middle layers of two "
    "trained networks (stories, sorting), in the coordinates of the residual stream, on which column sums depend; "
    "`different` is read "
    f"as: by 0.1 somewhere, by {LEAST_DIFFERENCE} in half of the columns. Other values of tau do not change this",
)
def trained_blocks_have_other_column_sums(key: Key) -> Trial:
    """The one-step map I + tau J of a trained block, J being the Jacobian of its increment and tau = 1, has column sums
    that differ from 1.
    """
    return _trained_trial(_one_step_maps(key))


@trained_blocks_have_other_column_sums.with_control
def trained_blocks_have_other_column_sums(key: Key) -> Trial:
    """Forward-Euler steps of generators."""
    generators = [random_generator(k, TOKENS * 8) for k in jax.random.split(key)]
    return _trained_trial([np.eye(len(Q)) + float(step_bound(Q)) / 2 * Q for Q in generators])


def _sums_trial(J: Exact, tau: Fraction, hypothesis: bool, *, refused: bool = False) -> Trial:
    """Measure a column sum of I + tau J, and whether the toolkit takes J for a generator, if it has to be `refused`."""
    sums = (identity(len(J)) + tau * J).sum(axis=0)
    taken = holds("the toolkit refuses J as a generator", not accepts(check_generator, J))
    return Trial(
        hypotheses=(holds("J is not a generator: a rate is negative or a column does not sum to zero", hypothesis),),
        conclusions=(
            holds("a column of I + tau J does not sum to 1", any(s != 1 for s in sums)),
            *((taken,) if refused else ()),
        ),
        witness={"J": J, "tau": tau, "column sums": sums},
    )


def _is_generator(J: Exact) -> bool:
    rates = J - np.diag(J.diagonal())
    return bool(np.all(rates >= 0)) and all(column.sum() == 0 for column in J.T)


@certified(
    "multirate/remark-30-column-sums/random-map",
    num_trials=16,
    note="the range of column sums is missing in the text. True of almost every matrix: unit sums are k equations",
)
def random_maps_have_other_column_sums(key: Key) -> Trial:
    """A random map I + tau J, J not being a generator, has column sums that differ from 1."""
    J = rational_matrix(key, 5, 5)
    if numpy_rng(key, "rates").integers(2):  # then only the sums of columns tell it from a generator
        J = abs(J) - np.diag((abs(J) - J).diagonal())
    return _sums_trial(J, Fraction(1, 4), not _is_generator(J), refused=True)


@random_maps_have_other_column_sums.with_control
def random_maps_have_other_column_sums(key: Key) -> Trial:
    """A generator in place of J."""
    given = irreducible_chain(key)
    return _sums_trial(given.generator, Fraction(1, 4), True, refused=True)


@certified(
    "multirate/remark-30-column-sums/every-map",
    variant="reading",
    num_trials=4,
    note="column sums of 1 mean conservation of mass, not nonnegative rates; no control: random maps are measured by "
    "the same function",
)
def every_other_map_has_other_column_sums(key: Key) -> Trial:
    """A map I + tau J has column sums that differ from 1. Read: whenever J is not a generator."""
    J = rational_matrix(key, 4, 4)
    J[0, 1] = Fraction(-1, 4)
    J[np.diag_indices(4)] = J.diagonal() - J.sum(axis=0)
    return _sums_trial(J, Fraction(1, 4), not _is_generator(J))


class AffineMap(NamedTuple):
    """The affine map x -> M x + b, with the eigenvectors of M as columns and its eigenvalues, largest modulus first."""

    eigenvectors: Exact
    eigenvalues: Exact
    offset: Exact

    @property
    def matrix(self) -> Exact:
        """The matrix M."""
        return solved(self.eigenvectors.T, (self.eigenvectors * self.eigenvalues[None]).T).T

    @property
    def fixed_points(self) -> Exact:
        """The fixed point, or a basis of the fixed points if b = 0 and 1 is an eigenvalue, shape (points, k)."""
        still = identity(len(self.eigenvalues)) - self.matrix
        return null_space(still) if determinant(still) == 0 else solved(still, self.offset)[None]

    def witness(self) -> dict:
        """Return the data that determine the map."""
        return {"M": self.matrix, "b": self.offset}


def _affine_map(key: Key, largest: Fraction, *, affine: bool) -> AffineMap:
    """Return a random map with rational eigenvalues 1, -2/3 and 1/4 times `largest`; b = 0 unless `affine`."""
    rng = numpy_rng(key, "one step")
    S = matrix(rng.integers(-4, 5, (3, 3)))
    while determinant(S) == 0:
        S = matrix(rng.integers(-4, 5, (3, 3)))
    rates = largest * matrix([1, Fraction(-2, 3), Fraction(1, 4)])
    return AffineMap(S, rates, matrix(rng.integers(1, 7, 3)) * int(affine))


def _fixed_point_trial(given: AffineMap) -> Trial:
    """Measure whether the fixed points are eigenvectors of the eigenvalue of largest modulus."""
    M, points = given.matrix, given.fixed_points
    fixed = all(bool(np.all(M @ x + given.offset == x)) for x in points)
    top = given.eigenvalues[0]
    return Trial(
        hypotheses=(
            holds("no eigenvalue has modulus above one", max(abs(given.eigenvalues)) <= 1),
            holds(
                "one eigenvalue has strictly largest modulus",
                abs(given.eigenvalues[0]) > max(abs(given.eigenvalues[1:])),
            ),
            holds("there is a nonzero fixed point", fixed and all(bool(np.any(x != 0)) for x in points)),
        ),
        conclusions=(
            holds("it is an eigenvector of that eigenvalue", all(bool(np.all(M @ x == top * x)) for x in points)),
        ),
        witness={
            **given.witness(),
            "eigenvectors": given.eigenvectors.T,
            "eigenvalues": given.eigenvalues,
            "fixed point": points[0],
        },
    )


fixed_point_is_an_eigendirection = certified(
    "multirate/remark-30-fixed-point",
    statement="The fixed point of a one-step map that is not stochastic is its least-contracting eigendirection.",
    trial=lambda key: _fixed_point_trial(_affine_map(key, Fraction(3, 4), affine=True)),
    num_trials=8,
    note="a contraction x -> M x + b has one fixed point, (I - M)^{-1} b, which in general is not an eigenvector of M; "
    "affine maps are the simplest nonlinear ones; no control: maps with b = 0 are measured by the same function",
)


fixed_point_of_a_homogeneous_map = certified(
    "multirate/remark-30-fixed-point/homogeneous",
    statement="The nonzero fixed points are the least-contracting eigendirection. Added: the map is linear (b = 0), "
    "with a simple eigenvalue 1 and all others smaller in modulus.",
    trial=lambda key: _fixed_point_trial(_affine_map(key, Fraction(1), affine=False)),
    # A map with b other than zero.
    control=lambda key: _fixed_point_trial(_affine_map(key, Fraction(1, 2), affine=True)),
    variant="special case",
    num_trials=8,
    note="for b = 0 there is a nonzero fixed point only if 1 is an eigenvalue",
)


def _asymptotic_direction_trial(given: AffineMap, start: Exact) -> Trial:
    """Measure the direction from the fixed point after `ITERATIONS` steps, in the basis of eigenvectors."""
    M, fixed, x = given.matrix, given.fixed_points[0], start
    for _ in range(ITERATIONS):
        x = M @ x + given.offset
    weights = solved(given.eigenvectors, x - fixed)
    others = max(abs(weights[1:])) / abs(weights[0]) if weights[0] != 0 else Fraction(1)
    generic = holds(
        "the initial state has a component along the first eigenvector",
        solved(given.eigenvectors, start - fixed)[0] != 0,
    )
    return Trial(
        hypotheses=(holds("the map is a contraction", max(abs(given.eigenvalues)) < 1), generic),
        conclusions=(holds("the other components are below 1e-9 of the first", others < Fraction(1, 10**9)),),
        witness={**given.witness(), "start": start, "others": float(others)},
    )


@certified(
    "multirate/remark-30-fixed-point/approach",
    variant="reading",
    num_trials=8,
    note="for affine maps with rational eigenvalues, the second being 2/3 of the first in modulus",
)
def approach_is_along_an_eigendirection(key: Key) -> Trial:
    """Read: the direction in which iterates from almost every initial state approach the fixed point, and not the fixed
    point itself, tends to the least-contracting eigendirection.
    """
    given = _affine_map(key, Fraction(3, 4), affine=True)
    start = given.fixed_points[0] + given.eigenvectors @ matrix(numpy_rng(key, "start").integers(1, 5, 3))
    return _asymptotic_direction_trial(given, start)


@approach_is_along_an_eigendirection.with_control
def approach_is_along_an_eigendirection(key: Key) -> Trial:
    """The eigenvalues in reverse order."""
    given = _affine_map(key, Fraction(3, 4), affine=True)
    turned = given._replace(eigenvalues=given.eigenvalues[::-1])
    return _asymptotic_direction_trial(turned, turned.fixed_points[0] + turned.eigenvectors @ matrix([1, 1, 1]))
