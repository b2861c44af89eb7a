"""The files an agent retrieved and wrote: what a trace proves, leaves open and rules out.

An access is certain, possible or absent. From the possible ones follow two rankings between which
the true one lies: one without any of them that is relevant, and one with all of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Final, Literal, NamedTuple

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.traces.reading import CALLS_UNREADABLE, HISTORY_COMPACTED, NEWEST_UNREAD
from retrieval_eval.model.events import EventDocument
from retrieval_eval.records import Access, Doubt, Event, FileRef, Target, Trace
from retrieval_eval.values import Value

# --------------------------------------------------------------------------------------------------
# The files an agent retrieved and wrote, from its events.

VIEWS: Final = ("accessed", "opened", "structured", "listing_discounted")
"""The definitions of "retrieved"; ``accessed`` is the seed's and the default."""


def accesses(trial: TrialEvents) -> Iterable[tuple[Event, Target]]:
    """Return every access in order: read, matched or listed, never written, never own output."""
    return trial.accesses


def views_of(event: Event, target: Target) -> tuple[str, ...]:
    """Return the views under which an access counts as retrieved."""
    is_of_shell = event.via == "shell" or (event.is_shell and target.doubt is not None)
    return _ENTERED[target.access == "opened", is_of_shell]


_ENTERED: Final = {
    (is_opened, is_of_shell): tuple(
        view
        for view in VIEWS
        if (view != "opened" or is_opened) and (view != "structured" or not is_of_shell)
    )
    for is_opened in (False, True)
    for is_of_shell in (False, True)
}

OTHER_FILES: Final = 1000
"""How many other files a call that cannot be resolved, or a gap, is taken to have shown at most."""


class Ranking:
    """Distinct files in order of first appearance; a view may put those only listed last.

    Files are added first; then it is read.
    """

    def __init__(self, view: str) -> None:
        self._is_discounted = view == "listing_discounted"
        self._first: dict[Identity, FileRef] = {}
        self._after_others: dict[Identity, FileRef] | None = None
        self._listed: dict[Identity, FileRef] = {}

    def add(self, file: FileRef, access: Access) -> None:
        """Add an access to a file."""
        if self._is_discounted and access == "listed":
            self._listed.setdefault(file.key, file)
        elif self._after_others is None:
            self._first.setdefault(file.key, file)
        elif file.key not in self._first:
            self._after_others.setdefault(file.key, file)

    def open(self, files: Mapping[Identity, FileRef]) -> None:
        """Add accesses that show the content of several files."""
        self._first = {**self._first, **files, **self._first}

    def open_others(self) -> None:
        """Add accesses that show the content of :data:`OTHER_FILES` other files, once."""
        if self._after_others is None:
            self._after_others = {}

    @cached_property
    def files(self) -> tuple[FileRef, ...]:
        """The files in order."""
        return tuple(chain.from_iterable(part.values() for part in self._parts()))

    @cached_property
    def keys(self) -> tuple[Identity, ...]:
        """Their identities."""
        return tuple(chain.from_iterable(self._parts()))

    def hits(self, relevant: Set[Identity]) -> tuple[int, ...]:
        """Return the ranks of some files, counted from 1."""
        found: list[int] = []
        start = 1
        for part in self._parts():
            if not relevant.isdisjoint(part):
                found += [rank for rank, key in enumerate(part, start) if key in relevant]
            start += len(part)
        return tuple(found)

    def _parts(self) -> Iterator[Mapping[Identity, FileRef]]:
        first, after = self._first, self._after_others
        yield first
        if after is not None:
            yield _others()
            yield after
        if self._listed:
            seen = first if after is None else {**first, **after}
            yield {key: file for key, file in self._listed.items() if key not in seen}


@cache
def _others() -> dict[Identity, FileRef]:
    """Return the files that a call or a gap may have shown besides."""
    files = [FileRef(f"\0other {number}") for number in range(OTHER_FILES)]
    return {file.key: file for file in files}


