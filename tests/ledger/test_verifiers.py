"""The pages of verifiers of refutations: they accept their own witness, reject a spoilt one, and import nothing."""

import ast
import json
from typing import Any

from analysis.claims import claims, statements
from analysis.verifiers.pages import file_name
from tests.support.verifiers import FILES, OTHER_WITNESS, constant, run, run_several, written

# One entry of each witness, by its path, and a value with which the refutation is not there.
SPOILT: dict[str, tuple[tuple[Any, ...], Any]] = {
    "consensus/claim_general_p_not_ascertainable_conjugacy": (("B", 0, 0), "3"),
    "consensus/claim_identity_consensus_point": (("s", 1), "0"),
    "consensus/claim_identity_every_initial_position": (("tokens", 1), ["2/3", "-1/3", "2/3"]),
    "consensus/claim_multihead_value": (("P", 1), [["5", "0"], ["0", "5"]]),
    "consensus/claim_value_matrix_consensus": (("mu",), "-1/100"),
    "consensus/definition_4_1": (("coefficients of 1, s, s^2", 2), "0"),
    "consensus/equation_12_infinite_family": (("slope",), "2"),
    "consensus/equation_25": (("tokens", 1), ["2/3", "2/3", "1/3"]),
    "consensus/equation_5": (("exponents of two", 0, 1, 0), "1"),
    "consensus/lemma_6_1_lower": (("start",), ["3/5", "4/5", "0"]),
    "consensus/remark_4_2_formula": (("points", 1), ["2", "0"]),
    "consensus/remark_5_1_projection": (("inverse of U", 0, 0), "1"),
    "consensus/theorem_3_2_lojasiewicz": (("tokens", 2), ["-3/5", "2/5"]),
    "consensus/theorem_4_1_barbalat": (("tokens", 1), ["3/5", "4/5", "0"]),
    "consensus/theorem_4_1_domain": (("y1",), ["7/25", "24/25"]),
    "consensus/theorem_4_1_lyapunov": (("u",), ["1", "0"]),
    "consensus/theorem_5_1_domain": (("y2",), ["-1", "0"]),
    "consensus/theorem_5_1_iss": (("derivative of V", 0), "-2"),
    "consensus/theorem_6_1_equilibria": (("mu",), "2/3"),
    "growing/corollary_12": (("kappa",), "1/4"),
    "growing/corollary_15_boundary": (("c", 1), "1/2"),
    "growing/corollary_10": (("T of (iii)", 1), "2"),
    "growing/corollary_13": (("mu_P",), "1/8"),
    "growing/corollary_13_design_rule": (("eps_1",), "1/1000000000000"),
    "growing/corollary_16": (("lambda",), ["1", "2"]),
    "growing/definition_2": (("banks", 0, 1), [1, 1, -1, 1]),
    "growing/lemma_20": (("lambda",), "400"),
    "growing/lemma_20_equation_46": (("lambda",), "1"),
    "growing/lemma_21": (("lambda",), "0"),
    "growing/lemma_23": (("C_gate",), "32"),
    "growing/lemma_24": (("C_temp",), "100000"),
    "growing/lemma_25": (("first bank",), "e_3"),
    "growing/lemma_25_interlacing_tokens": (("tokens", 1), ["0", "1", "0", "1"]),
    "growing/lemma_26": (("values",), ["1/2", "1/2", "1/2"]),
    "growing/lemma_27": (("T_min",), "2"),
    "growing/lemma_28": (("values", 1), "5/4"),
    "growing/theorem_8_bounded": (("b_0",), "1"),
    "growing/theorem_8_iv": (("lambda",), "1/3"),
    "growing/theorem_8_limit_set": (("lambda",), "1/8"),
    "growing/theorem_9": (("eta_plus",), "1/100"),
    "growing/claim_prototypes_raise_residual": (("eta",), "0"),
    "growing/claim_separation_force": (("p", 1), ["2", "0"]),
    "growing/corollary_1": (("M",), [["1", "1"], ["-1", "0"]]),
    "growing/corollary_1_variance": (("b",), "2"),
    "growing/corollary_2": (("p", 1), ["1", "0"]),
    "growing/corollary_2_algorithm": (("banks", 0, 1), ["1", "0"]),
    "growing/corollary_3": (("c", 0), "1/2"),
    "growing/definition_1_tokens": (("t",), "-1/2"),
    "growing/equation_2": (("p", 1), ["1"]),
    "growing/equation_2_gradient": (("p", 1), ["1"]),
    "growing/equation_3_square": (("M",), [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]),
    "growing/experiment_1_coverage": (("lambda_1",), "1/2"),
    "growing/lemma_17_i": (("T_init",), "2"),
    "growing/lemma_17_iii": (("T_init",), "2"),
    "growing/lemma_19": (("T_init",), "2"),
    "growing/lemma_2": (("z", 0), ["0", "1"]),
    "growing/lemma_4": (("p", 1), ["1", "1"]),
    "growing/lemma_6": (("z",), [["1", "0"]]),
    "growing/lemma_8": (("b",), "1/2"),
    "growing/proposition_1": (("M",), [["1", "1"], ["-1", "0"]]),
    "growing/proposition_1_variance": (("b",), "2"),
    "growing/proposition_2": (("w", 2), "1/2"),
    "growing/remark_3": (("sigma_0",), "1"),
    "growing/theorem_1": (("p", 1), ["1", "0"]),
    "growing/theorem_1_convexity": (("b",), "2"),
    "growing/theorem_1_projected": (("alpha",), ["0", "0"]),
    "growing/theorem_2": (("theta_w",), "1"),
    "growing/theorem_3_assignments": (("c", 0), "1/2"),
    "growing/theorem_3_discriminant": (("f",), "1"),
    "growing/theorem_3_discriminant_eigenvalue": (("f",), "1"),
    "growing/theorem_3_divergence": (("c", 0), "3/4"),
    "growing/theorem_3_hitting_time": (("T_init",), "4"),
    "growing/theorem_4_best_row": (("w",), ["2", "0", "0", "0"]),
    "growing/theorem_4_span": (("W", 1), [1, 1, 1, 1]),
    "growing/corollary_4": (("c", 0), "3/4"),
    "growing/corollary_5": (("theta_w",), "1/2"),
    "growing/corollary_7": (("phi_g",), "1/1000000000"),
    "growing/corollary_8": (("phi_g",), "1/1000000000"),
    "growing/corollary_9": (("eta_P",), "1/10"),
    "growing/lemma_11": (("w",), ["1", "0", "0", "0"]),
    "growing/lemma_13": (("theta_w",), "1/2"),
    "growing/lemma_15_algorithm": (("p", 2), ["1/8", "0"]),
    "growing/lemma_15_bound": (("phi_g",), "1/1000000000"),
    "growing/lemma_16": (("phi_g",), "1/1000000000"),
    "growing/lemma_18": (("b",), "1001/1000"),
    "growing/theorem_6_ii": (("phi_g",), "1/1000000000"),
    "growing/theorem_6_iii": (("P", 2), [["1"], ["0"]]),
    "growing/theorem_7": (("eta_P",), "1/2"),
    "hardmax/claim_figure_2_rows": (("extra points", 0), ["2", "1"]),
    "hardmax/claim_no_metastability": (("tokens", 2), ["1", "0", "1"]),
    "hardmax/claim_s_all_projections": (("tokens", 2), ["-3", "-3"]),
    "hardmax/claim_semidefinite_tokens": (("tokens", 1), ["2", "1"]),
    "hardmax/claim_softmax_limit_uniform": (("gap times m",), "16"),
    "hardmax/claim_sphere_fixed": (("A", 0, 1), "0"),
    "hardmax/claim_theory_applies_to_reviews": (("review",), ["an", "amazing", "film", "<PAD>"]),
    "hardmax/lemma_3_2_general_attention": (("tokens", 1), ["2", "2"]),
    "hardmax/lemma_4_1_boundary": (("point", 0), "1"),
    "hardmax/proposition_5_3_if": (("tokens", 0, 0), "-1"),
    "hardmax/remark_1_3_boundary": (("tokens", 2, 0), "1/4"),
    "multirate/claim_attention_exponential": (("exponentials of the scores", 0, 0), "9"),
    "multirate/claim_attention_exponential_causal": (("A", 2), ["7/9", "1/9", "1/9"]),
    "multirate/claim_causal_irreducible": (("A", 0), ["1/2", "1/2", "0"]),
    "multirate/claim_euler_step": (("W",), [["0"] * 4] * 4),
    "multirate/claim_h_theorem_strict": (("p",), ["1/3", "1/6", "1/8", "3/8"]),
    "multirate/claim_lumpability_one_start": (("M", 0, 0), "1/4"),
    "multirate/claim_qss_equals_stationary": (("another equilibrium", 1), "1"),
    "multirate/claim_qss_equals_stationary_distributions": (("distributions", 1), ["2/3", "1/3", "0", "0"]),
    "multirate/claim_residual_distance": (("t",), "6"),
    "multirate/claim_rmsnorm_contraction": (("L and |x|", 3, 1), "4000000000"),
    "multirate/proposition_19": (("P",), 1),
    "multirate/proposition_21_full_slow": (("slow mask",), "causal"),
    "multirate/proposition_21_secant_over_the_sequence": (("span",), "token"),
    "multirate/proposition_22_arrival": (("P",), 7),
    "multirate/remark_24_rmsnorm_gain": (("gain", 2), "1"),
    "multirate/remark_25_hyperbolicity": (("A",), [["-1", "0"], ["0", "-2"]]),
    "multirate/remark_25_necessary": (("A",), [["1", "0"], ["0", "2"]]),
    "multirate/remark_25_norm_constraints": (("S", 0), "3"),
    "multirate/remark_30_column_sums_every_map": (("J", 0, 1), "1/4"),
    "multirate/remark_30_fixed_point": (("b",), ["1", "0"]),
    "multirate/remark_32": (("another equilibrium", 1), "1"),
    "multirate/theorem_28_iii_euler_at_the_bound": (("tau",), "1/3"),
    "prototypes/algorithm_1_line_12": (("p", 1), ["1"]),
    "prototypes/algorithm_1_line_20": (("p", 1), ["1"]),
    "prototypes/appendix_a_6": (("y",), "1000"),
    "prototypes/appendix_a_7": (("1 / T",), "1/3"),
    "prototypes/appendix_a_ii": (("T",), "3"),
    "prototypes/appendix_a_iv": (("y",), "0"),
    "prototypes/appendix_a_rate": (("r",), "2"),
    "prototypes/appendix_a_systems": (("eta_theta",), "1/2"),
    "prototypes/claim_collapse_saddle": (("full", "T"), "6"),
    "prototypes/claim_complexity": (("m",), 4),
    "prototypes/claim_multihead": (("p", 0, 1), ["1"]),
    "prototypes/claim_no_interference": (("P2",), [["1"], ["-1"]]),
    "prototypes/claim_rescaling": (("eta_P",), "1/4"),
    "prototypes/claim_separation_force": (("p",), [["1", "0"], ["1", "0"], ["1", "0"]]),
    "prototypes/claim_training_epochs": (("Section 7.2, space debris", "runs"), 0),
    "prototypes/corollary_1": (("lambda of Theorem 1",), "3"),
    "prototypes/equation_3": (("p", 1), ["1"]),
    "prototypes/fact_1": (("T",), "2"),
    "prototypes/experiment_consistency": (("eps of Section 7.3 (text)", "Table 4"), "1/10"),
    "prototypes/experiment_lambda_condition": (("runs", "Table 5, K = 64", "K"), 16),
    "prototypes/proposition_1": (("p", 1), ["1"]),
    "prototypes/proposition_1_inequality": (("p", 1), ["1"]),
    "prototypes/proposition_2": (("p",), [["1"], ["1"]]),
    "prototypes/proposition_3_iff": (("T",), "3"),
    "prototypes/proposition_3_proof": (("eps",), "1/4"),
    "prototypes/proposition_3_weak_coupling": (("ratio",), "1/4"),
    "prototypes/proposition_4_centroid": (("lambda",), "4"),
    "prototypes/proposition_4_sigma": (("q", 1), ["1", "0"]),
    "prototypes/proposition_4_soft": (("p", 1), ["1"]),
    "prototypes/proposition_4_utilisation": (("p", 1), ["-1"]),
    "prototypes/proposition_5_decomposition": (("P1",), [["0"], ["0"]]),
    "prototypes/proposition_5_independence": (("other P1",), [["2", "0"], ["-2", "0"]]),
    "prototypes/remark_2": (("eps",), "1/2"),
    "prototypes/remark_3_gradient": (("p", 1), ["-1"]),
    "prototypes/remark_3_nonzero": (("z", 0), ["1"]),
    "prototypes/theorem_1": (("shift",), "0"),
    "prototypes/theorem_2_coercive": (("lambda",), "1"),
    "prototypes/theorem_2_convergence": (("b_0",), "1"),
    "prototypes/theorem_2_decrease_frozen": (("lambda",), "40"),
    "prototypes/theorem_3_convergence": (("a_0",), "1/8"),
    "prototypes/theorem_3_monotone_frozen": (("T", 1), "3"),
    "prototypes/experiment_7_4_utilisation": (("K",), 128),
    "prototypes/remark_3_formula_share": (("embeddings", 2), ["5/4"]),
}


