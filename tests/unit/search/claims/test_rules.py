from __future__ import annotations

from collections import Counter

import pytest

from retrieval_eval.search.claims.judge import block_text
from retrieval_eval.search.claims.rules import RulesJudge
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
def test_the_same_in_other_forms_is_supported(claim):
    found = RulesJudge().judge(claim, BLOCK)
    assert found.supported, found.reason
    assert found.reason == "supported"


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
        ("The weather is mild in spring", "too_little_overlap"),
        ("of the", "no_content"),
    ],
)
def test_another_fact_is_not_supported_and_the_reason_is_named(claim, reason):
    found = RulesJudge().judge(claim, BLOCK)
    assert (found.supported, found.span, found.reason) == (False, None, reason)


def test_the_span_is_the_sentence_that_holds_the_claim():
    found = RulesJudge().judge("Tokens are not supported", BLOCK)
    assert found.span is not None
    assert BLOCK[slice(*found.span)] == "Tokens are not supported."


def test_a_title_lends_its_words_and_the_span_lies_behind_it():
    block = block_text("Linux file servers", "The agent uses TCP port 7411.")
    found = RulesJudge().judge("On Linux file servers the agent uses TCP port 7411", block)
    assert found.span == (20, len(block))
    assert not RulesJudge().judge("Linux file servers run on Debian by default", block).supported


def test_two_sentences_may_support_a_claim_and_three_may_not():
    block = "Alpha beta starts. Gamma delta follows. Epsilon zeta ends."
    assert RulesJudge(1.0).judge("Alpha beta gamma delta", block).span == (0, 39)
    assert not RulesJudge(1.0).judge("Alpha delta zeta", block).supported


def test_versions_are_no_decimals():
    judge = RulesJudge()
    assert not judge.judge("Release 6.1 is out", "Release 6.10 is out.").supported
    assert judge.judge("Release 7 is out", "Release 7.0 is out.").supported


def test_a_unit_said_once_holds_for_the_numbers_behind_it():
    block = "Critical weaknesses are closed within 7 days, high ones within 30."
    assert RulesJudge().judge("High weaknesses are closed within 30 days", block).supported
    assert not RulesJudge().judge("High weaknesses are closed within 30 hours", block).supported


def counts_of(seed: int) -> tuple[Counter[str], Counter[str]]:
    """How many labelled claims of the demo there are and how many are called supported, by kind."""
    composed = compose(Dice(seed, "search").scoped("text"))
    blocks = {d.id: block_text(d.title, d.text) for d in composed.documents}
    n, supported = Counter[str](), Counter[str]()
    for claim in labelled_claims(seed):
        n[claim.how] += 1
        supported[claim.how] += RulesJudge().judge(claim.text, blocks[claim.doc]).supported
    return n, supported


# docs/claims.md states these counts; a change of the rules must not make them worse unseen. The
# rules were made with the first seed in view, and are worse on the others.
@pytest.mark.parametrize(
    ("seed", "close", "wrong", "other"),
    [(SEED, 124, 21, 10), (7, 124, 25, 8), (101, 124, 23, 13), (2024, 124, 27, 13)],
)
def test_the_errors_are_those_that_the_documentation_states(seed, close, wrong, other):
    n, supported = counts_of(seed)
    assert (n["close"], n["free"], n["wrong"]) == (132, 44, 132)
    assert supported["close"] >= close
    assert supported["wrong"] <= wrong
    assert supported["other"] <= other
    # Free paraphrases are beyond it, and the documentation says so.
    assert supported["free"] == 0


def test_a_first_paragraph_that_is_a_sentence_is_no_title():
    first = "Backups are kept for 30 days."
    block = f"{first}\n\nTapes are stored offsite."
    assert RulesJudge().judge("Backups are kept for 30 days", block).span == (0, len(first))
    # It does not lend its number to what stands far behind it.
    far = f"{first}\n\nLogs are rotated. Keys are replaced. Tapes are stored offsite."
    assert not RulesJudge().judge("Tapes are stored for 30 days", far).supported


def test_a_text_of_one_line_with_blank_lines_behind_it_is_no_title():
    for text in ("Backups are kept for 30 days", "Backups are kept for 30 days."):
        found = RulesJudge().judge("Backups are kept for 30 days", f"{text}\n\n")
        assert found.span == (0, len(text))
