"""What the guard found: a verdict for every threshold, and one for the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any, Final, Literal

from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.search.guard.justification import Justification
from retrieval_eval.search.guard.measured import Measured
from retrieval_eval.search.guard.rule import Rule
from retrieval_eval.values import counted

RowVerdict = Literal["pass", "within_noise", "breach", "overridden", "no_verdict", "skipped"]
RunVerdict = Literal["pass", "breach", "no_verdict"]
DecidedBy = Literal["threshold", "noise", "significance"]

EXIT_CODES: Final[Mapping[RunVerdict, int]] = {"pass": 0, "breach": 1, "no_verdict": 2}

WORDS: Final[Mapping[str, str]] = {
    "pass": "pass",
    "within_noise": "pass (noise)",
    "breach": "BREACH",
    "overridden": "OVERRIDDEN",
    "no_verdict": "NO VERDICT",
    "skipped": "not applied",
}


@dataclass(frozen=True, slots=True)
class Mover:
    """One query behind a change: its value before and now, and the points it adds."""

    id: str
    query: str
    corpus: str
    before: float
    now: float
    points: float


@dataclass(frozen=True, slots=True)
class Row:
    """One threshold with its verdict.

    ``skipped`` means not applied. ``reasons`` say why it is no plain pass. ``decided_by`` is what
    decides where a change is beyond its threshold: the threshold alone, the measured ``noise``, or
    the ``significance`` over the queries; None where only the value is bounded. ``p_value`` is the
    one-sided p-value under that, ``p_adjusted`` over all rows (Holm), ``is_noise`` whether as much
    would happen without any change (None: no test), and ``detectable_points`` the change that 80 %
    of such runs would show. ``movers`` are the queries that moved it most, the worst first.
    """

    measured: Measured
    verdict: RowVerdict
    reasons: tuple[str, ...] = ()
    decided_by: DecidedBy | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    is_noise: bool | None = None
    detectable_points: float | None = None
    justification: Justification | None = None
    movers: tuple[Mover, ...] = ()

    @property
    def name(self) -> str:
        """The metric and its slice."""
        return self.measured.threshold.name

    @property
    def has_part(self) -> bool:
        """Whether the threshold is about a slice."""
        return self.measured.threshold.part is not None

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON."""
        measured, change = self.measured, self.measured.change
        threshold = measured.threshold
        limit, moved = measured.limit_points, measured.change_points
        return {
            "metric": threshold.metric,
            "slice": None if threshold.part is None else asdict(threshold.part),
            "direction": threshold.direction,
            "max_change": threshold.max_change,
            "unit": threshold.unit,
            "floor": threshold.floor,
            "ceiling": threshold.ceiling,
            "required": threshold.required,
            "verdict": self.verdict,
            "reasons": list(self.reasons),
            "baseline": measured.baseline.to_json(),
            "current": measured.current.to_json(),
            "paired_baseline": None if change is None else change.before,
            "paired_current": None if change is None else change.after,
            "change_points": moved,
            "limit_points": limit,
            "n_queries": measured.n_pairs or None,
            "change_queries": _queries(moved, measured.n_pairs),
            "limit_queries": _queries(limit, measured.n_pairs),
            "n_up": None if change is None else change.n_up,
            "n_down": None if change is None else change.n_down,
            "ci_low_points": None if change is None else change.ci_low_points,
            "ci_high_points": None if change is None else change.ci_high_points,
            "decided_by": self.decided_by,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "is_noise": self.is_noise,
            "detectable_points": self.detectable_points,
            "justification": None if self.justification is None else self._excuse(),
            "movers": [asdict(mover) for mover in self.movers],
        }

    def _excuse(self) -> dict[str, Any]:
        one, name = self.justification, self.measured.threshold.metric
        assert one is not None
        return {
            "metric": name,
            "part": None if one.part is None else asdict(one.part),
            "reason": one.reason,
            "author": one.author,
            "second_approver": one.second_approver,
            "expires": one.expires.isoformat(),
            "max_points": one.metrics[name],
            "excused_points": self.measured.breach_points,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a run.

    ``reasons`` keep the whole run from having one; ``notes`` are worth knowing. ``sides`` names
    run and baseline. ``pass`` needs at least one row that passed.
    """

    rows: tuple[Row, ...]
    rule: Rule
    alpha: float
    seed: int
    today: date
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> RunVerdict:
        """``breach`` where one is, else ``no_verdict`` where a threshold could not be checked."""
        found = {row.verdict for row in self.rows}
        if self.reasons or not found - {"skipped"}:
            return "no_verdict"
        if "breach" in found:
            return "breach"
        return "no_verdict" if "no_verdict" in found else "pass"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 breach, 2 no verdict."""
        return EXIT_CODES[self.verdict]

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        counts = {name: sum(row.verdict == name for row in self.rows) for name in WORDS}
        told = [f"{n} {WORDS[name].lower()}" for name, n in counts.items() if n]
        words = {"pass": "PASS", "breach": "BREACH", "no_verdict": "NO VERDICT"}[self.verdict]
        if self.verdict == "pass" and counts["overridden"]:
            words = f"PASS BY JUSTIFICATION of {counts['overridden']}"
        return f"{words}: {counted(len(self.rows), 'threshold')}: {', '.join(told)}"

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as one JSON document (schema ``search_guard``)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "decision": {"rule": self.rule, "alpha": self.alpha, "seed": self.seed},
            "today": self.today.isoformat(),
            **self.sides,
            "rows": [row.to_json() for row in self.rows],
        }


def _queries(points: float | None, n: int) -> float | None:
    """Return points as a number of whole queries: 1.5 points of 150 are 2.25 queries."""
    return None if points is None or not n else points * n / 100