def test_every_certified_refutation_has_a_verifier():
    certified = [claim for claim in claims() if claim.evidence == "certified" and claim.trial is not None]
    refuted = {claim.id for claim in certified if claim.control is None}
    assert len(refuted) > 150
    assert {file_name(id) for id in refuted} - FILES.keys() == set()


def test_every_verifier_has_a_spoilt_witness():
    assert FILES.keys() == SPOILT.keys()


def test_a_verifier_is_named_after_a_statement_or_a_reading_of_one():
    ids = {statement.full_id for statement in statements()}
    for name in FILES:
        statement = constant(name, "STATEMENT")
        assert "/".join(statement.split("/")[:2]) in ids
        assert name == file_name(statement)


def test_verifiers_accept_their_own_witness_also_from_a_file(tmp_path):
    files = [tmp_path / f"{k}.json" for k in range(len(FILES))]
    for name, file in zip(FILES, files, strict=True):
        file.write_text(json.dumps(constant(name, "WITNESS")))
    own = run_several([[name] for name in FILES])
    assert run_several([[name, str(file)] for name, file in zip(FILES, files, strict=True)]) == own
    for name, (status, said) in zip(FILES, own, strict=True):
        *checks, last = said.splitlines()
        assert checks, name
        assert [line for line in checks if not line.startswith("OK ")] == [], name
        assert (status, last) == (0, f"{constant(name, 'STATEMENT')} is refuted")


