"""One or several evaluated runs as data frames, each built once and handed out as a copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec import structs

from retrieval_eval.agents.metrics import DEFAULT_K
from retrieval_eval.agents.runs.layout import IMPACT_FILE, SUMMARY_FILE
from retrieval_eval.agents.runs.trial import collecting_rarely
from retrieval_eval.agents.study.associations import association_label
from retrieval_eval.agents.study.compare import Comparison, compare
from retrieval_eval.agents.study.frames import (
    gate_rows,
    pair_rows,
    view_rows,
)
from retrieval_eval.agents.study.stated import Stated, kept_design
from retrieval_eval.escape import encodable, visible
from retrieval_eval.io.remote import Place
from retrieval_eval.model.impact import ComparisonDocument, ImpactAnalysis
from retrieval_eval.model.summary import RunSummary
from retrieval_eval.report import style
from retrieval_eval.report.columns import (
    FRAMES,
    Measured,
    Row,
    expand,
    handed_out,
    make_frame,
    read_row,
)
from retrieval_eval.report.documents import (
    TrialFiles,
    event_rows,
    ground_truth_rows,
    read_run_document,
    read_trials,
    renamed_summary,
)
from retrieval_eval.report.exhibits import Block, Empty, Link, Switch, anchor, note, strip
from retrieval_eval.report.names import LABELS, of, plain_rows, reason_sentence
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.trial import Trial, find_trial, page_folders, without_content
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.agents.runs.what_was_read import WhatWasRead
    from retrieval_eval.records import TrialRef
    from retrieval_eval.report.filtering import Part, Where

_COLUMNS: Final = {name: columns for name, (_, columns) in FRAMES.items()}


class Run(Measured):
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
    privacy
        Leave out the arguments of tools, which hold prompts, commands and file content, and the
        names of folders.
    trial_pages_at
        The folder of the pages of its trials, relative to that of the run; empty where there are
        none.
    details_at
        The page of details, relative to that of the run; empty where there is none.
    traces
        Where the traces of its trials are, which are read again where no trial has ground truth.
    """

    filtered_by = "trials"
    owner = "run"
    frame_columns = _COLUMNS

    def __init__(
        self,
        folders: Sequence[Path | Place],
        *,
        baseline_config: str | None = None,
        mcp_config: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        impact: ImpactAnalysis | None = None,
        new_names: Sequence[Mapping[str, str]] | None = None,
        part: Part | None = None,
        privacy: bool = False,
        trial_pages_at: str = "",
        details_at: str = "",
        traces: Sequence[TrialRef] = (),
    ) -> None:
        self.folders = tuple(folders)
        self.privacy = privacy
        self.part = part
        self.trial_pages_at = trial_pages_at
        self.details_at = details_at
        self.traces = tuple(traces)
        self._new_names = new_names or [{}] * len(self.folders)
        self.summaries: tuple[RunSummary, ...] = (
            part.summaries
            if part is not None
            else tuple(
                renamed_summary(read_run_document(folder, SUMMARY_FILE, RunSummary), names)
                for folder, names in zip(folders, self._new_names, strict=True)
            )
        )
        self.impact: ImpactAnalysis = (
            read_run_document(folders[0], IMPACT_FILE, ImpactAnalysis) if impact is None else impact
        )
        self.parameters = dict(parameters or {})
        self._baseline = encodable(baseline_config) or None
        self._mcp = encodable(mcp_config) or None

    def shown(self, privacy: bool, trial_pages_at: str, details_at: str) -> Run:
        """Return the same run as another page shows it."""
        found = copy(self)
        own = vars(found)
        # What may hold content of a trace, and the comparison that is made of frames.
        without = ("study", "_event_frames") if privacy != self.privacy else ()
        for name in ("_frames", *without):
            own.pop(name, None)
        own |= {"privacy": privacy, "trial_pages_at": trial_pages_at, "details_at": details_at}
        return found

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
            privacy=self.privacy,
            trial_pages_at=self.trial_pages_at,
            details_at=self.details_at,
        )
        _ = found.study
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
        """The name of the folder of each trial's page, in the order of :attr:`trial_files`.

        Configurations that were renamed have the names there that the runs give them.
        """
        if self.part is not None:
            return self.part.page_folders
        found = []
        for own, names in zip(self.trials_by_run, self._new_names, strict=True):
            former = {new: old for old, new in names.items()}
            found += [trial.with_config(former.get(trial.entry.config_name)) for trial in own]
        return page_folders(found)

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
            The name of a trial or of a task, also with ``@`` and its config, or of the folder of
            its page; of several trials the first by config and name. Of a folder that was
            excluded: a trial that says why.
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
    def study(self) -> Comparison:
        """The comparison that the report leads with, computed from :attr:`trials`.

        It is of the configurations that were chosen, else of the pair that shares most tasks.

        Raises
        ------
        BadInputError
            When there is no configuration of a chosen name; the message names the closest.
        """
        return compare(
            self.trials,
            self._baseline or "",
            self._mcp or "",
            seed=self.impact.parameters.get("seed", DEFAULT_SEED),
            design=self.design,
        )

    @property
    def other_pairs(self) -> Switch | Block:
        """The answer of other pairs of configurations, one below the other: those of most tasks."""
        from retrieval_eval.report import displays
        from retrieval_eval.report.registered import plot, table

        led = set(self.study.arms)
        others = [
            replace(self.study, baseline=one, comparison=two, record=record)
            for record in self.comparisons
            if {one := record.baseline_config, two := record.comparison_config} != led
        ]
        shown = sorted((s for s in others if not s.why_not), key=lambda s: -len(s.record.pairs))
        if not shown or displays.is_small(self.study):
            nothing = Empty("other-pairs", "No other pair can be compared.", is_expected=True)
            return Block("section", exhibits=(nothing,))
        panes = []
        for n, study in enumerate(shown[:MOST_OTHER_PAIRS], start=1):
            exhibits = (
                plot.pairs(study, key=f"pairs-other-{n}"),
                table.headline(study, key=f"headline-other-{n}"),
            )
            first, second = (visible(name, 48) for name in study.arms)
            label, found = displays.label_of(study), study.headline()
            found = found if found.lower().startswith(label) else f"{label}. {found}"
            said = f"○ {first}, ■ {second}: {found}"
            panes.append((said, tuple(exhibit.block() for exhibit in exhibits)))
        return Switch(tuple(panes))

    @property
    def comparison(self) -> ComparisonDocument | None:
        """The record of :attr:`study`; None where there is no second configuration."""
        return self.study.record if self.trial_files and self.study.comparison else None

    @cached_property
    def _all_configs(self) -> list[str]:
        names: set[str | None] = {trial.identity["config_name"] for trial in self.trial_files}
        names |= {e.config_name for summary in self.summaries for e in summary.excluded}
        return sorted({encodable(name) for name in names if name})

    @cached_property
    def configs(self) -> tuple[str, ...]:
        """Every config: the two compared ones first, the others by name."""
        sides = (self.study.baseline, self.study.comparison) if len(self.trial_files) else ()
        first = [name for name in sides if name]
        return tuple(first + [c for c in self._all_configs if c not in first])

    @handed_out
    def trials(self) -> pd.DataFrame:
        """One row a trial: metrics, outcomes, flags."""
        declared = expand(_COLUMNS["trials"], self.k_values)
        rows = []
        for trial, page in zip(self.trial_files, self.trial_folders, strict=True):
            metrics = trial.metrics
            base = trial.identity | {
                "batch_timestamp": trial.entry.batch_timestamp,
                "page": f"{self.trial_pages_at}/{quote(page, safe='@+')}/index.html"
                if self.trial_pages_at
                else None,
                "is_simulated": metrics is not None and metrics.provenance.is_simulated is True,
                "has_exception": metrics is not None
                and metrics.outcome.get("exception") is not None,
                "status": trial.entry.status,
                "status_reason": trial.entry.reason,
            }
            row = read_row(metrics, declared, base)
            if self.privacy:
                row = without_content(row)
            rows.append(row | {"state": state(row)})
        return make_frame(rows, declared)

    @handed_out
    def ledger(self) -> pd.DataFrame:
        """One row a trial: what became of its tool calls."""
        columns = _COLUMNS["ledger"]
        found = [read_row(trial.metrics, columns, trial.identity) for trial in self.trial_files]
        return make_frame(found, columns)

    @handed_out
    def events(self) -> pd.DataFrame:
        """One row a retrieval event."""
        return self._event_frames[0]

    @handed_out
    def ground_truth(self) -> pd.DataFrame:
        """One row a trial and ground-truth file."""
        return self._event_frames[1]

    @cached_property
    def _event_frames(self) -> tuple[pd.DataFrame, pd.DataFrame, list[list[Row]]]:
        """The frames that event documents give, and the ground truth of each trial as rows."""
        events: list[Row] = []
        truths: list[list[Row]] = []
        with collecting_rarely():
            for trial in self.trial_files:
                document = trial.events()
                rows = event_rows(document, trial.identity)
                events += [row | {"arguments": None} for row in rows] if self.privacy else rows
                truths.append(ground_truth_rows(document, trial.identity))
            return (
                make_frame(events, _COLUMNS["events"]),
                make_frame([row for own in truths for row in own], _COLUMNS["ground_truth"]),
                truths,
            )

    @handed_out
    def errors(self) -> pd.DataFrame:
        """One row a scored trial and error mode, with the denominator of its rate."""
        rows = [
            trial.identity
            | {"mode": mode, "label": label, "of": whole}
            | {part: getattr(rate, part) for part in ("count", "denominator")}
            for trial in self.trial_files
            if trial.metrics is not None
            for mode, (label, whole) in LABELS.items()
            if (rate := trial.metrics.error_taxonomy.rates.get(mode)) is not None
        ]
        return make_frame(rows, _COLUMNS["errors"])

    @handed_out
    def failures(self) -> pd.DataFrame:
        """One row a trial without its reward, and how far it came with the files to edit.

        Only where every reward is 0 or 1. A trial is left out where no file to edit is known, or
        what it found of them is only possible.
        """
        rewards = {
            tuple(trial.identity.values()): (trial.metrics.outcome or {}).get("reward")
            for trial in self.trial_files
            if trial.metrics is not None
        }
        known = {value for value in rewards.values() if value is not None}
        files: dict[tuple[Any, ...], list[Row]] = {}
        if known <= {0, 1}:
            for row in plain_rows(self.ground_truth):
                key = tuple(row[name] for name in IDENTITY)
                if row["is_expected_edit"] and rewards.get(key) == 0:
                    files.setdefault(key, []).append(row)
        rows = [
            dict(zip(IDENTITY, key, strict=True)) | {"cause": cause}
            for key, own in files.items()
            if (cause := cause_of(own))
        ]
        return make_frame(rows, _COLUMNS["failures"])

    @handed_out
    def found_by(self) -> pd.DataFrame:
        """One row a trial and kind of tool: the files it returned, and which brought the first.

        Of trials with ground truth: in others no file is expected.
        """
        rows: dict[tuple[Any, ...], Row] = {}
        hit: set[tuple[Any, ...]] = set()
        known = {
            tuple(trial.identity.values())
            for trial in self.trial_files
            if trial.metrics is not None and trial.metrics.coverage.has_ground_truth
        }
        for event in plain_rows(self.events):
            key = tuple(event[name] for name in IDENTITY)
            if event["tool_category"] == "file_write" or key not in known:
                continue
            kind = str(event["tool_category"]).replace("_", " ")
            kind += " (MCP)" if event["is_mcp"] else ""
            start = dict(zip(IDENTITY, key, strict=True)) | {"kind": kind, "is_first": False}
            row = rows.setdefault((*key, kind), start | {"n_files": 0, "n_expected": 0})
            row["n_files"] += len(event["target_files"])
            row["n_expected"] += len(event["matched_ground_truth_files"])
            if event["hits_ground_truth"] and key not in hit:
                hit.add(key)
                row["is_first"] = True
        return make_frame(list(rows.values()), _COLUMNS["found_by"])

    @handed_out
    def exposure(self) -> pd.DataFrame:
        """One row a configuration: its mean file recall with and without exposed answers."""
        scored = self.trials[self.trials["file_recall"].notna()]
        rows: list[Row] = []
        for config, own in scored.groupby("config_name", sort=False):
            others = own[own["answer_exposed_at"].isna()]
            rows.append(
                {
                    "config_name": config,
                    "n_trials": len(own),
                    "n_exposed": len(own) - len(others),
                    "file_recall": own["file_recall"].mean(),
                    "without": others["file_recall"].mean() if len(others) else None,
                }
            )
        return make_frame(rows, _COLUMNS["exposure"])

    @handed_out
    def evidence(self) -> pd.DataFrame:
        """One row a trial and cause for which files of its ground truth are only possible."""
        rows: list[Row] = []
        for trial in self.trial_files:
            covered = trial.metrics.coverage if trial.metrics is not None else None
            for cause, n_files in sorted(covered.possible_files.items()) if covered else ():
                rows.append(
                    trial.identity
                    | {
                        "cause": cause,
                        "n_files": n_files,
                        "n_calls": covered.possible_calls.get(cause, 0) if covered else 0,
                        "recall_width": covered.recall_width if covered else None,
                    }
                )
        return make_frame(rows, _COLUMNS["evidence"])

    @cached_property
    def reading(self) -> WhatWasRead:
        """What the sessions of a run read of which no trial has ground truth; else nothing."""
        from retrieval_eval.agents.runs.what_was_read import reading_of

        return reading_of(() if len(self.ground_truth) else self.traces)

    @handed_out
    def files_read(self) -> pd.DataFrame:
        """One row a file that sessions without ground truth read."""
        columns = _COLUMNS["files_read"]
        n = len(self.reading.sessions)
        rows = []
        for row in self.reading.files:
            own: Row = {"opened_in": of(row.n_opened, n), "how_much": row.how_much}
            own |= {"by": [f"{name} {times}" for name, times in row.by.items()]}
            rows.append(structs.asdict(row) | own | {"agents": list(row.agents)})
        return make_frame(rows, columns)

    @handed_out
    def tools_read(self) -> pd.DataFrame:
        """One row a kind of tool of sessions without ground truth."""
        return make_frame(list(map(structs.asdict, self.reading.tools)), _COLUMNS["tools_read"])

    @handed_out
    def agents_read(self) -> pd.DataFrame:
        """One row an agent of a session without ground truth."""
        return make_frame(list(map(structs.asdict, self.reading.agents)), _COLUMNS["agents_read"])

    @handed_out
    def missed(self) -> pd.DataFrame:
        """One row a task and ground-truth file: scored trials, and those that missed it."""
        rows: dict[tuple[Any, ...], Row] = {}
        for trial, truths in zip(self.trial_files, self._event_frames[2], strict=True):
            if trial.metrics is None or trial.metrics.file_level_metrics.file_recall is None:
                continue
            config = str(trial.identity["config_name"])
            for found in truths:
                names = {n: found[n] for n in ("benchmark", "task_name", "repository", "file")}
                start: Row = names | {"n_trials": 0, "n_missed": 0, "missed_by": []}
                row = rows.setdefault(tuple(names.values()), start)
                row["n_trials"] += 1
                if not found["is_retrieved"] and not found["is_possible"]:
                    row["n_missed"] += 1
                    row["missed_by"] = sorted({*row["missed_by"], config})
        ordered = sorted(
            rows.values(), key=lambda row: (-row["n_missed"], row["task_name"] or "", row["file"])
        )
        return make_frame(ordered, _COLUMNS["missed"])

    @property
    def design(self) -> Stated:
        """What was stated of the design; parts of the trials may lack what it names."""
        return kept_design(self.impact)

    @property
    def mcp_configs(self) -> tuple[str, ...] | None:
        """The configurations that were stated to use MCP, or None where nothing was stated."""
        found = self.impact.parameters.get("mcp_configs")
        return None if found is None else tuple(found)

    def linked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a copy of a frame of trials with the column ``page``, as :attr:`trials` has it.

        ``config_name`` and ``trial_name`` identify a row; a page is missing where there is
        none, or where batches of a run gave one name to several trials.
        """
        trials = self.trials
        names = list(zip(trials["config_name"], trials["trial_name"], strict=True))
        pages = dict(zip(names, trials["page"], strict=True))
        own = zip(frame["config_name"], frame["trial_name"], strict=True)
        once = Counter(names)
        found: list[Any] = [pages[name] if once[name] == 1 else None for name in own]
        return frame.assign(page=found)

    @handed_out
    def excluded(self) -> pd.DataFrame:
        """One row a folder that was left out, with the reason."""
        columns = _COLUMNS["excluded"]
        rows = [
            read_row(folder, columns, {"run_id": summary.run_id})
            for summary in self.summaries
            for folder in summary.excluded
        ]
        return make_frame(rows, columns)

    @handed_out
    def pairs(self) -> pd.DataFrame:
        """One row a matched task and metric, for every pair of configs."""
        return self._of_comparisons("pairs", pair_rows)

    @handed_out
    def associations(self) -> pd.DataFrame:
        """One row an association of a retrieval metric with an outcome."""
        columns = _COLUMNS["associations"]
        found = self.impact.associations
        return make_frame(
            [read_row(a, columns, {"label": association_label(a)}) for a in found], columns
        )

    @handed_out
    def gate(self) -> pd.DataFrame:
        """One row a rule of the validity gate, for every pair of configs."""
        return self._of_comparisons("gate", gate_rows)

    @handed_out
    def views(self) -> pd.DataFrame:
        """One row a view and metric, for every pair of configs."""
        return self._of_comparisons("views", view_rows)

    @handed_out
    def first_hits(self) -> pd.DataFrame:
        """One row a config and unit: time to the first relevant file."""
        columns = _COLUMNS["first_hits"]
        found = self.impact.time_to_first_relevant
        return make_frame([read_row(curve, columns, {}) for curve in found], columns)

    def _of_comparisons(
        self, name: str, rows_of: Callable[[ComparisonDocument], Iterator[Row]]
    ) -> pd.DataFrame:
        rows = [row for comparison in self.comparisons for row in rows_of(comparison)]
        return make_frame(rows, _COLUMNS[name])

    def definitions(self) -> Block:
        """Return what every metric means, and which direction is better."""
        from retrieval_eval.report.provenance import definitions

        return definitions({name for c in self.comparisons for name in c.metrics})

    def provenance(self) -> Block:
        """Return versions, parameters, seed and the digest of what was read."""
        from retrieval_eval.report.provenance import provenance

        return provenance(self)

    @property
    def left_out(self) -> Block:
        """The trials and folders that are in no number, and what was stated and is not used."""
        rows = [
            (f"{row['task_name']} ({row['config_name']})", row["state"].partition(": ")[2])
            for row in plain_rows(self.trials)
            if row["file_recall"] is None
        ]
        rows += [
            (row["path"] or "a row", _why_left_out(row["reason"], row["detail"]))
            for row in plain_rows(self.excluded)
        ]
        unused = [one for summary in self.summaries for one in summary.notes]
        if not rows and not unused:
            nothing = Empty("left-out", "No trial and no folder was left out.", is_expected=True)
            return Block("section", exhibits=(nothing,))
        said = f"Left out: {counted(len(rows), 'trial or folder', 'trials and folders')}"
        alike = Counter(why for _, why in rows)
        many = {why: n for why, n in alike.items() if n > MOST_LEFT_OUT}
        rows = [(f"{n} of them", why) for why, n in many.items()] + [
            row for row in rows if row[1] not in many
        ]
        points = tuple((visible(name, 90), visible(why, 160)) for name, why in rows[:MOST_LEFT_OUT])
        more = len(rows) - len(points)
        said += f", {more} of them in trials.csv and excluded.csv" if more else ""
        points += tuple(("stated", visible(one, 250)) for one in unused[:MOST_LEFT_OUT])
        if (more := len(unused) - MOST_LEFT_OUT) > 0:
            said += f". Of what was stated and is not used, {more} are named by evaluate alone"
        return Block("section", "", (f"{said}.",), points=points)

    @property
    def details(self) -> Block:
        """Where the numbers are defended: the page of details, or the command that makes it."""
        parts = {
            "Can the configurations be compared?": "every rule of the gate and what it removed",
            "What could overturn it?": "every threat with its number",
            "Every metric": "differences, tests, views, power",
            "What the traces leave open": "bounds, opaque calls, evidence",
            "Provenance": "definitions, versions, parameters, digests",
        }
        if not self.details_at:
            runs = " ".join(self.run_ids)
            return note(
                f"What defends these numbers ({'; '.join(parts.values())}) is on a page of its "
                f"own: retrieval-eval report {visible(runs, 120)} --details"
            )
        points = tuple(
            (Link(title, f"{self.details_at}#{anchor(title)}"), text)
            for title, text in parts.items()
        )
        return Block("section", "", points=points)

    def block(self) -> Block:
        """Return what the run is about."""
        trials = self.trials
        tasks = len(set(zip(trials["benchmark"], trials["task_name"], strict=True)))
        suites = sorted(set(trials["benchmark"].dropna()) - {""})
        models = {str(name).removeprefix("@") for name in trials["model"].dropna()} - {""}
        configs = self.configs
        marked = [
            f"{mark} {visible(name, 48)}" for mark, name in zip(style.GLYPHS, configs, strict=False)
        ]
        more = len(configs) - len(marked)
        amount = f"{counted(len(trials), 'trial')} of {counted(tasks, 'task')}"
        facts = {
            "Runs" if len(self.run_ids) > 1 else "Run": _listed(self.run_ids),
            "Filtered": self.part.sentence if self.part else "",
            "Configurations": " ".join(marked) + (f" and {more} more" if more > 0 else ""),
            "Trials": f"{amount} in {counted(len(suites), 'suite')}",
            "Model": _listed(sorted(models)),
            "Harness": _listed(sorted(set(trials["harness"].dropna()) - {""})),
        }
        said = notice(self.n_simulated, len(self.trial_files), "trial", "agent")
        return strip(said, facts)

    def __repr__(self) -> str:
        trials = self.part.sentence if self.part else f"{len(self.trial_files)} trials"
        said = notice(self.n_simulated, len(self.trial_files), "trial", "agent")
        return f"<Run {', '.join(self.run_ids)}: {trials}>{f' {said}' if said else ''}"


MOST_LEFT_OUT: Final = 12
MOST_OTHER_PAIRS: Final = 2


def _why_left_out(reason: str, detail: str | None) -> str:
    """Return why something was left out; of a folder in a tree the detail is only its place."""
    return detail if detail and " " in detail else reason_sentence(reason)


def _listed(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(visible(name, 48) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


IDENTITY: Final = ("run_id", "config_name", "benchmark", "task_name", "trial_name")


def cause_of(files: Sequence[Row]) -> str | None:
    """Return how far a trial came with its files to edit; None where that is only possible."""
    written = sum(bool(row["is_written"]) for row in files)
    if written:
        return "all edited" if written == len(files) else "some edited"
    if any(row["is_opened"] for row in files):
        return "opened"
    if any(row["is_retrieved"] for row in files):
        return "name only"
    return None if any(row["is_possible"] for row in files) else "not found"


def state(trial: Row) -> str:
    """Return whether a trial could be scored, or why not; of a degraded one the gravest fault."""
    if trial["file_recall"] is None:
        reason = trial["reason"] or trial["ground_truth_reason"] or trial["status_reason"]
        reason = reason or ("evidence_incomplete" if trial["recall_width"] else None)
        return f"not scored: {reason_sentence(reason)}"
    if trial["status"] != "degraded":
        return "scored"
    broken = trial["degraded_sources"] or ["trace"]
    if "trace" in broken:
        return "scored, from an incomplete trace"
    kind = "ground truth" if "ground_truth" in broken else "outcome"
    return f"scored, a file of its {kind} unreadable"
