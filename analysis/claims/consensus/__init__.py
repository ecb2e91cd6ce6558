"""The statements of `consensus`, in the order of the paper."""

from analysis.ledger.statement import Statement
from dynsim.papers import CONSENSUS

STATEMENTS = (
    Statement("equation-3", CONSENSUS.at("Sec 2.1, (3)"), "tangent map of pi_W and the tangent space of E_W"),
    Statement("equation-5", CONSENSUS.at("Sec 2.2, (5) vs (6)"), 'the boxed matrix form (5) "more explicitly" is (6)'),
    Statement(
        "equation-6-first-order",
        CONSENSUS.at("Sec 2.3"),
        "(6) with V = tau V' is a first-order approximation of the flow of (7), error O(tau^2) per step",
    ),
    Statement("equation-7-tangency", CONSENSUS.at("(7)"), "the flow is tangent to the product of ellipsoids"),
    Statement(
        "claim-feedforward-sum",
        CONSENSUS.at("Sec 2.3 end"),
        "adding a feed-forward sublayer gives a vector field Y + W",
    ),
    Statement("lemma-3.1", CONSENSUS.at("Sec 3.1"), "the orthogonal projection for the metric (9) is T pi_P"),
    Statement("lemma-3.2", CONSENSUS.at("Sec 3.2"), "grad_g V = -X_P for V of (10)"),
    Statement("theorem-3.1", CONSENSUS.at("Sec 3.2"), "grad_{g_P} V_P = -Y_P"),
    Statement("lemma-3.3", CONSENSUS.at("Sec 3.3"), "trajectories of (8) converge to the critical set of V_P"),
    Statement("theorem-3.2", CONSENSUS.at("Sec 3.3"), "every trajectory of (8) converges to an equilibrium"),
    Statement(
        "theorem-3.2-lojasiewicz",
        CONSENSUS.at("proof of Thm 3.2"),
        "the inequality |V_P| <= lambda |grad V_P| that the proof calls the Lojasiewicz inequality",
    ),
    Statement(
        "claim-identity-stable-equilibria",
        CONSENSUS.at("Sec 3.3 end"),
        "P = I: no equilibrium other than a consensus equilibrium is asymptotically stable",
    ),
    Statement(
        "claim-identity-consensus-point",
        CONSENSUS.at("Sec 3.3 end"),
        "P = I: each consensus equilibrium, as a single point of (S^n)^l, is asymptotically stable",
    ),
    Statement(
        "claim-identity-every-initial-position",
        CONSENSUS.at("Sec 1"),
        "P = I: convergence is to a consensus equilibrium for every initial position",
    ),
    Statement(
        "claim-general-p-not-ascertainable",
        CONSENSUS.at("Sec 3.3 end"),
        "for P other than I the linearisation conditions cannot be easily ascertained",
    ),
    Statement("definition-4.1", CONSENSUS.at("Def 4.1"), "the upper Dini derivative as printed"),
    Statement(
        "equation-12",
        CONSENSUS.at("(12)"),
        "Danskin: the Dini derivative of a maximum is the maximum over active indices",
    ),
    Statement(
        "lemma-4.1",
        CONSENSUS.at("Sec 4"),
        "bounded P gives c1 <= alpha_ij <= c2 with the printed constants (also used in Sec 5 and 6)",
    ),
    Statement("lemma-4.2", CONSENSUS.at("Sec 4"), "the functions f_i are bounded and uniformly continuous"),
    Statement(
        "theorem-4.1",
        CONSENSUS.at("Sec 4"),
        "hemisphere: every start in the open hemisphere converges to the consensus set (any W, heads, "
        "bounded uniformly continuous P)",
    ),
    Statement(
        "theorem-4.1-domain",
        CONSENSUS.at("Thm 4.1"),
        "the domain of attraction of the consensus set of the hemisphere is exactly the open hemisphere "
        "(no other start converges to it)",
    ),
    Statement(
        "theorem-4.1-dini-sign",
        CONSENSUS.at("proof"),
        "V of (13) has Dini derivative <= 0 with equality only at consensus",
    ),
    Statement(
        "theorem-4.1-barbalat",
        CONSENSUS.at("proof"),
        "the Dini derivative of V along solutions is uniformly continuous",
    ),
    Statement(
        "theorem-4.1-lyapunov",
        CONSENSUS.at("proof"),
        "V of (13) is a strict Lyapunov function for the consensus set of the hemisphere",
    ),
    Statement(
        "remark-4.2-formula",
        CONSENSUS.at("Remark 4.2"),
        "Wendel probability that l uniform tokens on S^n share a hemisphere, as printed",
    ),
    Statement("remark-4.2-certain", CONSENSUS.at("Remark 4.2"), "the probability is 1 whenever n >= l"),
    Statement("lemma-5.1", CONSENSUS.at("Sec 5"), "equilibria and domains of attraction of (16); V of (17)"),
    Statement(
        "theorem-5.1-stability",
        CONSENSUS.at("Thm 5.1"),
        "the consensus set is asymptotically stable for (15) with bounded P",
    ),
    Statement(
        "theorem-5.1-domain",
        CONSENSUS.at("Thm 5.1"),
        "its domain of attraction contains D_l^1 = {y_j != -y_1 for all j}",
    ),
    Statement("theorem-5.1-conull", CONSENSUS.at("Table 1"), "the domain of attraction is conull"),
    Statement("theorem-5.1-iss", CONSENSUS.at("proof"), "V of (17) is an ISS-Lyapunov function on (-1,1] for (19)"),
    Statement("equation-18-19", CONSENSUS.at("(18), (19)"), "the two rewritten equations"),
    Statement("remark-5.1-coordinates", CONSENSUS.at("Remark 5.1"), "z = U y turns (20) into (15)"),
    Statement("remark-5.1-projection", CONSENSUS.at("Remark 5.1"), "Pi_W is a projection to the tangent space"),
    Statement(
        "lemma-6.1-top", CONSENSUS.at("Lemma 6.1 (1)"), "+-v asymptotically stable with the open hemispheres as domains"
    ),
    Statement(
        "lemma-6.1-lower",
        CONSENSUS.at("Lemma 6.1 (2)"),
        "lower eigenspaces are unstable with empty domain of attraction",
    ),
    Statement(
        "theorem-6.1",
        CONSENSUS.at("Sec 6"),
        "symmetric U, simple top eigenvalue lambda > 0: (v,..,v) asymptotically stable, domain contains the hemisphere",
    ),
    Statement("equation-23-24", CONSENSUS.at("(23), (24)"), "the equation for b_i and the bound on g"),
    Statement(
        "theorem-6.1-equilibria", CONSENSUS.at("proof"), "b_i = +-1 are the only equilibria of (23) in [-1,1] for e = 0"
    ),
    Statement(
        "claim-value-matrix-consensus",
        CONSENSUS.at("abstract, Sec 1"),
        "all tokens asymptotically converge to each other (beyond the hemispheres of Thm 6.1)",
    ),
    Statement("claim-multihead-value", CONSENSUS.at("Sec 1"), "Thm 6.1 is believed to hold for several heads"),
    Statement("equation-25", CONSENSUS.at("(25)"), "E becomes zero only when all tokens coincide"),
    Statement(
        "experiment-7.1", CONSENSUS.at("Sec 7.1, Fig 1"), "published P: SPD, tokens reach consensus, V_P decreases"
    ),
    Statement(
        "experiment-7.2",
        CONSENSUS.at("Sec 7.2, Fig 2-3"),
        "two heads, time-varying P: hemisphere consensus, V of (13) decreases",
    ),
    Statement("experiment-7.3", CONSENSUS.at("Sec 7.3, Fig 4"), "published U, P: consensus at +-v; V_2 may increase"),
    Statement(
        "experiment-7.4", CONSENSUS.at("Sec 7.4, Fig 5"), "50 tokens in R^500, two heads: E tends to 0 on all runs"
    ),
    Statement(
        "experiment-7.5",
        CONSENSUS.at("Sec 7.5"),
        "repeated passes through a trained network drive E down (on the trained weights available)",
    ),
)
