"""The statements of `hardmax`, in the order of the paper."""

from analysis.ledger.statement import Statement
from dynsim.papers import HARDMAX

STATEMENTS = (
    Statement("theorem-1.1-leaders-exist", HARDMAX.at("Thm 1.1"), "the set of leaders is not empty"),
    Statement("theorem-1.1-i", HARDMAX.at("Thm 1.1"), "every token converges to a point of the finite set S"),
    Statement(
        "theorem-1.1-ii",
        HARDMAX.at("Thm 1.1"),
        "every leader reaches a distinct vertex of K in finitely many layers; K has as many vertices as leaders",
    ),
    Statement(
        "theorem-1.1-iii",
        HARDMAX.at("Thm 1.1"),
        "a point of S that is no vertex is the A-projection of the origin on a face",
    ),
    Statement(
        "remark-1.2",
        HARDMAX.at("Remark 1.2"),
        "S contains the vertices, which are the leaders' limits, attained in finite time",
    ),
    Statement(
        "remark-1.3",
        HARDMAX.at("Remark 1.3"),
        "a zero token: the theorem holds with the origin added to S; the five-token example",
    ),
    Statement(
        "claim-s-all-projections",
        HARDMAX.at("Sec 1.1"),
        "S consists of the vertices of K and the projections of the origin onto its faces (every such "
        "projection belongs to S)",
    ),
    Statement(
        "claim-figure-2-rows",
        HARDMAX.at("Sec 1.1, Fig 2"),
        "rows C and D share leaders and K but not the cluster set S of (4.1)",
    ),
    Statement("claim-no-metastability", HARDMAX.at("Sec 1.3"), "the hardmax model prevents metastable states"),
    Statement("equation-2.5", HARDMAX.at("Sec 2.2"), "the normalised attention layer equals (1.1)"),
    Statement(
        "claim-sphere-fixed",
        HARDMAX.at("Sec 2.3"),
        "tokens on the unit sphere stay fixed under projection normalisation",
    ),
    Statement("claim-softmax-limit", HARDMAX.at("Sec 2.3"), "softmax tends to hardmax as tau -> 0 on compact sets"),
    Statement("claim-change-of-variables", HARDMAX.at("Sec 3"), "z~ = B z turns A = B^T B into the identity"),
    Statement("lemma-3.1", HARDMAX.at("Sec 3.1"), "distinct tokens stay distinct"),
    Statement("lemma-3.2", HARDMAX.at("Sec 3.2"), "the norm of a token never decreases"),
    Statement("lemma-3.3", HARDMAX.at("Sec 3.3"), "the convex hull shrinks"),
    Statement("corollary-3.3.1", HARDMAX.at("Sec 3.3"), "tokens stay in the initial hull and ball"),
    Statement("lemma-3.4", HARDMAX.at("Sec 3.3"), "the intersection K of the hulls is a non-empty polytope"),
    Statement("lemma-4.1-finite", HARDMAX.at("Lemma 4.1"), "S is finite"),
    Statement("lemma-4.1-boundary", HARDMAX.at("Lemma 4.1"), "S is a subset of the boundary of K"),
    Statement("lemma-4.2", HARDMAX.at("Sec 4.1"), "away from S the squared norm grows by at least c per layer"),
    Statement("proposition-4.3", HARDMAX.at("Sec 4.1"), "S is attracting"),
    Statement("lemma-4.4-vertices", HARDMAX.at("Lemma 4.4"), "the vertices of K belong to S"),
    Statement(
        "lemma-4.4-projections",
        HARDMAX.at("Lemma 4.4"),
        "other points of S are projections of the origin on faces of K (K counted as a face of itself)",
    ),
    Statement("lemma-4.5", HARDMAX.at("Sec 4.2"), "separation by hyperplanes near s_0"),
    Statement("proposition-4.6", HARDMAX.at("Sec 4.2"), "every token stays in one small ball of S"),
    Statement("lemma-5.1-i", HARDMAX.at("Lemma 5.1"), "leaders exist"),
    Statement("lemma-5.1-ii", HARDMAX.at("Lemma 5.1"), "a leader stays a leader and does not move"),
    Statement("example-5.2", HARDMAX.at("Example 5.2"), "values and follower sets of the example"),
    Statement("proposition-5.3-only-if", HARDMAX.at("Prop 5.3"), "a leader's limit is a vertex of K"),
    Statement("proposition-5.3-if", HARDMAX.at("Prop 5.3"), "a token whose limit is a vertex is a leader"),
    Statement("lemma-5.4", HARDMAX.at("Sec 5.2"), "a leader reaches a vertex in finite time"),
    Statement("lemma-5.5", HARDMAX.at("Sec 5.2"), "every vertex is the value of a leader at some layer"),
    Statement(
        "claim-training-loss",
        HARDMAX.at("Sec 6.2, Fig 8"),
        "softmax (tau = .001) and hardmax training losses almost coincide",
    ),
    Statement(
        "claim-identity-no-restriction",
        HARDMAX.at("Sec 6.2"),
        "fixing A = I instead of training A over the SPD matrices does not restrict the classifier",
    ),
    Statement(
        "claim-theory-applies-to-reviews",
        HARDMAX.at("Sec 6"),
        "the tokens of a padded review meet the hypotheses of Theorem 1.1",
    ),
    Statement("claim-eight-layers", HARDMAX.at("Sec 6.3"), "K = 8 layers approximate the asymptotic state"),
    Statement(
        "experiment-6.3",
        HARDMAX.at("Sec 6.3"),
        "the share of correctly classified test reviews grows from around 80% for d = 2 to around 90% for d = 16",
    ),
    Statement(
        "experiment-table-1",
        HARDMAX.at("Table 1"),
        "leaders per review grow with d; nearly all are leaders from the start",
    ),
    Statement(
        "claim-semidefinite",
        HARDMAX.at("Sec 7"),
        "A semidefinite: the clustering results apply to the components of the tokens on the positive definite "
        "eigenspace, but nothing can be said about the kernel",
    ),
)
