"""Changes of claim metrics between two runs: what unproved claims leave open, and who judged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from retrieval_eval.model.search_diff import MetricDifference
from retrieval_eval.model.search_run import SearchRun, ShareWithInterval
from retrieval_eval.search.claims.summary import NOT_COMPARED, agreement_words
from retrieval_eval.search.named_metrics import BLOCK_OF, Share, Stored, shares, stored
from retrieval_eval.search.paired_change import POINTS, pairs_of
from retrieval_eval.search.summary import points

Ends = tuple[float, float]


def with_ends(
    metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun
) -> dict[str, MetricDifference]:
    """Return changes with both ends where claims are unproved.

    At the lower end the unproved claims of b are unsupported and those of a supported, at the upper
    end it is the other way round.
    """
    found = dict(metrics)
    for name, change in metrics.items():
        sides = stored(a, name), stored(b, name)
        if not any(isinstance(side, ShareWithInterval) and side.has_bounds for side in sides):
            continue
        whole = _range(sides[0]), _range(sides[1])
        (a_low, a_high), (b_low, b_high) = _of_pairs(a, b, name) if change.is_paired else whole
        found[name] = replace(
            change,
            unproved_low_points=POINTS * (b_low - a_high),
            unproved_high_points=POINTS * (b_high - a_low),
        )
    return found


def _of_pairs(a: SearchRun, b: SearchRun, name: str) -> tuple[Ends, Ends]:
    """Return both ends in either run, over the queries that both have."""
    ends = [
        pairs_of(
            shares(a, name, unproved_as_supported=is_high),
            shares(b, name, unproved_as_supported=is_high),
        ).values()
        for is_high in (False, True)
    ]
    old, new = (
        (_total([pair[side] for pair in ends[0]]), _total([pair[side] for pair in ends[1]]))
        for side in (0, 1)
    )
    return old, new


def _total(found: Sequence[Share]) -> float:
    return math.fsum(part for part, _ in found) / math.fsum(whole for _, whole in found)


def _range(found: Stored | None) -> Ends:
    value = (found.value if found is not None else None) or 0.0
    if isinstance(found, ShareWithInterval) and found.has_bounds:
        return found.unproved_low or 0.0, found.unproved_high or 0.0
    return value, value


def about_claims(metrics: Mapping[str, MetricDifference], a: SearchRun, b: SearchRun) -> list[str]:
    """Return what stands beside changes of claim metrics: agreement with people, and both ends."""
    if not any(BLOCK_OF.get(name, ("",))[0] == "claims" for name in metrics):
        return []
    agreements = [run.claims.agreement for run in (b, a) if run.claims is not None]
    known = [agreement_words(one) for one in agreements if one is not None]
    found = [f"The judge of the claims: {known[0] if known else NOT_COMPARED}."]
    for name, change in metrics.items():
        if change.unproved_low_points is not None:
            ends = f"{points(change.unproved_low_points)} to {points(change.unproved_high_points)}"
            found.append(f"With its unproved claims, {name} moved by {ends} points.")
    return found