def ranked(trial: TrialEvents, view: str) -> Ranking:
    """Return the distinct retrieved files in order of first appearance under ``view``.

    Parameters
    ----------
    view
        ``accessed``: everything read or returned. ``opened``: only files whose content was read.
        ``structured``: without events derived from shell commands. ``listing_discounted``: as
        ``accessed``, with names seen only in listings after everything opened or matched.
    """
    if view not in VIEWS:
        raise ValueError(f"no such view: {view!r}")
    if not trial.rankings:
        trial.rankings.update({view: Ranking(view) for view in VIEWS})
        for event, target in trial.accesses:
            for name in views_of(event, target):
                trial.rankings[name].add(target.file, target.access)
    return trial.rankings[view]


def ranking(trial: TrialEvents, view: str) -> tuple[FileRef, ...]:
    """Return the files of :func:`ranked`."""
    return ranked(trial, view).files


def files_with(trial: TrialEvents, access: str) -> dict[Identity, FileRef]:
    """Return the distinct files touched with one kind of access, own output left out.

    Files in the patch that the agent handed in were written. A file that the agent created was
    written, and is nothing that it read.
    """
    own = trial.own_output if access == "written" else trial.own_files
    found = {
        target.file.key: target.file
        for event in trial.events
        for target in event.targets
        if target.access == access and target.file.key not in own
    }
    for target in trial.beside.submitted or () if access == "written" else ():
        if target.doubt is None and target.file.key not in own:
            found.setdefault(target.file.key, target.file)
    return found


# --------------------------------------------------------------------------------------------------
# What a trace proves, leaves open and rules out about the files of a trial.

Certainty = Literal["certain", "possible", "none"]
"""Whether a file was accessed: the trace proves it, leaves it open, or rules it out."""

Gap = Literal["anywhere", "end"]
"""Where steps are missing from a trace."""


class Incomplete(NamedTuple):
    """What a quality flag says about the events: a sentence, and where steps are missing."""

    sentence: str
    gap: Gap | None = "anywhere"


INCOMPLETE: Final[dict[str, Incomplete]] = {
    "trimmed": Incomplete("the trace was trimmed when it was stored: steps are missing"),
    "truncated": Incomplete("parts of the trace were replaced by previews", gap=None),
    "subagent_calls_missing": Incomplete(
        "the agent delegated, and the trace does not hold the calls of its sub-agents"
    ),
    "subagent_elsewhere": Incomplete(
        "the trace refers to sub-agents whose calls lie in other files"
    ),
    "continued_elsewhere": Incomplete("the trace continues in another file"),
    HISTORY_COMPACTED: Incomplete(
        "the agent's history was summarised, and the trace does not hold the calls before the "
        "summary"
    ),
    "malformed_line": Incomplete("the trace holds lines that are not valid"),
    "malformed_step": Incomplete("the trace holds steps that are not valid"),
    "no_agent_step": Incomplete("the trace holds no step of the agent"),
    CALLS_UNREADABLE: Incomplete(
        "the agent was at work, and calls that it wrote in its answers cannot be read"
    ),
    "results_missing": Incomplete("the trace holds tool calls without their results", gap=None),
    "result_without_call": Incomplete(
        "the trace holds results of tool calls that it does not hold"
    ),
    "nothing_resolved": Incomplete(
        "no answer could be resolved to files, and no other file was seen", gap=None
    ),
    "no_result_event": Incomplete(
        "the transcript ends without a final result: the run was cut off", gap="end"
    ),
    NEWEST_UNREAD: Incomplete(
        "the newest steps lie in a write-ahead log beside the database that cannot be read",
        gap="end",
    ),
}
"""Quality flags that make the events incomplete."""


_OF_SUB_AGENTS: Final = frozenset({"subagent_calls_missing", "subagent_elsewhere"})


def gap_of(trial: TrialEvents) -> Gap | None:
    """Return where steps are missing from the trace of a trial, if any are."""
    found = {INCOMPLETE[flag].gap for flag in trial.trace_flags if flag in INCOMPLETE}
    return "anywhere" if "anywhere" in found else "end" if "end" in found else None


def doubt_of_gaps(trial: TrialEvents) -> Doubt | None:
    """Return why a file may have been touched in a step that is missing, if any are missing."""
    gaps = {flag for flag in trial.trace_flags if flag in INCOMPLETE and INCOMPLETE[flag].gap}
    if not gaps:
        return None
    return "subagent_missing" if gaps <= _OF_SUB_AGENTS else "cut_trace"


