"""The statements of `consensus`, in the order of the paper."""

from analysis.ledger.statement import statements_of
from dynsim.papers import CONSENSUS

STATEMENTS = statements_of(
    CONSENSUS,
    ("equation-3", "Sec 2.1, (3)", "tangent map of pi_W and the tangent space of E_W"),
    ("equation-5", "Sec 2.2, (5) vs (6)", 'the boxed matrix form (5) "more explicitly" is (6)'),
    (
        "equation-6-first-order",
        "Sec 2.3",
        "(6) with V = tau V' is a first-order approximation of the flow of (7), error O(tau^2) per step",
    ),
    ("equation-7-tangency", "(7)", "the flow is tangent to the product of ellipsoids"),
    ("claim-feedforward-sum", "Sec 2.3 end", "adding a feed-forward sublayer gives a vector field Y + W"),
    ("lemma-3.1", "Lemma 3.1, Sec 3.1, (9)", "the orthogonal projection for the metric (9) is T pi_P"),
    ("lemma-3.2", "Lemma 3.2, Sec 3.2, (10)", "grad_g V = -X_P for V of (10)"),
    ("theorem-3.1", "Thm 3.1, Sec 3.2", "grad_{g_P} V_P = -Y_P"),
    ("lemma-3.3", "Lemma 3.3, Sec 3.3", "trajectories of (8) converge to the critical set of V_P"),
    ("theorem-3.2", "Thm 3.2, Sec 3.3", "every trajectory of (8) converges to an equilibrium"),
    (
        "theorem-3.2-lojasiewicz",
        "proof of Thm 3.2",
        "the inequality |V_P| <= lambda |grad V_P| that the proof calls the Lojasiewicz inequality",
    ),
    (
        "claim-identity-stable-equilibria",
        "Sec 3.3 end",
        "P = I: no equilibrium other than a consensus equilibrium is asymptotically stable",
    ),
    (
        "claim-identity-consensus-point",
        "Sec 3.3 end",
        "P = I: each consensus equilibrium, as a single point of (S^n)^l, is asymptotically stable",
    ),
    (
        "claim-identity-every-initial-position",
        "Sec 1",
        "P = I: convergence is to a consensus equilibrium for every initial position",
    ),
    (
        "claim-general-p-not-ascertainable",
        "Sec 3.3 end",
        "for P other than I the linearisation conditions cannot be easily ascertained",
    ),
    ("definition-4.1", "Def 4.1", "the upper Dini derivative as printed"),
    ("equation-12", "(12)", "Danskin: the Dini derivative of a maximum is the maximum over active indices"),
    (
        "lemma-4.1",
        "Lemma 4.1, Sec 4",
        "bounded P gives c1 <= alpha_ij <= c2 with the printed constants (also used in Sec 5 and 6)",
    ),
    ("lemma-4.2", "Lemma 4.2, Sec 4", "the functions f_i are bounded and uniformly continuous"),
    (
        "theorem-4.1",
        "Thm 4.1, Sec 4, (11)",
        "hemisphere: every start in the open hemisphere converges to the consensus set (any W, heads, bounded "
        "uniformly continuous P)",
    ),
    (
        "theorem-4.1-domain",
        "Thm 4.1",
        "the domain of attraction of the consensus set of the hemisphere is exactly the open hemisphere (no "
        "other start converges to it)",
    ),
    (
        "theorem-4.1-dini-sign",
        "Thm 4.1, proof, (13)",
        "V of (13) has Dini derivative <= 0 with equality only at consensus",
    ),
    ("theorem-4.1-barbalat", "Thm 4.1, proof", "the Dini derivative of V along solutions is uniformly continuous"),
    (
        "theorem-4.1-lyapunov",
        "Thm 4.1, proof, (13)",
        "V of (13) is a strict Lyapunov function for the consensus set of the hemisphere",
    ),
    (
        "remark-4.2-formula",
        "Remark 4.2",
        "Wendel probability that l uniform tokens on S^n share a hemisphere, as printed",
    ),
    ("remark-4.2-certain", "Remark 4.2", "the probability is 1 whenever n >= l"),
    ("lemma-5.1", "Lemma 5.1, Sec 5, (16), (17)", "equilibria and domains of attraction of (16); V of (17)"),
    ("theorem-5.1-stability", "Thm 5.1", "the consensus set is asymptotically stable for (15) with bounded P"),
    ("theorem-5.1-domain", "Thm 5.1", "its domain of attraction contains D_l^1 = {y_j != -y_1 for all j}"),
    ("theorem-5.1-conull", "Table 1", "the domain of attraction is conull"),
    ("theorem-5.1-iss", "Thm 5.1, proof, (17), (19)", "V of (17) is an ISS-Lyapunov function on (-1,1] for (19)"),
    ("equation-18-19", "(18), (19)", "the two rewritten equations"),
    ("remark-5.1-coordinates", "Remark 5.1", "z = U y turns (20) into (15)"),
    ("remark-5.1-projection", "Remark 5.1", "Pi_W is a projection to the tangent space"),
    ("lemma-6.1-top", "Lemma 6.1 (1)", "+-v asymptotically stable with the open hemispheres as domains"),
    ("lemma-6.1-lower", "Lemma 6.1 (2)", "lower eigenspaces are unstable with empty domain of attraction"),
    (
        "theorem-6.1",
        "Thm 6.1, Sec 6, (21)",
        "symmetric U, simple top eigenvalue lambda > 0: (v,..,v) asymptotically stable, domain contains the hemisphere",
    ),
    ("equation-23-24", "(23), (24)", "the equation for b_i and the bound on g"),
    ("theorem-6.1-equilibria", "Thm 6.1, proof, (23)", "b_i = +-1 are the only equilibria of (23) in [-1,1] for e = 0"),
    (
        "claim-value-matrix-consensus",
        "abstract, Sec 1",
        "all tokens asymptotically converge to each other (beyond the hemispheres of Thm 6.1)",
    ),
    ("claim-multihead-value", "Sec 1", "Thm 6.1 is believed to hold for several heads"),
    ("equation-25", "(25)", "E becomes zero only when all tokens coincide"),
    ("experiment-7.1", "Sec 7.1, Fig 1", "published P: SPD, tokens reach consensus, V_P decreases"),
    ("experiment-7.2", "Sec 7.2, Fig 2-3", "two heads, time-varying P: hemisphere consensus, V of (13) decreases"),
    ("experiment-7.3", "Sec 7.3, Fig 4", "published U, P: consensus at +-v; V_2 may increase"),
    ("experiment-7.4", "Sec 7.4, Fig 5", "50 tokens in R^500, two heads: E tends to 0 on all runs"),
    (
        "experiment-7.5",
        "Sec 7.5",
        "repeated passes through a trained network drive E down (on the trained weights available)",
    ),
)
