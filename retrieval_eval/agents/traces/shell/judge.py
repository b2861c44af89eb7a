"""Compares a plan with the lines it may have printed.

The verdict is a list of targets: certain ones, and with a reason those that remain possible.
Content that was not shown is not retrieved, and where two commands share lines only what a line
proves is certain.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.agents.traces.results.payload import parsed
from retrieval_eval.agents.traces.served import (
    is_error_message,
    is_page,
    may_be_a_page,
    states_error,
)
from retrieval_eval.agents.traces.shell.naming import (
    SAVED,
    mentioned,
    named,
    numbers_of,
    operand_targets,
    remote_files,
    unnamed,
)
from retrieval_eval.agents.traces.shell.output import Output, Segment
from retrieval_eval.agents.traces.shell.pipeline import Plans
from retrieval_eval.agents.traces.shell.plan import WHOLE, Operand, Plan, close, take
from retrieval_eval.agents.traces.shell.programs.filters import line_without_count
from retrieval_eval.agents.traces.shell.programs.readers import READERS
from retrieval_eval.agents.traces.shell.steps import Invocation, Step, scan
from retrieval_eval.records import CUT_HERE, Doubt, LineRange, RawTarget

_BINARY: Final = re.compile(r"[Bb]inary file\b.*\bmatches")
_FETCH_FAILED: Final = re.compile(r"[45]\d\d: |curl: \(\d+\)|\S{0,30}ERROR [45]\d\d: ")


class Verdict(Struct, frozen=True, gc=False):
    """The targets of one plan; with a ``reason`` it is opaque and they are only possible."""

    targets: tuple[RawTarget, ...] = ()
    reason: str | None = None


def judge(plan: Plan, evidence: Evidence, output: Output, known: Set[str]) -> Verdict:
    """Return what ``plan`` did according to ``evidence``; ``known`` files surely exist."""
    if output.is_missing:
        return Verdict(operand_targets(plan, "no_result"))
    if plan.evidence == "write":
        return _write(plan, evidence, output)
    if plan.program in output.unknown:
        return Verdict()
    if plan.evidence == "opaque" and (plan.category == "file_write" or not evidence.is_empty):
        served = _served(plan, output)
        verdict = _opaque(served, evidence)
        # What it was to read is not there, and it names no other file.
        return verdict if served.operands or not plan.operands or verdict.targets else Verdict()
    if evidence.is_empty:
        is_unseen = evidence.is_background or output.is_background
        if is_unseen or (output.is_shortened and evidence.is_cut):
            doubt: Doubt = "background" if is_unseen else "cut_result"
            return Verdict(operand_targets(_served(plan, output), doubt))
        return Verdict()
    if plan.evidence == "mentions":
        return Verdict(mentioned(plan, evidence.lines, "opaque_call"))
    verdict = _shown(plan, evidence, output, known)
    if output.is_shortened and plan.evidence == "names" and plan.operands:
        return Verdict((*verdict.targets, *operand_targets(plan, "cut_result")), verdict.reason)
    return verdict


def _shown(plan: Plan, evidence: Evidence, output: Output, known: Set[str]) -> Verdict:
    if plan.is_changed:
        return _unresolved(plan, output, "a filter that may change what it prints")
    if plan.style == "remote":
        return _remote(plan, evidence, output)
    if plan.evidence == "names":
        return _names(plan, evidence, output)
    if plan.evidence == "numbers":
        return _numbers(plan, evidence, output)
    return _text(plan, evidence, output, known)


def _unresolved(plan: Plan, output: Output, reason: str) -> Verdict:
    """Return the verdict on a plan that touched some of its operands, or none."""
    found = operand_targets(_served(plan, output), "opaque_call")
    return Verdict(found, f"{plan.program}: {reason}")


def _served(plan: Plan, output: Output) -> Plan:
    """Return a plan without the operands that an error message names."""
    served = tuple(o for o in plan.operands if not output.failed(o.written, plan.cwd))
    return replace(plan, operands=served)


_SHARED: Final = "its output cannot be told from that of others"


def _opaque(plan: Plan, evidence: Evidence) -> Verdict:
    named = mentioned(plan, evidence.lines, "opaque_call")
    found = (*operand_targets(plan, "opaque_call"), *named)
    if plan.is_open and not found:
        found = unnamed(plan, "opaque_call")
    return Verdict(found, plan.reason)


def _write(plan: Plan, evidence: Evidence, output: Output) -> Verdict:
    files = [o for o in plan.files if not output.failed(o.written, plan.cwd)]
    if files and not evidence.has_run:
        return Verdict(operand_targets(_served(plan, output), "may_not_have_run"))
    if files and not evidence.is_certain:
        return _unresolved(plan, output, "a write that may not have happened")
    return Verdict(_targets(plan, files))


def _targets(
    plan: Plan, operands: Sequence[Operand], evidence: Evidence | None = None, n_files: int = 1
) -> tuple[RawTarget, ...]:
    """Return the files that were surely touched, with the lines that ``evidence`` shows.

    ``n_files`` are those that the lines may be of.
    """
    lines = _lines_shown(plan, evidence, n_files)
    is_whole = plan.spans == WHOLE and plan.access == "opened"
    if evidence is not None and evidence.is_cut:
        is_whole = False
    return tuple(
        RawTarget(
            plan.path(o.written),
            plan.access,
            plan.repository or None,
            lines,
            is_whole,
            is_new=o.is_new and plan.access == "written",
            state=plan.state,
        )
        for o in operands
        if not SAVED.search(o.written)
    )


_PRINTED_NUMBER: Final = re.compile(r"[ ]{0,20}(\d{1,9})(?:[\t:| -]|$)")


def _lines_shown(
    plan: Plan, evidence: Evidence | None, n_files: int
) -> tuple[LineRange, ...] | None:
    """Return the lines of a file that were shown, where that is known.

    They are those whose numbers were printed, else those of the plan. Of an answer that was cut
    they are known from its beginning only; half a line is none.
    """
    if plan.access in ("written", "listed"):
        return None
    if evidence is None or n_files > 1:
        is_open = plan.spans == WHOLE or (evidence is not None and evidence.is_cut)
        return None if is_open else close(plan.spans, None)
    if evidence.is_sole and plan.has_numbers and (evidence.is_cut or plan.spans != WHOLE):
        found = map(_PRINTED_NUMBER.match, evidence.whole_lines())
        numbers = [int(match[1]) for match in found if match is not None]
        if numbers:
            return merged_ranges((n, n) for n in numbers)
    if not evidence.is_cut:
        return close(plan.spans, evidence.n_lines)
    n_head = (evidence.cuts[0] if evidence.cuts else len(evidence.lines)) - 1
    if not evidence.is_exact or n_head < 1:
        return None
    return close(take(plan.spans, ((1, n_head),)), None) or None


def _text(plan: Plan, evidence: Evidence, output: Output, known: Set[str]) -> Verdict:
    files = [o for o in plan.files if not output.failed(o.written, plan.cwd)]
    others = [o for o in plan.operands if o.kind != "file"]
    if not plan.operands or (not files and not others):
        return Verdict()
    if plan.repository:
        unserved = _unserved(plan, evidence.lines, output)
        if unserved is not None:
            return unserved
    if others:
        return _unresolved(plan, output, "the files it read are not named")
    if evidence.is_sole and _may_complain(plan, evidence, output):
        return _unresolved(plan, output, "what it printed may be an error message")
    is_hidden = plan.hides_errors and not all(plan.path(o.written) in known for o in files)
    is_silent_failure = is_hidden or not evidence.is_certain or evidence.is_background
    is_ambiguous = not evidence.is_sole or len(files) > 1
    is_silent = plan.is_selective and not (plan.is_joint and evidence.is_sole)
    is_open = is_silent_failure or is_silent or (evidence.is_crowded and not evidence.is_cut)
    if is_ambiguous and is_open and not (evidence.has_printed and len(files) == 1):
        return _unresolved(plan, output, _SHARED)
    if evidence.is_cut:
        return _cut_text(plan, files, evidence)
    if plan.end is not None and len(files) > 1 and not _is_all(plan, evidence):
        passed = files[:1] if plan.end == "first" else files[-1:]
        rest = replace(plan, operands=tuple(o for o in files if o not in passed))
        left = _unresolved(rest, output, "shows only some lines of several files")
        return Verdict((*_targets(plan, passed), *left.targets), left.reason)
    return Verdict(_targets(plan, files, evidence, len(files)))


def _cut_text(plan: Plan, files: Sequence[Operand], evidence: Evidence) -> Verdict:
    """Return the verdict on content of which a part was left out, or that ended too early.

    The beginning that was shown is that of the first file, and the end that of the last one; what
    lies between them may have been left out.
    """
    passed: list[Operand] = []
    if len(files) == 1:
        passed = list(files) if evidence.is_sole or evidence.has_start or evidence.has_end else []
    elif not evidence.has_failed:
        passed += files[:1] if evidence.has_start and plan.end != "last" else ()
        passed += files[-1:] if evidence.has_end and plan.end != "first" else ()
        passed += [o for o in _tables_beside(files, evidence) if o not in passed]
    rest = replace(plan, operands=tuple(o for o in files if o not in passed))
    left = operand_targets(rest, evidence.doubt) if rest.operands else ()
    return Verdict((*_targets(plan, passed, evidence, len(files)), *left))


_SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}
_FEWEST_ROWS: Final = 5


def _tables_beside(files: Sequence[Operand], evidence: Evidence) -> list[Operand]:
    """Return the only table among several files, where its rows stand beside the cut.

    Of no other file are several lines in a row all split into the same number of fields.
    """
    tables = [o for o in files if o.written.lower().endswith(tuple(_SEPARATORS))]
    if len({o.written for o in tables}) != 1 or not evidence.cuts:
        return []
    separator = _SEPARATORS[tables[0].written.lower()[-4:]]
    before, behind = evidence.cuts[0], evidence.cuts[-1]
    beside = (
        evidence.lines[max(0, before - 1 - _FEWEST_ROWS) : max(0, before - 1)],
        evidence.lines[behind + 1 : behind + 1 + _FEWEST_ROWS],
    )
    for rows in beside:
        n_fields = {row.count(separator) for row in rows}
        if len(rows) == _FEWEST_ROWS and len(n_fields) == 1 and n_fields.pop() > 0:
            return tables
    return []


_LONGEST_COMPLAINT: Final = 8
_TRACEBACK: Final = "Traceback (most recent call last):"
_COMPLAINT: Final = re.compile(
    r"(?i)\b(?:\w*error|fatal|fail(?:ed|ure)|cannot|can't|could not|couldn't|unable to|invalid"
    r"|illegal|un(?:recognized|known|expected|matched)|denied|refused|not found|no such|no matches"
    r"|missing|required|not an? |traceback|\w*exception|abort(?:ed)?|please run|syntax)\b"
    r"|^usage: |^try '"
)


def _may_complain(plan: Plan, evidence: Evidence, output: Output) -> bool:
    """Return whether what a command printed may be its error message and no content.

    That is a line that begins with its own name; and where a call failed and no line is known to
    say why, a few lines with the words of such messages.
    """
    opening = next(filter(str.strip, evidence.lines))
    if opening.startswith((f"{plan.program}: ", _TRACEBACK)):
        return plan.program not in READERS or evidence.has_failed
    if plan.program == "git" and opening.startswith("fatal: "):
        return True
    if evidence.has_failed and evidence.is_lone and plan.program in output.errors:
        return not any(output.failed(o.written, plan.cwd) for o in plan.operands)
    is_explained = not evidence.has_failed or bool(output.errors)
    if is_explained or plan.access == "listed":
        return False
    lines = [line for line in evidence.lines if line.strip()]
    is_short = len(lines) <= _LONGEST_COMPLAINT
    return is_short and any(_COMPLAINT.search(line[:500]) for line in lines)


def _is_all(plan: Plan, evidence: Evidence) -> bool:
    """Return whether fewer lines were shown than could pass, so that all of them were."""
    return plan.most is not None and evidence.n_lines is not None and evidence.n_lines < plan.most


def _unserved(plan: Plan, lines: Sequence[str], output: Output) -> Verdict | None:
    """Return the verdict on a server's error or page in place of the file; None for the file."""
    path, text = plan.files[0].written if plan.files else "", "\n".join(lines)
    if _FETCH_FAILED.match(lines[0]) or is_error_message(text):
        return Verdict()
    if plan.program == "gh" and text.startswith("["):
        return _unresolved(plan, output, "lists a folder, or shows a file that holds a list")
    if is_page(text):
        return None if may_be_a_page(path) else Verdict()
    if not text.startswith("{") or not states_error(parsed(text)):
        return None
    if not path.endswith(".json"):
        return Verdict()
    return _unresolved(plan, output, "an error, or a file that holds one")