def why_nothing_is_computable(trace: Trace | None, trial: TrialEvents) -> str | None:
    """Return the reason code of a trial whose metrics would be misleading zeroes, or None.

    A complete trace without any access is a true zero. An incomplete trace without any access is
    not computable, and neither is one in which no answer could be resolved to files. An incomplete
    trace with an access gives a lower bound.
    """
    if trace is None:
        return "no_trace"
    flags = {*trace.flags, *trial.flags}
    return _why(trial, flags, has_faults=bool(trace.problems), has_calls=bool(trace.calls))


def why_nothing_is_saved(saved: EventDocument, trial: TrialEvents) -> str | None:
    """Return what :func:`why_nothing_is_computable` does, from an event document and its events."""
    coverage, ledger = saved.coverage, saved.ledger
    if not (coverage.has_trajectory or coverage.has_transcript):
        return "no_trace"
    # Before version 1.2 a document does not name the sources of its faults.
    has_sources = bool(coverage.degraded_sources)
    has_faults = (
        "trace" in coverage.degraded_sources if has_sources else bool(coverage.degraded_reason)
    )
    return _why(
        trial,
        {*coverage.quality_flags, *trial.flags},
        has_faults=has_faults,
        has_calls=bool(ledger.calls_seen if ledger is not None else saved.events),
    )


def _why(trial: TrialEvents, flags: set[str], *, has_faults: bool, has_calls: bool) -> str | None:
    if "nothing_resolved" in flags:
        return "nothing_resolved"
    if not (has_faults or flags & INCOMPLETE.keys()) or any(accesses(trial)):
        return None
    if CALLS_UNREADABLE in flags and not has_calls:
        return "calls_unreadable"
    is_idle = not has_calls and "result_without_call" not in flags
    return "agent_never_acted" if is_idle else "evidence_incomplete"


def may_have_written(trial: TrialEvents) -> bool:
    """Return whether the agent may have written files that are not known.

    A command that cannot be resolved, such as a script that the agent wrote and ran, may have
    written any. A patch that was handed in states every file that was.
    """
    if trial.beside.submitted is not None:
        return False
    return gap_of(trial) is not None or any(
        any(target.access == "written" for target in event.possible)
        or ((event.is_opaque or event.open_doubt is not None) and _may_write(event))
        for event in trial.events
    )


def _may_write(event: Event) -> bool:
    return event.is_shell or event.tool_category in {"other", "file_write"}


def unless_open(value: Value) -> Value:
    """Return a metric of a trial without a certain hit or write that has a possible one: not 0."""
    return value if value.value else Value.missing("evidence_incomplete")


CAUSES: Final[dict[Doubt, str]] = {
    "unplaced_path": "it lies under a folder that may or may not be the checkout",
    "opaque_call": "the call cannot be resolved to files",
    "no_result": "the trace holds no result of the call",
    "unlinked_result": "the result may belong to another call",
    "subagent_missing": "the calls of a sub-agent are not in the trace",
    "background": "the output of a background command may not have been fetched",
    "display_only": "the trace keeps what was displayed, not what the agent saw",
    "may_have_failed": "the answer may be that of a call that was denied or failed",
    "may_not_have_run": "the call was stopped, and the command may come behind the stop",
    "cut_result": "what was shown of the result was cut, and it may lie in the part left out",
    "cut_trace": "steps are missing from the trace",
    "may_be_own": "the agent may have made the file itself",
}
"""Why an access is only possible, in words."""


def possible_accesses(trial: TrialEvents) -> Iterator[tuple[Event, Target]]:
    """Yield every possible access in order: never written, never a file of the agent itself."""
    for event in trial.events:
        for target in event.possible:
            if target.access != "written" and target.file.key not in trial.own_files:
                yield event, target


def attached_files(trial: TrialEvents, *, with_names: bool = True) -> frozenset[Identity]:
    """Return the files that were certainly shown without a call that requested them.

    ``with_names`` is whether a file counts of which only the name was shown.
    """
    shown = (attached.target for attached in trial.beside.attached)
    return frozenset(
        target.file.key
        for target in shown
        if target.doubt is None and (with_names or target.access != "listed")
    ).difference(trial.own_files)


