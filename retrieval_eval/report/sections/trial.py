"""One trial, step by step: what it was to find, what it did, what it found."""

from __future__ import annotations

import difflib

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.metrics.catalog import BY_NAME, read_metric
from retrieval_eval.model import to_builtins
from retrieval_eval.report.documents import TrialFiles, event_rows, ground_truth_rows
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.figures import timeline
from retrieval_eval.report.names import HEADLINE_METRICS, OUTCOMES, metric_name, reason_sentence
from retrieval_eval.report.numbers import MISSING, count, finite, of, rate
from retrieval_eval.report.run import Run
from retrieval_eval.report.run_view import Record, RunView
from retrieval_eval.report.sections import closing
from retrieval_eval.report.simulated import notice
from retrieval_eval.values import counted

MAX_STEPS = 400
MAX_FILES = 6


class TrialReport:
    """The report of one trial.

    Parameters
    ----------
    run
        What was measured.
    trial
        A trial name, or a task name; of several fitting trials the first by config and name.
    config
        Only trials of this config; empty for any.
    privacy
        Leave out the arguments of tools, which hold prompts and commands.

    Raises
    ------
    BadInputError
        When no trial fits; the closest names are listed.
    """

    def __init__(
        self, run: Run, trial: str = "", *, config: str = "", privacy: bool = False
    ) -> None:
        self.view = RunView(run, privacy)
        self.trial = _find(self.view.trials, trial, config)
        files = next(f for f in run.trial_files if _is_of(f, self.trial))
        self._metrics_document = to_builtins(files.metrics) if files.metrics else {}
        document, identity = files.events(), files.identity
        self._events = event_rows(document, identity)
        self._truth = ground_truth_rows(document, identity)

    def header(self) -> Block:
        """Show which trial it is."""
        names = {
            "Run": "run_id",
            "Task": "task_name",
            "Suite": "benchmark",
            "Configuration": "config_name",
            "Trial": "trial_name",
            "Model": "model",
            "Harness": "harness",
            "Trace": "trace_format",
        }
        badges = [(label, str(self.trial[key])) for label, key in names.items() if self.trial[key]]
        said = notice(int(self.trial["is_simulated"] is True), 1, "trial", "agent")
        return Block("header", said, badges=tuple(badges))

    def answer(self) -> Block:
        """Show what was found, and every metric with its reason where there is none."""
        found, total = self.trial["n_overlap"], self.trial["n_ground_truth"]
        recall = finite(self.trial["file_recall"])
        if recall is None:
            finding = f"Not scored: {reason_sentence(self.trial['reason'])}"
        else:
            finding = f"Found {of(found, total)} ground-truth files"
        degraded = self.trial["degraded_reason"]
        return Block(
            "answer",
            finding,
            (f"Degraded: {degraded}.",) if degraded else (),
            (self._metrics(),),
            tone="none",
        )

    def _metrics(self) -> Table:
        names = [n for n in (*HEADLINE_METRICS, "ttfr_tokens", *OUTCOMES) if n in self.trial]
        lost: dict[str, list[str]] = {}
        for name in names:
            if finite(self.trial[name]) is None:
                why = reason_sentence(read_metric(self._metrics_document, BY_NAME[name]).reason)
                lost.setdefault(why, []).append(metric_name(name).label)
        return Table(
            "trial-metrics",
            "Metrics of this trial",
            ("Metric", "Value"),
            tuple((metric_name(n).titled, metric_name(n).value(self.trial[n])) for n in names),
            notes=tuple(f"{MISSING} {', '.join(labels)}: {why}." for why, labels in lost.items()),
        )

    def ground_truth(self) -> Block:
        """Show every ground-truth file and what became of it."""
        found = self._truth
        if not found:
            return section(
                "There is no ground truth for this task",
                Empty("truth", "No file-level ground truth was found, so nothing can be hit."),
            )
        body = tuple(
            (
                str(r["file"]),
                str(r["repository"] or MISSING),
                "yes" if r["is_retrieved"] else "no",
                "yes" if r["is_opened"] else "no",
                "yes" if r["is_written"] else "no",
                count(r["first_step"]),
            )
            for r in found
        )
        table = Table(
            "truth",
            "Ground-truth files of the task",
            ("File", "Repository", "Retrieved", "Content read", "Written", "First step"),
            body,
            ("left", "left", "left", "left", "left", "right"),
        )
        hit = sum(r["is_retrieved"] is True for r in found)
        return section(f"{of(hit, len(found))} retrieved", table)

    def timeline(self) -> Block:
        """Show the events as a strip."""
        steps = timeline.steps(self._events)
        config = str(self.trial["config_name"])
        track = timeline.Track(config, str(self.trial["trial_name"]), steps)
        shown = timeline.draw([track], str(self.trial["task_name"]), self.view.run.configs)
        where = "no hit" if track.first_hit is None else f"first hit at step {track.first_hit}"
        return section(f"{counted(len(steps), 'event')}, {where}", shown)

    def steps(self) -> Block:
        """Show every event with its files; arguments are left out of private reports."""
        if not self._events:
            return section("No event", Empty("steps", "The trial holds no retrieval event."))
        header = ["Step", "Tool", "Category", "At (s)", "Tokens", "Hit", "Files"]
        if not self.view.privacy:
            header.append("Arguments")
        body = tuple(self._step(event) for event in self._events[:MAX_STEPS])
        hidden = len(self._events) - len(body)
        table = Table(
            "steps",
            "Events in order",
            tuple(header),
            body,
            ("right", "left", "left", "right", "right", "left", "left", "left")[: len(header)],
            (f"{counted(hidden, 'further event')} in events.csv of the run report.",)
            if hidden > 0
            else (),
        )
        hits = sum(e["hits_ground_truth"] is True for e in self._events)
        return section(f"{of(hits, len(self._events))} events touch a ground-truth file", table)

    def _step(self, event: Record) -> tuple[str, ...]:
        files = list(event["target_files"] or [])
        more = f" and {len(files) - MAX_FILES} more" if len(files) > MAX_FILES else ""
        tool = str(event["tool_name"])
        by = [str(event["via"])] if event["via"] else []
        notes = [n for n in ("is_error", "is_opaque", "is_subagent") if event[n] is True]
        flags = "".join(f" ({n.removeprefix('is_')})" for n in by + notes)
        row = [
            str(event["step_index"]),
            visible(tool, 60) + flags,
            str(event["tool_category"]).replace("_", " "),
            rate(event["elapsed_seconds"], 1),
            count(event["cumulative_tokens"]),
            "yes" if event["hits_ground_truth"] is True else "no",
            (", ".join(visible(f, 90) for f in files[:MAX_FILES]) + more) or MISSING,
        ]
        if not self.view.privacy:
            row.append(visible(event["arguments"] or MISSING, 160))
        return tuple(row)

    def provenance(self) -> Block:
        """Show what the report was made from."""
        return closing.provenance(self.view.run, privacy=self.view.privacy)


def _find(trials: list[Record], name: str, config: str) -> Record:
    fitting = [t for t in trials if not config or t["config_name"] == config]
    found = [t for t in fitting if t["trial_name"] == name] or [
        t for t in fitting if name in ("", t["task_name"])
    ]
    if found:
        return min(found, key=lambda t: (str(t["config_name"]), str(t["trial_name"])))
    known = sorted({str(t[k]) for t in fitting for k in ("trial_name", "task_name")})
    close = difflib.get_close_matches(name, known, n=5, cutoff=0.0)
    where = f" under the config '{config}'" if config else ""
    listed = ", ".join(close) or ", ".join(sorted({str(t["config_name"]) for t in trials}))
    raise BadInputError(f"no trial or task named '{name}'{where}; the closest are {listed}")


def _is_of(files: TrialFiles, trial: Record) -> bool:
    """Return whether files are those of a trial; batches may use a name again."""
    known = files.identity | {"batch_timestamp": files.entry.batch_timestamp}
    return all(trial[name] == value for name, value in known.items())
