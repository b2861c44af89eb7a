"""Weighing a plan against the lines it may have printed.

The verdict is a list of targets, or one reason why nobody can tell. Content that was not shown
is not retrieved, and where two commands share lines only what a line proves is counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from retrieval_eval.records import RawTarget
from retrieval_eval.traces.results.payload import parsed
from retrieval_eval.traces.served import (
    is_error_message,
    is_page,
    may_be_a_page,
    states_error,
)
from retrieval_eval.traces.shell.evidence import Evidence, could_print
from retrieval_eval.traces.shell.naming import named, numbers_of
from retrieval_eval.traces.shell.output import Output
from retrieval_eval.traces.shell.plan import Operand, Plan
from retrieval_eval.traces.shell.remote_output import remote_files
from retrieval_eval.traces.shell.spans import WHOLE, close, merge

_SAVED: Final = re.compile(r"/tool-results/[^/]+$")
_BINARY: Final = re.compile(r"[Bb]inary file\b.*\bmatches")
_FETCH_FAILED: Final = re.compile(r"[45]\d\d: |curl: \(\d+\)|\S{0,30}ERROR [45]\d\d: ")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The targets of one plan, or the reason why it is opaque."""

    targets: tuple[RawTarget, ...] = ()
    reason: str | None = None


def judge(plan: Plan, evidence: Evidence, output: Output, known: Set[str]) -> Verdict:
    """Return what ``plan`` did according to ``evidence``; ``known`` files surely exist."""
    if plan.evidence == "write":
        return _write(plan, evidence, output)
    if plan.evidence == "opaque" and (plan.category == "file_write" or not evidence.is_empty):
        return Verdict(reason=plan.reason)
    if evidence.is_empty:
        return Verdict()
    if plan.style == "remote":
        return _remote(plan, evidence)
    if plan.evidence == "names":
        return _names(plan, evidence)
    if plan.evidence == "numbers":
        return _numbers(plan, evidence, output)
    return _text(plan, evidence, output, known)


def _write(plan: Plan, evidence: Evidence, output: Output) -> Verdict:
    files = [o for o in plan.files if not output.failed(o.written, plan.cwd)]
    if files and not evidence.is_certain:
        return Verdict(reason=f"{plan.program}: a write that may not have happened")
    return Verdict(_targets(plan, files, None))


def _targets(plan: Plan, operands: Sequence[Operand], n_lines: int | None) -> tuple[RawTarget, ...]:
    count = n_lines if len(operands) == 1 else None
    lines = close(plan.spans, count) if plan.spans != WHOLE else None
    is_whole = plan.spans == WHOLE and plan.access == "opened"
    if plan.access in ("written", "listed"):
        lines = None
    return tuple(
        RawTarget(plan.path(o.written), plan.access, plan.repository or None, lines, is_whole)
        for o in operands
        if not _SAVED.search(o.written)
    )


def _text(plan: Plan, evidence: Evidence, output: Output, known: Set[str]) -> Verdict:
    files = [o for o in plan.files if not output.failed(o.written, plan.cwd)]
    others = [o for o in plan.operands if o.kind != "file"]
    if not plan.operands or (not files and not others):
        return Verdict()
    if plan.repository:
        unserved = _unserved(plan, evidence.lines)
        if unserved is not None:
            return unserved
    if others:
        return Verdict(reason=f"{plan.program}: the files it read are not named")
    is_hidden = plan.hides_errors and not all(plan.path(o.written) in known for o in files)
    is_silent_failure = is_hidden or not evidence.is_certain
    is_ambiguous = not evidence.is_sole or len(files) > 1
    if is_ambiguous and (is_silent_failure or (plan.is_selective and not evidence.is_sole)):
        return Verdict(reason=f"{plan.program}: its output cannot be told from that of others")
    return Verdict(_targets(plan, files, evidence.n_lines))


def _unserved(plan: Plan, lines: Sequence[str]) -> Verdict | None:
    """Return the verdict on a server's error or page in place of the file; None for the file."""
    path, text = plan.files[0].written if plan.files else "", "\n".join(lines)
    if _FETCH_FAILED.match(lines[0]) or is_error_message(text):
        return Verdict()
    if is_page(text):
        return None if may_be_a_page(path) else Verdict()
    if not text.startswith("{") or not states_error(parsed(text)):
        return None
    is_json = path.endswith(".json")
    return Verdict(
        reason=f"{plan.program}: an error, or a file that holds one" if is_json else None
    )


