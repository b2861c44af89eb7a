"""Chunk-level metrics: whether the file of an expected line range was accessed, its lines seen."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.events.match import Identity
from retrieval_eval.events.normalise import TrialEvents
from retrieval_eval.events.retrieved import accesses, files_with, ranking
from retrieval_eval.records import LineRange
from retrieval_eval.values import Value, ratio

_PROCESS: Final = ("coverage_auc", "redundancy", "evidence_drop")


@dataclass(slots=True)
class _Seen:
    """The lines of one file that reads and matches showed."""

    ranges: list[LineRange]
    is_whole: bool = False
    is_unknown: bool = False


def chunk_metrics(trial: TrialEvents, *, reason: str | None = None) -> dict[str, Any]:
    """Return the ``chunk_level_metrics`` block.

    ``chunk_recall`` follows the seed: a chunk is covered when its file was accessed
    (``file_match_only``). ``line_overlap`` asks for its lines. Coverage over steps, redundancy and
    evidence drop stand beside them.

    Parameters
    ----------
    reason
        Why nothing of the trial is computable (such as ``no_trace``), or None.
    """
    process = dict.fromkeys(_PROCESS, Value.missing(reason)) if reason else _process_metrics(trial)
    block: dict[str, Any] = {name: value.value for name, value in process.items()}
    block["reasons"] = {name: v.reason for name, v in process.items() if v.reason}
    chunks = trial.ground_truth.chunks
    if not chunks or reason:
        why = reason or "no_chunk_ground_truth"
        return {
            "resolution": "chunk_level" if chunks else "file_level_only",
            "validity": "unsupported",
            "chunk_recall": None,
            "chunks_total": len(chunks),
            "chunks_hit": 0,
            "line_overlap": {"computable": False, "reason": why},
            **block,
            "reasons": {"chunk_recall": why, **block["reasons"]},
        }
    accessed = {target.file.key for _, target in accesses(trial)}
    hit = sum(chunk.file.key in accessed for chunk in chunks)
    return {
        "resolution": "chunk_level",
        "validity": "file_match_only",
        "chunk_recall": hit / len(chunks),
        "chunks_total": len(chunks),
        "chunks_hit": hit,
        "line_overlap": line_overlap(trial),
        **block,
    }


def line_overlap(trial: TrialEvents) -> dict[str, Any]:
    """Return line recall and precision over the expected chunks.

    A chunk whose file was accessed only by reads that do not tell their lines is left out and
    counted as unknown. A line that several chunks expect counts once. Precision needs the number
    of all lines read, so it is not computable once a whole file of unknown length was read.
    """
    seen = _lines_seen(trial)
    known = [c for c in trial.ground_truth.chunks if not _is_unknown(seen.get(c.file.key))]
    unknown = len(trial.ground_truth.chunks) - len(known)
    if not known:
        return {"computable": False, "reason": "no_line_ranges", "chunks_unknown": unknown}
    wanted: dict[Identity, list[LineRange]] = defaultdict(list)
    for chunk in known:
        wanted[chunk.file.key].append((chunk.line_start, chunk.line_end))
    expected = sum(_length(_merge(ranges)) for ranges in wanted.values())
    found = sum(_overlap(_merge(ranges), seen.get(key)) for key, ranges in wanted.items())
    is_counted = not any(s.is_whole or s.is_unknown for s in seen.values())
    lines_read = (
        sum(_length(_merge(s.ranges)) for s in seen.values()) if is_counted and seen else None
    )
    return {
        "computable": True,
        "reason": None,
        "line_recall": found / expected,
        "line_precision": found / lines_read if lines_read else None,
        "chunks_seen": sum(
            _overlap([(c.line_start, c.line_end)], seen.get(c.file.key)) > 0 for c in known
        ),
        "chunks_unknown": unknown,
        "lines_expected": expected,
        "lines_seen": found,
        "lines_read": lines_read,
    }


def _lines_seen(trial: TrialEvents) -> dict[Identity, _Seen]:
    seen: dict[Identity, _Seen] = defaultdict(lambda: _Seen([]))
    for _, target in accesses(trial):
        if target.access == "listed":
            continue
        entry = seen[target.file.key]
        if target.lines is not None:
            entry.ranges.extend(target.lines)
        elif target.is_whole:
            entry.is_whole = True
        else:
            entry.is_unknown = True
    return seen


def _is_unknown(seen: _Seen | None) -> bool:
    return seen is not None and seen.is_unknown and not seen.is_whole and not seen.ranges


def _overlap(wanted: list[LineRange], seen: _Seen | None) -> int:
    if seen is None:
        return 0
    if seen.is_whole:
        return _length(wanted)
    return sum(
        max(0, min(last, end) - max(first, start) + 1)
        for start, end in wanted
        for first, last in _merge(seen.ranges)
    )


def _merge(ranges: list[LineRange]) -> list[LineRange]:
    merged: list[LineRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _length(ranges: list[LineRange]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _process_metrics(trial: TrialEvents) -> dict[str, Value]:
    """Coverage over steps, redundancy and evidence drop, each with its denominator."""
    relevant = {f.key for f in trial.ground_truth.files}
    total = sum(1 for _ in accesses(trial))
    distinct = len(ranking(trial, "accessed"))
    found = {t.file.key for _, t in accesses(trial)} & relevant
    used = files_with(trial, "opened").keys() | files_with(trial, "written").keys()
    no_truth = trial.ground_truth.reason or "no_ground_truth"
    drop = ratio(len(found - used), len(found), "never_hit" if relevant else no_truth)
    redundancy = ratio(total - distinct, total, "nothing_retrieved")
    return dict(zip(_PROCESS, (_coverage_auc(trial, relevant), redundancy, drop), strict=True))


def _coverage_auc(trial: TrialEvents, relevant: set[Identity]) -> Value:
    """Mean over the retrieving events of the recall reached by then."""
    if not relevant:
        return Value.missing(trial.ground_truth.reason or "no_ground_truth")
    accessed: dict[int, set[Identity]] = defaultdict(set)
    for event, target in accesses(trial):
        accessed[event.step_index].add(target.file.key)
    # A tool of no known category may have shown files too.
    steps = [
        e
        for e in trial.events
        if e.tool_category not in {"other", "file_write"} or e.step_index in accessed
    ]
    if not steps:
        return Value.missing("nothing_retrieved")
    reached: set[Identity] = set()
    recalls = []
    for event in steps:
        reached |= accessed.get(event.step_index, set()) & relevant
        recalls.append(len(reached) / len(relevant))
    return Value.of(math.fsum(recalls) / len(recalls), len(recalls))