def evidence(trial: TrialEvents, *, with_attached: bool = False) -> dict[FileRef, Certainty]:
    """Return for each ground-truth file whether it was accessed.

    Where steps are missing from the trace, every file is possible.

    Parameters
    ----------
    with_attached
        Whether a file counts that was shown without a call that requested it.

    Examples
    --------
    >>> from retrieval_eval.records import GroundTruth
    >>> evidence(TrialEvents((), GroundTruth(files=(FileRef("a.py"),))))
    {FileRef(path='a.py', repository=None): 'none'}
    """
    certain = set(ranked(trial, "accessed").keys)
    possible = {target.file.key for _, target in possible_accesses(trial)}
    if with_attached:
        certain |= attached_files(trial)
        possible.update(attached.target.file.key for attached in trial.beside.attached)
    open_end = gap_of(trial) is not None
    return {
        file: "certain"
        if file.key in certain
        else "possible"
        if open_end or file.key in possible
        else "none"
        for file in trial.ground_truth.files
    }


@dataclass(frozen=True, slots=True)
class Doubts:
    """How much of a trial's recall is open, and why.

    ``files`` counts the ground-truth files that are only possible, each under its first cause;
    ``calls`` counts the calls with a possible access to a ground-truth file. ``width`` is the
    share of the ground-truth files that are only possible; None without ground truth.
    """

    files: dict[Doubt, int]
    calls: dict[Doubt, int]
    width: float | None


def doubts(trial: TrialEvents) -> Doubts:
    """Return the open files of a trial by cause."""
    certain = set(ranked(trial, "accessed").keys)
    relevant = {file.key for file in trial.ground_truth.files}
    first: dict[Identity, Doubt] = {}
    calls: dict[Doubt, set[int]] = {}
    for event, target in possible_accesses(trial):
        key, doubt = target.file.key, target.doubt
        if doubt is not None and key in relevant and key not in certain:
            first.setdefault(key, doubt)
            calls.setdefault(doubt, set()).add(event.call_index)
    cause = doubt_of_gaps(trial)
    if cause is not None:
        for key in relevant - certain:
            first.setdefault(key, cause)
    return Doubts(
        dict(sorted(Counter(first.values()).items())),
        {doubt: len(found) for doubt, found in sorted(calls.items())},
        len(first) / len(relevant) if relevant else None,
    )


def outer_rankings(trial: TrialEvents) -> dict[str, tuple[Ranking, Ranking]]:
    """Return the worst and the best ranking of retrieved files that the trace allows, by view.

    A view under which nothing is open is left out. In the worst ranking every possible access is to
    a file that is not relevant, and a call that cannot be resolved, or a gap, showed 1,000 others;
    in the best one every possible access to a relevant file happened, and no other. Missing steps
    may lie before all others, unless the trace only lacks its end.
    """
    gap = gap_of(trial)
    if gap is None and not any(event.possible or event.open_doubt for event in trial.events):
        return {}
    relevant = {file.key: file for file in trial.ground_truth.files}
    found = {view: (Ranking(view), Ranking(view)) for view in VIEWS}
    open_views = set(VIEWS if gap is not None else ())
    if gap == "anywhere":
        _open(found, relevant)
    for event in trial.events:
        for target in (*event.targets, *event.possible):
            file, access = target.file, target.access
            if access == "written" or file.key in trial.own_files:
                continue
            views = views_of(event, target)
            is_best = target.doubt is None or file.key in relevant
            is_worst = target.doubt is None or not is_best
            for view in views:
                worst, best = found[view]
                if is_worst:
                    worst.add(file, access)
                if is_best:
                    best.add(file, access)
            if target.doubt is not None:
                open_views.update(views)
        if event.open_doubt is not None:
            for view in views_of(event, _ANY):
                found[view][0].open_others()
                open_views.add(view)
    if gap == "end":
        _open(found, relevant)
    return {view: found[view] for view in VIEWS if view in open_views}


def _open(
    found: Mapping[str, tuple[Ranking, Ranking]], relevant: Mapping[Identity, FileRef]
) -> None:
    """Add others to the worst rankings, and the relevant files to the best."""
    for worst, best in found.values():
        worst.open_others()
        best.open(relevant)


_ANY: Final = Target(FileRef("*"), "opened", doubt="opaque_call")
