"""From a draft to its claims: sentences, then what is coordinated inside a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval_eval.search.claims.clauses import split_sentence
from retrieval_eval.search.claims.masking import collapsed, masked
from retrieval_eval.search.claims.sentences import sentences
from retrieval_eval.search.claims.substance import is_substantive

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a draft.

    ``span`` are the characters of the draft that are its own; no two claims share any. ``head``
    are pieces before it that it needs to be read alone, such as subject and verb of a list.
    ``text`` is the text of head and span, without citation markers.
    """

    text: str
    span: Span
    head: tuple[Span, ...]
    is_substantive: bool


def split_claims(draft: str) -> tuple[Claim, ...]:
    """Return the claims of a draft in their order.

    The rules are those of `sentences` and `split_sentence`; headings and talk are kept as claims
    that are not substantive. The rules know words and marks, no grammar: where they are unsure a
    sentence stays whole, and is then one claim that is supported as a whole or not at all.

    Examples
    --------
    >>> for claim in split_claims(
    ...     "We hold SOC 2 Type II and ISO 27001 [1], audited annually by a Big Four firm."
    ... ):
    ...     print(claim.text)
    We hold SOC 2 Type II
    We hold ISO 27001
    audited annually by a Big Four firm.
    """
    text = masked(draft)
    claims = []
    for sentence in sentences(text):
        # A question or a heading is none, whatever it lists.
        whole = text[sentence.start : sentence.end]
        is_whole = sentence.is_heading or not is_substantive(collapsed(whole))
        parts = (
            [((), (sentence.start, sentence.end))]
            if is_whole
            else split_sentence(text, sentence.start, sentence.end)
        )
        for head, span in parts:
            said = collapsed(" ".join(text[a:b] for a, b in (*head, span)))
            claims.append(Claim(said, span, head, not is_whole and is_substantive(said)))
    return tuple(claims)
