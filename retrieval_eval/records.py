"""The frozen records that pass between stages, from a trace to its events.

Each stage takes some of these and returns others; none of them knows how it is read or
written. Times are Unix seconds (UTC), line numbers are 1-based and inclusive.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

Access = Literal["opened", "matched", "listed", "written"]
"""How a file was touched: its content read, a search hit in it, its name listed, or written."""

Mismatch = Literal[
    "gold_set", "convention", "empty_ranking", "depth", "without_own", "corpus", "queries"
]
"""What two search runs may differ in where that is named (``--accept``)."""

BaselineMismatch = Literal[
    "gold_set", "convention", "empty_ranking", "depth", "without_own", "measures", "queries"
]
"""What a run may differ in from the baseline that it replaces."""

Doubt = Literal[
    "unplaced_path",
    "opaque_call",
    "no_result",
    "unlinked_result",
    "subagent_missing",
    "background",
    "display_only",
    "may_have_failed",
    "may_not_have_run",
    "cut_result",
    "cut_trace",
    "may_be_own",
]
"""Why an access is only possible; an access without a doubt is certain.

``unplaced_path``: the path lies under a folder that may or may not be the checkout.
``opaque_call``: the call cannot be resolved to files. ``no_result``: the trace holds no result of
the call. ``unlinked_result``: the result may belong to another call. ``subagent_missing``: the
calls of a sub-agent are not in the trace. ``background``: the output of a background command is
not known to have been fetched. ``display_only``: the trace keeps what was displayed to a person,
not what the agent saw. ``may_have_failed``: the answer may be that of a call that was denied or
failed, or content of these words. ``may_not_have_run``: the call was stopped, and the command may
come behind the stop. ``cut_result``: what the agent was shown of the result was cut, or the trace
cut it. ``cut_trace``: steps are missing. ``may_be_own``: the agent may have made the file itself.
"""

FileState = Literal["existed", "created", "copied", "touched", "removed"]
"""What a touch shows of a file itself.

``existed``: it was there before the agent wrote it; ``created``: it was not. ``copied``: it is now
what another file was, and may have been there before, as may one that was ``touched``.
``removed``: it is there no more.
"""

Placement = Literal["stated", "observed", "inferred"]
"""How it is known where a path lies.

``stated``: the trace, the task or the layout of a known harness states it. ``observed``: the agent
cloned into the folder, git named it, or the agent worked in it and it holds what the checkout
holds. ``inferred``: it is the one folder that explains the paths that end like expected files.
"""

ToolCategory = Literal[
    "file_read",
    "file_search",
    "symbol_navigation",
    "code_search",
    "commit_search",
    "deep_search",
    "file_write",
    "other",
]
"""What a tool call does."""

TraceSource = Literal["trajectory", "transcript", "merged"]
Confidence = Literal["high", "medium", "low"]
LineRange = tuple[int, int]

Progress = Callable[[int, int, str], None]
"""Called during long work with the number done, the number in all, and the name of the last."""


Renderer = Literal["auto", "embedded", "quarto"]
"""What renders the page of an executed notebook.

``auto`` is Quarto where it is on PATH and can render the notebook, else the embedded renderer.
"""


class ToolResult(Struct, frozen=True, gc=False):
    """What a tool answered.

    ``text`` is the plain text the agent saw, free of decorations that the trace format adds.
    ``structured`` is the decoded machine-readable result where the trace keeps one.
    ``is_unfinished`` marks an error whose call did not run or was interrupted: then nothing was
    served, whatever the text states. A command that ended with an error may have printed files.
    ``is_stopped`` marks a call that was ended, or left to run on, before its end: the text is what
    it printed until then, and what a command would have done later did not happen or is not known.
    A line :data:`CUT_HERE` stands in the text where the agent was not shown a part; ``saved_to`` is
    the file to which the harness saved the whole of it, which the agent may read later. ``doubt``
    says why the agent may not have seen what the result shows.
    """

    text: str
    structured: Any = None
    is_error: bool = False
    is_truncated: bool = False
    is_unfinished: bool = False
    is_stopped: bool = False
    doubt: Doubt | None = None
    saved_to: str | None = None


CUT_HERE: Final = "[... output truncated ...]"
"""The line in the text of a result where the harness left out a part that the agent never saw.

