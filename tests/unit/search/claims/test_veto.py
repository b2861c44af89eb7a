from __future__ import annotations

from collections import Counter

import pytest

from retrieval_eval.search.claims.judge import block_text
from retrieval_eval.search.claims.splitting import STOP_WORDS, sentences, stem, tokens
from retrieval_eval.search.claims.veto import contradiction
from tests.simulators.dice import Dice
from tests.simulators.search.claims import labelled_claims
from tests.simulators.search.documents import compose
from tests.simulators.search.model import SEED

BLOCK = (
    "We hold SOC 2 Type I and ISO/IEC 27001:2022. Both are audited annually by a Big Four firm."
    " Availability is 99.9 %. Copies are kept for 30 business days. Tokens are not supported."
    " Data is encrypted with AES-256 in Frankfurt. The audit took place on 5 March 2025."
    " Passwords have at least 12 characters. Restores begin within one hour, and no more than four"
    " run at a time. Unknown parameters are refused rather than ignored. The plan costs $ 5,000."
)


def content(text):
    return {stem(token.word) for token in tokens(text) if token.word not in STOP_WORDS}


def vetoed(claim, block=BLOCK):
    """Return what the rules say of the sentence that fits a claim best."""
    wanted = content(claim)
    fits = [len(wanted & content(block[slice(*span)])) for span in sentences(block)]
    return contradiction(claim, block, sentences(block)[fits.index(max(fits))])


@pytest.mark.parametrize(
    "claim",
    [
        "We hold SOC 2 Type I",
        "We hold SOC 2 Type 1",
        "We hold ISO 27001.",
        "audited every year by a Big Four firm",
        "Availability is 99.90 percent",
        "Copies are kept for thirty working days",
        "Tokens aren't supported",
        "Data is encrypted with AES 256 in Frankfurt",
        "The audit took place on 2025-03-05",
        "The audit took place on March 5, 2025",
        "Passwords have a minimum of 12 characters",
        "A restore begins within an hour",
        "At most four restores run at a time",
        "Unknown parameters are refused",
        "The plan costs 5000 dollars",
    ],
)
def test_the_same_in_other_forms_is_not_vetoed(claim):
    assert vetoed(claim) is None


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("We hold SOC 2 Type II", "number_differs"),
        ("We hold ISO 27701.", "number_differs"),
        ("Availability is 99.99 %", "number_differs"),
        ("Copies are kept for 30 days", "number_differs"),
        ("Copies are kept for 30 business weeks", "number_differs"),
        ("Tokens are supported", "negation_differs"),
        ("Data is not encrypted with AES-256 in Frankfurt", "negation_differs"),
        ("Data is encrypted with ChaCha20 in Frankfurt", "number_differs"),
        ("The audit took place on 6 March 2025", "number_differs"),
        ("Passwords have at most 12 characters", "number_differs"),
        ("At least four restores run at a time", "number_differs"),
        ("Unknown parameters are ignored", "negation_differs"),
        ("Data is unencrypted with AES-256 in Frankfurt", "negation_differs"),
    ],
)
def test_another_fact_is_vetoed_and_the_rule_is_named(claim, reason):
    assert vetoed(claim) == reason


def test_versions_are_no_decimals():
    assert vetoed("Release 6.1 is out", "Release 6.10 is out.") == "number_differs"
    assert vetoed("Release 7 is out", "Release 7.0 is out.") is None


def test_a_unit_said_once_holds_for_the_numbers_behind_it():
    block = "Critical weaknesses are closed within 7 days, high ones within 30."
    assert vetoed("High weaknesses are closed within 30 days", block) is None
    assert vetoed("High weaknesses are closed within 30 hours", block) == "number_differs"


def test_a_title_lends_its_numbers_and_a_first_sentence_does_not():
    claim = "Release 7 opens port 443"
    assert vetoed(claim, block_text("Release 7", "Port 443 is opened.")) is None
    first = "Backups are kept for 30 days."
    far = f"{first}\n\nLogs are rotated. Keys are replaced. Tapes are stored offsite."
    assert vetoed("Tapes are stored offsite for 30 days", far) == "number_differs"


def test_without_a_place_the_numbers_of_the_whole_block_count():
    assert contradiction("Copies are kept for 30 business days", BLOCK, None) is None
    assert contradiction("Copies are kept for 31 business days", BLOCK, None) == "number_differs"
    assert contradiction("Tokens are supported", BLOCK, None) is None


# docs/claims.md states these counts; a change of the rules must not make them worse unseen.
def test_the_errors_are_those_that_the_documentation_states():
    composed = compose(Dice(SEED, "search").scoped("text"))
    blocks = {d.id: block_text(d.title, d.text) for d in composed.documents}
    n, forbidden = Counter[str](), Counter[str]()
    for claim in labelled_claims(SEED):
        n[claim.how] += 1
        forbidden[claim.how] += vetoed(claim.text, blocks[claim.doc]) is not None
    assert (n["close"], n["free"], n["wrong"]) == (132, 44, 132)
    assert forbidden["wrong"] >= 106
    assert forbidden["close"] <= 11
    assert forbidden["free"] <= 12
