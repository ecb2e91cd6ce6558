"""The statements of `prototypes`, in the order of the paper."""

from analysis.ledger.statement import Statement
from dynsim.papers import PROTOTYPES

STATEMENTS = (
    Statement("equation-3", PROTOTYPES.at("(3)"), "Lq = L_OLS + V with L_OLS = sum_n min_k d_nk, exactly"),
    Statement("equation-3-v-nonnegative", PROTOTYPES.at("(3)"), "V >= 0"),
    Statement("equation-3-gradient", PROTOTYPES.at("Sec 2.2"), "grad_P V = 2 P Sigma_q under stop-gradient"),
    Statement(
        "claim-separation-force",
        PROTOTYPES.at("Sec 2.2"),
        "this gradient acts as a separation force in the descent on Lq",
    ),
    Statement(
        "claim-collapse-saddle",
        PROTOTYPES.at("Sec 2.2"),
        "prototype collapse is a first-order locally unstable saddle of Lq",
    ),
    Statement(
        "claim-anti-collapse",
        PROTOTYPES.at("abstract"),
        "the decomposition ensures that prototypes cannot all converge to one point",
    ),
    Statement(
        "fact-1",
        PROTOTYPES.at("Fact 1"),
        "lambda > 2 eta_P C(K,2): the frozen-encoder flow has a global Lyapunov function and converges to A",
    ),
    Statement("remark-1", PROTOTYPES.at("Remark 1"), "the output is the soft centroid"),
    Statement("claim-multihead", PROTOTYPES.at("Sec 3.2"), "the decomposition holds per head"),
    Statement("claim-complexity", PROTOTYPES.at("Sec 3.3"), "O(T K m) operations per layer"),
    Statement("claim-separation-monotone", PROTOTYPES.at("Sec 3.3"), "in the stable regime S(P) grows monotonically"),
    Statement("claim-entropy-decreases", PROTOTYPES.at("Sec 3.3"), "in the stable regime H(Q) decreases"),
    Statement("algorithm-1-line-12", PROTOTYPES.at("Alg 1"), "V := Lq - sum min equals sum q |p_k - mu_n|^2"),
    Statement(
        "algorithm-1-line-20",
        PROTOTYPES.at("Alg 1"),
        "passing the assertion V >= -1e-8 is a check of the decomposition (3)",
    ),
    Statement(
        "algorithm-1-assertion", PROTOTYPES.at("Alg 1, Sec 3.4 (iii)"), "V of line 12 is never negative, up to rounding"
    ),
    Statement(
        "claim-equal-rates-collapse",
        PROTOTYPES.at("Sec 3.4 (i)"),
        "eps = 1 causes prototype collapse within a few epochs regardless of other hyperparameters",
    ),
    Statement(
        "claim-training-epochs",
        PROTOTYPES.at("Sec 3.4 (iii), Sec 7"),
        "the reported experiments have 155 training epochs in total",
    ),
    Statement("proposition-1", PROTOTYPES.at("Prop 1"), "the decomposition holds for any encoder, P, T"),
    Statement("proposition-1-inequality", PROTOTYPES.at("proof"), "|z_n - mu_n|^2 >= min_k |z_n - p_k|^2"),
    Statement("proposition-2", PROTOTYPES.at("Prop 2"), "encoder gradient under stop-gradient"),
    Statement(
        "claim-rescaling",
        PROTOTYPES.at("Sec 4.2"),
        "tau = t/eps turns (11)-(12) into eps dtheta/dtau = -grad_theta Lq / eta_P, dP/dtau = -grad_P Lq",
    ),
    Statement(
        "theorem-1",
        PROTOTYPES.at("Thm 1"),
        "eps < mu_P/L gives a locally exponentially stable equilibrium with separated prototypes",
    ),
    Statement("remark-2", PROTOTYPES.at("Remark 2"), "eps in [.01,.1] reliably gives the stable regime"),
    Statement(
        "proposition-3-iff",
        PROTOTYPES.at("Prop 3"),
        "asymptotically stable iff all eigenvalues of J* have positive real part",
    ),
    Statement("proposition-3-sufficient", PROTOTYPES.at("Prop 3, (14)"), "H* > 0 and (14) imply stability"),
    Statement("proposition-3-proof", PROTOTYPES.at("proof"), "J* > 0 iff (14)"),
    Statement(
        "proposition-3-weak-coupling", PROTOTYPES.at("Prop 3"), "weak coupling reduces (14) to eta_theta < eta_P"
    ),
    Statement("theorem-2-decrease", PROTOTYPES.at("Thm 2"), "W is non-increasing along the flow"),
    Statement("theorem-2-no-collapse", PROTOTYPES.at("Thm 2"), "no limit point has S(P) = 0"),
    Statement("theorem-2-coercive", PROTOTYPES.at("Thm 2"), "the condition on lambda makes sublevel sets compact"),
    Statement("theorem-2-convergence", PROTOTYPES.at("Thm 2"), "convergence to the critical set with S > 0"),
    Statement("theorem-3-derivative", PROTOTYPES.at("Thm 3"), "dLq/dT = (1/T^2) sum Var >= 0"),
    Statement("theorem-3-monotone", PROTOTYPES.at("Thm 3"), "W is non-increasing for any decreasing schedule"),
    Statement("theorem-3-convergence", PROTOTYPES.at("Thm 3"), "convergence to the critical set at T_min"),
    Statement("corollary-1", PROTOTYPES.at("Cor 1"), "each result strictly subsumes the previous one"),
    Statement(
        "proposition-4-soft",
        PROTOTYPES.at("Prop 4"),
        "L_OLS is a soft commitment loss without hard argmin, gradients flow continuously",
    ),
    Statement(
        "proposition-4-sigma", PROTOTYPES.at("Prop 4"), "Sigma_q = 0 only if all tokens go to a single prototype"
    ),
    Statement("proposition-4-utilisation", PROTOTYPES.at("Prop 4"), "full codebook utilisation by construction"),
    Statement("proposition-4-centroid", PROTOTYPES.at("Prop 4"), "no prototype can sit at the global centroid"),
    Statement(
        "proposition-4-smooth",
        PROTOTYPES.at("Prop 4, proof"),
        "the assignments q are differentiable everywhere, no straight-through estimator is needed",
    ),
    Statement(
        "claim-gradient-nonzero",
        PROTOTYPES.at("Sec 8.3"),
        "2 P Sigma_q is non-zero for any configuration of distinct prototypes",
    ),
    Statement("remark-3-formula", PROTOTYPES.at("Remark 3"), "dead-code risk floor(100(1-1/K)) percent"),
    Statement("remark-3-gradient", PROTOTYPES.at("Remark 3"), "the printed gradient of Lq"),
    Statement(
        "remark-3-nonzero",
        PROTOTYPES.at("Remark 3"),
        "[Sigma_q P]_k is non-zero for every prototype k whenever the prototypes are distinct",
    ),
    Statement("remark-4", PROTOTYPES.at("Remark 4"), "soft assignment collapse H ~ ln K, S -> 0 is observed"),
    Statement("proposition-5-decomposition", PROTOTYPES.at("Prop 5"), "the decomposition holds at every level, V >= 0"),
    Statement(
        "proposition-5-independence",
        PROTOTYPES.at("Prop 5"),
        "grad V^(l) is independent of the other levels' prototypes",
    ),
    Statement(
        "claim-no-interference",
        PROTOTYPES.at("Sec 5.2 end, Sec 8.4"),
        "one backward pass has no interference between levels; the separation gradient of one level "
        "cannot vanish while the other's is large",
    ),
    Statement("appendix-a-systems", PROTOTYPES.at("(A.3)-(A.5)"), "fast and slow subsystems as printed"),
    Statement(
        "appendix-a-ii",
        PROTOTYPES.at("App A"),
        "assumption (ii) of Theorem 1 is guaranteed by Fact 1 under the regularisation condition",
    ),
    Statement("appendix-a-6", PROTOTYPES.at("(A.6)"), "|theta - theta*(P)| = O(eps)"),
    Statement("appendix-a-7", PROTOTYPES.at("(A.7)"), "the reduced flow is a Lipschitz contraction"),
    Statement("appendix-a-rate", PROTOTYPES.at("App A (b)"), "decay rate at least c min(mu_P, mu_P/(L eps))"),
    Statement(
        "appendix-a-iv", PROTOTYPES.at("App A"), "condition (iv) is sufficient; resonance instabilities at eps ~ 1"
    ),
    Statement("experiment-7.2-improvement", PROTOTYPES.at("Table 3"), "DDCL improves on k-means on the debris data"),
    Statement("experiment-7.2-boundary", PROTOTYPES.at("Sec 7.2"), "the residual error is a genuine LEO/HEO ambiguity"),
    Statement("experiment-7.4-utilisation", PROTOTYPES.at("Table 5"), "100 % utilisation from epoch 1 confirms Prop 4"),
    Statement("experiment-7.6-monotone", PROTOTYPES.at("Sec 7.6"), "S(P) grows monotonically for eps <= .1"),
    Statement("experiment-7.6-collapse", PROTOTYPES.at("Sec 7.6"), "S(P) collapses within 50 epochs at eps = 1"),
    Statement(
        "experiment-lambda-condition", PROTOTYPES.at("Sec 7"), "the reported runs satisfy lambda > 2 eta_P C(K,2)"
    ),
    Statement(
        "experiment-consistency",
        PROTOTYPES.at("abstract, Sec 7.3-7.4, Tab 4-5, Fig 4"),
        "the reported utilisation figures and learning-rate ratios agree with each other",
    ),
)
