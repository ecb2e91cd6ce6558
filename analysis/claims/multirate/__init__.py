"""The statements of `multirate`, in the order of the paper."""

from analysis.ledger.statement import statements_of
from dynsim.papers import MULTIRATE

STATEMENTS = statements_of(
    MULTIRATE,
    ("claim-qss-reduction", "Sec 2.1", "QSS reduction approximates the slow variable"),
    ("claim-euler-step", "Sec 2.2, (2)", "the block with injection is one forward-Euler step"),
    ("definition-3", "Def 3", "causal pooling"),
    ("definition-6", "Def 6", "causal upsampling"),
    (
        "definition-6-shift",
        "Def 6, Sec 4.1",
        "reading block floor(i/P) instead of floor(i/P)-1 would leak future tokens",
    ),
    ("proposition-9", "Prop 9", "forward pass"),
    ("proposition-19", "Prop 19", "layer-equivalent cost"),
    ("proposition-21", "Prop 21", "end-to-end causality with a causal slow mask"),
    (
        "proposition-21-full-slow",
        "abstract, Sec 3.2",
        "end-to-end causality with full slow attention over the pooled tokens",
    ),
    ("proposition-22", "Prop 22", "the slow variable changes at most once per P tokens"),
    ("proposition-23", "Prop 23", "zero-initialised gate: identical to the frozen network"),
    ("remark-24-rmsnorm", "Remark 24", "RMSNorm in the injection path already bounds the context to norm sqrt(d)"),
    ("remark-25-hyperbolicity", "Remark 25", "Fenichel requires contraction transverse to the manifold"),
    ("remark-25-norm-constraints", "Remark 25", "norm constraints keep the fast subsystem contractive"),
    ("remark-25-necessary", "Remark 25", "norm constraints are necessary for a well-posed fast-slow reduction"),
    ("theorem-28-i", "Thm 28 (i)", "the QSS manifold is the kernel of the generator"),
    ("theorem-28-ii", "Thm 28 (ii)", "irreducible: unique positive stationary distribution"),
    ("theorem-28-iii-flow", "Thm 28 (iii)", "e^{Qt} p tends to it for every distribution p"),
    ("theorem-28-iii-euler", "Thm 28 (iii)", "forward Euler below the step bound converges to it"),
    (
        "claim-qss-equals-stationary",
        "Sec 1, 7, 12",
        "under the generator structure (27) the equilibrium phi(y) of the fast dynamics is exactly p_st(y)",
    ),
    ("corollary-29", "Cor 29", "a learned projector is a variational approximation of the stationary distribution"),
    ("remark-30-column-sums", "Remark 30", "a trained block's one-step map has column sums different from 1"),
    ("remark-30-fixed-point", "Remark 30", "its fixed point is a least-contracting eigendirection"),
    ("remark-31", "Remark 31", "power iteration recovers the null vector geometrically"),
    (
        "remark-31-projector",
        "Remark 31",
        "a small MLP trained on generators predicts p_st(y) on unseen ones without iterating",
    ),
    ("claim-h-theorem", "Sec 6.1", "relative entropy is a Lyapunov function"),
    ("claim-attention-transition", "Sec 8", "attention is one step of a Markov transition"),
    ("claim-attention-exponential", "Sec 8", "that step is the integrated form e^{Q tau} of a generator"),
    ("claim-attention-entropy", "Sec 8", "attention entropy is not the Lyapunov functional"),
    ("claim-lumpability", "Sec 8", "exact lumpability requires Kemeny-Snell; block means are approximate lumping"),
    (
        "claim-causal-irreducible",
        "Sec 1, Sec 8 with Thm 28",
        "causal attention matrices, read as chains, have the irreducibility and the positive stationary "
        "distribution of Thm 28 (ii)",
    ),
    (
        "remark-32",
        "Remark 32",
        "the QSS manifold of a generator is the stationary distribution, and attention is one discrete-time "
        "Markov transition, not the generator itself",
    ),
    ("claim-residual-distance", "Sec 11.1", "the residual measures the distance to equilibrium"),
    ("claim-truncated-iteration", "Sec 11.2", "a contraction's iterates converge to its fixed point"),
    ("claim-rmsnorm-contraction", "Sec 11.2", "Post is plausibly a contraction under RMSNorm"),
    ("claim-anderson", "Sec 11.3", "Anderson(1) as the two-point secant method"),
    ("experiment-9-gate", "Sec 9", "coupled and frozen variants agree within noise, the gate stays nearly closed"),
)
