"""The statements of `multirate`, in the order of the paper."""

from analysis.ledger.statement import Statement
from dynsim.papers import MULTIRATE

STATEMENTS = (
    Statement("claim-qss-reduction", MULTIRATE.at("Sec 2.1"), "QSS reduction approximates the slow variable"),
    Statement("claim-euler-step", MULTIRATE.at("Sec 2.2, (2)"), "the block with injection is one forward-Euler step"),
    Statement("definition-3", MULTIRATE.at("Def 3"), "causal pooling"),
    Statement("definition-6", MULTIRATE.at("Def 6"), "causal upsampling"),
    Statement(
        "definition-6-shift",
        MULTIRATE.at("Def 6, Sec 4.1"),
        "reading block floor(i/P) instead of floor(i/P)-1 would leak future tokens",
    ),
    Statement("proposition-9", MULTIRATE.at("Prop 9"), "forward pass"),
    Statement("proposition-19", MULTIRATE.at("Prop 19"), "layer-equivalent cost"),
    Statement("proposition-21", MULTIRATE.at("Prop 21"), "end-to-end causality with a causal slow mask"),
    Statement(
        "proposition-21-full-slow",
        MULTIRATE.at("abstract, Sec 3.2"),
        "end-to-end causality with full slow attention over the pooled tokens",
    ),
    Statement("proposition-22", MULTIRATE.at("Prop 22"), "the slow variable changes at most once per P tokens"),
    Statement("proposition-23", MULTIRATE.at("Prop 23"), "zero-initialised gate: identical to the frozen network"),
    Statement(
        "remark-24-rmsnorm",
        MULTIRATE.at("Remark 24"),
        "RMSNorm in the injection path already bounds the context to norm sqrt(d)",
    ),
    Statement(
        "remark-25-hyperbolicity", MULTIRATE.at("Remark 25"), "Fenichel requires contraction transverse to the manifold"
    ),
    Statement(
        "remark-25-norm-constraints", MULTIRATE.at("Remark 25"), "norm constraints keep the fast subsystem contractive"
    ),
    Statement(
        "remark-25-necessary",
        MULTIRATE.at("Remark 25"),
        "norm constraints are necessary for a well-posed fast-slow reduction",
    ),
    Statement("theorem-28-i", MULTIRATE.at("Thm 28 (i)"), "the QSS manifold is the kernel of the generator"),
    Statement("theorem-28-ii", MULTIRATE.at("Thm 28 (ii)"), "irreducible: unique positive stationary distribution"),
    Statement("theorem-28-iii-flow", MULTIRATE.at("Thm 28 (iii)"), "e^{Qt} p tends to it for every distribution p"),
    Statement(
        "theorem-28-iii-euler", MULTIRATE.at("Thm 28 (iii)"), "forward Euler below the step bound converges to it"
    ),
    Statement(
        "claim-qss-equals-stationary",
        MULTIRATE.at("Sec 1, 7, 12"),
        "under the generator structure (27) the equilibrium phi(y) of the fast dynamics is exactly p_st(y)",
    ),
    Statement(
        "corollary-29",
        MULTIRATE.at("Cor 29"),
        "a learned projector is a variational approximation of the stationary distribution",
    ),
    Statement(
        "remark-30-column-sums",
        MULTIRATE.at("Remark 30"),
        "a trained block's one-step map has column sums different from 1",
    ),
    Statement(
        "remark-30-fixed-point", MULTIRATE.at("Remark 30"), "its fixed point is a least-contracting eigendirection"
    ),
    Statement("remark-31", MULTIRATE.at("Remark 31"), "power iteration recovers the null vector geometrically"),
    Statement(
        "remark-31-projector",
        MULTIRATE.at("Remark 31"),
        "a small MLP trained on generators predicts p_st(y) on unseen ones without iterating",
    ),
    Statement("claim-h-theorem", MULTIRATE.at("Sec 6.1"), "relative entropy is a Lyapunov function"),
    Statement("claim-attention-transition", MULTIRATE.at("Sec 8"), "attention is one step of a Markov transition"),
    Statement(
        "claim-attention-exponential",
        MULTIRATE.at("Sec 8"),
        "that step is the integrated form e^{Q tau} of a generator",
    ),
    Statement("claim-attention-entropy", MULTIRATE.at("Sec 8"), "attention entropy is not the Lyapunov functional"),
    Statement(
        "claim-lumpability",
        MULTIRATE.at("Sec 8"),
        "exact lumpability requires Kemeny-Snell; block means are approximate lumping",
    ),
    Statement(
        "claim-causal-irreducible",
        MULTIRATE.at("Sec 1, Sec 8 with Thm 28"),
        "causal attention matrices, read as chains, have the irreducibility and the positive stationary "
        "distribution of Thm 28 (ii)",
    ),
    Statement(
        "remark-32",
        MULTIRATE.at("Remark 32"),
        "the QSS manifold of a generator is the stationary distribution, and attention is one discrete-time Markov "
        "transition, not the generator itself",
    ),
    Statement("claim-residual-distance", MULTIRATE.at("Sec 11.1"), "the residual measures the distance to equilibrium"),
    Statement(
        "claim-truncated-iteration", MULTIRATE.at("Sec 11.2"), "a contraction's iterates converge to its fixed point"
    ),
    Statement("claim-rmsnorm-contraction", MULTIRATE.at("Sec 11.2"), "Post is plausibly a contraction under RMSNorm"),
    Statement("claim-anderson", MULTIRATE.at("Sec 11.3"), "Anderson(1) as the two-point secant method"),
    Statement(
        "experiment-9-gate",
        MULTIRATE.at("Sec 9"),
        "coupled and frozen variants agree within noise, the gate stays nearly closed",
    ),
)
