"""Every claim of the ledger, with a trial or two: nothing breaks down, and every control comes out REFUTED.

A verifier accepts the witness of its claim.
"""

import functools

import jax
import numpy as np
import pytest

from analysis.claims import claims
from analysis.claims.rational_instances import DRAWN, integers
from analysis.json_types import counterexample
from analysis.ledger.check import check
from analysis.ledger.verdict import Verdict
from analysis.verifiers.pages import file_name
from dynsim.keys import random_key
from tests import data_or_skip
from tests.support.verifiers import FILES, OTHER_WITNESS, run_several

pytestmark = pytest.mark.usefixtures("short_draws")

SIMULATE_LONG = (  # or are dear in another way; `make test-all` has them
    "consensus/claim-feedforward-sum",
    "consensus/claim-general-p-not-ascertainable/conjugacy",
    "consensus/claim-identity-consensus-point/corrected",
    "consensus/claim-identity-every-initial-position/corrected",
    "consensus/claim-identity-stable-equilibria",
    "consensus/claim-multihead-value/common-eigenvector",
    "consensus/claim-value-matrix-consensus/identity",
    "consensus/equation-25",
    "consensus/equation-3",
    "consensus/equation-5",
    "consensus/equation-6-first-order",
    "consensus/equation-7-tangency",
    "consensus/experiment-7.1",
    "consensus/experiment-7.2",
    "consensus/experiment-7.3",
    "consensus/experiment-7.4",
    "consensus/lemma-3.2",
    "consensus/lemma-3.3",
    "consensus/lemma-4.2",
    "consensus/lemma-5.1",
    "consensus/lemma-6.1-lower/corrected",
    "consensus/lemma-6.1-top",
    "consensus/theorem-3.1",
    "consensus/theorem-3.2",
    "consensus/theorem-3.2-lojasiewicz/corrected",
    "consensus/theorem-4.1",
    "consensus/theorem-4.1-barbalat/corrected",
    "consensus/theorem-4.1-dini-sign",
    "consensus/theorem-4.1-domain/corrected",
    "consensus/theorem-4.1-lyapunov/weak",
    "consensus/theorem-5.1-conull",
    "consensus/theorem-5.1-domain/corrected",
    "consensus/theorem-5.1-domain/two-tokens",
    "consensus/theorem-5.1-stability",
    "consensus/theorem-5.1-stability/jumps",
    "consensus/theorem-6.1",
    "consensus/theorem-6.1/jumps",
    "consensus/theorem-6.1/stability",
    "growing/claim-prototypes-raise-residual",
    "growing/corollary-10",
    "growing/corollary-10/corrected",
    "growing/corollary-11",
    "growing/corollary-11/corrected",
    "growing/corollary-12",
    "growing/corollary-13",
    "growing/corollary-13/corrected",
    "growing/corollary-13/design-rule",
    "growing/corollary-14",
    "growing/corollary-15",
    "growing/corollary-15/boundary",
    "growing/corollary-15/first-head",
    "growing/corollary-15/moduli",
    "growing/corollary-16/corrected",
    "growing/corollary-2/algorithm",
    "growing/corollary-2/corrected",
    "growing/corollary-4",
    "growing/corollary-5/corrected",
    "growing/corollary-6",
    "growing/corollary-7/corrected",
    "growing/corollary-9",
    "growing/corollary-9/corrected",
    "growing/definition-2/corrected",
    "growing/equation-3/events",
    "growing/experiment-1-coverage",
    "growing/experiment-1-coverage/corrected",
    "growing/experiment-1-order",
    "growing/experiment-1-order/settled",
    "growing/experiment-2-divergence",
    "growing/experiment-2-divergence/projected",
    "growing/experiment-2-rank",
    "growing/experiment-2-rank/aligned",
    "growing/experiment-3",
    "growing/experiment-3/small-banks",
    "growing/experiment-4/any-heads",
    "growing/experiment-5/fixed-product",
    "growing/experiment-5/step",
    "growing/lemma-12",
    "growing/lemma-13/corrected",
    "growing/lemma-15",
    "growing/lemma-15/bound",
    "growing/lemma-17-i/clip",
    "growing/lemma-17-ii",
    "growing/lemma-18",
    "growing/lemma-19",
    "growing/lemma-19/corrected",
    "growing/lemma-20/corrected",
    "growing/lemma-24/corrected",
    "growing/lemma-25/generic",
    "growing/lemma-26/hierarchy",
    "growing/lemma-6",
    "growing/lemma-7",
    "growing/lemma-8",
    "growing/proposition-1/corrected",
    "growing/theorem-10",
    "growing/theorem-3-assignments",
    "growing/theorem-3-discriminant",
    "growing/theorem-3-divergence/corrected",
    "growing/theorem-3-hitting-time/corrected",
    "growing/theorem-5",
    "growing/theorem-5/corrected",
    "growing/theorem-5/release",
    "growing/theorem-6-ii/corrected",
    "growing/theorem-6-iii/corrected",
    "growing/theorem-6-iv",
    "growing/theorem-6-iv/discrete",
    "growing/theorem-7",
    "growing/theorem-8-bounded/corrected",
    "growing/theorem-8-event-count",
    "growing/theorem-8-event-count/corrected",
    "growing/theorem-8-event-count/joint",
    "growing/theorem-8-iv",
    "growing/theorem-8-iv/corrected",
    "growing/theorem-8-limit-set/corrected",
    "growing/theorem-8-monotone",
    "growing/theorem-8-monotone/corrected",
    "growing/theorem-9",
    "growing/theorem-9/corrected",
    "hardmax/claim-no-metastability/one-follower",
    "hardmax/claim-no-metastability/single-point",
    "hardmax/claim-s-all-projections/corrected",
    "hardmax/claim-semidefinite",
    "hardmax/claim-semidefinite/kernel",
    "hardmax/claim-semidefinite/tokens",
    "hardmax/claim-theory-applies-to-reviews",
    "hardmax/claim-theory-applies-to-reviews/corrected",
    "hardmax/claim-training-loss/published",
    "hardmax/equation-2.5",
    "hardmax/lemma-3.4",
    "hardmax/lemma-4.1-boundary/corrected",
    "hardmax/lemma-4.1-finite",
    "hardmax/lemma-4.4-projections",
    "hardmax/lemma-4.4-vertices",
    "hardmax/lemma-4.5",
    "hardmax/lemma-5.1-i/by-value",
    "hardmax/lemma-5.4",
    "hardmax/lemma-5.5",
    "hardmax/proposition-4.3",
    "hardmax/proposition-4.6",
    "hardmax/proposition-5.3-if/corrected",
    "hardmax/proposition-5.3-only-if",
    "hardmax/remark-1.2",
    "hardmax/remark-1.3",
    "hardmax/remark-1.3/example",
    "hardmax/remark-1.3/moved",
    "hardmax/theorem-1.1-i",
    "hardmax/theorem-1.1-ii",
    "hardmax/theorem-1.1-iii",
    "multirate/claim-euler-step",
    "multirate/claim-euler-step/corrected",
    "multirate/claim-qss-reduction",
    "multirate/claim-qss-reduction/examples",
    "multirate/claim-residual-distance",
    "multirate/claim-residual-distance/corrected",
    "multirate/claim-rmsnorm-contraction",
    "multirate/claim-truncated-iteration/network",
    "multirate/corollary-29/divergence",
    "multirate/corollary-29/returns",
    "multirate/definition-6-shift/logits",
    "multirate/proposition-19",
    "multirate/proposition-19/below-four",
    "multirate/proposition-19/corrected",
    "multirate/proposition-19/scores",
    "multirate/proposition-21",
    "multirate/proposition-21-full-slow",
    "multirate/proposition-21-full-slow/corrected",
    "multirate/proposition-21/secant-over-the-sequence",
    "multirate/proposition-22",
    "multirate/proposition-23",
    "multirate/proposition-23/first-step",
    "multirate/proposition-9",
    "multirate/remark-25-hyperbolicity/corrected",
    "multirate/remark-25-necessary",
    "multirate/remark-30-column-sums",
    "multirate/remark-31",
    "multirate/remark-31-projector",
    "multirate/remark-31-projector/other-generators",
    "multirate/theorem-28-iii-flow",
    "multirate/theorem-28-iii-flow/integrated",
    "prototypes/appendix-a-6/corrected",
    "prototypes/appendix-a-7/corrected",
    "prototypes/appendix-a-ii",
    "prototypes/appendix-a-ii/corrected",
    "prototypes/appendix-a-iv/corrected",
    "prototypes/appendix-a-rate/corrected",
    "prototypes/appendix-a-systems/corrected",
    "prototypes/claim-anti-collapse",
    "prototypes/claim-anti-collapse/below-critical",
    "prototypes/claim-anti-collapse/corrected",
    "prototypes/claim-collapse-saddle",
    "prototypes/claim-collapse-saddle/at-its-onset",
    "prototypes/claim-entropy-decreases",
    "prototypes/claim-entropy-decreases/annealed",
    "prototypes/claim-entropy-decreases/annealed-near-collapse",
    "prototypes/claim-entropy-decreases/near-collapse",
    "prototypes/claim-equal-rates-collapse",
    "prototypes/claim-equal-rates-collapse/wide-clusters",
    "prototypes/claim-multihead",
    "prototypes/claim-separation-monotone",
    "prototypes/claim-separation-monotone/annealed",
    "prototypes/claim-separation-monotone/near-collapse",
    "prototypes/corollary-1/fixed-encoder",
    "prototypes/experiment-7.2-boundary",
    "prototypes/experiment-7.2-boundary/corrected",
    "prototypes/experiment-7.2-improvement",
    "prototypes/experiment-7.2-improvement/any-gain",
    "prototypes/experiment-7.2-improvement/last-epoch",
    "prototypes/experiment-7.2-improvement/over-its-start",
    "prototypes/experiment-7.4-utilisation/corrected",
    "prototypes/fact-1/certificates",
    "prototypes/fact-1/corrected",
    "prototypes/fact-1/growth",
    "prototypes/proposition-3-iff",
    "prototypes/proposition-3-iff/corrected",
    "prototypes/proposition-3-proof/corrected",
    "prototypes/proposition-3-sufficient/across-symmetries",
    "prototypes/proposition-4-centroid/corrected",
    "prototypes/proposition-4-utilisation",
    "prototypes/proposition-5-decomposition/corrected",
    "prototypes/remark-2/corrected",
    "prototypes/remark-2/full",
    "prototypes/remark-3-formula/largest",
    "prototypes/theorem-1/corrected",
    "prototypes/theorem-2-convergence/corrected",
    "prototypes/theorem-2-convergence/growth",
    "prototypes/theorem-2-decrease",
    "prototypes/theorem-2-no-collapse",
    "prototypes/theorem-3-convergence/corrected",
    "prototypes/theorem-3-monotone",
    "prototypes/theorem-3-monotone/frozen-corrected",
)
RUN_EXPERIMENTS = (
    "consensus/experiment-7.5",
    "consensus/experiment-7.5/story-generator",
    "consensus/experiment-7.5/sorting-network",
    "consensus/experiment-7.5/attention-only",
    "hardmax/claim-training-loss",
    "hardmax/experiment-6.3",
    "hardmax/experiment-6.3/fewer-reviews",
    "hardmax/experiment-table-1",
    "hardmax/experiment-table-1/after-training",
    "multirate/experiment-9-gate",
    "multirate/experiment-9-gate/paired",
    "multirate/experiment-9-gate/effect",
    "multirate/claim-rmsnorm-contraction/trained",
    "prototypes/experiment-7.6-monotone",
    "prototypes/experiment-7.6-collapse",
    "prototypes/experiment-7.6-collapse/batches",
    "prototypes/experiment-7.6-collapse/encoder-time",
    "prototypes/experiment-7.4-utilisation/as-described",
    "prototypes/experiment-7.4-utilisation/uniform",
    "prototypes/remark-4",
    "prototypes/remark-4/uniform",
    "growing/experiment-4",
    "growing/experiment-5",
    "growing/experiment-5/unordered",
    "growing/experiment-5/data",
    "growing/experiment-5/data-unordered",
    "growing/experiment-5/ten-checks",
)
NEED_DATA = (
    *RUN_EXPERIMENTS,
    "hardmax/claim-theory-applies-to-reviews",
    "hardmax/claim-theory-applies-to-reviews/corrected",
    "hardmax/claim-eight-layers",
    "hardmax/claim-training-loss/published",
    "multirate/remark-30-column-sums",
)


