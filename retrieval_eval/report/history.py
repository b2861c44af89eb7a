"""Search runs of a folder over time, as frames.

Everything is read from documents that earlier commands wrote; nothing is measured again. The order
is that of time, never that of a score. Two measurements are only joined by a line when they rest on
the same gold set, documents and settings.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.runs.layout import DEMO
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import slug, visible
from retrieval_eval.model.search_history import (
    GoldState,
    PastChange,
    PastNoise,
    PastRun,
    SearchHistory,
)
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report.columns import (
    HISTORY_FRAMES,
    Measured,
    Row,
    handed_out,
    make_frame,
)
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.index import Listed, newest
from retrieval_eval.report.publishing import Keep, digest_of, publish, write_frames
from retrieval_eval.report.simulated import notice
from retrieval_eval.search.decide.history import (
    REVIEWED,
    change_sentences,
    outcome_words,
    search_history,
)
from retrieval_eval.search.demo import DEMO_FOLDER, DEMO_OUTPUT, measured_history
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

NOTEBOOK: Final = "history"

_COLUMNS: Final = {name: columns for name, (_, columns) in HISTORY_FRAMES.items()}


class History(Measured):
    """What was measured over time; each frame is in the order of time and handed out as a copy.

    Its frames are those of :data:`retrieval_eval.report.columns.HISTORY_FRAMES`: ``runs``,
    ``metrics``, ``guard``, ``labels``, ``gold``, ``noise`` and ``quarters``.
    Shown in a notebook it says what there is.
    """

    owner = "history"
    frame_columns = _COLUMNS

    def __init__(self, tables: dict[str, list[Row]], search: SearchHistory | None = None) -> None:
        self._tables = tables
        self._search = search

    @handed_out
    def runs(self) -> pd.DataFrame:
        """One row a run, also those that could not be read."""
        return self._made("runs")

    @handed_out
    def metrics(self) -> pd.DataFrame:
        """One row a run and metric: mean, interval, n and line."""
        return self._made("metrics")

    @handed_out
    def guard(self) -> pd.DataFrame:
        """One row a search run that has an earlier one: the verdict of the guard on the change."""
        return self._made("guard")

    @handed_out
    def labels(self) -> pd.DataFrame:
        """One row a search run and source of labels: queries of its gold set."""
        return self._made("labels")

    @handed_out
    def gold(self) -> pd.DataFrame:
        """One row a gold set of search, whenever it changed, and part of it."""
        return self._made("gold")

    @handed_out
    def noise(self) -> pd.DataFrame:
        """One row a noise file of search, in the order of time."""
        return self._made("noise")

    @handed_out
    def quarters(self) -> pd.DataFrame:
        """One row a calendar quarter: whether thresholds were re-validated in it."""
        return self._made("quarters")

    def sentences(self) -> list[str]:
        """Return what the guard says of all changes of search, and what became of breaches."""
        return [] if self._search is None else change_sentences(self._search)

    def _made(self, name: str) -> pd.DataFrame:
        return make_frame(self._tables[name], _COLUMNS[name])

    def of_metric(self, name: str) -> pd.DataFrame:
        """Return the rows of ``metrics`` of one metric.

        Raises
        ------
        BadInputError
            When no run has the metric; it names the closest.
        """
        known = list(self.metrics["metric"].unique())
        if known and name not in known:
            by_lower = {known_name.lower(): known_name for known_name in known}
            close = difflib.get_close_matches(name.lower(), by_lower, n=2, cutoff=0.4)
            close = [by_lower[lower] for lower in close] or known
            said = visible(name, 60)
            raise BadInputError(f"no run has the metric '{said}'; try {', '.join(close)}")
        return self.metrics[self.metrics["metric"] == name]

    @property
    def n_simulated(self) -> int:
        """How many runs hold invented data."""
        return sum(row["is_simulated"] is True for row in self._tables["runs"])

    def block(self) -> Block:
        """Return the header: how much there is, from when to when, and what the guard found."""
        rows = self._tables["runs"]
        read = [row for row in rows if row["status"] == "read"]
        moments = sorted(row["moment"] for row in read)
        rulings = self._tables["guard"]
        badges = [
            ("Search runs", f"{len(read)}"),
            ("From", moments[0][:10] if moments else "—"),
            ("To", moments[-1][:10] if moments else "—"),
            ("Left out", f"{len(rows) - len(read)}"),
            ("Order", "by time; runs are not ranked"),
        ]
        sentences = [
            notice(self.n_simulated, len(rows), "run", "system"),
            _caught([row["verdict"] for row in rulings]),
            _broken(self._tables["metrics"]),
        ]
        finding = f"{counted(len(read), 'run')} over time"
        return Block("header", finding, tuple(s for s in sentences if s), badges=tuple(badges))

    def __repr__(self) -> str:
        said = notice(self.n_simulated, len(self._tables["runs"]), "run", "system")
        return f"<History: {self.block().finding}>{f' {said}' if said else ''}"


def _caught(verdicts: Sequence[str]) -> str:
    """Return what the guard says of the changes from one search run to the next."""
    if not verdicts:
        return ""
    parts = [f"{verdicts.count('breach')} are regressions", f"{verdicts.count('pass')} pass"]
    if "no_verdict" in verdicts:
        parts.append(f"{verdicts.count('no_verdict')} without a verdict")
    return f"Of {counted(len(verdicts), 'change')} of search, by the guard: {', '.join(parts)}."


def _broken(metrics: Sequence[Row]) -> str:
    # A line of its own begins for every metric of a run at once.
    broken = {
        (later["run"], later["moment"])
        for series in _by_series(metrics)
        for row, later in pairwise(series)
        if row["line"] != later["line"]
    }
    n = len(broken)
    if not n:
        return "Every mean rests on the same as the one before it."
    return (
        f"In {counted(n, 'run')} a mean rests on something other than the one before it (other "
        "labels, documents or settings): no line joins the two."
    )


def _by_series(metrics: Sequence[Row]) -> Iterator[list[Row]]:
    series: dict[tuple[str, str], list[Row]] = {}
    for row in metrics:
        series.setdefault((row["subject"], row["metric"]), []).append(row)
    yield from series.values()


def load_history(
    data: str | Path = "",
    *,
    subject: str = "",
    thresholds: str | Path = "",
    justification: str | Path = "",
    as_of: str = "",
) -> History:
    """Return what search runs measured over time, read from documents that are there.

    Parameters
    ----------
    data
        Folder of search runs (``eval-report-<utc>.json``, ``baseline.json`` and other files of
        runs), or ``demo``: the built-in demonstration, simulated.
    subject
        One corpus; empty for all.
    thresholds
        Of the guard; by default ``guard.toml`` of the folder, else as for `search guard`.
    justification
        Breaches that were accepted in writing.
    as_of
        The day on which a quarter is due, such as ``2026-03-31``; by default today.

    Raises
    ------
    BadInputError
        When nothing was named, the folder does not exist or holds no run, or there is no such
        subject (with the closest names).
    """
    if any(not isinstance(place, str | Path) for place in (data, subject, thresholds)):
        raise BadInputError("folders and names are given as text")
    if not data:
        raise BadInputError(
            "no folder was given: name that of search runs (data), or say demo for the built-in "
            "demonstration, which is simulated"
        )
    search = search_history(
        measured_history(DEMO_OUTPUT) if str(data) == DEMO else Path(data),
        thresholds=Path(thresholds) if thresholds else None,
        justification=Path(justification) if justification else None,
        as_of=_as_day(as_of),
    )
    points = list(_search_points(search))
    if not any(point.row["status"] == "read" for point in points):
        raise BadInputError(
            f"{visible(data)}: no measured run; `retrieval-eval search run` writes one"
        )
    points.sort(key=lambda point: (point.row["moment"] or "~", point.row["run"]))
    return History(_tables(_of_subject(points, subject)) | _search_tables(search), search)


@dataclass(frozen=True, slots=True)
class _Point:
    """One run: its row in ``runs``, and its rows in the other frames."""

    row: Row
    metrics: tuple[Row, ...] = ()
    guard: tuple[Row, ...] = ()
    labels: tuple[Row, ...] = ()


def _tables(points: Sequence[_Point]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"runs": [point.row for point in points]}
    tables |= {name: [] for name in ("gold", "noise", "quarters")}
    for name in ("metrics", "guard", "labels"):
        tables[name] = [
            {"run": point.row["run"], "moment": point.row["moment"]} | row
            for point in points
            for row in getattr(point, name)
        ]
    for series in _by_series(tables["metrics"]):
        line, before = 0, None
        for row in series:
            line += row["basis"] != before
            row["line"], before = line, row["basis"]
    return tables


def _of_subject(points: Sequence[_Point], subject: str) -> Sequence[_Point]:
    """Return the runs of one corpus, with the means of that alone."""
    if not subject:
        return points
    known = sorted({row["subject"] for point in points for row in point.metrics})
    if subject not in known:
        close = difflib.get_close_matches(subject, known, n=3, cutoff=0.4) or known
        said = visible(subject, 60)
        raise BadInputError(f"no run measured '{said}'; there is {', '.join(map(visible, close))}")
    found = []
    for point in points:
        own = tuple(row for row in point.metrics if row["subject"] == subject)
        if own:
            found.append(replace(point, metrics=own))
    return found


def _as_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadInputError(f"{visible(text, 40)!r} is no day such as 2026-03-31") from None


def _search_points(history: SearchHistory) -> Iterator[_Point]:
    for file in history.unread:
        yield _Point(
            {
                "run": Path(file.source).stem,
                "moment": None,
                "status": "unreadable",
                "reason": file.reason,
                "source": file.source,
                "is_simulated": False,
            }
        )
    changes = {(change.source, change.generated_at): change for change in history.changes}
    for run in history.runs:
        change = changes.get((run.source, run.generated_at))
        yield _search_point(run, change)


def _ruling(change: PastChange) -> Row:
    return {
        "against": change.against,
        "against_moment": change.against_at,
        "verdict": change.verdict,
        "headline": change.headline,
        "breaches": list(change.breaches),
        "worst": change.worst,
        "worst_points": change.worst_points,
        "reasons": list(change.reasons),
        "same_setup": change.same_setup,
        "recorded": change.recorded,
        "outcome": change.outcome,
        "became": outcome_words(change) or None,
    }


def _search_point(run: PastRun, change: PastChange | None) -> _Point:
    gold = run.gold
    row = {
        "run": run.name,
        "moment": run.generated_at,
        "subject": run.corpora,
        "system": run.retriever,
        "n": run.n_queries,
        "n_computable": run.n_queries - run.n_failed,
        "verdict": "measured" if run.has_verdict else "no verdict",
        "reason": "; ".join(run.reasons) or None,
        "status": "read",
        "source": run.source,
        "is_simulated": run.is_simulated,
    }
    means = (
        {
            "subject": run.corpora,
            "metric": name,
            "mean": mean.value,
            "ci_low": mean.ci_low,
            "ci_high": mean.ci_high,
            "n": mean.n,
            "basis": run.basis,
        }
        for name, mean in run.metrics.items()
    )
    labels = (
        {
            "gold_set": gold.name,
            "fingerprint": gold.fingerprint,
            "source": source,
            "is_reviewed": source == REVIEWED,
            "n": n,
            "n_queries": gold.n_queries,
            "n_labelled_pairs": gold.n_labelled_pairs,
            "n_unlabelled": gold.n_unlabelled,
        }
        for source, n in sorted(gold.sources.items())
    )
    rulings = () if change is None else (_ruling(change),)
    return _Point(row, tuple(means), rulings, tuple(labels))


def _search_tables(history: SearchHistory) -> dict[str, list[Row]]:
    return {
        "gold": [row for state in history.gold for row in _gold_rows(state)],
        "noise": [_noise_row(noise) for noise in history.noise],
        "quarters": [
            {
                "quarter": each.quarter,
                "state": each.state,
                "source": each.source,
                "n_runs": each.n_runs,
                "sentence": each.sentence,
            }
            for each in history.quarters
        ],
    }


def _gold_rows(state: GoldState) -> Iterator[Row]:
    parts = {"source": state.gold.sources, "corpus": state.by_corpus, "origin": state.by_origin}
    for dimension, counts in parts.items():
        for part, n in (counts or {}).items():
            yield {
                "run": state.run,
                "moment": state.generated_at,
                "gold_set": state.gold.name,
                "fingerprint": state.gold.fingerprint,
                "n_queries": state.gold.n_queries,
                "n_labelled_pairs": state.gold.n_labelled_pairs,
                "n_reviewed": state.n_reviewed,
                "n_unlabelled": state.gold.n_unlabelled,
                "dimension": dimension,
                "part": part,
                "n": n,
            }


def _noise_row(noise: PastNoise) -> Row:
    worst = max(noise.sd_points, key=lambda name: noise.sd_points[name], default=None)
    return {
        "source": noise.source,
        "moment": noise.generated_at,
        "quarter": noise.quarter,
        "n_runs": noise.n_runs,
        "n_queries": noise.n_queries,
        "is_deterministic": noise.is_deterministic,
        "worst_sd_points": None if worst is None else noise.sd_points[worst],
        "worst_metric": worst,
        "ratio": noise.ratio,
        "ratio_low": noise.ratio_low,
        "ratio_high": noise.ratio_high,
        "grew": noise.grew,
        "alarm_share": noise.alarms.value,
        "alarm_low": noise.alarms.ci_low,
        "alarm_high": noise.alarms.ci_high,
        "stale": list(noise.stale),
    }


def build_history(
    data: str | Path = "",
    *,
    reports_dir: Path,
    subject: str = "",
    measure: str = "nDCG@10",
    thresholds: str | Path = "",
    justification: str | Path = "",
    as_of: str = "",
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Path:
    """Write the page about what search runs measured over time, and return its path.

    Parameters
    ----------
    data, subject, thresholds, justification, as_of
        As for :func:`load_history`.
    measure
        What is drawn over time.
    reports_dir
        The page goes to ``<reports_dir>/history/index.html``, of one subject to
        ``<reports_dir>/history/<subject>/index.html``.
    renderer, pdf, progress, keep
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        As :func:`load_history` does, or when no run has the measure.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    if str(data) == DEMO:
        data = measured_history(reports_dir / DEMO_FOLDER / "data", progress=progress)
    values: dict[str, Any] = {
        "data": str(data),
        "subject": subject,
        "thresholds": str(thresholds),
        "justification": str(justification),
        # Named in the parameters, so that they make the same page on any later day.
        "as_of": as_of or datetime.now(UTC).date().isoformat(),
    }
    history = load_history(**values)
    history.of_metric(measure)
    values["measure"] = measure
    listed = Listed(
        reports_dir,
        newest(history.runs["moment"].dropna()),
        n_queries=int(history.runs["n"].sum()),
    )
    tables = [repr(history.frame(name).to_dict("list")) for name in HISTORY_FRAMES]
    return publish(
        NOTEBOOK,
        values,
        reports_dir / NOTEBOOK / slug(subject) if subject else reports_dir / NOTEBOOK,
        title=visible(f"History: {subject}" if subject else "History", 120),
        is_simulated=history.n_simulated > 0,
        tables=lambda place: write_frames(history, HISTORY_FRAMES, place),
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=digest_of(tables),
        keep=keep,
        listed=listed,
    )
