"""One trial of a run as data frames: what it was to find, what it did, what it found."""

from __future__ import annotations

import difflib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.agents.events.document import trial_events
from retrieval_eval.agents.metrics.chunks import expected_lines, line_count
from retrieval_eval.agents.runs.fingerprint import combined
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import slug, visible
from retrieval_eval.report.columns import (
    FRAMES,
    TRIAL_FRAMES,
    Measured,
    Row,
    handed_out,
    make_frame,
    read_row,
)
from retrieval_eval.report.documents import (
    TrialFiles,
    event_rows,
    ground_truth_rows,
    named_file,
)
from retrieval_eval.report.exhibits import Block
from retrieval_eval.report.names import (
    MISSING,
    finite,
    metric_name,
    of,
    plain_rows,
    reason_sentence,
)
from retrieval_eval.report.simulated import notice
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.agents.events import TrialEvents
    from retrieval_eval.model.events import EventDocument, EventRow, TargetRow
    from retrieval_eval.model.summary import ExcludedFolder, TrialEntry
    from retrieval_eval.report.run import Run

MAX_INPUT: Final = 300
"""Characters of the arguments of a call that are shown; the events hold more."""

MAX_ASKED: Final = 160
MAX_BACK: Final = 140
"""Characters of what a call asked and gave, in the table of calls."""

MAX_FILES: Final = 4
"""Files of a call, or of an error label, that are named in one cell."""

_COLUMNS: Final = {name: columns for name, (_, columns) in TRIAL_FRAMES.items()} | {
    "events": FRAMES["events"][1]
}

_DONE: Final = {"opened": "read", "matched": "matched", "listed": "listed", "written": "wrote"}
"""Kind of access to its words, the most telling first."""

_REDACTED: Final = {
    "Commands": ("command", "cmd", "script", "code"),
    "Queries and patterns": ("query", "pattern", "globPattern", "regex", "symbol", "url"),
    "Prompts and descriptions": ("prompt", "description", "thought", "message"),
    "File content": (
        "content",
        "file_text",
        "insert_text",
        "new_str",
        "new_string",
        "old_str",
        "old_string",
        "streamContent",
    ),
}
"""What a private page leaves out, with the arguments that hold it."""

_LEAD: Final = (
    *("command", "cmd", "script"),
    *("query", "pattern", "globPattern", "regex", "symbol", "url"),
)
_PLACE: Final = ("path", "file_path", "target_file", "targetDirectory", "notebook_path")
_LINES: Final = (("startLine", "endLine"), ("start_line", "end_line"))