def test_the_lists_name_claims():
    assert {claim.id for claim in claims()} >= {*SIMULATE_LONG, *NEED_DATA}


def _long(claim):
    """Return whether a claim trains networks, passes them often, or simulates for long."""
    return claim.id in SIMULATE_LONG + RUN_EXPERIMENTS


@functools.cache
def _checked(claim, trials):
    return check(claim, num_trials=trials if claim.trial else None)


def _tried():
    """Yield each claim with a number of trials: one, and two, often of another shape that is compiled anew, if slow."""
    for claim in claims():
        if not _long(claim):
            yield pytest.param(claim, 1, id=claim.id)
        if _long(claim) or claim.num_trials > 1:
            yield pytest.param(claim, min(2, claim.num_trials), marks=pytest.mark.slow, id=f"{claim.id}, more")


@pytest.mark.parametrize(("claim", "trials"), list(_tried()))
def test_a_claim_is_decided_and_its_control_is_refuted(claim, trials):
    if claim.id in NEED_DATA:
        data_or_skip()
    found = _checked(claim, trials)
    assert not found.broken
    undecided = () if claim.decided_by else (Verdict.VACUOUS, Verdict.INCONCLUSIVE)
    assert found.verdict not in undecided, found.doubt
    if claim.control is not None:
        assert found.control is Verdict.REFUTED
    elif claim.ruling is None:
        assert "no control:" in claim.note


