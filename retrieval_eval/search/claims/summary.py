"""What must stand beside every claim coverage, in sentences: proof, and agreement with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from retrieval_eval.model.search_run import Claims, JudgeAgreement, SearchRun, ShareWithInterval
from retrieval_eval.search.run.summary import number, span
from retrieval_eval.values import counted

NOT_COMPARED: Final = "not compared with people"


def agreement_words(agreement: JudgeAgreement | None) -> str:
    """Return how far the judge agrees with people, or that it is not known.

    Examples
    --------
    >>> agreement_words(None)
    'not compared with people'
    """
    if agreement is None:
        return NOT_COMPARED
    kappa = agreement.kappa
    interval = "" if kappa.ci_low is None else f" {span(kappa.ci_low, kappa.ci_high)}"
    if kappa.value is None:
        return f"compared with people on {counted(agreement.n, 'label')}: κ is not computable"
    return f"agreement with people: κ {number(kappa.value)}{interval}, n={agreement.n:,}"


def unproved_words(claims: Claims) -> str:
    """Return how many claims are unproved and why; empty where none is."""
    parts = []
    if claims.n_unproved:
        parts.append(f"{claims.n_unproved:,} unproved for the coverage")
    if claims.n_context_unproved:
        parts.append(f"{claims.n_context_unproved:,} for the faithfulness")
    if not parts:
        return ""
    rules = Counter(
        claim.veto for query in claims.queries for claim in query.claims if claim.veto is not None
    )
    vetoes = ", ".join(f"{n:,} {code.replace('_', ' ')}" for code, n in sorted(rules.items()))
    return " and ".join(parts) + (f" ({claims.n_vetoed:,} vetoed: {vetoes})" if vetoes else "")


def bounds_words(share: ShareWithInterval) -> str:
    """Return ``low to high`` of a share with unproved claims; empty where there are none."""
    if share.unproved_low is None:
        return ""
    return f"{number(share.unproved_low)} to {number(share.unproved_high)}"


def why_advisory(runs: Iterable[SearchRun]) -> str:
    """Return why claims of runs of one judge cannot block a change; empty where they can.

    They can where a comparison with labels of people shows that the judge agrees with them more
    than by chance: the interval of Cohen's kappa lies above 0. One of the runs may have it.
    """
    found = [run.claims.agreement for run in runs if run.claims is not None]
    reasons = [why_advisory_of(one) for one in found if one is not None]
    return "" if "" in reasons else (reasons or [why_advisory_of(None)])[0]


def why_advisory_of(agreement: JudgeAgreement | None) -> str:
    """Return why claims of one judge cannot block a change; empty where they can."""
    if agreement is None:
        return f"the judge was {NOT_COMPARED}; `search claims --human-labels FILE` does it"
    low = agreement.kappa.ci_low
    if low is not None and low > 0:
        return ""
    words = agreement_words(agreement)
    return f"the judge is not known to agree with people beyond chance ({words})"
