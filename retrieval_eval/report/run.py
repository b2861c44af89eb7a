"""One or several evaluated runs as data frames, each built once and handed out as a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.metrics.trial import DEFAULT_K
from retrieval_eval.model.impact import ComparisonDocument, ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.pipeline.evaluate import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.report import frames
from retrieval_eval.report.columns import FRAMES, expand
from retrieval_eval.report.comparison import arms, choose, ledgers, metrics_of, verdict_of
from retrieval_eval.report.documents import (
    TrialFiles,
    event_rows,
    ground_truth_rows,
    read_run_document,
    read_trials,
    renamed_summary,
)
from retrieval_eval.report.frames import Row, make_frame, read_row
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.trial import Trial, find_trial, page_folders

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.report.filtering import Part, Where

_COLUMNS: Final = {name: columns for name, (_, columns) in FRAMES.items()}


class Run(frames.Measured):
    """What was measured in one or several runs.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`. What is
    changed in one changes no section: frames are copies, and neither they nor the documents can be
    assigned. For a part of the trials there is :meth:`filter`.

    Parameters
    ----------
    folders
        The ``retrieval_events`` folders of the runs, already evaluated.
    baseline_config, mcp_config
        The two configs to compare; by default the pair that shares most tasks.
    parameters
        What the run was evaluated with, for the provenance section.
    impact
        The impact analysis over all runs; by default the one of the first folder.
    new_names
        For each folder, configs to rename, as ``separate_runs`` of :func:`load_run` asks for; the
        impact analysis has to use the new names.
    part
        Only these trials of the folders, as :meth:`filter` gives them.
    has_trial_pages
        Whether every trial has a page in ``trials/`` beside that of the run, to be linked.
    """

    frame_columns = _COLUMNS

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        baseline_config: str | None = None,
        mcp_config: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        impact: ImpactAnalysis | None = None,
        new_names: Sequence[Mapping[str, str]] | None = None,
        part: Part | None = None,
        has_trial_pages: bool = False,
    ) -> None:
        self.folders = tuple(folders)
        self.part = part
        self.has_trial_pages = has_trial_pages
        self.summaries: tuple[RunSummary, ...] = (
            part.summaries
            if part is not None
            else tuple(
                renamed_summary(read_run_document(folder, SUMMARY_FILE, RunSummary), names)
                for folder, names in zip(folders, new_names or [{}] * len(folders), strict=True)
            )
        )
        self.impact: ImpactAnalysis = (
            read_run_document(folders[0], IMPACT_FILE, ImpactAnalysis) if impact is None else impact
        )
        self.parameters = dict(parameters or {})
        self._baseline = baseline_config or None
        self._mcp = mcp_config or None

    def filter(self, where: Where) -> Run:
        """Return a run of the trials that pass a condition, everything computed anew from these.

        Summary, pairs, gate, verdict and every section are those that the trials alone would have
        given, by the code that evaluates runs. The page says that trials were left out. Nothing
        is written. Folders that were excluded are no trials and left out.

        Parameters
        ----------
        where
            A query over the columns of :attr:`trials` as in :meth:`pandas.DataFrame.query`, names
            that are no plain words in backticks; or a function from a copy of that frame to True
            or False for every trial; or these values: a series with the frame's index, or a list
            in its order. A trial for which the condition is not known does not pass.

        Raises
        ------
        BadInputError
            When the condition makes no sense, no trial passes it, no trial is left of a config
            that was chosen to be compared, or an artefact cannot be analysed.
        """
        from retrieval_eval.report.filtering import part_of

        part = part_of(self, where)
        found = Run(
            part.folders,
            baseline_config=self._baseline,
            mcp_config=self._mcp,
            parameters=self.parameters,
            impact=part.impact,
            part=part,
            has_trial_pages=self.has_trial_pages,
        )
        _ = found.comparison
        return found

    @cached_property
    def trials_by_run(self) -> tuple[tuple[TrialFiles, ...], ...]:
        """The trials that each run summary lists, or those of them that passed a filter."""
        if self.part is not None:
            return self.part.trials
        pairs = zip(self.folders, self.summaries, strict=True)
        return tuple(tuple(read_trials(folder, summary)) for folder, summary in pairs)

    @cached_property
    def trial_files(self) -> tuple[TrialFiles, ...]:
        """The trials of all runs, in the order of the rows of :attr:`trials`."""
        return tuple(trial for own in self.trials_by_run for trial in own)

    @cached_property
    def trial_folders(self) -> tuple[str, ...]:
        """The name of the folder of each trial's page, in the order of :attr:`trial_files`."""
        if self.part is not None:
            return self.part.page_folders
        return page_folders(self.trial_files)

    def trial(
        self,
        name: str = "",
        *,
        config: str = "",
        batch: str = "",
        privacy: bool = False,
        has_run_page: bool = False,
    ) -> Trial:
        """Return one trial: its steps, what it found, the lines it read, and its errors as frames.

        Parameters
        ----------
        name
            The name of a trial, of the folder of its page, or of a task; of several trials the
            first by config and name. Of a folder that was excluded: a trial that says why.
        config, batch
            Only trials of this config, and of this batch of the run; empty for any.
        privacy, has_run_page
            As for :class:`~retrieval_eval.report.trial.Trial`.

        Raises
        ------
        BadInputError
            When no trial fits; the closest names are listed.
        """
        return find_trial(
            self, name, config, batch, {"privacy": privacy, "has_run_page": has_run_page}
        )

    @cached_property
    def run_ids(self) -> tuple[str, ...]:
        """The runs, in the order given."""
        return tuple(summary.run_id for summary in self.summaries)

    @cached_property
    def n_simulated(self) -> int:
        """How many trials are invented, as the results of those that a demo wrote say."""
        return sum(summary.counts.simulated or 0 for summary in self.summaries)

    @cached_property
    def k_values(self) -> tuple[int, ...]:
        """The cut-offs of the @k metrics."""
        found = {
            k
            for trial in self.trial_files
            if trial.metrics is not None
            for k in trial.metrics.file_level_metrics.k_values
        }
        return tuple(sorted(found)) or DEFAULT_K

    @property
    def comparisons(self) -> tuple[ComparisonDocument, ...]:
        """Every pair of configs that the impact analysis compares."""
        return self.impact.comparisons

    @cached_property
    def comparison(self) -> ComparisonDocument | None:
        """The pair of configs that the report leads with, or None when there is no pair."""
        return choose(self.comparisons, self._all_configs, self._baseline, self._mcp)

    @cached_property
    def _all_configs(self) -> list[str]:
        names: set[str | None] = {trial.entry.config_name for trial in self.trial_files}
        names |= {e.config_name for summary in self.summaries for e in summary.excluded}
        return sorted(name for name in names if name)

    @cached_property
    def configs(self) -> tuple[str, ...]:
        """Every config: the two compared ones first, the others by name."""
        first = list(arms(self.comparison)) if self.comparison else []
        return tuple(first + [c for c in self._all_configs if c not in first])

    @frames.handed_out
    def trials(self) -> pd.DataFrame:
        """One row a trial: metrics, outcomes, flags."""
        declared = expand(_COLUMNS["trials"], self.k_values)
        rows = []
        for trial, page in zip(self.trial_files, self.trial_folders, strict=True):
            metrics = trial.metrics
            base = trial.identity | {
                "batch_timestamp": trial.entry.batch_timestamp,
                "page": f"trials/{quote(page)}/index.html" if self.has_trial_pages else None,
                "is_simulated": metrics is not None and metrics.provenance.is_simulated is True,
                "has_exception": metrics is not None
                and metrics.outcome.get("exception") is not None,
                "status": trial.entry.status,
                "status_reason": trial.entry.reason,
            }
            rows.append(read_row(metrics, declared, base))
        return make_frame(rows, declared)

    @frames.handed_out
    def ledger(self) -> pd.DataFrame:
        """One row a trial: what became of its tool calls."""
        columns = _COLUMNS["ledger"]
        found = [read_row(trial.metrics, columns, trial.identity) for trial in self.trial_files]
        return make_frame(found, columns)

    @frames.handed_out
    def events(self) -> pd.DataFrame:
        """One row a retrieval event."""
        return self._event_frames[0]

    @frames.handed_out
    def ground_truth(self) -> pd.DataFrame:
        """One row a trial and ground-truth file."""
        return self._event_frames[1]

    @cached_property
    def _event_frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        events: list[Row] = []
        truths: list[Row] = []
        for trial in self.trial_files:
            document = trial.events()
            events += event_rows(document, trial.identity)
            truths += ground_truth_rows(document, trial.identity)
        return (
            make_frame(events, _COLUMNS["events"]),
            make_frame(truths, _COLUMNS["ground_truth"]),
        )

    @frames.handed_out
    def excluded(self) -> pd.DataFrame:
        """One row a folder that was left out, with the reason."""
        columns = _COLUMNS["excluded"]
        rows = [
            read_row(folder, columns, {"run_id": summary.run_id})
            for summary in self.summaries
            for folder in summary.excluded
        ]
        return make_frame(rows, columns)

    @frames.handed_out
    def pairs(self) -> pd.DataFrame:
        """One row a matched task and metric, for every pair of configs."""
        return self._of_comparisons("pairs", _pair_rows)

    @frames.handed_out
    def associations(self) -> pd.DataFrame:
        """One row an association of a retrieval metric with an outcome."""
        columns = _COLUMNS["associations"]
        return make_frame([read_row(a, columns, {}) for a in self.impact.associations], columns)

    @frames.handed_out
    def summary(self) -> pd.DataFrame:
        """One row a config and metric: mean, median, n and how many are not computable."""
        columns = _COLUMNS["summary"]
        rows = [
            read_row(
                values,
                columns,
                {"run_id": summary.run_id, "config_name": config, "metric": metric},
            )
            for summary in self.summaries
            for config, aggregate in summary.configs.items()
            for metric, values in aggregate.metrics.items()
        ]
        return make_frame(rows, columns)

    @frames.handed_out
    def statistics(self) -> pd.DataFrame:
        """One row a metric, for every pair of configs: paired statistics."""
        return self._of_comparisons("statistics", _metric_rows)

    @frames.handed_out
    def gate(self) -> pd.DataFrame:
        """One row a rule of the validity gate, for every pair of configs."""
        return self._of_comparisons("gate", _gate_rows)

    @frames.handed_out
    def pair_ledger(self) -> pd.DataFrame:
        """One row an arm and status of its trials, for every pair of configs."""
        return self._of_comparisons("pair_ledger", _ledger_rows)

    @frames.handed_out
    def views(self) -> pd.DataFrame:
        """One row a view and metric, for every pair of configs."""
        return self._of_comparisons("views", _view_rows)

    @frames.handed_out
    def slices(self) -> pd.DataFrame:
        """One row a slice of the tasks, for every pair of configs."""
        return self._of_comparisons("slices", _slice_rows)

    @frames.handed_out
    def first_hits(self) -> pd.DataFrame:
        """One row a config and unit: time to the first relevant file."""
        columns = _COLUMNS["first_hits"]
        found = self.impact.time_to_first_relevant
        return make_frame([read_row(curve, columns, {}) for curve in found], columns)

    def _of_comparisons(
        self, name: str, rows_of: Callable[[ComparisonDocument, Row], Iterator[Row]]
    ) -> pd.DataFrame:
        rows: list[Row] = []
        for comparison in self.comparisons:
            rows += rows_of(
                comparison,
                {
                    "baseline_config": comparison.baseline_config,
                    "comparison_config": comparison.comparison_config,
                },
            )
        return make_frame(rows, _COLUMNS[name])

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :data:`retrieval_eval.report.columns.FRAMES`."""
        found: pd.DataFrame = getattr(self, name)
        return found

    def __repr__(self) -> str:
        trials = self.part.sentence if self.part else f"{len(self.trial_files)} trials"
        said = notice(self.n_simulated, len(self.trial_files), "trial", "agent")
        return f"<Run {', '.join(self.run_ids)}: {trials}>{f' {said}' if said else ''}"


def _pair_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    for pair in comparison.pairs:
        task = read_row(pair, _COLUMNS["pairs"], names)
        for metric, values in pair.metrics.items():
            sides = {s: getattr(values, s) for s in ("baseline", "comparison", "difference")}
            yield task | {"metric": metric} | sides


def _metric_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    for metric, result in comparison.metrics.items():
        base = names | {
            "metric": metric,
            "verdict": comparison.verdict,
            "is_verdict_metric": comparison.verdict_metric == metric,
        }
        yield read_row(result, _COLUMNS["statistics"], base)


def _view_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    flips = {(flip.metric, flip.view): str(flip.kind) for flip in comparison.flips}
    for name, view in comparison.views.items():
        for metric, result in metrics_of(view).items():
            base = names | {
                "view": name,
                "metric": metric,
                "verdict": verdict_of(view) or None,
                "flip": flips.get((metric, name)),
            }
            yield read_row(result, _COLUMNS["views"], base)


def _gate_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    for rule in comparison.gate.rules:
        trials = [f"{t.config_name} / {t.task_name} / {t.trial_name or '?'}" for t in rule.trials]
        base = names | {"rule": rule.name, "trials": trials}
        yield read_row(rule, _COLUMNS["gate"], base)


def _ledger_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    """Yield one row an arm and status; removed, unmatched and used add up to all."""
    for config, ledger in zip(arms(comparison), ledgers(comparison), strict=True):
        arm = names | {"arm": config}
        yield arm | {"status": "all", "n": ledger.trials}
        for status in ("removed", "unmatched"):
            for reason, n in getattr(ledger, status).items():
                yield arm | {"status": status, "reason": reason, "n": n}
        yield arm | {"status": "used", "n": ledger.used}
        for reason, n in ledger.outcomes_only.items():
            yield arm | {"status": "outcomes_only", "reason": reason, "n": n}


def _slice_rows(comparison: ComparisonDocument, names: Row) -> Iterator[Row]:
    for cell in comparison.slices:
        yield read_row(cell, _COLUMNS["slices"], names)