@pytest.mark.parametrize(("claim_is_long", "trials"), [(False, 1), pytest.param(True, 2, marks=pytest.mark.slow)])
def test_verifiers_accept_the_witnesses_of_their_claims(claim_is_long, trials, tmp_path):
    with_witness = [one for one in claims() if one.id not in OTHER_WITNESS and file_name(one.id) in FILES]
    chosen = [one for one in with_witness if _long(one) == claim_is_long]
    files = [tmp_path / f"{number}.json" for number in range(len(chosen))]
    for claim, file in zip(chosen, files, strict=True):
        if claim.id in NEED_DATA:
            data_or_skip()
        file.write_text(counterexample(_checked(claim, min(trials, claim.num_trials))))
    read = run_several([[file_name(claim.id), str(file)] for claim, file in zip(chosen, files, strict=True)])
    for claim, (status, said) in zip(chosen, read, strict=True):
        assert (status, said.splitlines()[-1]) == (0, f"{claim.id} is refuted"), said


def test_every_claim_states_itself_and_belongs_to_its_paper():
    for claim in claims():
        assert len(claim.statement) > 20, claim.id
        assert claim.source is not None, claim.id
        assert claim.key == claim.source.paper.key, claim.id


@pytest.mark.parametrize("shape", [(), (3, 2), pytest.param((DRAWN + 1,), marks=pytest.mark.slow)], ids=str)
def test_integers_of_any_shape_are_those_of_a_draw_of_that_shape(shape):
    key = random_key(0, "integers", len(shape))
    drawn = integers(key, shape, -999, 1000)
    np.testing.assert_array_equal(drawn, jax.random.randint(key, shape, -999, 1000))
    assert drawn.shape == shape
