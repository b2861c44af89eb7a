"""What shows that a change beyond its threshold is real: measured noise, or the queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from retrieval_eval.search.guard.pinned import Pinned
from retrieval_eval.search.guard.rows import Measured
from retrieval_eval.search.guard.rule import Rule
from retrieval_eval.search.guard.sides import Side
from retrieval_eval.search.guard.soundness import claim_faults
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.search.noise import staleness
from retrieval_eval.search.noise_level import RunToRun, noise_test

Document = Mapping[str, Any]
DecidedBy = Literal["threshold", "noise", "significance"]

_MEASURE: Final = "`retrieval-eval search noise --retriever SPEC` measures it"


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise that a guard may use: a noise document, or in a sentence why there is none.

    ``is_of_all`` tells whether it was measured over the very queries the guard looks at; the noise
    of a deterministic system holds for any part of them. ``judge_faults`` say why it does not hold
    for the claims. The runs of ``sides`` tell noise too, where one has several.
    """

    document: Document | None
    why: str
    sides: tuple[Side, Side]
    is_of_all: bool = False
    judge_faults: tuple[str, ...] = ()

    @property
    def n_runs(self) -> tuple[int, int]:
        """How many runs either side has."""
        return len(self.sides[0].runs), len(self.sides[1].runs)

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

    def level(self, m: Measured) -> RunToRun | None:
        """Return the measured noise of a change, None where there is none (`gap`).

        Where the runs of a side vary too, only noise of the same queries goes with theirs.
        """
        is_of_same = self.is_of_all and m.threshold.part is None
        if self.document is None or self.gap(m) is not None or (m.spreads and not is_of_same):
            return None
        found = self.document["metrics"][m.threshold.metric]
        return RunToRun(self.document["n_runs"], found["n_queries"], **found["run_to_run"])

    def is_deterministic(self, level: RunToRun | None) -> bool:
        """Return whether no answer ever moved in the runs that noise is taken from."""
        is_still = level is None or self.document is None or self.document["is_deterministic"]
        return bool(is_still) and all(side.is_still for side in self.sides)


def noise_at_hand(
    document: Document | None, run_side: Side, baseline_side: Side, pinned: Pinned | None
) -> Noise:
    """Return the noise that holds for the runs of two sides.

    It must have been measured with the set-up of either: to say that a change did nothing is to
    say that both are one system. It is stale a quarter before the run, whichever it was.
    """
    both = run_side, baseline_side
    run, baseline = (side.first for side in both)
    if document is None:
        return Noise(None, "no noise was measured", both)
    docs = (run, {**baseline, "generated_at": run["generated_at"]})
    if all(staleness(document, doc) for doc in docs):
        return Noise(None, "the noise file is stale", both)
    if pinned is None:
        is_of_all = document["pinned"] is None and document["n_queries"] == len(run["queries"])
    else:
        is_of_all = document["pinned"] == pinned.fingerprint
    judged = {"claims": {"judge": document["judge"]}}
    return Noise(document, "", both, is_of_all, tuple(claim_faults(run, judged)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a change is held against: one-sided p-value, standard error, degrees of freedom.

    ``gap`` says why there is no verdict where the rule asks for noise that is not there. Of noise,
    ``band_points`` is the standard deviation of one run, ``n_runs`` counts the runs it is known
    from, ``elsewhere`` the degrees of freedom of those that are of neither side, and ``sides`` the
    runs of either.
    """

    decided_by: DecidedBy
    p_value: float
    error_points: float
    freedom: int
    gap: str | None = None
    band_points: float = math.nan
    n_runs: int = 0
    elsewhere: int = 0
    sides: tuple[int, int] = (1, 1)


def evidence(m: Measured, rule: Rule, noise: Noise) -> Evidence:
    """Return what a change is held against under a rule.

    A metric that is no mean over queries has nothing but its threshold.
    """
    found = Evidence("significance", m.p_value, m.error_points, m.n_pairs - 1)
    if rule == "threshold" or m.change is None or m.harm_points is None:
        return replace(found, decided_by="threshold")
    if rule == "threshold_and_significant":
        return found
    measured = noise.level(m)
    levels = m.spreads if measured is None else (*m.spreads, measured)
    if not levels:
        is_by_queries = rule == "threshold_and_real"
        return found if is_by_queries else Evidence("noise", math.nan, math.nan, 0, noise.gap(m))
    is_deterministic = noise.is_deterministic(measured)
    test = noise_test(m.harm_points, levels, noise.n_runs, is_deterministic=is_deterministic)
    return Evidence(
        "noise",
        test.p_value,
        test.error_points,
        test.freedom,
        band_points=test.band_points,
        n_runs=sum(level.n_runs for level in levels),
        elsewhere=0 if measured is None else measured.n_runs - 1,
        sides=noise.n_runs,
    )
