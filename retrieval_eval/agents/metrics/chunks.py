"""Chunk metrics: whether files of expected line ranges were accessed, and their lines seen."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import (
    accesses,
    gap_of,
    possible_accesses,
    ranked,
    unless_open,
)
from retrieval_eval.agents.events.match import Identity
from retrieval_eval.agents.metrics.catalog import Block, TrialView, metric
from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.model.metrics import LineOverlap
from retrieval_eval.records import Chunk, FileRef, LineRange, Target
from retrieval_eval.values import Value, ratio

_BLOCK: Block = "chunk_level_metrics"


@metric(
    "chunk_recall",
    label="chunk recall",
    meaning="expected chunks whose file was accessed / expected chunks",
    formula=r"\frac{|\{c \in C : \mathrm{file}(c) \in A\}|}{|C|}",
    block=_BLOCK,
)
def chunk_recall(view: TrialView) -> Value:
    """Return the share of the expected chunks whose file was accessed, as the seed defines it."""
    chunks = view.trial.ground_truth.chunks
    return ratio(chunks_hit(view.trial), len(chunks), "no_chunk_ground_truth")


@metric(
    "function_recall",
    label="function recall",
    meaning="expected functions of which the definition or a line was shown / expected functions",
    formula=r"\frac{|\{f \in F : f \text{ shown}\}|}{|F|}",
    block=_BLOCK,
    is_summarised=False,
)
def function_recall(view: TrialView) -> Value:
    """Return the share of the expected functions that were shown.

    The functions are the expected symbols, each shown by its definition; where there are none, the
    expected line ranges, each shown by any of its lines. Ranges whose file was read without known
    lines are left out.
    """
    hit, total = functions(view.trial)
    return ratio(hit, total, "no_chunk_ground_truth")


@metric(
    "coverage_auc",
    label="coverage AUC",
    meaning="area under cumulative file recall over the retrieving steps",
    formula=r"\frac{1}{T} \sum_{t=1}^{T} \frac{|A_t \cap G|}{|G|}",
    block=_BLOCK,
    is_summarised=False,
)
def coverage_auc(view: TrialView) -> Value:
    """Return the mean, over the retrieving events, of the recall reached by then."""
    if not view.relevant:
        return Value.missing(view.no_ground_truth)
    retrieving: set[int] = set()
    hits: dict[int, set[Identity]] = defaultdict(set)
    for event, target in accesses(view.trial):
        retrieving.add(event.step_index)
        if target.file.key in view.relevant:
            hits[event.step_index].add(target.file.key)
    reached: set[Identity] = set()
    recalls = array("d")
    for event in view.trial.events:
        # A tool of unknown category may have shown files too.
        is_idle = event.tool_category in {"other", "file_write"}
        if is_idle and event.step_index not in retrieving:
            continue
        reached |= hits.get(event.step_index, set())
        recalls.append(len(reached) / len(view.relevant))
    if not recalls:
        return Value.missing("nothing_retrieved")
    return Value.of(math.fsum(recalls) / len(recalls), len(recalls))


@metric(
    "redundancy",
    label="redundancy",
    meaning="accesses of a file accessed before / accesses",
    formula=r"\frac{a - |A|}{a}",
    better="lower",
    block=_BLOCK,
    is_summarised=False,
)
def redundancy(view: TrialView) -> Value:
    """Return the share of the accesses that repeat a file."""
    total = sum(1 for _ in accesses(view.trial))
    return ratio(total - len(ranked(view.trial, "accessed").keys), total, "nothing_retrieved")


@metric(
    "evidence_drop",
    label="evidence drop",
    meaning="retrieved ground-truth files neither opened nor written / those retrieved",
    formula=r"\frac{|(A \cap G) \setminus (O \cup W)|}{|A \cap G|}",
    better="lower",
    block=_BLOCK,
    is_summarised=False,
)
def evidence_drop(view: TrialView) -> Value:
    """Return the share of the retrieved ground-truth files that were not used afterwards."""
    found = view.relevant.intersection(ranked(view.trial, "accessed").keys)
    used = view.read.keys() | view.written.keys()
    reason = "never_hit" if view.relevant else view.no_ground_truth
    return ratio(len(found - used), len(found), reason)


def functions(trial: TrialEvents) -> tuple[int, int]:
    """Return how many expected functions were shown, and how many there are."""
    symbols = set(trial.ground_truth.symbols)
    if symbols:
        return len({s for event in trial.events for s in event.symbols}), len(symbols)
    overlap = line_overlap(trial)
    known = len(trial.ground_truth.chunks) - (overlap.chunks_unknown or 0)
    return overlap.chunks_seen or 0, known


def chunks_hit(trial: TrialEvents) -> int:
    """Return how many expected chunks lie in a file that was accessed."""
    accessed = set(ranked(trial, "accessed").keys)
    return sum(chunk.file.key in accessed for chunk in trial.ground_truth.chunks)


@dataclass(slots=True)
class _Seen:
    """The lines of one file that reads and matches showed."""

    ranges: list[LineRange]
    is_whole: bool = False
    is_unknown: bool = False

    def add(self, target: Target) -> None:
        """Add what an access showed."""
        if target.lines is not None:
            self.ranges.extend(target.lines)
        elif target.is_whole:
            self.is_whole = True
        else:
            self.is_unknown = True


@dataclass(frozen=True, slots=True)
class FileLines:
    """The expected lines of one file and those that were shown, each as merged ranges.

    ``seen`` is None where the file was read without known lines. With ``is_whole`` the file was
    read whole, and so all that is expected of it.
    """

    file: FileRef
    expected: tuple[LineRange, ...]
    seen: tuple[LineRange, ...] | None
    is_whole: bool

    @property
    def n_expected(self) -> int:
        """How many lines are expected."""
        return _length(self.expected)

    @property
    def n_found(self) -> int | None:
        """How many of these were shown, or None where that is not known."""
        if self.seen is None:
            return None
        return _overlap(self.expected, _Seen(list(self.seen), self.is_whole))


def expected_lines(trial: TrialEvents) -> list[FileLines]:
    """Return the expected lines of every file that has some, and which of them were shown."""
    seen = _lines_seen(trial)
    wanted: dict[Identity, list[Chunk]] = defaultdict(list)
    for chunk in trial.ground_truth.chunks:
        wanted[chunk.file.key].append(chunk)
    return [
        FileLines(
            chunks[0].file,
            merged_ranges((c.line_start, c.line_end) for c in chunks) or (),
            None if _is_unknown(found) else merged_ranges(found.ranges if found else ()) or (),
            found is not None and found.is_whole,
        )
        for key, chunks in wanted.items()
        for found in [seen.get(key)]
    ]


def line_overlap(trial: TrialEvents) -> LineOverlap:
    """Return line recall, precision and F1 over the expected chunks.

    A chunk whose file was accessed only by reads without known lines is left out and
    counted as unknown. A line that several chunks expect counts once. Precision needs the number
    of all lines read, so it is not computable once a whole file of unknown length was read. What
    reads without known lines, and accesses that are only possible, leave open is in ``bounds``,
    over all expected lines.
    """
    seen = _lines_seen(trial) if trial.ground_truth.chunks else {}
    known = [c for c in trial.ground_truth.chunks if not _is_unknown(seen.get(c.file.key))]
    unknown = len(trial.ground_truth.chunks) - len(known)
    bounds = _line_bounds(trial, seen)
    if not known:
        return LineOverlap(
            computable=False, reason="no_line_ranges", chunks_unknown=unknown, bounds=bounds
        )
    files = [lines for lines in expected_lines(trial) if lines.seen is not None]
    expected = sum(lines.n_expected for lines in files)
    found = sum(lines.n_found or 0 for lines in files)
    is_counted = not any(s.is_whole or s.is_unknown for s in seen.values())
    lines_read = sum(line_count(s.ranges) for s in seen.values()) if is_counted and seen else None
    recall = Value.of(found / expected, expected)
    why = "nothing_retrieved" if not seen else "unknown_length"
    shares = {
        "line_recall": unless_open(recall) if "line_recall" in bounds else recall,
        "line_precision": ratio(found, lines_read or 0, why),
        "line_f1": ratio(2 * found, expected + lines_read if lines_read else 0, why),
    }
    for name in ("line_precision", "line_f1"):
        if lines_read and name in bounds:
            shares[name] = unless_open(shares[name])
    return LineOverlap(
        computable=True,
        line_recall=shares["line_recall"].value,
        line_precision=shares["line_precision"].value,
        line_f1=shares["line_f1"].value,
        reasons={name: share.reason for name, share in shares.items() if share.reason},
        bounds=bounds,
        chunks_seen=sum(
            _overlap([(c.line_start, c.line_end)], seen.get(c.file.key)) > 0 for c in known
        ),
        chunks_unknown=unknown,
        lines_expected=expected,
        lines_seen=found,
        lines_read=lines_read,
    )


def _line_bounds(
    trial: TrialEvents, seen: Mapping[Identity, _Seen]
) -> dict[str, tuple[float, float]]:
    """Return the lowest and the highest value of each share of lines that the trace leaves open.

    Lowest is what is certainly shown, with as many other lines as may have been; highest is what
    may have been shown, with no other line than those that certainly were.
    """
    wanted = _wanted(trial)
    expected = sum(map(_length, wanted.values()))
    if not expected:
        return {}
    possible: dict[Identity, _Seen] = defaultdict(lambda: _Seen([]))
    for _, target in possible_accesses(trial):
        if target.access != "listed":
            possible[target.file.key].add(target)
    is_open = gap_of(trial) is not None
    low = high = others = 0
    for key, ranges in wanted.items():
        sure, maybe = seen.get(key), possible.get(key)
        found = _overlap(ranges, sure)
        both = [*(sure.ranges if sure else ()), *(maybe.ranges if maybe else ())]
        is_all = is_open or any(
            s is not None and (s.is_whole or s.is_unknown) for s in (sure, maybe)
        )
        low, high = low + found, high + _overlap(ranges, _Seen(both, is_whole=is_all))
        if sure is not None:
            # A file that was read whole is at least as long as the last line expected of it.
            shown = [*sure.ranges, (1, ranges[-1][1])] if sure.is_whole else sure.ranges
            others += line_count(shown) - found
    others += sum(line_count(s.ranges) for key, s in seen.items() if key not in wanted)
    is_endless = is_open or any(event.open_doubt is not None for event in trial.events)
    for some in (*seen.values(), *possible.values()):
        is_endless = is_endless or some.is_whole or some.is_unknown
    more = sum(line_count(s.ranges) for s in possible.values())
    most = None if is_endless else low + others + more
    precise = (high / (high + others) if high + others else 0.0) if seen or high else None
    shares = {
        "line_recall": (low / expected, high / expected),
        "line_precision": (low / most if most else 0.0, precise if precise is not None else 0.0),
        "line_f1": (
            2 * low / (expected + most) if most is not None else 0.0,
            2 * high / (expected + high + others),
        ),
    }
    return {name: ends for name, ends in shares.items() if ends[0] < ends[1]}


def _wanted(trial: TrialEvents) -> dict[Identity, tuple[LineRange, ...]]:
    """Return the lines that are expected of each file, as merged ranges."""
    wanted: dict[Identity, list[LineRange]] = defaultdict(list)
    for chunk in trial.ground_truth.chunks:
        wanted[chunk.file.key].append((chunk.line_start, chunk.line_end))
    return {key: merged_ranges(ranges) or () for key, ranges in wanted.items()}


def _lines_seen(trial: TrialEvents) -> dict[Identity, _Seen]:
    seen: dict[Identity, _Seen] = defaultdict(lambda: _Seen([]))
    for _, target in accesses(trial):
        if target.access == "listed":
            continue
        seen[target.file.key].add(target)
    return seen


def _is_unknown(seen: _Seen | None) -> bool:
    return seen is not None and seen.is_unknown and not seen.is_whole and not seen.ranges


def _overlap(wanted: Sequence[LineRange], seen: _Seen | None) -> int:
    if seen is None:
        return 0
    if seen.is_whole:
        return _length(wanted)
    shown = merged_ranges(seen.ranges) or ()
    return sum(
        max(0, min(last, end) - max(first, start) + 1)
        for start, end in wanted
        for first, last in shown
    )


def line_count(ranges: Iterable[LineRange]) -> int:
    """Return how many distinct lines some ranges hold."""
    return _length(merged_ranges(ranges) or ())


def _length(ranges: Iterable[LineRange]) -> int:
    return sum(last - first + 1 for first, last in ranges)
