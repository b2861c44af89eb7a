"""How the frames of this package are shown by default.

A frame notes which one it is, and rows of it keep the note (see
:func:`retrieval_eval.agents.study.frames.named`). The finding of a frame is computed from the rows
that are shown, so that it follows a filter. A frame that was made for one table carries what that
says (:func:`shown_as`); where any of its rows was edited, left out or moved since
(:func:`~retrieval_eval.agents.study.frames.is_as_made`), its finding and notes are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.agents.events.evidence import CAUSES
from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.frames import as_made, is_as_made
from retrieval_eval.report import words
from retrieval_eval.report.headings import NAMED, Format, inside
from retrieval_eval.report.names import reason_sentence

if TYPE_CHECKING:
    import pandas as pd

Said = Callable[["pd.DataFrame"], str]


@dataclass(frozen=True, slots=True)
class Defaults:
    """How a frame is shown by default.

    Attributes
    ----------
    key
        What links on a page call its table.
    caption
        What is shown.
    columns
        The columns shown, and their heads; empty for the declared one. No column: all of them.
    finding
        What the rows show, in a sentence without a full stop.
    empty
        Why the frame has no row, where it had none to begin with.
    formats
        How columns are printed; by default as they are declared.
    links
        For a column, the one that holds where a cell leads.
    top
        Rows shown.
    notes
        Sentences below the table.
    is_expected
        Whether a page leaves the table out without a word where it has no row.
    """

    key: str
    caption: str | Said
    columns: Mapping[str, str] = field(default_factory=dict)
    finding: str | Said = ""
    empty: str = ""
    formats: Mapping[str, Format] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    top: int | None = None
    notes: Sequence[str] | Callable[[pd.DataFrame], Sequence[str]] = ()
    is_expected: bool = False

    def of_no_row(self) -> str:
        """Return the finding of a frame that has no row; by default the sentence that says why."""
        return self.finding if isinstance(self.finding, str) else ""


def shown_as(frame: pd.DataFrame, known: Defaults) -> pd.DataFrame:
    """Return rows of a frame that carry how they are shown.

    Of differences that are withheld no row is left, and their table says what it says of no row.
    """
    shown = frame.iloc[:0] if "withheld" in frame.attrs else frame.copy()
    shown.attrs = {"shown_as": known, "was_empty": not len(shown)}
    shown.attrs.update(as_made(shown))
    return shown


def defaults_of(frame: pd.DataFrame) -> Defaults | None:
    """Return how a frame is shown; None for one that is not ours or lacks some of the columns."""
    known = KNOWN.get(str(frame.attrs.get("frame", "")))
    if "shown_as" in frame.attrs:
        known = frame.attrs["shown_as"]
        known = known if is_as_made(frame) else replace(known, finding="", notes=())
    return known if known is not None and {*known.columns} <= {*frame.columns} else None


def _columns(text: str) -> dict[str, str]:
    """Return columns and heads from a text such as ``count: Trials found, meaning``."""
    pairs = (part.strip().partition(": ") for part in text.split(","))
    return {name: head for name, _, head in pairs}


def _day(moment: Any) -> str:
    """Return the day of a moment in UTC, such as ``2026-01-31``."""
    return str(moment)[:10]


def _amount(value: Any) -> str:
    return words.amount(float(value))


def _every_pair(frame: pd.DataFrame) -> str:
    metrics = {inside(BY_NAME[m].label) if m in BY_NAME else str(m) for m in frame["metric"]}
    left_out = frame.attrs.get("left_out") if is_as_made(frame) else None
    which = "Pairs of configurations" if left_out else "Every pair of configurations"
    return (
        f"{which}; differences in {', '.join(sorted(metrics))}, comparison minus baseline"
        f"{f'. {left_out}' if left_out else ''}"
    )


_PAGES: Final = {"trial_name": "page"}
_AMOUNTS: Final = ("median", "median_low", "median_high")

KNOWN: Final[Mapping[str, Defaults]] = {
    "study.gate": Defaults(
        "gate",
        "Validity rules; a rule that failed withholds the verdict",
        _columns(
            "title: Rule, meaning, count: Trials found, n_removed: Removed, "
            "share_removed: Largest share removed, outcome"
        ),
        empty="No rule applies without a second configuration.",
    ),
    "study.threats": Defaults(
        "threats",
        "What could overturn the result, each with its number and what it does to the verdict",
        _columns(
            "title: Threat, arm: Configuration, value: Number, unit: Of what, "
            "effect: On the verdict, sentence: What it says"
        ),
        words.threats,
        "Nothing that was looked for threatens the result.",
        {
            "effect": lambda effect: words.ON_VERDICT.get(effect, str(effect)),
            "sentence": lambda said: words.sentence(str(said)),
        },
    ),
    "study.design": Defaults(
        "design",
        "What the study was meant to be; what was not stated is inferred from the trials",
        _columns("label: Part, value: Meant, source"),
        words.designed,
        "Without a second configuration there is no design.",
    ),
    "study.found": Defaults(
        "gate-trials",
        "Trials that a rule found",
        _columns("title: Rule, config_name, task_name, trial_name"),
        empty="No rule found a trial.",
        links=_PAGES,
        top=20,
    ),
    "study.every_pair": Defaults(
        "every-pair",
        _every_pair,
        _columns(
            "baseline_config, comparison_config, verdict, n_pairs, estimate, ci_low, "
            "ci_high, p_value, p_over_pairs, failed: Rules failed"
        ),
        words.every_pair,
        "There is one configuration only.",
        {
            "verdict": lambda verdict: words.VERDICTS.get(verdict, str(verdict)),
            **dict.fromkeys(("ci_low", "ci_high"), NAMED["bound"]),
        },
    ),
    "study.discrimination": Defaults(
        "discrimination",
        "Whether a metric can tell the configurations apart, over both sides of all pairs",
        _columns("title: Metric, label: Finding, detail"),
        words.discrimination,
        "No metric is compared.",
    ),
    "study.first_hits": Defaults(
        "first-hits",
        "Time by which half of all tasks had a relevant file; one without it never had",
        _columns(
            "config_name, unit, n: Tasks, n_never, median, median_low: 95 % from, "
            "median_high: 95 % to"
        ),
        empty="No trial has ground truth and a trace.",
        formats=dict.fromkeys(_AMOUNTS, _amount),
    ),
    "study.calibration": Defaults(
        "calibration",
        "Mean reward of tasks by expected files opened; tasks count as independent of each other",
        _columns(
            "config_name, dimension: Split by, level: Part, opened: Opened, n: Tasks, mean_reward, "
            "ci_low, ci_high"
        ),
    ),
    "study.difference_associations": Defaults(
        "difference-associations",
        "Rank correlation of paired differences over matched tasks",
        _columns(
            "label: Differences in, n, spearman_r, ci_low, ci_high, p_value, q_value, "
            "reason: Why not"
        ),
        words.difference_associations,
        formats={
            "reason": reason_sentence,
            **dict.fromkeys(("ci_low", "ci_high"), NAMED["bound"]),
        },
    ),
    "run.trials": Defaults("trials", "Trials", links=_PAGES),
    "run.excluded": Defaults(
        "excluded",
        "Folders that hold no trial, with the reason",
        _columns("path, config_name, reason, detail"),
        empty="No folder was left out.",
        formats={"reason": reason_sentence},
        top=40,
    ),
    "run.exposure": Defaults(
        "exposure",
        "Mean file recall with and without trials that were shown the reference change",
        _columns(
            "config_name, n_trials: Trials, n_exposed: Shown the answer, file_recall: All, "
            "without: Without these"
        ),
        words.exposed,
        "No trial has a file recall.",
    ),
    "run.evidence": Defaults(
        "evidence",
        "Trials whose trace leaves ground-truth files open, with the cause; widest first",
        _columns(
            "trial_name, config_name, recall_width: Recall open by, cause, n_files: Files, "
            "n_calls: Calls"
        ),
        words.left_open,
        "No trace leaves a ground-truth file open.",
        {"cause": lambda cause: CAUSES.get(cause, str(cause))},
        links=_PAGES,
        top=15,
    ),
    "run.files_read": Defaults(
        "files-read",
        "What the sessions read; certain content, certain names and what is only possible apart",
        _columns(
            "file, opened_in: Opened in, how_much: How much, n_reads: Reads, n_found: Found only, "
            "n_attached: Attached, n_named: Name only, n_possible: Possible, by: By"
        ),
        words.files_read,
        top=30,
        notes=words.reading_notes,
        is_expected=True,
    ),
    "run.tools_read": Defaults(
        "tools-read",
        "Tokens of results by kind of tool, estimated at 4 characters a token",
        _columns("kind: Kind of tool, n_calls: Calls, n_errors: Failed, result_tokens: Tokens"),
        is_expected=True,
    ),
    "run.agents_read": Defaults(
        "agents-read",
        "Agents of the sessions; tokens are those of the messages up to their calls",
        _columns(
            "session: Session, agent: Agent, n_calls: Calls, n_files_opened: Files opened, "
            "tokens: Tokens, result_tokens: Of results"
        ),
        top=30,
        is_expected=True,
    ),
    "run.missed": Defaults(
        "missed",
        "Ground-truth files by the number of trials that missed them",
        _columns("file, repository, task_name, n_missed, n_trials, missed_by"),
        words.most_missed,
        top=15,
    ),
    "trial.pages": Defaults(
        "pages",
        "Other pages of this report",
        _columns("page, trial_name: Of, config_name"),
        links={"trial_name": "href"},
    ),
    "trial.ground_truth": Defaults(
        "expected",
        "What the agent did with each file that the task names",
        _columns(
            "file, status, first_step: Found at step, opened_step: Opened, written_step: Written, "
            "share: Of its expected lines, repository"
        ),
        words.file_statuses,
    ),
    "trial.calls": Defaults(
        "steps",
        "Calls in order; what the commands of a shell call did is in its row",
        _columns(
            "step_index: Step, tool, input: What it asked, came_back: What came back, hits: "
            "Expected files, elapsed_seconds: At (s)"
        ),
        words.hitting_calls,
        formats={"elapsed_seconds": NAMED["seconds"]},
        top=400,
    ),
    "trial.steps": Defaults(
        "steps",
        "Tool calls in order; commands inside a shell call follow it",
        _columns(
            "step_index: Step, tool, input, came_back, hits: Ground truth, "
            "elapsed_seconds: At (s), cumulative_tokens: Tokens"
        ),
        words.hitting_steps,
        formats={"elapsed_seconds": NAMED["seconds"]},
        top=400,
    ),
    "trial.redacted": Defaults(
        "redacted",
        "What a private page leaves out",
        _columns("kind: What, n: How many"),
        words.left_out_items,
    ),
    "history.guard": Defaults(
        "guard",
        "Every search run that has an earlier one, and what the guard says of the change",
        _columns(
            "moment: When, run, verdict: Guard, worst: Fell most, worst_points: Points, "
            "became: What became of it, against: Compared with, recorded: Committed verdict, "
            "headline: In one line"
        ),
        words.regressions,
        formats={
            "verdict": lambda verdict: str(verdict).replace("_", " "),
            "recorded": lambda verdict: str(verdict).replace("_", " "),
            "worst_points": NAMED["signed"],
            "moment": _day,
        },
    ),
    "history.noise": Defaults(
        "noise",
        "Noise files, and how often the thresholds of today would alarm without a change",
        _columns(
            "moment: Measured, quarter, source: File, n_runs: Runs, "
            "worst_sd_points: Run-to-run SD, worst_metric: Of, ratio: To the one before, "
            "ratio_low: 95 % from, ratio_high: 95 % to, alarm_share: Alarms, "
            "alarm_low: 95 % from, alarm_high: 95 % to"
        ),
        formats={
            **dict.fromkeys(("alarm_share", "alarm_low", "alarm_high"), NAMED["percent"]),
            "moment": _day,
        },
    ),
    "history.quarters": Defaults(
        "quarters",
        "Quarters, and whether the thresholds were re-validated in them",
        _columns("quarter, state, n_runs: Search runs, sentence: In words"),
        formats={"state": lambda state: str(state).replace("_", " ")},
    ),
    "history.gold": Defaults(
        "gold",
        "The gold set whenever it changed",
        _columns(
            "moment: First measured, gold_set, n_queries, n_labelled_pairs: Judgements, "
            "n_reviewed: Reviewed, n_unlabelled: Without a relevant document, fingerprint: Digest"
        ),
        formats={"fingerprint": lambda digest: str(digest)[:12], "moment": _day},
    ),
    "history.labels": Defaults(
        "gold-sets",
        "Gold sets, each when it was first measured",
        _columns(
            "moment: First measured, gold_set, n_queries, n_labelled_pairs: Judgements, "
            "n_unlabelled: Queries without a relevant document, fingerprint: Digest"
        ),
    ),
    "history.metrics": Defaults(
        "means",
        "Means, each with what it rests on",
        _columns(
            "moment: When, run, subject: Suite, series: Configuration, metric, mean, ci_low, "
            "ci_high, n, line"
        ),
        top=200,
    ),
    "history.runs": Defaults(
        "runs",
        "Every run, also those that could not be read",
        _columns(
            "moment: When, kind: Of, run, subject: Suites or corpora, system, "
            "n: Trials or queries, n_computable: With numbers, status, source: From"
        ),
    ),
}
"""Frames by the object they belong to and their name."""
