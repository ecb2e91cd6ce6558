"""Every claim of the ledger, with few trials: nothing breaks down, and every control comes out REFUTED."""

import pytest

from analysis.check import check
from analysis.claims import claims
from analysis.verdict import Verdict
from tests import data_or_skip

NEED_DATA = (
    "consensus/experiment-7.5",
    "hardmax/claim-training-loss",
    "hardmax/claim-theory-applies-to-reviews",
    "hardmax/claim-eight-layers",
    "hardmax/experiment-table-1",
    "multirate/experiment-9-gate",
    "multirate/claim-rmsnorm-contraction/trained",
    "multirate/remark-30-column-sums",
)
RUN_EXPERIMENTS = (
    "consensus/experiment-7.5",
    "hardmax/claim-training-loss",
    "hardmax/experiment-table-1",
    "multirate/experiment-9-gate",
    "multirate/claim-rmsnorm-contraction/trained",
)


def _among(claim, names):
    """Return whether a claim, or its statement, is one of those named."""
    return claim.id in names or claim.statement_id in names


def _marked(claim):
    """Return a claim as a parameter, marked slow if it trains networks, or passes them many times."""
    return pytest.param(claim, marks=[pytest.mark.slow] if _among(claim, RUN_EXPERIMENTS) else [], id=claim.id)


@pytest.mark.parametrize("claim", [_marked(claim) for claim in claims()])
def test_a_claim_is_decided_and_its_control_is_refuted(claim):
    if _among(claim, NEED_DATA):
        data_or_skip()
    found = check(claim, num_trials=min(2, claim.num_trials) if claim.trial else None)
    assert not found.broken
    assert found.verdict not in (Verdict.VACUOUS, Verdict.INCONCLUSIVE), found.doubt
    if claim.control is not None:
        assert found.control is Verdict.REFUTED
    elif claim.ruling is None:
        assert "no control:" in claim.note


@pytest.mark.parametrize("claim", [_marked(claim) for claim in claims()])
def test_a_claim_states_itself(claim):
    assert len(claim.statement) > 20
    assert claim.key == claim.source.paper.key