def _names(plan: Plan, evidence: Evidence) -> Verdict:
    lines = evidence.lines
    if plan.style == "listing" and not evidence.is_sole:
        lines = [line for line in lines if _is_own_entry(plan, line, evidence.rivals)]
        if not lines:
            return Verdict(reason=f"{plan.program}: its output cannot be told from that of others")
    found = named(plan, lines)
    if not found:
        is_lost = evidence.is_sole and plan.style in ("path", "match") and not _fits(plan, evidence)
        reason = f"{plan.program}: its output does not name the files"
        return Verdict(reason=reason if is_lost or plan.style == "headers" else None)
    spans = plan.spans if plan.style == "headers" else None
    is_whole = plan.style == "headers" and spans == WHOLE
    targets = []
    for path, numbers in found.items():
        if _SAVED.search(path):
            continue
        ranges = merge([(n, n) for n in numbers]) or (close(spans, None) if spans else None)
        targets.append(RawTarget(plan.path(path), plan.access, None, ranges or None, is_whole))
    return Verdict(tuple(targets))


def _is_own_entry(plan: Plan, line: str, rivals: frozenset[str]) -> bool:
    """Return whether a line among other output surely is an entry of this listing."""
    is_long = re.match(r"[-d][-r][-w]\S{7,9} +\d", line) is not None
    if is_long and "listing" not in rivals:
        return True
    if rivals <= {"path", "match", "count"}:
        return "/" not in line and ":" not in line
    path = line.rpartition(" ")[2]
    return any(o.written == path or (o.kind == "pattern" and o.covers(path)) for o in plan.operands)


def _fits(plan: Plan, evidence: Evidence) -> bool:
    """Return whether a listing names folders at least: then it is understood, and has no file."""
    return plan.access == "listed" and any(
        operand.covers(line.rstrip().rstrip("/"))
        for line in evidence.lines
        for operand in plan.operands
    )


def _numbers(plan: Plan, evidence: Evidence, output: Output) -> Verdict:
    files = [o for o in plan.files if not output.failed(o.written, plan.cwd)]
    if not files and all(o.kind == "file" for o in plan.operands):
        return Verdict()
    if len(files) > 1 or len(plan.operands) > 1 or not files:
        return Verdict(reason=f"{plan.program}: its output does not name the files")
    if plan.style == "count":
        counts = [line.strip().rpartition(":")[2] for line in evidence.lines if line.strip()]
        if not evidence.is_sole:
            return Verdict(reason=f"{plan.program}: its count cannot be told from other output")
        is_hit = any(c.isdecimal() and int(c[:12]) > 0 for c in counts)
        return Verdict(_targets(plan, files, None) if is_hit else ())
    lines = evidence.lines
    if not evidence.is_sole:
        lines = [line for line in lines if could_print(plan, line)]
        if not lines:
            return Verdict()
        lines = [line for line in lines if line not in evidence.contested]
        if not lines or not plan.words or not plan.has_numbers:
            return Verdict(reason=f"{plan.program}: its output cannot be told from that of others")
    numbers = numbers_of(lines) if plan.has_numbers else []
    if plan.has_numbers and not numbers and not any(_BINARY.search(line) for line in lines):
        reason = f"{plan.program}: its output does not look like numbered lines"
        return Verdict(reason=None if evidence.rivals else reason)
    ranges = merge([(n, n) for n in numbers]) or None
    return Verdict(
        tuple(
            RawTarget(plan.path(o.written), plan.access, None, ranges)
            for o in files
            if not _SAVED.search(o.written)
        )
    )


def _remote(plan: Plan, evidence: Evidence) -> Verdict:
    found = remote_files(plan, evidence.lines)
    if not evidence.is_sole and plan.access != "matched" and len(found) != 1:
        return Verdict(reason=f"{plan.program}: its output cannot be told from that of others")
    targets = [
        RawTarget(path, plan.access, repository or None, merge([(n, n) for n in numbers]) or None)
        for (repository, path), numbers in found.items()
        if plan.access == "listed" or numbers or plan.access == "matched"
    ]
    return Verdict(tuple(targets))
