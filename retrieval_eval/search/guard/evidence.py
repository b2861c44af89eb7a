"""What shows that a change beyond its threshold is real: measured noise, or the queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from retrieval_eval.search.guard.pinned import Pinned
from retrieval_eval.search.guard.rows import Measured
from retrieval_eval.search.guard.rule import Rule
from retrieval_eval.search.guard.soundness import claim_faults
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.noise_files import staleness
from retrieval_eval.search.noise_level import beyond_noise

Document = Mapping[str, Any]
DecidedBy = Literal["threshold", "noise", "significance"]

_MEASURE: Final = "`retrieval-eval search noise --retriever SPEC` measures it"


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise that a guard may use: a noise document, or in a sentence why there is none.

    ``is_of_all`` tells whether it was measured over the very queries the guard looks at; the noise
    of a deterministic system holds for any part of them. ``judge_faults`` say why it does not hold
    for the claims.
    """

    document: Document | None
    why: str
    is_of_all: bool = False
    judge_faults: tuple[str, ...] = ()

    def gap(self, m: Measured) -> str | None:
        """Return why a change has no measured noise to be held against, None where it has."""
        name = m.threshold.metric
        if self.document is None:
            return f"{self.why}; {_MEASURE}"
        found = self.document["metrics"].get(name)
        if found is None:
            return (
                f"the noise of {name} was not measured; `search noise RUN RUN…` takes finished runs"
            )
        if self.judge_faults and BLOCK_OF.get(name, ("",))[0] == "claims":
            return f"noise was measured otherwise: {self.judge_faults[0]}"
        if found["band_points"] == 0 or (self.is_of_all and m.threshold.part is None):
            return None
        if m.threshold.part is not None:
            return f"noise was measured over all queries, which says little of {m.threshold.part}"
        return "noise was measured over other queries; `search noise --queries` takes a pinned list"


def noise_at_hand(
    document: Document | None, run: Document, baseline: Document, pinned: Pinned | None
) -> Noise:
    """Return the noise that holds for a run and its baseline.

    It must have been measured with the set-up of either: to say that a change did nothing is to
    say that both are one system. It is stale a quarter before the run, whichever it was.
    """
    if document is None:
        return Noise(None, "no noise was measured")
    sides = (run, {**baseline, "generated_at": run["generated_at"]})
    if all(staleness(document, side) for side in sides):
        return Noise(None, "the noise file is stale")
    if pinned is None:
        is_of_all = document["pinned"] is None and document["n_queries"] == len(run["queries"])
    else:
        is_of_all = document["pinned"] == pinned.fingerprint
    judged = {"claims": {"judge": document["judge"]}}
    return Noise(document, "", is_of_all, tuple(claim_faults(run, judged)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a change is held against: one-sided p-value, standard error, degrees of freedom.

    ``gap`` says why there is no verdict where the rule asks for noise that is not there.
    """

    decided_by: DecidedBy
    p_value: float
    error_points: float
    freedom: int
    gap: str | None = None


def evidence(m: Measured, rule: Rule, noise: Noise) -> Evidence:
    """Return what a change is held against under a rule.

    A metric that is no mean over queries has nothing but its threshold.
    """
    found = Evidence("significance", m.p_value, m.error_points, m.n_pairs - 1)
    if rule == "threshold" or m.change is None or m.harm_points is None:
        return replace(found, decided_by="threshold")
    if rule == "threshold_and_significant":
        return found
    gap = noise.gap(m)
    if noise.document is None or gap is not None:
        return (
            found if rule == "threshold_and_real" else Evidence("noise", math.nan, math.nan, 0, gap)
        )
    n_runs, metric = noise.document["n_runs"], noise.document["metrics"][m.threshold.metric]
    band, step = metric["band_points"], metric["run_to_run"]["step_points"]
    p_value = beyond_noise(m.harm_points, band, n_runs, step_points=step)
    return Evidence("noise", p_value, math.sqrt(2) * band, n_runs - 1)
