"""Verifiers of refuted statements of Section 7 of "DDCL-Attention"."""

from fractions import Fraction

from analysis.verifiers.frames.script import verifies


@verifies(
    "prototypes/experiment-7.4-utilisation",
    {"K": 64, "prototype": ["1/2", "0"], "embeddings": [["1", "0"], ["0", "1"], ["1/2", "-1"]]},
)
def experiment_7_4_utilisation(witness):
    """Verify an instance of full codebook utilisation with all prototypes at one point (Cirrincione et al., Section
    7.4).

    Printed: 100% utilisation, the fraction of prototypes with mean assignment above .01, "directly confirms Proposition
    4", by which prototypes are separated, none sits at the global centroid of the embeddings, and V > 0.

    Instance: all K prototypes at the centroid of the embeddings. At any temperature T > 0 the assignments
    q_nk = exp(-d_nk/T) / sum_j exp(-d_nj/T) are 1/K, since d_nk does not depend on k: no exponential need be evaluated.
    """
    z = [[Fraction(v) for v in row] for row in witness["embeddings"]]
    p = [[Fraction(v) for v in witness["prototype"]]] * witness["K"]
    centroid = [sum(column) / len(z) for column in zip(*z, strict=True)]
    yield "the centroid of the embeddings", [*map(str, centroid)], centroid == p[0]
    d = [[sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in p] for x in z]
    yield "squared distances of each embedding", [str(row[0]) for row in d], all(len(set(row)) == 1 for row in d)
    means = [Fraction(1, len(p))] * len(p)
    used = sum(mean > Fraction(1, 100) for mean in means)
    yield "prototypes with mean assignment above 1/100", f"{used} of {len(p)}", used == len(p)
    S = min(sum((a - b) ** 2 for a, b in zip(p[0], y, strict=True)) for y in p[1:])
    yield "the least squared distance of two prototypes", str(S), S == 0


@verifies(
    "prototypes/experiment-consistency",
    {
        "epochs to full utilisation of hard VQ with K = 64": {"Table 5": "44", "Figure 4": "26"},
        "eps of Section 7.3 (text)": {"Section 7.3": "1/10", "Table 4": "1/20"},
    },
)
def experiment_consistency(witness):
    """Verify from printed numbers that figures of the DDCL-Attention paper contradict each other.

    Printed: hard VQ with K = 64 needs 44 epochs to full utilisation (Section 7.4, Table 5), and 26 (Figure 4); eps of
    the text experiments is .1 (Section 7.3: eta_P = 1e-3, eta_W = 1e-4) and .05 (Table 4). In rationals.
    """
    for quantity in witness:
        printed = {place: Fraction(value) for place, value in witness[quantity].items()}
        shown = [f"{place}: {value}" for place, value in printed.items()]
        yield f"two printed values differ: {quantity}", shown, len(set(printed.values())) > 1


@verifies(
    "prototypes/experiment-lambda-condition",
    {"runs": {"Table 5, K = 64": {"K": 64, "lambda": "1/2", "eta_P": "1/1000"}}},
)
def experiment_lambda_condition(witness):
    """Verify from printed numbers that reported runs of the DDCL-Attention paper violate the condition on lambda.

    Printed: Fact 1 and Theorem 2 require lambda > 2 eta_P C(K, 2), C(K, 2) = K (K - 1) / 2. Table 5 reports K = 64 with
    lambda = .5; Section 7.4 trains with eta_P = 1e-3. The condition is evaluated in rationals.
    """
    excess = {}
    for place, run in witness["runs"].items():
        k, barrier, rate = int(run["K"]), Fraction(run["lambda"]), Fraction(run["eta_P"])
        yield f"{place}: at least two prototypes, positive lambda and rate", k, k >= 2 and min(barrier, rate) > 0
        excess[place] = barrier - rate * k * (k - 1)
    shown = {place: str(value) for place, value in excess.items()}
    yield "lambda - 2 eta_P C(K, 2), not positive in some run", shown, min(excess.values()) <= 0


PRINTED = 155


@verifies(
    "prototypes/claim-training-epochs",
    {
        "Section 7.2, space debris": {"runs": 1, "epochs": 500},
        "Section 7.3, SST-2, IMDB, 20 Newsgroups": {"runs": 3, "epochs": 15},
        "Section 7.4, Table 5: K = 16 and K = 64": {"runs": 2, "epochs": 50},
        "Section 7.5, eps of .05 and .1, lambda of .5 and 1.5": {"runs": 4, "epochs": 15},
        "Section 7.6, five ratios eps": {"runs": 5, "epochs": 300},
    },
)
def claim_training_epochs(witness):
    """Verify from printed numbers that the reported experiments have more than 155 training epochs in total.

    Printed in Section 3.4: "In all experiments reported here, zero violations were observed across 155 total training
    epochs". One run of Section 7.2 has 500 epochs, one of Section 7.6 has 300. The total of all runs is computed
    in integers.
    """
    runs = {place: (int(witness[place]["runs"]), int(witness[place]["epochs"])) for place in witness}
    yield "every section has a run", list(runs.values()), all(n >= 1 and epochs >= 1 for n, epochs in runs.values())
    total = sum(n * epochs for n, epochs in runs.values())
    yield f"the total is not the printed {PRINTED}", total, total != PRINTED
