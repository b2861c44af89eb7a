"""Which statements of a draft are claims that a document could support, and which are talk."""

from __future__ import annotations

import re
from typing import Final

from retrieval_eval.search.claims.statement import content_stems
from retrieval_eval.search.claims.words import tokens

_GREETING: Final = r"(?:hi|hello|dear|greetings|good\ (?:morning|afternoon|evening))\b"
_TALK: Final = re.compile(
    rf"""
    (?:{_GREETING}[^,.!]{{0,60}}[,.!]\s*)?
    (?:
      (?:many\ )?(?:thanks?|thank\ you)\b(?!.*[,:\u2013\u2014]\s*(?:we|our|the|it|yes)\b)
    | (?:kind|best|warm)\ (?:regards|wishes)\b | sincerely\b | yours\b | cheers\b
    | please\b(?!\ (?:note|be\ aware|be\ advised|remember)\b)
    | (?:if\ you\ (?:have|need)\b.{{0,60}}?,?\s*)?(?:do\ not|don't|feel\ free|you\ can\ always)\b
      .{{0,20}}\b(?:hesitate|contact|ask|reach)\b
    | (?:feel\ free|let\ (?:us|me)\ know|contact\ us|get\ in\ touch|reach\ out)\b
    | (?:we|i)\ (?:look\ forward|hope|trust\ (?:this|that))\b
    | (?:we|i)\ would\ be\ (?:happy|glad|pleased)\b
    | (?:i\ am|i'm|we\ are|we're)\ (?:happy|glad|pleased|sorry|afraid|here\ to\ help)\b
    | (?:as|i\ am|i'm)\ an?\ (?:ai|language\ model|assistant)\b
    | (?:unfortunately,?\ )?(?:i|we)\ (?:cannot|can't|could\ not|couldn't|do\ not|don't)
      \ (?:answer|find|help|determine|know\ (?:if|whether|the\ answer)|know\W*$
      |provide\ an\ answer|have\ (?:enough\ |any\ )?information)\b
    | (?:unfortunately,?\ )?(?:i\ am|we\ are)\ unable\ to\ (?:answer|find|help|determine)\b
    | (?:i|we)\ (?:think|believe|guess)\ so\b
    | (?:here|below)\ (?:is|are)\b\D*$
    | (?:it|this|that|these|results?)\ (?:all\ )?(?:depends?|(?:may|can|might)\ vary|vary)\b\D*$
    | (?:in\ (?:summary|short|conclusion)|to\ summari[sz]e|note|yes|no|sure|certainly)\W*$
    | (?:of\ course|great\ question|good\ question)\W*$
    | hope\ (?:this|that)\b
    )
    | {_GREETING}[^,.!]{{0,60}}\W*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST: Final = 2_000


def is_substantive(claim: str) -> bool:
    """Return whether a statement says something that is true or false of the subject.

    Greetings, thanks, offers of help, requests to the reader, refusals, hedges that state nothing,
    announcements ("Here is ..."), questions, and text without a word of content do not.

    Examples
    --------
    >>> [is_substantive(text) for text in ("Please contact us.", "Is it safe?", "It is safe.")]
    [False, False, True]
    """
    shown = claim.strip().strip("\"'\u201c\u201d\u2018\u2019*_ ")
    if not shown or shown.endswith("?") or _TALK.match(shown[:_LONGEST]):
        return False
    words = tokens(shown)
    return bool(content_stems(words)) or any(word.is_number for word in words)
