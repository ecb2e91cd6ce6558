"""Errors in the search for follower sets by cells, cones and memory, with the claims that notice them."""

from tests.quality.mutants import Mutant

LAYER = "hardmax/equation-2.5"

# fmt: off
MUTANTS = (
    Mutant("hardmax: the share of a layer is alpha where follower sets are reused", "iterate_hardmax",
           "map.alpha / (1 + map.alpha)", "map.alpha", (LAYER,)),
    Mutant("hardmax: brute force keeps the best score of each row alone", "_Buffer.near",
           "np.max(found, axis=1) - within.astype(queries.dtype)", "np.max(found, axis=1)", (LAYER,)),
    Mutant("hardmax: the slack of brute force ignores scores that are not near", "_rescored",
           "np.maximum(rest, np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1]))",
           "np.maximum.reduceat(np.where(near, -np.inf, found), bounds[:-1])", (LAYER,)),
    Mutant("hardmax: the gap of a tie is that inside its cone", "AbstractSearch.sets",
           "np.minimum(slack[several], best - other - scores.errors(tied.rows))", "slack[several]", (LAYER,)),
    Mutant("hardmax: tokens are matched with the groups of others", "ConeBisection.near",
           "np.arange(len(distinct))", "np.arange(len(distinct))[::-1]", (LAYER,)),
    Mutant("hardmax: a token is dominated by one other", "undominated",
           "np.minimum(scores[first], scores[second])", "scores[first]", (LAYER,)),
    Mutant("hardmax: cones are bisected without the scores of the middle", "_bisected",
           "(cones.at[p, i[of]] + cones.at[p, j[of]]) / length[of]", "cones.at[p, i[of]]", (LAYER,)),
    Mutant("hardmax: queries of a bisected cone lie in the other half", "_sides",
           "np.where(left, c, c + len(length))", "np.where(left, c + len(length), c)", (LAYER,)),
    Mutant("hardmax: an orthant is that of the opposite queries", "_orthants", "queries < 0", "queries > 0", (LAYER,)),
    Mutant("hardmax: the sample removes what one of its tokens dominates", "domination_bounds",
           "np.minimum(at[:, each, first], at[:, each, second])", "at[:, each, first]", (LAYER,)),
    Mutant("hardmax: cells of the grid are mirrored", "_cell_of",
           "queries[rows, face] < 0", "queries[rows, face] > 0", (LAYER,)),
    Mutant("hardmax: halves of cells are exchanged", "_halved",
           "at[high, :count], at[low, count:] = middle, middle", "at[low, :count], at[high, count:] = middle, middle",
           (LAYER,)),
    Mutant("hardmax: tokens of a crowded cell are lost", "near_best_by_cells",
           "among[near.columns]", "near.columns", (LAYER,)),
    Mutant("hardmax: hash collisions join different tokens", "_runs",
           "rows[1:] != rows[:-1]", "rows[1:, :1] != rows[:-1, :1]", (LAYER,)),
    Mutant("hardmax: the order of equal hashes is not checked", "equal_rows",
           "if _collide(values[order], hashes[order]): order = np.lexsort(values.T)", "",
           equivalent="the hash of 64 bits is invertible for one column and collides with probability 2^-64 otherwise"),
    Mutant("hardmax: scores of a leaf lose a coordinate", "_scored_rectangle",
           "keys.shape[1]", "max(1, keys.shape[1] - 1)", (LAYER,)),
    Mutant("hardmax: scores of crowded leaves use the first of their tokens", "_scored_runs",
           "np.repeat(leaves.starts[cone] - bounds[:-1], size) + np.arange(bounds[-1])",
           "np.repeat(leaves.starts[cone], size)", (LAYER,)),
    Mutant("hardmax: slack in a leaf is the best score", "_scored_rectangle",
           "best - np.max(found, axis=0)", "best", (LAYER,)),
)
# fmt: on
