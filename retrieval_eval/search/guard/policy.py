"""The policy of a guard as a digest: what decides beside the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from retrieval_eval.model.guard import GuardPolicy
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.pinned import Pinned
from retrieval_eval.search.guard.rule import POWER, RESOLUTION_FACTOR, SMALLEST_RESOLUTION
from retrieval_eval.search.guard.thresholds import MIN_QUERIES, Thresholds


def policy_of(
    thresholds: Thresholds,
    *,
    seed: int,
    pinned: Pinned | None = None,
    lists: Mapping[str, Pinned] | None = None,
    justifications: Sequence[Justification] = (),
    asked: str | None = None,
) -> GuardPolicy:
    """Return the digests of a policy.

    The first changes whenever a threshold, the rule, its level, the seed or a pinned query does,
    and not with comments, white space or the place of a file. The order of thresholds counts, for
    it is that of the table. The second is that of the justifications that were read, used or not.

    Parameters
    ----------
    thresholds, seed, pinned, lists, justifications
        The arguments of `check`.
    asked
        The fingerprint of the pinned list that alone was asked; None: the whole gold set.

    Examples
    --------
    >>> from retrieval_eval.search.guard.thresholds import shipped_thresholds
    >>> len(policy_of(shipped_thresholds(), seed=1).digest)
    64
    """
    named = {"": pinned} if pinned is not None else {}
    policy = {
        "rule": thresholds.rule,
        "alpha": thresholds.alpha,
        **({} if thresholds.looks is None else {"looks": thresholds.looks}),
        "seed": seed,
        "resolution": [POWER, SMALLEST_RESOLUTION, RESOLUTION_FACTOR],
        # A number of queries that decides nothing is none of the policy.
        "thresholds": [
            asdict(row if row.slices else replace(row, min_queries=MIN_QUERIES))
            for row in thresholds.rows
        ],
        "asked": asked,
        "pinned": {
            name: [found.fingerprint, sorted(found.ids)]
            for name, found in sorted({**(lists or {}), **named}.items())
        },
    }
    written = [{**asdict(one), "expires": one.expires.isoformat()} for one in justifications]
    return GuardPolicy(digest=_digest(policy), justifications=_digest(written) if written else None)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()
