"""The statements of `hardmax`, in the order of the paper."""

from analysis.ledger.statement import statements_of
from dynsim.papers import HARDMAX

STATEMENTS = statements_of(
    HARDMAX,
    ("theorem-1.1-leaders-exist", "Thm 1.1", "the set of leaders is not empty"),
    ("theorem-1.1-i", "Thm 1.1 (i)", "every token converges to a point of the finite set S"),
    (
        "theorem-1.1-ii",
        "Thm 1.1 (ii)",
        "every leader reaches a distinct vertex of K in finitely many layers; K has as many vertices as leaders",
    ),
    ("theorem-1.1-iii", "Thm 1.1 (iii)", "a point of S that is no vertex is the A-projection of the origin on a face"),
    ("remark-1.2", "Remark 1.2", "S contains the vertices, which are the leaders' limits, attained in finite time"),
    ("remark-1.3", "Remark 1.3", "a zero token: the theorem holds with the origin added to S; the five-token example"),
    (
        "claim-s-all-projections",
        "Sec 1.1",
        "S consists of the vertices of K and the projections of the origin onto its faces (every such "
        "projection belongs to S)",
    ),
    ("claim-figure-2-rows", "Sec 1.1, Fig 2", "rows C and D share leaders and K but not the cluster set S of (4.1)"),
    ("claim-no-metastability", "Sec 1.3", "the hardmax model prevents metastable states"),
    ("equation-2.5", "Sec 2.2", "the normalised attention layer equals (1.1)"),
    ("claim-sphere-fixed", "Sec 2.3", "tokens on the unit sphere stay fixed under projection normalisation"),
    ("claim-softmax-limit", "Sec 2.3", "softmax tends to hardmax as tau -> 0 on compact sets"),
    ("claim-change-of-variables", "Sec 3", "z~ = B z turns A = B^T B into the identity"),
    ("lemma-3.1", "Lemma 3.1, Sec 3.1", "distinct tokens stay distinct"),
    ("lemma-3.2", "Lemma 3.2, Sec 3.2", "the norm of a token never decreases"),
    ("lemma-3.3", "Lemma 3.3, Sec 3.3", "the convex hull shrinks"),
    ("corollary-3.3.1", "Cor 3.3.1, Sec 3.3", "tokens stay in the initial hull and ball"),
    ("lemma-3.4", "Lemma 3.4, Sec 3.3", "the intersection K of the hulls is a non-empty polytope"),
    ("lemma-4.1-finite", "Lemma 4.1", "S is finite"),
    ("lemma-4.1-boundary", "Lemma 4.1", "S is a subset of the boundary of K"),
    ("lemma-4.2", "Lemma 4.2, Sec 4.1, (4.8)", "away from S the squared norm grows by at least c per layer"),
    ("proposition-4.3", "Prop 4.3, Sec 4.1", "S is attracting"),
    ("lemma-4.4-vertices", "Lemma 4.4", "the vertices of K belong to S"),
    (
        "lemma-4.4-projections",
        "Lemma 4.4",
        "other points of S are projections of the origin on faces of K (K counted as a face of itself)",
    ),
    ("lemma-4.5", "Lemma 4.5, Sec 4.2, (4.26)", "separation by hyperplanes near s_0"),
    ("proposition-4.6", "Prop 4.6, Sec 4.2", "every token stays in one small ball of S"),
    ("lemma-5.1-i", "Lemma 5.1 (i)", "leaders exist"),
    ("lemma-5.1-ii", "Lemma 5.1 (ii)", "a leader stays a leader and does not move"),
    ("example-5.2", "Example 5.2", "values and follower sets of the example"),
    ("proposition-5.3-only-if", "Prop 5.3", "a leader's limit is a vertex of K"),
    ("proposition-5.3-if", "Prop 5.3", "a token whose limit is a vertex is a leader"),
    ("lemma-5.4", "Lemma 5.4, Sec 5.2", "a leader reaches a vertex in finite time"),
    ("lemma-5.5", "Lemma 5.5, Sec 5.2", "every vertex is the value of a leader at some layer"),
    ("claim-training-loss", "Sec 6.2, Fig 8", "softmax (tau = .001) and hardmax training losses almost coincide"),
    (
        "claim-identity-no-restriction",
        "Sec 6.2",
        "fixing A = I instead of training A over the SPD matrices does not restrict the classifier",
    ),
    ("claim-theory-applies-to-reviews", "Sec 6", "the tokens of a padded review meet the hypotheses of Theorem 1.1"),
    ("claim-eight-layers", "Sec 6.3", "K = 8 layers approximate the asymptotic state"),
    (
        "experiment-6.3",
        "Sec 6.3",
        "the share of correctly classified test reviews grows from around 80% for d = 2 to around 90% for d = 16",
    ),
    ("experiment-table-1", "Table 1", "leaders per review grow with d; nearly all are leaders from the start"),
    (
        "claim-semidefinite",
        "Sec 7",
        "A semidefinite: the clustering results apply to the components of the tokens on the positive "
        "definite eigenspace, but nothing can be said about the kernel",
    ),
)