def _names(plan: Plan, evidence: Evidence, output: Output) -> Verdict:
    found_of = tuple(o for o in plan.operands if not output.lacks(o.written, plan.program))
    if plan.operands and not found_of:
        return Verdict()
    plan = replace(plan, operands=found_of)
    lines, halves = _whole_and_half(plan, evidence)
    if plan.style == "listing" and not evidence.is_sole:
        lines = [line for line in lines if _is_own_entry(plan, line, evidence.rivals)]
        if not lines:
            return _some_entries(plan, evidence)
    found = named(plan, lines)
    half = tuple(_half_named(plan, path, is_end) for path, is_end in halves if path not in found)
    if evidence.cuts and plan.style in _BLOCKS:
        half = operand_targets(plan, "cut_result")
    if not found:
        is_lost = evidence.is_sole and plan.style in ("path", "match") and not _fits(plan, evidence)
        if is_lost or plan.style == "headers":
            return _unresolved(plan, output, "its output does not name the files")
        return Verdict(half)
    spans = plan.spans if plan.style == "headers" and not evidence.is_cut else None
    is_whole = plan.style == "headers" and spans == WHOLE
    targets = []
    for path, numbers in found.items():
        if SAVED.search(path):
            continue
        ranges = merged_ranges((n, n) for n in numbers)
        if ranges is None and spans:
            ranges = close(spans, None)
        targets.append(RawTarget(plan.path(path), plan.access, None, ranges or None, is_whole))
    return Verdict((*targets, *half))


