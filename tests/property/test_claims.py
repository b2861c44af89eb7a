"""Laws of claim splitting and of the rule-based judge, for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.search.claims.judge import block_text
from retrieval_eval.search.claims.rules import RulesJudge
from retrieval_eval.search.claims.splitting import collapsed, masked, sentences, split_claims

VOCABULARY = (
    "We It hold holds is are not and or but which with in 30 99.9 % days AES-256 SOC II data copies"
    " the a, (list) keeps; encrypted. [1] \n - # Please e.g. team, Frankfurt? never https://a.b/c"
)
WORDS = st.sampled_from(VOCABULARY.split(" "))
DRAFTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join))


@given(DRAFTS)
def test_spans_lie_in_the_draft_are_ordered_and_cover_only_its_text(draft):
    end = 0
    for claim in split_claims(draft):
        start, stop = claim.span
        assert end <= start < stop <= len(draft)
        end = stop
        assert claim.text == collapsed(masked(draft)[start:stop])
        assert claim.text


@given(DRAFTS)
def test_every_sentence_is_a_claim(draft):
    spans = [claim.span for claim in split_claims(draft)]
    assert spans == sentences(masked(draft))


@given(st.lists(WORDS, min_size=1, max_size=20).map(" ".join))
def test_what_is_left_out_between_claims_is_no_word(draft):
    left = list(masked(draft))
    for claim in split_claims(draft):
        left[slice(*claim.span)] = " " * (claim.span[1] - claim.span[0])
    assert not any(character.isalnum() for character in "".join(left))


@given(DRAFTS)
def test_masking_moves_nothing(draft):
    assert len(masked(draft)) == len(draft)
    assert all(a in (b, " ") for a, b in zip(masked(draft), draft, strict=True))


@given(DRAFTS, DRAFTS, st.text(max_size=30))
def test_the_judge_never_raises_and_its_span_lies_in_the_block(claim, block, title):
    text = block_text(title, block)
    found = RulesJudge().judge(claim, text)
    assert found == RulesJudge().judge(claim, text)
    assert (found.span is not None) == found.supported
    if found.span is not None:
        assert 0 <= found.span[0] < found.span[1] <= len(text)


@given(st.lists(WORDS, min_size=1, max_size=25).map(" ".join))
def test_a_higher_threshold_supports_no_more(text):
    block = "We hold data in Frankfurt. Copies are never encrypted with AES-256 for 30 days."
    if RulesJudge(0.9).judge(text, block).supported:
        assert RulesJudge(0.5).judge(text, block).supported


@given(st.integers(2, 10_000), st.integers(2, 10_000))
def test_another_number_is_never_supported(claimed, stated):
    block = f"Copies are kept for {stated} days."
    judged = RulesJudge().judge(f"Copies are kept for {claimed} days.", block)
    assert judged.supported == (claimed == stated)