At the end of a text it means that the agent saw the beginning alone, at its beginning that it saw
the end alone.
"""


class Attached(Struct, frozen=True, gc=False):
    """A file whose content was put before the agent without a call of its own that requested it.

    Such are files that a prompt names, instructions of a folder that come with the read of another
    file, and files that a harness shows again after it summarised the history. ``call_id`` is the
    call that it came with, if it came with one; ``how`` says in a few words why it was attached.
    ``access`` is ``listed`` where only its name was shown. With a ``doubt`` it may have been shown,
    and then the path may be a pattern, as that of a :class:`RawTarget`.
    """

    path: str
    how: str = ""
    lines: tuple[LineRange, ...] | None = None
    is_whole: bool = False
    access: Access = "opened"
    doubt: Doubt | None = None
    is_pattern: bool = False
    call_id: str | None = None
    cwd: str | None = None
    timestamp: float | None = None
    is_subagent: bool = False
    where: str = ""


class ToolCall(Struct, frozen=True, gc=False, tag=True):
    """One tool call of an agent, joined with its result by call id.

    ``result`` is None when the trace holds no result for the call. ``cumulative_tokens`` counts
    input and output tokens up to and including the message that made the call; cached tokens
    are part of the input and a message is counted once. ``where`` names file and line or pointer.
    ``parent_id`` names the sub-agent that made the call: the call that started it, or its own id.
    ``is_abandoned``: the call lies on a branch that was rewound; what it showed was shown and paid.
    """

    call_id: str
    name: str
    arguments: Mapping[str, Any]
    result: ToolResult | None
    timestamp: float | None = None
    cumulative_tokens: int | None = None
    is_subagent: bool = False
    cwd: str | None = None
    where: str = ""
    parent_id: str | None = None
    is_abandoned: bool = False


class Trace(Struct, frozen=True, gc=False):
    """A trial's tool calls in execution order, from one trace file or two merged ones.

    ``calls`` is a tuple, and of a large trace a sequence that reads each call from a file again.
    ``flags`` are machine-readable quality flags such as ``trimmed`` or ``no_result_event``;
    ``problems`` are sentences that name file and line and end up in ``degraded_reason``.
    ``attached`` are files that were shown without a call that requested them. ``submission`` is the
    patch that the agent handed in, where the trace keeps it.
    """

    calls: Sequence[ToolCall]
    format: str
    source: TraceSource
    has_trajectory: bool
    has_transcript: bool
    harness: str | None = None
    harness_version: str | None = None
    model: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    cwd: str | None = None
    declared_tokens: int | None = None
    counted_tokens: int | None = None
    declared_cost_usd: float | None = None
    flags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    attached: tuple[Attached, ...] = ()
    submission: str | None = None


class FileRef(Struct, frozen=True, gc=False):
    """A normalised repo-relative path and, where known, the short name of its repository.

    ``path`` keeps its case; matching ignores case. ``repository`` has no organisation and no
    revision: ``github.com/acme/widgets--1f3c`` is ``widgets``. ``key`` is the identity that
    counts distinct files, without case and in one Unicode form; it is kept because every access
    needs it.
    """

    path: str
    repository: str | None = None
    key: tuple[str | None, str] = (None, "")

    def __post_init__(self) -> None:
        repository = self.repository.lower() if self.repository else None
        path = self.path.lower()
        if not path.isascii():
            path = unicodedata.normalize("NFC", path)
        force_setattr(self, "key", (repository, path))

    def __repr__(self) -> str:
        return f"FileRef(path={self.path!r}, repository={self.repository!r})"

    def __str__(self) -> str:
        return f"{self.repository}::{self.path}" if self.repository else self.path


class Symbol(Struct, frozen=True, gc=False):
    """An expected function or class inside a ground-truth file."""

    file: FileRef
    symbol: str


class Chunk(Struct, frozen=True, gc=False):
    """An expected line range inside a ground-truth file."""

    file: FileRef
    line_start: int
    line_end: int
    annotation: str | None = None


class Repository(Struct, frozen=True, gc=False):
    """A repository a task is about: its short name and, if stated, its folder.

    The folder is relative to the workspace, or absolute where it lies outside the usual ones.
    """

    name: str
    folder: str | None = None


class GroundTruth(Struct, frozen=True, gc=False):
    """What a task expects an agent to find, with the source that states it.

    ``expected_edit_files`` is None when no high-confidence source names edit targets;
    ``added_files`` are those of them that did not exist before, and so could not be found.
    ``not_retrieval_targets`` are entries that name the agent's own output; ``output_files`` are the
    files the task tells the agent to write. ``reason`` is the reason code when ``files`` is empty.
    ``unreadable`` are those of the ``problems`` that are real faults of the task: sources that
    cannot be read and were replaced by a source of lower priority, or by none. ``patterns`` are
    entries such as ``src/**/*.py``; ``expanded`` are those of the ``files`` that they gave in one
    trial, which are no more than the files its trace names. ``primary`` is the repository that the
    task is about when it states exactly one; the ground truth may name others beside it.
    ``fix_lines`` are lines that only the reference change adds.
    """

    files: tuple[FileRef, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    expected_edit_files: tuple[FileRef, ...] | None = None
    added_files: tuple[FileRef, ...] = ()
    not_retrieval_targets: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()
    repositories: tuple[Repository, ...] = ()
    source: str | None = None
    confidence: Confidence | None = None
    reason: str | None = "no_ground_truth"
    problems: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    patterns: tuple[FileRef, ...] = ()
    expanded: tuple[FileRef, ...] = ()
    primary: str | None = None
    fix_lines: tuple[str, ...] = ()


class RawTarget(Struct, frozen=True, gc=False):
    """One file a tool call touched, with its path exactly as the trace gives it.

    A relative path is relative to the working directory of the call. ``repository`` is the raw
    repository name a remote tool was given or answered with. ``lines`` are the ranges seen;
    an opened file without ranges was read whole when ``is_whole`` is true. With a ``doubt`` the
    access is only possible, and then the path may be a pattern (``is_pattern``), in which ``*`` is
    any text, slashes included. ``is_new`` marks a write of a whole file, as files are created, and
    ``state`` says what the touch shows of the file itself.
    """

    path: str
    access: Access
    repository: str | None = None
    lines: tuple[LineRange, ...] | None = None
    is_whole: bool = False
    doubt: Doubt | None = None
    is_pattern: bool = False
    is_new: bool = False
    state: FileState | None = None


class Target(Struct, frozen=True, gc=False):
    """One file that an event touched.

    ``file`` is one identity per file and trial: a ground-truth file is the very record of the
    ground truth. ``lines`` are the ranges seen (None: unknown; an opened file without ranges
    was read whole when ``is_whole`` is true). With a ``doubt`` the access is only possible.
    ``placement`` says how it is known where the path lies, None where it is not recorded.
    ``is_new`` marks the write of a whole file with which the agent created it.
    """

    file: FileRef
    access: Access
    lines: tuple[LineRange, ...] | None = None
    is_whole: bool = False
    doubt: Doubt | None = None
    placement: Placement | None = None
    is_new: bool = False


class AttachedFile(Struct, frozen=True, gc=False):
    """A file that was shown without a call that requested it, at its place in the trial.

    ``call_id`` is the call that it came with, if any; ``how`` says why it was attached.
    """

    target: Target
    how: str = ""
    call_id: str | None = None
    timestamp: float | None = None
    is_subagent: bool = False


class Event(Struct, frozen=True, gc=False):
    """One normalised retrieval-related action; ``step_index`` is its order in the trial.

    ``agent`` is None for the main agent, else the id of a sub-agent; ``symbols`` are expected
    symbols whose definition was shown. ``targets`` are the certain accesses, ``possible`` those
    that may have happened; ``matched`` are the positions in the ground-truth files that the targets
    match. ``open_doubt`` says why the event may have touched files that are not known by name.
    """

    step_index: int
    call_index: int
    call_id: str
    tool_name: str
    tool_category: ToolCategory
    is_mcp: bool
    targets: tuple[Target, ...] = ()
    possible: tuple[Target, ...] = ()
    open_doubt: Doubt | None = None
    matched: tuple[int, ...] = ()
    timestamp: float | None = None
    elapsed_seconds: float | None = None
    cumulative_tokens: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    via: Literal["shell"] | None = None
    server: str | None = None
    is_error: bool = False
    is_subagent: bool = False
    is_opaque: bool = False
    is_shell: bool = False
    agent: str | None = None
    symbols: tuple[Symbol, ...] = ()


class RecordedOutcome(Struct, frozen=True, gc=False):
    """How a trial ended, as a table of trials states it; None where that states nothing."""

    source: str
    reward: float | None = None
    cost_usd: float | None = None
    elapsed_seconds: float | None = None
    model: str | None = None
    harness: str | None = None
    harness_version: str | None = None


class TrialRef(Struct, frozen=True, gc=False):
    """Where a trial lies on disk and what it is called.

    ``path`` is the folder of the trial, or a trace file, of which ``sample`` names one of several
    traces. ``recorded`` and ``truth`` are what tables state of its end and of its task.
    """

    run_id: str
    config_name: str
    batch_timestamp: str | None
    trial_name: str
    path: Path
    task_name: str
    benchmark: str | None = None
    task_dir: Path | None = None
    raw_task_name: str = ""
    sample: str | None = None
    recorded: RecordedOutcome | None = None
    truth: GroundTruth | None = None


class Exclusion(Struct, frozen=True, gc=False):
    """A directory that looks like a trial or a run and is not evaluated, with the reason."""

    path: Path
    run_id: str
    config_name: str | None
    reason: str
    detail: str = ""