_BLOCKS: Final = frozenset(["listing", "tree", "heading"])
"""Styles in which the place of a line follows from lines before it."""


def _begins_whole(plan: Plan, line: str) -> bool:
    """Return whether a line begins as a command prints the names of what it was given."""
    starts = [o.written.rstrip("/") + "/" for o in plan.operands if o.kind == "file"]
    return len(starts) == len(plan.operands) and any(map(line.startswith, starts))


def _whole_and_half(plan: Plan, evidence: Evidence) -> tuple[Sequence[str], list[tuple[str, bool]]]:
    """Return the lines as a command printed them, and the names in halves of such lines.

    Of each name it is told whether its end was shown, else its beginning.

    A line of which the beginning was shown still names its file where a character ends the name.
    """
    lines = list(evidence.lines)
    is_ended = plan.style in ("match", "count")
    behind = (*evidence.cuts, *((0,) if plan.half == "first" else ()))
    halves = {n for n in behind if n < len(lines) and not _begins_whole(plan, lines[n])}
    if not is_ended:
        halves.update(cut - 1 for cut in evidence.cuts)
        halves.update((len(lines) - 1,) if plan.half == "last" else ())
    if plan.is_counted:
        lines = [line_without_count(line) for line in lines]
    if plan.width is not None and not is_ended:
        halves.update(n for n, line in enumerate(lines) if not len(line) < plan.width)
    if not halves:
        return lines, []
    kept = [line for n, line in enumerate(lines) if n not in halves]
    if plan.style in _BLOCKS:
        kept = []
        for n, line in enumerate(lines):
            kept += [CUT_HERE] if n in evidence.cuts else []
            kept += [] if n in halves else [line]
    beginnings = [lines[n] for n in sorted(halves) if 0 <= n < len(lines) and n not in behind]
    ends = [lines[n] for n in sorted(halves.intersection(behind))]
    found = [(path, False) for path in named(plan, beginnings)]
    return kept, [*found, *((path, True) for path in named(plan, ends))]


