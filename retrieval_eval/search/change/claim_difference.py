"""Changes of claim metrics between two runs: what unproved claims leave open, and who judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from retrieval_eval.model.search_diff import MetricDifference
from retrieval_eval.model.search_run import DraftClaims, SearchRun, ShareWithInterval
from retrieval_eval.search.change.paired_change import POINTS, pairs_of
from retrieval_eval.search.claims.summary import NOT_COMPARED, agreement_words
from retrieval_eval.search.run.named_metrics import (
    UNPROVED,
    Share,
    Stored,
    block_of,
    shares,
    stored,
)
from retrieval_eval.search.run.summary import points

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to count the unproved claims of a run that is compared with another.

    Those that the other run leaves unproved as well are true or false in both (``shared``); the
    rest (``own``) are the run's alone.
    """

    own: bool
    shared: bool

    def counts(self, run: SearchRun, other: SearchRun, name: str) -> dict[str, int]:
        """Return how many unproved claims count as supported, by query id."""
        ours, theirs = _by_query(run), _by_query(other)
        found = {}
        for query, draft in ours.items():
            open_here = _texts(draft, name)
            n_shared = _n_shared(open_here, draft, theirs.get(query), name)
            n_own = open_here.total() - n_shared
            found[query] = self.own * n_own + self.shared * n_shared
        return found


def readings(*, in_favour: bool) -> list[tuple[Reading, Reading]]:
    """Return how the first and the second run may be read at one end of their change.

    In favour of the second run, what it alone leaves open is supported, and what the first alone
    does is not; else it is the other way round. The more extreme of both is the end.
    """
    return [
        (Reading(own=not in_favour, shared=shared), Reading(own=in_favour, shared=shared))
        for shared in (False, True)
    ]


def _by_query(run: SearchRun) -> dict[str, DraftClaims]:
    return {} if run.claims is None else {draft.id: draft for draft in run.claims.queries}


def _texts(draft: DraftClaims, name: str) -> Counter[str]:
    return Counter(c.text for c in draft.claims if c.is_substantive and UNPROVED[name](c))


def _n_shared(
    open_here: Counter[str], ours: DraftClaims, theirs: DraftClaims | None, name: str
) -> int:
    if theirs is None:
        return 0
    # The labelled documents are the same in both; what the contexts are, a run does not say.
    if name == "claim_coverage" or ours == theirs:
        return (open_here & _texts(theirs, name)).total()
    return 0


def with_ends(
    metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun
) -> dict[str, MetricDifference]:
    """Return changes with both ends where claims are unproved.

    At the lower end the unproved claims of b are unsupported and those of a supported, at the upper
    end it is the other way round; a claim that both leave open is the same in both.
    """
    found = dict(metrics)
    for name, change in metrics.items():
        sides = stored(a, name), stored(b, name)
        if not any(isinstance(side, ShareWithInterval) and side.has_bounds for side in sides):
            continue
        low, high = _of_pairs(a, b, name) if change.is_paired else _of_wholes(a, b, name)
        found[name] = replace(
            change, unproved_low_points=POINTS * low, unproved_high_points=POINTS * high
        )
    return found


def _of_pairs(a: SearchRun, b: SearchRun, name: str) -> tuple[float, float]:
    """Return both ends of a change over the queries that both runs have."""

    def changes(in_favour: bool) -> list[float]:
        found = []
        for old, new in readings(in_favour=in_favour):
            pairs = pairs_of(
                shares(a, name, unproved=old.counts(a, b, name)),
                shares(b, name, unproved=new.counts(b, a, name)),
            ).values()
            found.append(_total([pair[1] for pair in pairs]) - _total([pair[0] for pair in pairs]))
        return found

    return min(changes(in_favour=False)), max(changes(in_favour=True))


def _of_wholes(a: SearchRun, b: SearchRun, name: str) -> tuple[float, float]:
    (a_low, a_high), (b_low, b_high) = ends_of(a, name), ends_of(b, name)
    if _by_query(a) == _by_query(b):
        return b_low - a_low, b_high - a_high
    return b_low - a_high, b_high - a_low


def _total(found: Sequence[Share]) -> float:
    return math.fsum(part for part, _ in found) / math.fsum(whole for _, whole in found)


def ends_of(run: SearchRun, name: str) -> Ends:
    """Return both ends of a metric that has a value, which are one where nothing is unproved."""
    return _range(stored(run, name))


def _range(found: Stored | None) -> Ends:
    value = (found.value if found is not None else None) or 0.0
    if isinstance(found, ShareWithInterval) and found.has_bounds:
        return found.unproved_low or 0.0, found.unproved_high or 0.0
    return value, value


def about_claims(metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun) -> list[str]:
    """Return what stands beside changes of claim metrics: agreement with people, and both ends."""
    if not any(block_of(name) == "claims" for name in metrics):
        return []
    agreements = [run.claims.agreement for run in (b, a) if run.claims is not None]
    known = [agreement_words(one) for one in agreements if one is not None]
    found = [f"The judge of the claims: {known[0] if known else NOT_COMPARED}."]
    for name, change in metrics.items():
        if change.unproved_low_points is not None:
            ends = f"{points(change.unproved_low_points)} to {points(change.unproved_high_points)}"
            found.append(f"With its unproved claims, {name} moved by {ends} points.")
    return found