class Trial(Measured):
    """What one trial of a run did, as frames; it shows itself as the header of its page.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, holds only
    what the documents of the trial hold, and is a copy. An excluded folder has no documents, so
    that its frames are empty.

    Parameters
    ----------
    run
        What was measured.
    place
        Which of ``run.trial_files`` it is; None for an excluded folder.
    excluded
        The excluded folder.
    privacy
        Leave out the arguments of tools, which hold prompts, commands, queries and file content.
    has_run_page
        Whether the page of the run lies two folders above that of the trial, to be linked.
    """

    owner = "trial"
    frame_columns = _COLUMNS

    def __init__(
        self,
        run: Run,
        place: int | None,
        *,
        excluded: ExcludedFolder | None = None,
        privacy: bool = False,
        has_run_page: bool = False,
    ) -> None:
        self.run = run
        self.privacy = privacy or run.privacy
        self.has_run_page = has_run_page
        self.excluded = excluded
        self.place = place

    @cached_property
    def files(self) -> TrialFiles | None:
        """Where its documents lie, or None for an excluded folder."""
        return None if self.place is None else self.run.trial_files[self.place]

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """The row of the trial in ``run.trials``, missing values being None."""
        import pandas as pd

        if self.place is None:
            return {}
        row = self.run.trials.iloc[[self.place]].astype("object")
        (plain,) = row.where(row.notna(), None).to_dict("records")
        facts = {str(k): None if v is pd.NA else v for k, v in plain.items()}
        return without_content(facts) if self.privacy else facts

    @cached_property
    def _document(self) -> EventDocument | None:
        return None if self.files is None else self.files.events()

    @cached_property
    def _trial(self) -> TrialEvents | None:
        return None if self._document is None else trial_events(self._document)

    @cached_property
    def _rows(self) -> tuple[EventRow, ...]:
        return self._document.events if self._document else ()

    @cached_property
    def _truth(self) -> list[Row]:
        return ground_truth_rows(self._document, {})

    @cached_property
    def name(self) -> str:
        """The name of the trial, or of the excluded folder."""
        if self.excluded is not None:
            return self.excluded.path
        entry = self.run.trial_files[self.place or 0].entry
        return entry.trial_name or entry.task_name

    @cached_property
    def is_simulated(self) -> bool:
        """Whether the trial is invented."""
        metrics = self.files.metrics if self.files else None
        return metrics is not None and metrics.provenance.is_simulated is True

    @handed_out
    def events(self) -> pd.DataFrame:
        """One row a retrieval event, as in ``run.events``."""
        rows = event_rows(self._document, self.files.identity if self.files else {})
        if self.privacy:
            rows = [row | {"arguments": None} for row in rows]
        return make_frame(rows, _COLUMNS["events"])

    @handed_out
    def steps(self) -> pd.DataFrame:
        """One row a tool call, or command inside a shell call, in words."""
        found: dict[int, list[str]] = defaultdict(list)
        for row in self._truth:
            if row["first_step"] is not None:
                found[row["first_step"]].append(named_file(row["file"], row["repository"]))
        calls: dict[int, int] = {}
        n_commands: Counter[int | None] = Counter(
            e.call_index for e in self._rows if e.via is not None
        )
        rows = []
        for event in self._rows:
            is_part = event.via is not None and event.call_index is not None
            if event.call_index is not None and not is_part:
                calls[event.call_index] = event.step_index
            came_back, n_lines = _came_back(event, 0 if is_part else n_commands[event.call_index])
            words = None if self.privacy else in_words(event.arguments)
            files, new = list(event.target_files), found.get(event.step_index, [])
            base: Row = {
                "tool": _tool(event),
                "input": visible(words, MAX_INPUT) if words else None,
                "part_of": calls.get(event.call_index or 0) if is_part else None,
                "status": _status(event),
                "came_back": f"{came_back}: {_first(files)}" if files else came_back,
                "n_files": len(files),
                "n_lines": n_lines,
                "files": files,
                "hits": _hits(event, new),
                "found": new,
            }
            if is_part and base["part_of"] is not None:
                base["input"] = f"in the call of step {base['part_of']}"
            rows.append(read_row(event, _COLUMNS["steps"], base))
        return make_frame(rows, _COLUMNS["steps"])

    @handed_out
    def calls(self) -> pd.DataFrame:
        """One row a call: what the commands inside a shell call did is in the row of the call."""
        inside: dict[int, list[Row]] = defaultdict(list)
        rows = plain_rows(self.steps)
        for row in rows:
            if row["part_of"] is not None:
                inside[row["part_of"]].append(row)
        found = []
        for row in rows:
            if row["part_of"] is not None:
                continue
            own = inside.get(row["step_index"], [])
            programs = ", ".join(dict.fromkeys(str(part["tool_name"]) for part in own))
            new = dict.fromkeys(file for part in (row, *own) for file in part["found"])
            back = dict.fromkeys(str(part["came_back"]) for part in own) or [row["came_back"]]
            is_hit = any(part["hits_ground_truth"] for part in (row, *own))
            found.append(
                row
                | {
                    "tool": f"{row['tool_name']}: {programs}" if own else str(row["tool_name"]),
                    "input": row["input"] and visible(row["input"], MAX_ASKED),
                    "came_back": visible("; ".join(map(str, back)), MAX_BACK),
                    "hits": ", ".join(new) or ("again" if is_hit else None),
                }
            )
        return make_frame(found, _COLUMNS["calls"])

    @handed_out
    def ground_truth(self) -> pd.DataFrame:
        """One row a ground-truth file, what became of it, and how much of it was delivered."""
        shares = {
            (entry.file.path, entry.file.repository): entry.n_found / entry.n_expected
            for entry in (expected_lines(self._trial) if self._trial else ())
            if entry.n_found is not None
        }
        rows = [
            row
            | {
                "status": self._file_status(row),
                "share": shares.get((row["file"], row["repository"])),
            }
            for row in self._truth
        ]
        return make_frame(rows, _COLUMNS["ground_truth"])

    @handed_out
    def pages(self) -> pd.DataFrame:
        """One row another page of the report that is there to be opened."""
        found = self.linked_pages(self.has_run_page, bool(self.run.trial_pages_at))
        return make_frame(list(found), _COLUMNS["pages"])

    def linked_pages(self, run_page: bool, trial_pages: bool) -> Iterator[Row]:
        """Yield the other pages to link, where that of the run and those of trials are there."""
        if run_page:
            runs = ", ".join(self.run.run_ids)
            yield {"page": "Report of the run", "trial_name": runs, "href": "../../index.html"}
        place = self.place
        if place is None or not trial_pages:
            return
        entries = [t.entry for t in self.run.trial_files]
        own = entries[place]
        around = [("Previous trial", place - 1), ("Next trial", place + 1)]
        same = [
            i
            for i, e in enumerate(entries)
            if i != place and (e.benchmark, e.task_name) == (own.benchmark, own.task_name)
        ]
        for page, i in [("Same task", i) for i in same] + around:
            if 0 <= i < len(entries):
                yield {
                    "page": page,
                    "trial_name": entries[i].trial_name or entries[i].task_name,
                    "config_name": entries[i].config_name,
                    "href": f"../{quote(self.run.trial_folders[i], safe='@+')}/index.html",
                }

    @handed_out
    def redacted(self) -> pd.DataFrame:
        """One row a kind of content that was left out; none unless the page is private."""
        if not self.privacy:
            return make_frame([], _COLUMNS["redacted"])
        counts: Counter[str] = Counter()
        kinds = {name: kind for kind, names in _REDACTED.items() for name in names}
        for event in self._rows:
            counts.update({kinds.get(name, "Other arguments of tools") for name in event.arguments})
        folders = ("runs_root", "benchmarks_root", "output_dir")
        counts["Names of folders"] = sum(bool(self.run.parameters.get(f)) for f in folders)
        order = (*_REDACTED, "Other arguments of tools", "Names of folders")
        rows = [{"kind": kind, "n": counts[kind]} for kind in order if counts[kind]]
        return make_frame(rows, _COLUMNS["redacted"])

    def _file_status(self, row: Row) -> str:
        if row["is_written"]:
            return "edited"
        if row["is_opened"]:
            return "read"
        if row["is_retrieved"]:
            return "seen"
        if not self.facts["computable"]:
            return "not known"
        if self._is_cut:
            return "not in the trace"
        return "possible" if row["is_possible"] else "missed"

    @property
    def _is_cut(self) -> bool:
        """Whether the trace is incomplete, so that more may have been found."""
        return "trace" in (self.facts.get("degraded_sources") or ())

    def block(self) -> Block:
        """Return the header of the page."""
        facts = self.facts
        names = {
            "Run": facts.get("run_id") or ", ".join(self.run.run_ids),
            "Suite": facts.get("benchmark"),
            "Task": facts.get("task_name"),
            "Configuration": facts.get("config_name")
            or (self.excluded.config_name if self.excluded else None),
            "Trial": self.name,
            "Status": "excluded" if self.excluded else "",
            "Reward": self._printed("reward"),
            "Cost (USD)": self._printed("cost_usd"),
            "Time (s)": self._printed("elapsed_seconds"),
            "Model": facts.get("model"),
            "Harness": " ".join(filter(None, (facts.get("harness"), facts.get("harness_version")))),
            "Ground truth": self._source(),
        }
        said = notice(int(self.is_simulated), 1, "trial", "agent")
        return Block(
            "header",
            said,
            tuple(self._cautions()),
            badges=tuple((label, str(value)) for label, value in names.items() if value),
        )

    def _printed(self, metric: str) -> str | None:
        value = finite(self.facts.get(metric))
        return None if self.excluded else metric_name(metric).value(value)

    def _source(self) -> str | None:
        if self.excluded:
            return None
        source, confidence = (
            self.facts.get(f"ground_truth_{name}") for name in ("source", "confidence")
        )
        if not source:
            return "none"
        return f"{source} ({confidence} confidence)" if confidence else str(source)

    def _cautions(self) -> Iterator[str]:
        if self.excluded is not None:
            detail = f" ({self.excluded.detail})" if self.excluded.detail else ""
            yield (
                "This folder was excluded from the evaluation: "
                f"{reason_sentence(self.excluded.reason)}{detail}."
            )
            return
        if degraded := self.facts.get("degraded_reason") or self.facts.get("status_reason"):
            yield f"Degraded: {str(degraded).rstrip('.')}."
        if exception := self.facts.get("exception"):
            yield f"The trial ended with an exception: {visible(exception, 200)}."
        elif self.facts.get("has_exception"):
            yield "The trial ended with an exception."

    def provenance(self) -> Block:
        """Return what the page was made from: versions, parameters, and a digest of the inputs."""
        from retrieval_eval.report import provenance

        metrics = self.files.metrics if self.files else None
        return provenance.made_from(
            "The same input gives the same page",
            self.run,
            [metrics.schema_version if metrics else None],
            [metrics.generated_at if metrics else None],
            {"Input fingerprint": (metrics.input_fingerprint if metrics else None) or MISSING},
            self.run.parameters,
            is_private=self.privacy,
        )

    @property
    def answer(self) -> Block:
        """What it found, when it reached the first file, and how precise it was."""
        files, facts = self._truth, self.facts
        hits = sum(bool(row["is_retrieved"]) for row in files)
        possible = sum(bool(row["is_possible"]) and not row["is_retrieved"] for row in files)
        missed = len(files) - hits - possible
        if self.excluded is not None or finite(facts.get("file_recall")) is None or not files:
            return Block("answer", self.found, badges=(("Verdict", "not scored"),))
        text = self.found.replace("Found", "It found").replace("ground-truth", "expected")
        text += f", missed {missed}" if missed else ""
        if possible:
            text += f"; {possible} more {'is' if possible == 1 else 'are'} possible"
        tone = "better" if hits == len(files) else "worse" if not hits else ""
        badges = (("Verdict", f"{hits} / {len(files)}"),)
        return Block("answer", text, tuple(self._soon()), badges=badges, tone=tone)

    def _soon(self) -> Iterator[str]:
        facts = self.facts
        step, n = facts.get("ttfr_step"), counted(len(self._rows), "event")
        if step is not None:
            after = [
                f"{metric_name(name).value(value)}{unit}"
                for name, unit in (("ttfr_seconds", " s"), ("ttfr_tokens", " tokens"))
                if (value := finite(facts.get(name))) is not None
            ]
            late = f", after {' and '.join(after)}" if after else ""
            yield f"The first one at step {step} of {n}{late}."
        else:
            yield f"It reached none of them in {n}."
        if (share := finite(facts.get("context_efficiency"))) is not None:
            part = of(facts["n_overlap"], facts["n_retrieved"])
            yield f"Of the files that it retrieved {part} were expected ({100 * share:.0f} %)."
        flags = facts.get("quality_flags") or ()
        if flags:
            yield f"Of the trace: {visible(', '.join(map(str, flags)), 300)}."

    @property
    def found(self) -> str:
        """How many ground-truth files it found, or why that is not known."""
        if self.excluded is not None:
            return "The folder was excluded, so nothing is known of it"
        if finite(self.facts["file_recall"]) is None:
            return f"Not scored: {reason_sentence(self.facts['reason'])}"
        found = of(self.facts["n_overlap"], self.facts["n_ground_truth"])
        at_least = "at least " if self._is_cut and self.facts["file_recall"] < 1 else ""
        return f"Found {at_least}{found} ground-truth files"

    def remarks(self, name: str) -> Mapping[str, Any]:
        """Return why a frame has no row."""
        if self.excluded is not None:
            return {"empty": "Excluded folders are not evaluated."}
        return {
            "empty": {
                "calls": "The trial holds no retrieval event.",
                "steps": "The trial holds no retrieval event.",
                "ground_truth": "No file-level ground truth was found, so nothing can be hit.",
                "redacted": "Nothing was left out of this page.",
            }.get(name, "")
        }

    def __repr__(self) -> str:
        return f"<Trial {visible(self.name, 120)}: {counted(len(self._rows), 'event')}>"


