"""One or several evaluated runs as data frames, each built once and handed out as a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.report import frames
from retrieval_eval.report.choosing import choose
from retrieval_eval.report.columns import FRAMES, expand
from retrieval_eval.report.comparison import Comparison, read_comparison
from retrieval_eval.report.comparison_rows import comparison_rows
from retrieval_eval.report.documents import (
    IMPACT_FILE,
    SUMMARY_FILE,
    TrialFiles,
    config_names,
    k_values,
    read_artefact,
    read_trials,
)
from retrieval_eval.report.separate import relabelled_summary
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.truth_rows import ground_truth_rows

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
        For each folder, configs to rename, as :func:`retrieval_eval.report.separate.labels` gives
        them; the impact analysis has to use the new names.
    part
        Only these trials of the folders, as :meth:`filter` gives them.
    """

    frame_columns = _COLUMNS

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        baseline_config: str | None = None,
        mcp_config: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        impact: Mapping[str, Any] | None = None,
        new_names: Sequence[Mapping[str, str]] | None = None,
        part: Part | None = None,
    ) -> None:
        self.folders = tuple(folders)
        self.part = part
        self.summaries = (
            part.summaries
            if part is not None
            else tuple(
                relabelled_summary(read_artefact(folder, SUMMARY_FILE), names)
                for folder, names in zip(folders, new_names or [{}] * len(folders), strict=True)
            )
        )
        self.impact = read_artefact(folders[0], IMPACT_FILE) if impact is None else impact
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
    def run_ids(self) -> tuple[str, ...]:
        """The runs, in the order given."""
        return tuple(str(s.get("run_id") or "") for s in self.summaries)

    @cached_property
    def n_simulated(self) -> int:
        """How many trials are invented, as the results of those that a demo wrote say."""
        counts = [frames.members(summary.get("counts")) for summary in self.summaries]
        return sum(frames.coerce(c.get("simulated"), "integer") or 0 for c in counts)

    @cached_property
    def k_values(self) -> tuple[int, ...]:
        """The cut-offs of the @k metrics."""
        return k_values(self.trial_files)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every pair of configs that the impact analysis compares."""
        found = frames.records(self.impact.get("comparisons"))
        return tuple(read_comparison(document) for document in found)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The pair of configs that the report leads with, or None when there is no pair."""
        return choose(self.comparisons, self._all_configs, self._baseline, self._mcp)

    @cached_property
    def _all_configs(self) -> list[str]:
        excluded = [e for s in self.summaries for e in frames.records(s.get("excluded"))]
        return config_names(self.trial_files, excluded)

    @cached_property
    def configs(self) -> tuple[str, ...]:
        """Every config: the two compared ones first, the others by name."""
        first = [self.comparison.baseline, self.comparison.comparison] if self.comparison else []
        return tuple(first + [c for c in self._all_configs if c not in first])

    @frames.handed_out
    def trials(self) -> pd.DataFrame:
        """One row a trial: metrics, outcomes, flags."""
        declared = expand(_COLUMNS["trials"], self.k_values)
        rows = []
        for trial in self.trial_files:
            base = trial.identity()
            base["batch_timestamp"] = frames.coerce(trial.entry.get("batch_timestamp"), "text")
            provenance = frames.members(trial.metrics.get("provenance"))
            base["is_simulated"] = provenance.get("is_simulated") is True
            exception = frames.lookup(trial.metrics, "outcome/exception")
            base["has_exception"] = exception is not None
            base["status"] = frames.coerce(trial.entry.get("status"), "text")
            base["status_reason"] = frames.coerce(trial.entry.get("reason"), "text")
            rows.append(frames.read_row(trial.metrics, declared, base))
        return frames.make_frame(rows, declared)

    @frames.handed_out
    def ledger(self) -> pd.DataFrame:
        """One row a trial: what became of its tool calls."""
        rows = [
            frames.read_row(trial.metrics, _COLUMNS["ledger"], trial.identity())
            for trial in self.trial_files
        ]
        return frames.make_frame(rows, _COLUMNS["ledger"])

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
        events: list[frames.Row] = []
        truths: list[frames.Row] = []
        for trial in self.trial_files:
            document, identity = trial.events(), trial.identity()
            events += frames.event_rows(document, identity)
            truths += ground_truth_rows(document, identity)
        return (
            frames.make_frame(events, _COLUMNS["events"]),
            frames.make_frame(truths, _COLUMNS["ground_truth"]),
        )

    @frames.handed_out
    def excluded(self) -> pd.DataFrame:
        """One row a folder that was left out, with the reason."""
        names = [c.name for c in _COLUMNS["excluded"]]
        rows = [
            {name: frames.coerce(found.get(name), "text") for name in names}
            for summary in self.summaries
            for entry in frames.records(summary.get("excluded"))
            for found in [{**entry, "run_id": summary.get("run_id")}]
        ]
        return frames.make_frame(rows, _COLUMNS["excluded"])

    @frames.handed_out
    def pairs(self) -> pd.DataFrame:
        """One row a matched task and metric, for every pair of configs."""
        found = frames.records(self.impact.get("comparisons"))
        return frames.make_frame(frames.pair_rows(found), _COLUMNS["pairs"])

    @frames.handed_out
    def associations(self) -> pd.DataFrame:
        """One row an association of a retrieval metric with an outcome."""
        found = frames.records(self.impact.get("associations"))
        rows = [frames.read_row(a, _COLUMNS["associations"]) for a in found]
        return frames.make_frame(rows, _COLUMNS["associations"])

    @frames.handed_out
    def summary(self) -> pd.DataFrame:
        """One row a config and metric: mean, median, n and how many are not computable."""
        rows = [row for summary in self.summaries for row in frames.summary_rows(summary)]
        return frames.make_frame(rows, _COLUMNS["summary"])

    @frames.handed_out
    def statistics(self) -> pd.DataFrame:
        """One row a metric, for every pair of configs: paired statistics."""
        return self._of_comparisons("statistics")

    @frames.handed_out
    def gate(self) -> pd.DataFrame:
        """One row a rule of the validity gate, for every pair of configs."""
        return self._of_comparisons("gate")

    @frames.handed_out
    def pair_ledger(self) -> pd.DataFrame:
        """One row an arm and fate of its trials, for every pair of configs."""
        return self._of_comparisons("pair_ledger")

    @frames.handed_out
    def views(self) -> pd.DataFrame:
        """One row a view and metric, for every pair of configs."""
        return self._of_comparisons("views")

    @frames.handed_out
    def slices(self) -> pd.DataFrame:
        """One row a slice of the tasks, for every pair of configs."""
        return self._of_comparisons("slices")

    @frames.handed_out
    def first_hits(self) -> pd.DataFrame:
        """One row a config and unit: time to the first relevant file."""
        found = frames.records(self.impact.get("time_to_first_relevant"))
        rows = [frames.read_row(row, _COLUMNS["first_hits"]) for row in found]
        return frames.make_frame(rows, _COLUMNS["first_hits"])

    def _of_comparisons(self, name: str) -> pd.DataFrame:
        return frames.make_frame(comparison_rows(self.impact, name), _COLUMNS[name])

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :data:`retrieval_eval.report.columns.FRAMES`."""
        found: pd.DataFrame = getattr(self, name)
        return found

    def __repr__(self) -> str:
        trials = self.part.sentence if self.part else f"{len(self.trial_files)} trials"
        said = notice(self.n_simulated, len(self.trial_files), "trial", "agent")
        return f"<Run {', '.join(self.run_ids)}: {trials}>{f' {said}' if said else ''}"
