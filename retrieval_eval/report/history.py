"""Runs over time: those of agents below a runs root, and search runs of a folder, as frames.

Everything is read from documents that earlier commands wrote; nothing is measured again. The order
is that of time, never that of a score. Two measurements are only joined by a line when they rest on
the same: of agents the same tasks with the same ground truth and cut-offs, of search the same gold
set, documents and settings.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.demo import write_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import slug, visible
from retrieval_eval.io.files import label, probe
from retrieval_eval.io.layout import OWN_FOLDER
from retrieval_eval.io.runs import find_runs
from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.model.search_history import (
    GoldState,
    PastChange,
    PastNoise,
    PastRun,
    SearchHistory,
)
from retrieval_eval.pipeline import evaluate
from retrieval_eval.pipeline.naming import SUMMARY_FILE
from retrieval_eval.pipeline.roots import DEMO
from retrieval_eval.pipeline.roots import DEMO_OUTPUT as AGENTS_DEMO
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import frames
from retrieval_eval.report.columns import HISTORY_FRAMES
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.frames import Row, make_frame
from retrieval_eval.report.index import Listed, newest
from retrieval_eval.report.publishing import Keep, digest_of, publish, write_frames
from retrieval_eval.report.run import Run
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.words import VERDICTS
from retrieval_eval.search.demo import DEMO_FOLDER, DEMO_OUTPUT, measured_history
from retrieval_eval.search.history import (
    REVIEWED,
    change_sentences,
    outcome_words,
    search_history,
)
from retrieval_eval.stats.intervals import bootstrap_mean
from retrieval_eval.study.pool import study_estimate
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    import pandas as pd

NOTEBOOK: Final = "history"
AGENTS: Final = "agents"
SEARCH: Final = "search"
METRICS: Final = ("file_recall", "mrr", "ndcg@10", "context_efficiency", "reward", "cost_usd")
"""The metrics of agents whose means are followed."""

_COLUMNS: Final = {name: columns for name, (_, columns) in HISTORY_FRAMES.items()}
_BATCH: Final = "%Y-%m-%d__%H-%M-%S"


class History(frames.Measured):
    """What was measured over time; each frame is in the order of time and handed out as a copy.

    Its frames are those of :data:`retrieval_eval.report.columns.HISTORY_FRAMES`: ``runs``,
    ``metrics``, ``comparisons``, ``guard``, ``labels``, ``gold``, ``noise`` and ``quarters``.
    Shown in a notebook it says what there is.
    """

    owner = "history"
    frame_columns = _COLUMNS

    def __init__(self, tables: dict[str, list[Row]], search: SearchHistory | None = None) -> None:
        self._tables = tables
        self._search = search

    @frames.handed_out
    def runs(self) -> pd.DataFrame:
        """One row a run, also those that could not be read."""
        return self._made("runs")

    @frames.handed_out
    def metrics(self) -> pd.DataFrame:
        """One row a run, suite or corpus, configuration and metric: mean, interval, n and line."""
        return self._made("metrics")

    @frames.handed_out
    def comparisons(self) -> pd.DataFrame:
        """One row a run of agents and metric: the estimate of its leading comparison."""
        return self._made("comparisons")

    def of_pair(self, metric: str) -> pd.DataFrame:
        """Return the rows of ``comparisons`` of a metric and of the pair that most runs compare.

        They are of one question, which :func:`retrieval_eval.pool` answers over all runs. Of
        several such pairs it is the first by name.
        """
        own = self.comparisons[self.comparisons["metric"] == metric]
        pairs = Counter(zip(own["baseline_config"], own["comparison_config"], strict=True))
        if not pairs:
            return own.assign(study=own["run"])
        baseline, comparison = min(pairs, key=lambda pair: (-pairs[pair], pair))
        is_its = (own["baseline_config"] == baseline) & (own["comparison_config"] == comparison)
        chosen: pd.DataFrame = own[is_its].assign(study=own["run"])
        return chosen

    @frames.handed_out
    def guard(self) -> pd.DataFrame:
        """One row a search run that has an earlier one: the verdict of the guard on the change."""
        return self._made("guard")

    @frames.handed_out
    def labels(self) -> pd.DataFrame:
        """One row a search run and source of labels: queries of its gold set."""
        return self._made("labels")

    @frames.handed_out
    def gold(self) -> pd.DataFrame:
        """One row a gold set of search, whenever it changed, and part of it."""
        return self._made("gold")

    @frames.handed_out
    def noise(self) -> pd.DataFrame:
        """One row a noise file of search, in the order of time."""
        return self._made("noise")

    @frames.handed_out
    def quarters(self) -> pd.DataFrame:
        """One row a calendar quarter: whether thresholds were re-validated in it."""
        return self._made("quarters")

    def sentences(self) -> list[str]:
        """Return what the guard says of all changes of search, and what became of breaches."""
        return [] if self._search is None else change_sentences(self._search)

    def _made(self, name: str) -> pd.DataFrame:
        return make_frame(self._tables[name], _COLUMNS[name])

    def of_metric(self, name: str, kind: str) -> pd.DataFrame:
        """Return the rows of ``metrics`` of one metric of agents or search; none without runs.

        Raises
        ------
        BadInputError
            When no run of the kind has the metric; it names the closest.
        """
        own = self.metrics[self.metrics["kind"] == kind]
        known = list(own["metric"].unique())
        if known and name not in known:
            by_lower = {known_name.lower(): known_name for known_name in known}
            close = difflib.get_close_matches(name.lower(), by_lower, n=2, cutoff=0.4)
            close = [by_lower[lower] for lower in close] or known
            said = visible(name, 60)
            raise BadInputError(f"no run of {kind} has the metric '{said}'; try {', '.join(close)}")
        return own[own["metric"] == name]

    @property
    def n_simulated(self) -> int:
        """How many runs hold invented data."""
        return sum(row["is_simulated"] is True for row in self._tables["runs"])

    def block(self) -> Block:
        """Return the header: how much there is, from when to when, and what the guard found."""
        rows = self._tables["runs"]
        read = [row for row in rows if row["status"] == "read"]
        moments = sorted(row["moment"] for row in read)
        kinds = [sum(row["kind"] == kind for row in read) for kind in (AGENTS, SEARCH)]
        rulings = self._tables["guard"]
        badges = [
            ("Runs of agents", f"{kinds[0]}"),
            ("Search runs", f"{kinds[1]}"),
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
        (later["kind"], later["run"], later["moment"])
        for series in _by_series(metrics, lambda row: row)
        for row, later in pairwise(series)
        if row["line"] != later["line"]
    }
    n = len(broken)
    if not n:
        return "Every mean rests on the same as the one before it."
    return (
        f"In {counted(n, 'run')} a mean rests on something other than the one before it (other "
        "tasks, ground truth, labels, documents or cut-offs): no line joins the two."
    )


def _by_series(rows: Sequence[Row], value: Callable[[Row], Any]) -> Iterator[list[Any]]:
    series: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kind", "subject", "series", "metric"))
        series.setdefault(key, []).append(value(row))
    yield from series.values()


def load_history(
    data: str | Path = "",
    *,
    runs_root: str | Path = "",
    output_dir: str | Path = "",
    subject: str = "",
    thresholds: str | Path = "",
    justification: str | Path = "",
    as_of: str = "",
    seed: int = DEFAULT_SEED,
) -> History:
    """Return what was measured over time, read from documents that are there.

    Parameters
    ----------
    data
        Folder of search runs (``eval-report-<utc>.json``, ``baseline.json`` and other files of
        runs), or ``demo``: the built-in demonstrations of search and of agents, simulated.
    runs_root
        Folder of the runs of agents that `retrieval-eval evaluate` has measured.
    output_dir
        Folder of their artefacts, where those are not inside the runs.
    subject
        One suite or corpus; empty for all.
    thresholds
        Of the guard; by default ``guard.toml`` of the folder, else as for `search guard`.
    justification
        Breaches that were accepted in writing.
    as_of
        The day on which a quarter is due, such as ``2026-03-31``; by default today.
    seed
        Seed of the intervals of agents.

    Raises
    ------
    BadInputError
        When nothing was named, a folder does not exist or holds no run, or there is no such
        subject (with the closest names).
    """
    places = (data, runs_root, output_dir, subject, thresholds, justification)
    if any(not isinstance(place, str | Path) for place in places):
        raise BadInputError("folders and names are given as text")
    if str(data) == DEMO:
        _measure_demo(AGENTS_DEMO)
        data = measured_history(DEMO_OUTPUT)
        runs_root, output_dir = AGENTS_DEMO / "runs", AGENTS_DEMO
    if not (data or runs_root):
        raise BadInputError(
            "no folder was given: name that of search runs (data) or of agents' runs (runs_root), "
            "or say demo for the built-in demonstration, which is simulated"
        )
    points: list[_Point] = []
    search = None
    if data:
        search = search_history(
            Path(data),
            thresholds=Path(thresholds) if thresholds else None,
            justification=Path(justification) if justification else None,
            as_of=_as_day(as_of),
        )
        points += _search_points(search)
    if runs_root:
        points += _agent_points(Path(runs_root), Path(output_dir) if output_dir else None, seed)
    if not any(point.row["status"] == "read" for point in points):
        where = " and ".join(visible(place) for place in (data, runs_root) if place)
        raise BadInputError(
            f"{where}: no measured run; `retrieval-eval search run` and `retrieval-eval evaluate` "
            "write them"
        )
    points.sort(key=lambda point: (point.row["moment"] or "~", point.row["kind"], point.row["run"]))
    of_search = {} if search is None else _search_tables(search)
    return History(_tables(_of_subject(points, subject)) | of_search, search)


@dataclass(frozen=True, slots=True)
class _Point:
    """One run: its row in ``runs``, and its rows in the other frames."""

    row: Row
    metrics: tuple[Row, ...] = ()
    guard: tuple[Row, ...] = ()
    labels: tuple[Row, ...] = ()
    comparisons: tuple[Row, ...] = ()


def _tables(points: Sequence[_Point]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {"runs": [point.row for point in points]}
    tables |= {name: [] for name in ("gold", "noise", "quarters")}
    for name in ("metrics", "comparisons", "guard", "labels"):
        tables[name] = [
            {"kind": point.row["kind"], "run": point.row["run"], "moment": point.row["moment"]}
            | row
            for point in points
            for row in getattr(point, name)
        ]
    for series in _by_series(tables["metrics"], lambda row: row):
        line, before = 0, None
        for row in series:
            line += row["basis"] != before
            row["line"], before = line, row["basis"]
    return tables


def _of_subject(points: Sequence[_Point], subject: str) -> Sequence[_Point]:
    """Return the runs of one suite or corpus, with the means of that alone."""
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
            # A comparison over several suites is about none of them alone.
            compared = tuple(row for row in point.comparisons if row["subject"] == subject)
            found.append(_Point(point.row, own, point.guard, point.labels, compared))
    return found


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode(errors="replace")).hexdigest()[:12]


def _unread(kind: str, run: str, source: str, status: str, reason: str) -> _Point:
    return _Point(
        {
            "kind": kind,
            "run": run,
            "moment": None,
            "status": status,
            "reason": reason,
            "source": source,
            "is_simulated": False,
        }
    )


def _agent_points(runs_root: Path, output_dir: Path | None, seed: int) -> Iterator[_Point]:
    for run_dir in find_runs(runs_root):
        folder = (run_dir if output_dir is None else output_dir / run_dir.name) / OWN_FOLDER
        source = label(run_dir, runs_root)
        if not probe((folder / SUMMARY_FILE).is_file):
            yield _unread(AGENTS, run_dir.name, source, "not_evaluated", "it was not evaluated")
            continue
        try:
            yield _agent_point(Run([folder]), source, seed)
        except BadInputError as error:
            yield _unread(AGENTS, run_dir.name, source, "unreadable", str(error))


def _agent_point(run: Run, source: str, seed: int) -> _Point:
    (summary,) = run.summaries
    trials = run.trials
    batches = sorted(filter(None, (_batch(text) for text in trials["batch_timestamp"])))
    led = run.study.record
    verdict = reason = None
    if led.baseline_config and led.comparison_config:
        sides = f"{led.comparison_config} against {led.baseline_config}"
        verdict = f"{sides}: {VERDICTS.get(led.verdict, led.verdict)}"
        reason = led.verdict_reason
    row = {
        "kind": AGENTS,
        "run": summary.run_id,
        "moment": batches[0] if batches else summary.generated_at,
        "moment_of": "first batch" if batches else "evaluation",
        "subject": ", ".join(sorted(trials["benchmark"].dropna().unique())),
        "system": ", ".join(run.configs),
        "n": summary.counts.trials_found,
        "n_computable": summary.counts.computable,
        "verdict": verdict,
        "reason": reason,
        "status": "read",
        "source": source,
        "is_simulated": run.n_simulated > 0,
    }
    means = tuple(_agent_means(trials, run.k_values, seed))
    return _Point(row, means, comparisons=tuple(_agent_comparisons(run)))


def _agent_comparisons(run: Run) -> Iterator[Row]:
    """Yield what the leading comparison of a run found about each metric."""
    study = run.study
    if not (study.baseline and study.comparison):
        return
    for name in METRICS:
        found = study_estimate(study, BY_NAME[name])
        numbers: list[float | None] = [None] * 3
        if found.estimate is not None and found.ends is not None:
            shifts = (found.estimate, *found.ends)
            numbers = [math.exp(end) if found.scale == "ratio" else end for end in shifts]
        estimate, low, high = numbers
        yield {
            "subject": ", ".join(sorted({trial.benchmark for trial in study.trials})),
            "baseline_config": study.baseline,
            "comparison_config": study.comparison,
            "metric": name,
            "scale": found.scale,
            "estimate": estimate,
            "low": low,
            "high": high,
            "error": found.error,
            "n": found.n,
            "reason": found.reason,
        }


def _batch(text: Any) -> str | None:
    try:
        return f"{datetime.strptime(str(text), _BATCH).isoformat()}Z"  # noqa: DTZ007 - is UTC
    except ValueError:
        return None


def _agent_means(trials: pd.DataFrame, k_values: Sequence[int], seed: int) -> Iterator[Row]:
    """Yield the mean over tasks of every suite, config and metric, repeats averaged first."""
    for (suite, config), own in trials.groupby(["benchmark", "config_name"], sort=True):
        for metric in METRICS:
            if metric not in own:
                continue
            numbers = own.assign(value=own[metric].astype("float64")).dropna(subset=["value"])
            by_task = numbers.groupby("task_name", sort=True)["value"].mean()
            asked = numbers[["task_name", "ground_truth_digest", "task_checksum"]]
            tasks = sorted({tuple(map(str, t)) for t in asked.itertuples(index=False, name=None)})
            ends = bootstrap_mean(by_task.to_list(), seed=seed) if len(by_task) else None
            low, high = (ends.low.value, ends.high.value) if ends else (None, None)
            if low is not None and high is not None and BY_NAME[metric].unit == "share":
                low, high = max(low, 0.0), min(high, 1.0)
            yield {
                "subject": suite,
                "series": config,
                "metric": metric,
                "mean": float(by_task.mean()) if len(by_task) else None,
                "ci_low": low,
                "ci_high": high,
                "n": len(by_task),
                "basis": _digest(tasks, k_values if "@" in metric else ()),
            }


def _as_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadInputError(f"{visible(text, 40)!r} is no day such as 2026-03-31") from None


def _search_points(history: SearchHistory) -> Iterator[_Point]:
    for file in history.unread:
        yield _unread(SEARCH, Path(file.source).stem, file.source, "unreadable", file.reason)
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
        "kind": SEARCH,
        "run": run.name,
        "moment": run.generated_at,
        "moment_of": "measurement",
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
            "series": SEARCH,
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
                "kind": SEARCH,
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


def _measure_demo(folder: Path, progress: Progress | None = None) -> None:
    """Write the built-in demonstration of agents and measure it, whatever else has its name."""
    write_demo(folder)
    evaluate(
        [DEMO],
        runs_root=folder / "runs",
        benchmarks_root=folder / "benchmarks",
        output_dir=folder,
        progress=progress,
    )


def build_history(
    data: str | Path = "",
    *,
    reports_dir: Path,
    runs_root: str | Path = "",
    output_dir: str | Path = "",
    subject: str = "",
    measure: str = "nDCG@10",
    metric: str = "file_recall",
    thresholds: str | Path = "",
    justification: str | Path = "",
    as_of: str = "",
    seed: int = DEFAULT_SEED,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Path:
    """Write the page about what was measured over time, and return its path.

    Parameters
    ----------
    data, runs_root, output_dir, subject, thresholds, justification, as_of, seed
        As for :func:`load_history`.
    measure, metric
        Of search and of agents: what is drawn over time.
    reports_dir
        The page goes to ``<reports_dir>/history/index.html``, of one subject to
        ``<reports_dir>/history/<subject>/index.html``.
    renderer, pdf, progress, keep
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        As :func:`load_history` does, or when no run has the measure or metric.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    if str(data) == DEMO:
        agents = reports_dir / DEMO / "data"
        _measure_demo(agents, progress)
        data = measured_history(reports_dir / DEMO_FOLDER / "data", progress=progress)
        runs_root, output_dir = agents / "runs", agents
    values: dict[str, Any] = {
        "data": str(data),
        "runs_root": str(runs_root),
        "output_dir": str(output_dir),
        "subject": subject,
        "thresholds": str(thresholds),
        "justification": str(justification),
        # Named in the parameters, so that they make the same page on any later day.
        "as_of": as_of or datetime.now(UTC).date().isoformat(),
        "seed": seed,
    }
    history = load_history(**values)
    history.of_metric(measure, SEARCH)
    history.of_metric(metric, AGENTS)
    values |= {"measure": measure, "metric": metric}
    kinds = history.runs.groupby("kind")["n"].sum()
    listed = Listed(
        reports_dir,
        newest(history.runs["moment"].dropna()),
        n_trials=int(kinds.get(AGENTS, 0)) or None,
        n_queries=int(kinds.get(SEARCH, 0)) or None,
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