QUOTING: Final = ("status_reason", "degraded_reason")
"""Columns of trials with sentences that may quote what an unreadable trace holds."""


def without_content(row: Row) -> Row:
    """Return the row of a trial whose reasons leave out what was found in place of a trace."""
    return row | {name: row[name] and row[name].partition(" (found ")[0] for name in QUOTING}


def find_trial(run: Run, name: str, config: str, batch: str, options: Mapping[str, Any]) -> Trial:
    """Return a trial of a run by its name; see :meth:`Run.trial`."""
    trials = [(i, t.entry) for i, t in enumerate(run.trial_files)]
    excluded = [e for summary in run.summaries for e in summary.excluded]
    fitting = [
        (i, e)
        for i, e in trials
        if config in ("", e.config_name) and batch in ("", e.batch_timestamp)
    ]
    found = (
        [i for i, _ in fitting if run.trial_folders[i] == name]
        or [i for i, e in fitting if e.trial_name == name and name]
        or [i for i, e in fitting if name in ("", e.task_name)]
        or [i for i, e in fitting if name in _with_config(e)]
    )
    if found:
        return Trial(
            run,
            min(found, key=lambda i: (trials[i][1].config_name, str(trials[i][1].trial_name))),
            **options,
        )
    left_out = [e for e in excluded if name in (e.path, e.path.rpartition("/")[2]) and name]
    if left_out:
        return Trial(run, None, excluded=left_out[0], **options)
    known = {str(n) for _, e in fitting for n in (e.trial_name, e.task_name)}
    known |= {e.path for e in excluded}
    close = difflib.get_close_matches(name, sorted(known), n=5, cutoff=0.0)
    where = f" under the config '{config}'" if config else ""
    listed = ", ".join(close) or ", ".join(sorted({e.config_name for _, e in trials}))
    raise BadInputError(f"no trial or task named '{name}'{where}; the closest are {listed}")