def test_verifiers_reject_a_spoilt_witness(tmp_path):
    commands = []
    for number, name in enumerate(FILES):
        witness, file = constant(name, "WITNESS"), tmp_path / f"{number}.json"
        (*path, key), value = SPOILT[name]
        place = witness
        for step in path:
            place = place[step]
        assert place[key] != value, name
        place[key] = value
        file.write_text(json.dumps(witness))
        commands.append([name, str(file)])
    for name, (status, said) in zip(FILES, run_several(commands), strict=True):
        assert status == 1, (name, said)
        assert any(line.startswith("NOT ") for line in said.splitlines()), name


def test_every_verifier_is_that_of_a_claim():
    verified = {constant(name, "STATEMENT") for name in FILES}
    assert OTHER_WITNESS.keys() < verified <= {claim.id for claim in claims()}


def test_a_verifier_says_which_names_a_witness_must_have(tmp_path):
    (tmp_path / "other.json").write_text('{"witness": {"tokens": []}}')
    done = run("hardmax/proposition_5_3_if", str(tmp_path / "other.json"))
    assert (done.returncode, done.stdout) == (2, "the witness must have the names tokens, alpha, layers\n")


def test_verifiers_import_only_the_standard_library():
    for name in FILES:
        imported = set()
        for node in ast.walk(ast.parse(written(name).read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add("." if node.level else str(node.module).split(".")[0])
        assert imported <= {"fractions", "itertools", "json", "math", "pathlib", "sys"}, name
