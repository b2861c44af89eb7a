"""Laws of claim splitting and of the veto, for any text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.search.claims.judge import block_text, checked
from retrieval_eval.search.claims.splitting import collapsed, masked, sentences, split_claims
from retrieval_eval.search.claims.veto import contradiction
from retrieval_eval.search.demo import shared_words

VOCABULARY = (
    "We It hold holds is are not and or but which with in 30 99.9 % days AES-256 SOC II data copies"
    " the a, (list) keeps; encrypted. [1] \n - # Please e.g. team, Frankfurt? never https://a.b/c"
)
WORDS = st.sampled_from(VOCABULARY.split(" "))
DRAFTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join))


@given(DRAFTS)
def test_spans_lie_in_the_draft_are_ordered_and_cover_only_its_text(draft):
    shown = masked(draft)
    assert len(shown) == len(draft)
    assert all(a in (b, " ") for a, b in zip(shown, draft, strict=True))
    found, end = split_claims(draft), 0
    assert [claim.span for claim in found] == sentences(shown)
    for claim in found:
        start, stop = claim.span
        assert end <= start < stop <= len(draft)
        end = stop
        assert claim.text == collapsed(shown[start:stop])
        assert claim.text


@given(st.lists(WORDS, min_size=1, max_size=20).map(" ".join))
def test_what_is_left_out_between_claims_is_no_word(draft):
    left = list(masked(draft))
    for claim in split_claims(draft):
        left[slice(*claim.span)] = " " * (claim.span[1] - claim.span[0])
    assert not any(character.isalnum() for character in "".join(left))


@given(DRAFTS, DRAFTS, st.text(max_size=30))
def test_the_demo_judge_never_raises_and_its_span_lies_in_the_block(claim, block, title):
    text = block_text(title, block)
    found = checked(shared_words(claim, text), text)
    assert (found.span is not None) == found.supported
    assert contradiction(claim, text, found.span) in (None, "number_differs", "negation_differs")


@given(st.integers(2, 10_000), st.integers(2, 10_000))
def test_another_number_is_always_vetoed(claimed, stated):
    block = f"Copies are kept for {stated} days."
    found = contradiction(f"Copies are kept for {claimed} days.", block, (0, len(block)))
    assert (found is None) == (claimed == stated)