def _with_config(entry: TrialEntry) -> tuple[str, str]:
    return f"{entry.trial_name}@{entry.config_name}", f"{entry.task_name}@{entry.config_name}"


def page_folders(trials: Sequence[TrialFiles]) -> tuple[str, ...]:
    """Return the folder name of every trial's page, each another one on any file system.

    It is ``<trial>@<config>`` as a safe name; where several trials have one, a digest follows.
    """
    names = [
        slug(f"{t.entry.trial_name or t.entry.task_name}@{t.entry.config_name}") for t in trials
    ]
    taken = Counter(name.casefold() for name in names)
    found: list[str] = []
    for name, trial in zip(names, trials, strict=True):
        if taken[name.casefold()] > 1:
            digest = combined([trial.run_id, trial.entry.events_file, str(trial.entry)])
            name = f"{slug(name[:90])}-{digest[:12]}"
        found.append(name)
    return tuple(found)


def in_words(arguments: Mapping[str, Any]) -> str | None:
    """Return the arguments of a tool as text: what was run or looked for, where, then the rest.

    Examples
    --------
    >>> in_words({"path": "a.py", "startLine": 1, "endLine": 50, "repo": "acme/widgets"})
    'a.py · lines 1–50 · repo: acme/widgets'
    >>> in_words({"pattern": "def main", "path": "/src", "output_mode": "content"})
    'def main · in /src · output_mode: content'
    """
    left = {k: v for k, v in arguments.items() if v not in (None, "", False, [], {})}
    parts = [_as_text(left.pop(name)) for name in _LEAD if name in left]
    for name in _PLACE:
        if name in left:
            place = _as_text(left.pop(name))
            parts.append(f"in {place}" if parts else place)
    parts += _line_words(left)
    for name, value in left.items():
        if name.endswith("_length") and name.removesuffix("_length") in arguments:
            continue
        length = arguments.get(f"{name}_length")
        cut = f" (cut; {length:,} characters in all)" if isinstance(length, int) else ""
        parts.append(f"{name}: {_as_text(value)}{cut}")
    return " · ".join(parts) or None