def _half_named(plan: Plan, path: str, is_end: bool) -> RawTarget:
    """Return the possible access of a file whose name ends, or begins, with what was shown."""
    pattern = f"*{path}" if is_end else f"{plan.path(path)}*"
    return RawTarget(pattern, plan.access, doubt="cut_result", is_pattern=True)


def _some_entries(plan: Plan, evidence: Evidence) -> Verdict:
    """Return the verdict on a listing of which no line surely is its own."""
    entries = tuple(
        RawTarget(plan.path(path), plan.access, doubt="opaque_call")
        for path in named(plan, evidence.lines)
    )
    return Verdict(entries, f"{plan.program}: {_SHARED}")


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
        return _unresolved(plan, output, "its output does not name the files")
    if plan.style == "count":
        counts = [line.strip().rpartition(":")[2] for line in evidence.lines if line.strip()]
        if not evidence.is_sole:
            return _unresolved(plan, output, "its count cannot be told from other output")
        is_hit = any(c.isdecimal() and int(c[:12]) > 0 for c in counts)
        return Verdict(_targets(plan, files) if is_hit else ())
    lines = evidence.lines
    if evidence.cuts:
        behind = frozenset(evidence.cuts)
        lines = [line for n, line in enumerate(lines) if n not in behind]
    if plan.is_counted:
        lines = [line_without_count(line) for line in lines]
    # The grep that Claude Code puts into its shell names the one file of a recursive search.
    name = f"{files[0].written}:"
    if plan.has_numbers and all(line.startswith(name) for line in lines if line.strip()):
        lines = [line.removeprefix(name) for line in lines]
    if not evidence.is_sole:
        lines = [line for line in lines if could_print(plan, line)]
        if not lines:
            return Verdict()
        lines = [line for line in lines if line not in evidence.contested]
        if not lines or not plan.words or not plan.has_numbers:
            return _unresolved(plan, output, _SHARED)
    numbers = numbers_of(lines) if plan.has_numbers else []
    if plan.has_numbers and not numbers and not any(_BINARY.search(line) for line in lines):
        if evidence.rivals:
            return Verdict()
        return _unresolved(plan, output, "its output does not look like numbered lines")
    ranges = merged_ranges((n, n) for n in numbers)
    return Verdict(
        tuple(
            RawTarget(plan.path(o.written), plan.access, None, ranges)
            for o in files
            if not SAVED.search(o.written)
        )
    )


