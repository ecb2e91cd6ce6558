"""Errors in the search for follower sets by cells, cones and memory, with the claims that notice them."""

from tests.mutants import Mutant

BRUTE_FORCE = "dynsim.systems.hardmax.search.brute_force"
CHOICE = "dynsim.systems.hardmax.search.choice"
CONES = "dynsim.systems.hardmax.search.cone_bisection"
GRID = "dynsim.systems.hardmax.search.direction_grid"
GROUPING = "dynsim.systems.hardmax.search.grouping"
LEAVES = "dynsim.systems.hardmax.search.leaves"
CLUSTERING = "dynsim.clustering"

LAYER = "hardmax/equation-2.5"

MUTANTS = (
    Mutant(
        "hardmax: the share of a layer is alpha where follower sets are reused",
        CLUSTERING,
        "share = float(map.alpha / (1 + map.alpha))",
        "share = float(map.alpha)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: brute force keeps the best score of each row alone",
        BRUTE_FORCE,
        "least = np.max(found, axis=1) - within.astype(queries.dtype)",
        "least = np.max(found, axis=1)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the slack of brute force ignores scores that are not near",
        BRUTE_FORCE,
        "second = np.maximum(rest, np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1]))",
        "second = np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1])",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the gap of a tie is that inside its cone",
        CHOICE,
        "slack[several] = np.minimum(slack[several], best - other - scores.errors(tied.rows))",
        "slack[several] = slack[several]",
        (LAYER,),
    ),
    Mutant(
        "hardmax: tokens are matched with the groups of others",
        CHOICE,
        "place[near.rows] = np.arange(len(distinct))",
        "place[near.rows] = np.arange(len(distinct))[::-1]",
        (LAYER,),
    ),
    Mutant(
        "hardmax: a token is dominated by one other",
        CONES,
        "least = np.where(np.isinf(top), -np.inf, np.minimum(scores[first], scores[second]) - margin)",
        "least = np.where(np.isinf(top), -np.inf, scores[first] - margin)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: cones are bisected without the scores of the middle",
        CONES,
        "here = (cones.at[p, i[of]] + cones.at[p, j[of]]) / length[of]",
        "here = cones.at[p, i[of]]",
        (LAYER,),
    ),
    Mutant(
        "hardmax: queries of a bisected cone lie in the other half",
        CONES,
        "return np.where(left, c, c + len(length)), weights",
        "return np.where(left, c + len(length), c), weights",
        (LAYER,),
    ),
    Mutant(
        "hardmax: an orthant is that of the opposite queries",
        CONES,
        "cone = (queries < 0) @ powers",
        "cone = (queries > 0) @ powers",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the sample removes what one of its tokens dominates",
        CONES,
        "least = np.minimum(at[:, each, first], at[:, each, second]) - margin",
        "least = at[:, each, first] - margin",
        (LAYER,),
    ),
    Mutant(
        "hardmax: cells of the grid are mirrored",
        GRID,
        "cell = face + d * (queries[rows, face] < 0)",
        "cell = face + d * (queries[rows, face] > 0)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: halves of cells are exchanged",
        GRID,
        "at[high, :count], at[low, count:] = middle, middle",
        "at[low, :count], at[high, count:] = middle, middle",
        (LAYER,),
    ),
    Mutant(
        "hardmax: tokens of a crowded cell are lost",
        GRID,
        "parts.append((Candidates(rows[near.rows], near.starts, among[near.columns]), slack))",
        "parts.append((Candidates(rows[near.rows], near.starts, near.columns), slack))",
        (LAYER,),
    ),
    Mutant(
        "hardmax: hash collisions join different tokens",
        GROUPING,
        "new = np.any(rows[1:] != rows[:-1], axis=1)",
        "new = np.any(rows[1:, :1] != rows[:-1, :1], axis=1)",
        (LAYER,),
    ),
    Mutant(
        "hardmax: the order of equal hashes is not checked",
        GROUPING,
        "    if _collide(values[order], hashes[order]):\n        order = np.lexsort(values.T)\n",
        "",
        equivalent="the hash of 64 bits is invertible for one column and collides with probability 2^-64 otherwise",
    ),
    Mutant(
        "hardmax: scores of a leaf lose a coordinate",
        LEAVES,
        "    for k in range(keys.shape[1]):\n        place = keys[:, k][token]",
        "    for k in range(max(1, keys.shape[1] - 1)):\n        place = keys[:, k][token]",
        (LAYER,),
    ),
    Mutant(
        "hardmax: scores of crowded leaves use the first of their tokens",
        LEAVES,
        "token = leaves.token[np.repeat(leaves.starts[cone] - bounds[:-1], size) + np.arange(bounds[-1])]",
        "token = leaves.token[np.repeat(leaves.starts[cone], size)]",
        (LAYER,),
    ),
    Mutant(
        "hardmax: slack in a leaf is the best score",
        LEAVES,
        "return Candidates(rows, starts, columns), best - np.max(found, axis=0) - errors",
        "return Candidates(rows, starts, columns), best - errors",
        (LAYER,),
    ),
)