def _line_words(left: dict[str, Any]) -> list[str]:
    """Take the arguments that name lines out of ``left`` and return them in words."""
    for first, last in _LINES:
        if type(left.get(first)) is int and type(left.get(last)) is int:
            return [f"lines {left.pop(first)}–{left.pop(last)}"]
    view = left.get("view_range")
    if isinstance(view, list) and len(view) == 2:
        del left["view_range"]
        return [f"lines {view[0]}–{view[1]}"]
    if type(left.get("offset")) is int and type(left.get("limit")) is int:
        start, n = left.pop("offset"), left.pop("limit")
        return [f"{n:,} lines from line {start:,}"]
    return []


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _tool(event: EventRow) -> str:
    kind = event.tool_category.replace("_", " ")
    shell = ", in the shell" if event.via else ""
    agent = ", by a sub-agent" if event.is_subagent else ""
    return f"{visible(event.tool_name, 60)} ({kind}{shell}{agent})"


def _hits(event: EventRow, new: Sequence[str]) -> str | None:
    if new:
        return f"first: {_first(new)}"
    return "again" if event.hits_ground_truth else None


def _status(event: EventRow) -> str:
    if event.is_error is None and event.is_opaque is None:
        return "not recorded"
    if event.is_error:
        return "failed"
    return "unresolved" if event.is_opaque else "served"


