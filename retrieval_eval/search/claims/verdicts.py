"""What a judge's answer counts as, after the rules that stand beside every judge."""

from __future__ import annotations

from dataclasses import replace

from retrieval_eval.search.claims.judge import Judge, Judgement, ask
from retrieval_eval.search.claims.veto import contradiction


def verdict_of(judge: Judge, claim: str, block_text: str) -> Judgement:
    """Return the judgement of a judge on one claim and one block, unless a rule forbids it.

    A supporting judgement whose place in the block has other numbers, units or negation than the
    claim is vetoed: it does not count as support, and since the rules are wrong about some claims
    in other words, it does not count as refuted either. The claim is unproved.

    Raises
    ------
    JudgeError
        When the judge has no usable answer.
    """
    found = ask(judge, claim, block_text)
    if not found.supported:
        return found
    veto = contradiction(claim, block_text, found.span)
    if veto is None:
        return found
    return replace(found, supported=False, span=None, is_unproved=True, veto=veto)