def _behind(evidence: Evidence, n: int, line: str) -> tuple[str, ...]:
    """Return a line, or the mark of a cut in place of the half line behind it."""
    return (CUT_HERE,) if n in evidence.cuts else (line,)


def _remote(plan: Plan, evidence: Evidence, output: Output) -> Verdict:
    lines = evidence.lines
    if evidence.cuts:
        lines = [shown for n, line in enumerate(lines) for shown in _behind(evidence, n, line)]
    found = remote_files(plan, lines)
    if not evidence.is_sole and plan.access != "matched" and len(found) != 1:
        return _unresolved(plan, output, _SHARED)
    targets = [
        RawTarget(path, plan.access, repository or None, merged_ranges((n, n) for n in numbers))
        for (repository, path), numbers in found.items()
        if plan.access == "listed" or numbers or plan.access == "matched"
    ]
    return Verdict(tuple(targets))


# --------------------------------------------------------------------------------------------------
# The lines each step may have printed, and how certain they are its own.

MAX_COMPARISONS: Final = 1_000_000
"""Lines times commands that are compared in one segment; lines beyond it are left out."""


class Evidence(Struct, frozen=True, gc=False):
    """The lines a plan may have printed.

    ``is_sole`` is true when no other command printed into them, ``is_certain`` when the command is
    known to have run, ``n_lines`` the exact number of lines when that is known, and ``rivals``
    describe what other commands may have printed among them: the style of their names, or their
    kind of evidence. ``contested`` lines can come from the searches of more than one file.
    ``has_printed``: there are more lines than all other commands can have printed.
    ``has_failed``: the call is known to have failed. ``is_lone``: it ran only this pipeline.
    ``is_crowded``: there are fewer lines than files that were to be shown, one line each at least.

    ``cuts`` are the numbers of the lines before which a part is left out. ``is_cut``: a part is
    left out, or the call ended too early. ``has_start`` and ``has_end``: the first and the last
    lines that the plan printed are among the lines, if it printed any. ``is_exact``: the lines are
    its own from the first one on. ``has_run``: the call was not stopped before it ran.
    """

    lines: Sequence[str]
    is_sole: bool
    is_certain: bool
    n_lines: int | None = None
    rivals: frozenset[str] = frozenset()
    contested: frozenset[str] = frozenset()
    has_printed: bool = False
    is_background: bool = False
    is_crowded: bool = False
    has_failed: bool = False
    is_lone: bool = False
    cuts: tuple[int, ...] = ()
    is_cut: bool = False
    has_start: bool = True
    has_end: bool = True
    is_exact: bool = True
    has_run: bool = True
    doubt: Doubt = "cut_result"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was printed."""
        return not any(map(str.strip, self.lines))

    def whole_lines(self) -> Sequence[str]:
        """Return the lines that surely are no halves."""
        if not self.cuts:
            return self.lines
        halves = {n for cut in self.cuts for n in (cut - 1, cut)}
        return [line for n, line in enumerate(self.lines) if n not in halves]


def shared_evidence(
    steps: Sequence[Step],
    plans: Sequence[Plans | None],
    segments: Sequence[Segment],
    output: Output,
    is_error: bool,
) -> list[Evidence]:
    """Return the evidence of each step.

    A step is the sole printer of its lines when every other step of its segment is silent, or
    when all that can print show one and the same file.
    """
    printers: dict[int, list[Plans]] = defaultdict(list)
    lines_of: dict[int, list[str]] = {}
    cuts_of: dict[int, tuple[int, ...]] = {}
    counted: dict[int, list[tuple[Step, Plans]]] = defaultdict(list)
    uncounted: set[int] = set()
    for step, planned, segment in zip(steps, plans, segments, strict=True):
        key = id(segment)
        if key not in lines_of:
            lines, cuts = segment.shown(MAX_COMPARISONS // max(len(segment.members), 1))
            lines_of[key], cuts_of[key] = lines, tuple(cuts)
        is_loose = segment.noise or segment.is_mixed or segment.cuts
        if step.reason is not None or step.is_background or is_loose:
            uncounted.add(key)
        if planned is not None and planned.prints and not _has_failed(planned, output):
            printers[key].append(planned)
            counted[key].append((step, planned))
    shared = {key: group for key, group in printers.items() if len(group) > 1}
    kinds = {key: Counter(map(_kind, group)) for key, group in shared.items()}
    one_file = {key: _show_one_file(group) for key, group in shared.items()}
    contested = {key: _contested(group, lines_of[key]) for key, group in shared.items()}
    crowded = {key: _is_crowded(group, lines_of[key], output) for key, group in printers.items()}
    ends = _ends(segments, counted, lines_of, cuts_of, output)
    own: dict[int, list[str]] = {}
    surplus: dict[int, bool] = {}
    for key, together in counted.items():
        if len(together) > 1 and key not in uncounted and key not in ends.open_segments:
            counts = [(step, _count(step, planned, output)) for step, planned in together]
            own |= _own_lines(counts, lines_of[key])
            surplus |= _surplus(counts, len(lines_of[key]))
    is_lone = sum(bool(step.stages) for step in steps) == 1
    n_run = _surely_run(steps, segments, ends) if output.is_stopped else len(steps)
    found = []
    for number, (step, planned, segment) in enumerate(zip(steps, plans, segments, strict=True)):
        key = id(segment)
        group = printers.get(key, [])
        lines = own.get(id(step), lines_of[key])
        is_alone = (len(group) == 1 and not step.is_unordered) or id(step) in own
        is_cut = key in ends.open_segments
        is_counted = is_alone and not is_cut and not segment.noise and not segment.is_mixed
        has_start, has_end = ends.of_steps.get(id(step), (False, False)) if is_cut else (True, True)
        found.append(
            Evidence(
                lines,
                is_alone or one_file.get(key, False),
                is_certain=not step.is_conditional and not (is_error and bool(segment.cuts)),
                n_lines=len(lines) if is_counted else None,
                rivals=(
                    frozenset() if id(step) in own else _rivals(group, kinds.get(key), planned)
                ),
                contested=contested.get(key, frozenset()),
                has_printed=surplus.get(id(step), False) or id(step) in own,
                is_background=step.is_background,
                is_crowded=crowded.get(key, False) and id(step) not in own,
                has_failed=is_error,
                is_lone=is_lone,
                cuts=cuts_of[key],
                is_cut=is_cut,
                has_start=has_start,
                has_end=has_end,
                is_exact=is_alone and has_start and not segment.noise and not segment.is_mixed,
                has_run=number < n_run,
                doubt="cut_result" if segment.cuts else "may_not_have_run",
            )
        )
    return found


class _Ends(Struct, frozen=True, gc=False):
    """Which segments do not hold all that was printed, and what their steps show of their ends."""

    open_segments: frozenset[int]
    of_steps: dict[int, tuple[bool, bool]]


def _ends(
    segments: Sequence[Segment],
    counted: dict[int, list[tuple[Step, Plans]]],
    lines_of: dict[int, list[str]],
    cuts_of: dict[int, tuple[int, ...]],
    output: Output,
) -> _Ends:
    """Return where the lines of a cut segment show the first and last lines of its steps.

    The first step has printed the first lines; a later one has where more lines stand before the
    cut than all before it can have printed. The same holds of the last ones behind the last cut.
    Where nothing shows the place of the cut, any segment may lack lines.
    """
    last = id(next((s for s in reversed(segments) if not _is_aside(s)), None))
    is_open = {key for key, cuts in cuts_of.items() if cuts or output.is_cut_anywhere}
    if output.is_stopped:
        is_open.add(last)
    found: dict[int, tuple[bool, bool]] = {}
    for key in is_open & counted.keys():
        together, lines, cuts = counted[key], lines_of[key], cuts_of[key]
        most = [_count(step, planned, output)[1] for step, planned in together]
        n_head = 0 if output.is_cut_anywhere else cuts[0] if cuts else len(lines)
        is_stopped = output.is_stopped and key == last
        has_tail = bool(cuts) and not is_stopped and not output.is_cut_anywhere
        n_tail = len(lines) - cuts[-1] if has_tail else 0
        is_ordered = not any(step.is_background or step.is_unordered for step, _ in together)
        starts = _reached(most, n_head) if is_ordered else [False] * len(most)
        stops = _reached(most[::-1], n_tail)[::-1] if is_ordered else starts
        for (step, _), start, stop in zip(together, starts, stops, strict=True):
            found[id(step)] = (start, stop)
    return _Ends(frozenset(is_open), found)


def _is_aside(segment: Segment) -> bool:
    """Return whether a segment is that of a line which divides others, or of standard error."""
    return len(segment.members) == 1 and (segment.is_mixed or not segment.lines)


def _reached(most: Sequence[int | None], n_lines: int) -> list[bool]:
    """Return for each step whether so many lines surely hold some of its own, if it prints any."""
    found: list[bool] = []
    before: int | None = 0
    for count in most:
        found.append(before is not None and before < n_lines)
        before = before + count if before is not None and count is not None else None
    return found


def _surely_run(steps: Sequence[Step], segments: Sequence[Segment], ends: _Ends) -> int:
    """Return how many steps had surely begun when a call was stopped."""
    n_run = 0
    for number, (step, segment) in enumerate(zip(steps, segments, strict=True), start=1):
        is_divider = step.marker is not None and segment.members == [number - 1]
        is_shown = bool(segment.lines) and id(segment) not in ends.open_segments
        if is_divider or is_shown or ends.of_steps.get(id(step), (False, False))[0]:
            n_run = number
    return n_run


def _is_crowded(group: Sequence[Plans], lines: Sequence[str], output: Output) -> bool:
    """Return whether lines are fewer than the files that were to be shown whole or in part.

    A line that a search with numbers prints is not counted as one of a file that was shown.
    """
    plans = [planned.shown for planned in group if planned.shown is not None]
    searches = [p for p in plans if p.evidence == "numbers" and p.has_numbers]
    n_files = 0
    for plan in plans:
        if plan.evidence == "text" and not plan.is_selective:
            n_shown = sum(not output.failed(o.written, plan.cwd) for o in plan.files)
            is_one = plan.end is not None or plan.is_joint
            n_files += min(n_shown, 1) if is_one else n_shown
    if n_files + bool(searches) < 2:
        return False
    shown = (line for line in lines if not any(could_print(plan, line) for plan in searches))
    return sum(1 for _ in zip(shown, range(n_files), strict=False)) < n_files


# How many lines a pipeline prints, where that is known: commands whose outputs follow each other
# without a line between them are told apart by it.

_Count = tuple[int, int | None]
"""The least and the most lines that a pipeline prints."""

_ONE_LINE: Final = frozenset(["pwd", "whoami", "hostname", "date", "uname"])


_LINE_EACH: Final = frozenset(
    ["wc", "file", "readlink", "realpath", "md5sum", "sha1sum", "sha256sum", "cksum"]
)
"""Programs that print one line about each of their files; ``wc`` adds one about several."""


def _count(step: Step, planned: Plans, output: Output) -> _Count:
    last = step.stages[-1]
    most = _most_lines(last)
    plan = planned.shown
    if most is None and plan is not None and plan.evidence == "text" and plan.spans:
        closed = close(plan.spans, None)
        if closed is not None and len(plan.operands) == 1:
            most = sum(b - a + 1 for a, b in closed)
    is_fixed = last.program in _ONE_LINE or (
        last.program == "wc" and len(step.stages) > 1 and not scan(last.args).operands
    )
    if last.program in _LINE_EACH and len(step.stages) == 1 and plan is not None:
        n_files = len(plan.operands)
        is_known = len(plan.files) == n_files > 0 and not output.errors
        if is_known and not (step.is_conditional or plan.hides_errors):
            n_lines = n_files + (last.program == "wc" and n_files > 1)
            return n_lines, n_lines
    is_sure = is_fixed and not step.is_conditional
    return (1, 1) if is_sure else (0, 1 if is_fixed else most)


def _most_lines(stage: Invocation) -> int | None:
    """Return how many lines the last command of a pipeline lets through, if that is limited."""
    if stage.program not in ("head", "tail"):
        return None
    options = scan(stage.args, "nc", "lines bytes")
    if options.has("c", "bytes") or len(options.operands) > 1:
        return None
    text = options.text("n", "lines", "#")
    if text is None:
        return None if options.has("n", "lines", "#") else 10
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def _own_lines(group: Sequence[tuple[Step, _Count]], lines: Sequence[str]) -> dict[int, list[str]]:
    """Return the lines of each pipeline by its identity where counts leave one way to divide."""
    most = [high for _, (_, high) in group]
    total = sum(high for high in most if high is not None)
    if None not in most and total == len(lines):
        counts = [high or 0 for high in most]
    else:
        loose = [i for i, (_, (low, high)) in enumerate(group) if low != high]
        if len(loose) > 1:
            return {}
        counts = [low for _, (low, _) in group]
        rest = len(lines) - sum(counts)
        if rest < 0 or (rest and not loose):
            return {}
        for i in loose:
            counts[i] += rest
    found: dict[int, list[str]] = {}
    start = 0
    for (step, _), count in zip(group, counts, strict=True):
        found[id(step)] = list(lines[start : start + count])
        start += count
    return found


def _surplus(group: Sequence[tuple[Step, _Count]], n_lines: int) -> dict[int, bool]:
    """Return for each pipeline whether the others cannot have printed all of the lines."""
    n_open = sum(high is None for _, (_, high) in group)
    total = sum(high or 0 for _, (_, high) in group)
    return {
        id(step): n_open == (high is None) and n_lines > total - (high or 0)
        for step, (_, high) in group
    }


def could_print(plan: Plan, line: str) -> bool:
    """Return whether ``line`` can come from the search that ``plan`` is."""
    if plan.has_numbers and not re.match(r"\d{1,9}:", line):
        return False
    text = line.lower() if plan.ignores_case else line
    words = [w.lower() for w in plan.words] if plan.ignores_case else plan.words
    return not words or any(word in text for word in words)


def _contested(group: Sequence[Plans], lines: Sequence[str]) -> frozenset[str]:
    by_file: dict[str, list[Plan]] = defaultdict(list)
    for planned in group:
        plan = planned.shown
        if plan is not None and plan.evidence == "numbers" and len(plan.files) == 1:
            by_file[plan.path(plan.files[0].written)].append(plan)
    if len(by_file) < 2:
        return frozenset()
    searches = list(by_file.values())
    return frozenset(
        line
        for line in set(lines)
        if sum(any(could_print(plan, line) for plan in plans) for plans in searches) > 1
    )


def _has_failed(planned: Plans, output: Output) -> bool:
    plan = planned.shown
    if plan is not None and plan.program in output.unknown:
        return True
    if plan is None or not plan.operands or len(plan.files) < len(plan.operands):
        return False
    return all(output.failed(operand.written, plan.cwd) for operand in plan.files)


def _rivals(
    group: Sequence[Plans], kinds: Counter[str] | None, planned: Plans | None
) -> frozenset[str]:
    own = _kind(planned) if planned is not None and planned.prints else None
    if kinds is None:
        return frozenset(kind for kind in map(_kind, group) if kind != own)
    return frozenset(kind for kind, count in kinds.items() if count > (kind == own))


def _kind(planned: Plans) -> str:
    plan = planned.shown
    if plan is None:
        return "unknown"
    return plan.style if plan.evidence == "names" else plan.evidence


def _show_one_file(group: Sequence[Plans]) -> bool:
    names = set()
    for planned in group:
        plan = planned.shown
        if plan is None or plan.evidence not in ("text", "numbers") or plan.style == "count":
            return False
        if len(plan.operands) != 1 or plan.operands[0].kind != "file" or plan.access == "listed":
            return False
        names.add((plan.repository, plan.path(plan.operands[0].written)))
    return len(names) == 1