def _came_back(event: EventRow, n_commands: int) -> tuple[str, int | None]:
    """Return what a call gave in words, and how many lines it showed where that is stated."""
    groups: dict[str, list[TargetRow]] = {
        access: [t for t in event.targets if t.access == access] for access in _DONE
    }
    parts = [
        f"{said} {counted(len(found), 'file')}{_extent(found)}"
        for access, said in _DONE.items()
        if (found := groups[access])
    ]
    if not event.targets and event.target_files:
        parts.append(counted(len(event.target_files), "file"))
    if n_commands:
        parts.append(f"ran {counted(n_commands, 'command')}")
    if event.is_error:
        parts.insert(0, "failed")
    elif event.is_opaque:
        parts.append("some files not known" if parts else "files not known")
    shown = [*groups["opened"], *groups["matched"]]
    n = [_n_lines(t) for t in shown]
    known = [lines for lines in n if lines is not None]
    total = sum(known) if known and len(known) == len(n) else None
    return ", ".join(parts) or "no file", total


def _extent(targets: Sequence[TargetRow]) -> str:
    known = [n for t in targets if (n := _n_lines(t)) is not None]
    if len(known) == len(targets):
        return f" ({counted(sum(known), 'line')})"
    return " (whole)" if all(t.is_whole and t.lines is None for t in targets) else ""


def _n_lines(target: TargetRow) -> int | None:
    if target.lines is None or target.access == "listed":
        return None
    return line_count(target.lines)


def _first(files: Sequence[str]) -> str | None:
    more = f" and {len(files) - MAX_FILES:,} more" if len(files) > MAX_FILES else ""
    return ", ".join(visible(f, 120) for f in files[:MAX_FILES]) + more or None
