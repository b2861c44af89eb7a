"""The output of a shell call: lines without decorations, and the step each may be from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.shell.steps import Marker, Step, resolve
from retrieval_eval.records import CUT_HERE

MAX_OUTPUT: Final = 2_000_000
"""Characters of output that are looked at; the rest counts as cut off."""

_MAX_ERROR_LINE = 1000
_EMPTY = re.compile(
    r"\W?(?:no output"
    r"|\w+ (?:completed|executed|ran)(?: successfully)? with(?: no|out) output(?: or errors)?)\W?",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"No such file or directory|[Ii]s a directory|Permission denied|Not a directory"
    r"|command not found|can't (?:read|open)|does not exist|Read-only file system"
    r"|cannot (?:open|access|remove|stat|touch|move|create)"
    r"|unknown revision or path|: not found$|[Rr]epository not found"
)
_DECORATION = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RESET = re.compile(
    r"^(?:Shell cwd was reset to (/.*)|\[Current working directory: (/[^\]]{1,1000})\])$"
)
_STATUS = re.compile(
    r"\[(?:The command (?:completed|finished) with exit code|Command finished with exit code"
    r"|Python interpreter:|The command timed out after|The command has no new output after)"
    r"[^\]]{0,1000}\]"
)
_OPENINGS = (
    re.compile(r"(?:Error: )?Exit code -?\d+|[Cc]ommand timed out(?: after \d.{0,100}|\.?)"),
    re.compile(r"(?:[Cc]|The previous c)ommand timed out after \d.{0,100}"),
)
"""What a harness writes into the first and the second line."""
_BACKGROUND = re.compile(
    r"(?:Command running in background with ID|Command is running in background\. PID"
    r"|Process running with session ID|Command moved to background)[^\n]{0,1000}"
)
_FIRST_OF_NOTES = frozenset("S[<OCP")
"""The characters with which the notes of harnesses begin, below the first two lines."""
_SAVED = re.compile(r"^(?:</?persisted-output>|Preview \(first .*|Output too large \(.*)$")


class Output(Struct, frozen=True, gc=False):
    """The lines of an output.

    ``errors`` are the names and phrases that error messages mention, ``absent`` the pairs of a
    program and a name that it did not find, ``unknown`` the programs that the shell did not find.
    ``cuts`` are the numbers of
    the lines before which a part is left out; the lines beside a cut may be halves. ``is_refused``
    says that nothing was executed at all, ``is_background`` that the command went on where nothing
    more of it was seen, and ``reset_cwd`` is the directory the harness put the shell back to.
    ``is_missing``: the trace does not hold it, ``is_shortened``: the trace holds only part of what
    the agent saw, and ``is_stopped``: the command was ended, or left to run on, before its end.
    """

    lines: tuple[str, ...]
    errors: frozenset[str] = frozenset()
    absent: frozenset[tuple[str, str]] = frozenset()
    unknown: frozenset[str] = frozenset()
    cuts: tuple[int, ...] = ()
    is_refused: bool = False
    is_background: bool = False
    reset_cwd: str | None = None
    is_missing: bool = False
    is_shortened: bool = False
    is_stopped: bool = False

    @property
    def is_cut_anywhere(self) -> bool:
        """Whether a part is left out, and both ends are marked since its place is not known."""
        return self.cuts == (0, len(self.lines))

    def failed(self, written: str, cwd: str | None, program: str = "") -> bool:
        """Return whether an error message names this file (for this program)."""
        if not self.errors or (program and program not in self.errors):
            return False
        return written in self.errors or resolve(cwd, written) in self.errors

    def lacks(self, written: str, program: str) -> bool:
        """Return whether a program says that it did not find what it was given."""
        return (program, written) in self.absent


def is_error_line(line: str, *, has_failed: bool = False) -> bool:
    """Return whether ``line`` is the error message of a command.

    ``has_failed``: the call is known to have failed, so that a line that begins with the name of a
    program is its message.

    Examples
    --------
    >>> is_error_line("cat: a.py: No such file or directory"), is_error_line("cat: 3")
    (True, False)
    """
    if len(line) > _MAX_ERROR_LINE or line[:1] in " \t#":
        return False
    head, colon, _ = line.partition(": ")
    if not colon or " " in head:
        is_of_bat = has_failed and head == "[bat error]"
        return is_of_bat or _NOT_REACHED.match(line) is not None
    if _IN_ANY_LANGUAGE.match(line) and not line.endswith("binary file matches"):
        return True
    if has_failed and _OF_A_PROGRAM.match(line):
        return True
    if _OF_THE_SHELL.match(line) or _NOT_REACHED.match(line):
        return True
    return _ERROR.search(line) is not None and _LEAD.match(line) is not None


_IN_ANY_LANGUAGE = re.compile(r"(?:cat|tac|nl|head|tail|sed|wc|ls|find|[ef]?grep): \S.*: \S")
_OF_THE_SHELL = re.compile(r"(?:/\S*/)?(?:ba|z|da|k)?sh: (?:-c: |eval: )?(?:line )?\d+: \S")
_OF_A_PROGRAM = re.compile(
    r"(?:fatal|[Ee]rror): \S|(?:/\S*/)?(?:[gmn]?awk|jq|yq|bat|batcat|cat|tac|nl"
    r"|less|more|head|tail|sed|cut|sort|uniq|tr|diff|comm|od|xxd|[efz]?grep|rg|ag|fd|find|ls|tree|wc|stat"
    r"|file|git|gh|sudo|env|timeout|xargs|(?:ba|z|da|k)?sh|ssh|tar|unzip|zcat|base64|column"
    r"|strings): \S"
)
_NOT_REACHED = re.compile(
    r"Error response from daemon: |Error: No such container: |OCI runtime exec failed: "
    r"|Cannot connect to the Docker daemon |service \"[^\"]{1,200}\" is not running"
    r"|Error from server(?: \(|: )|error: unable to upgrade connection"
    r"|ssh: (?:connect to host|Could not resolve hostname) |Host key verification failed"
    r"|\S{1,200}: Permission denied \("
)
"""What programs print that did not reach the place where a command was to run."""

_WITHOUT_COLON = (
    "Cannot connect to the Docker daemon", "is not running", "Error from server", "Host key",
)  # fmt: skip
"""Parts of those messages that need not hold a colon and a space, as all others do."""

_UNKNOWN = re.compile(
    r"\A(?:/\S{0,200}/)?(?:ba|z|da|k)?sh: (?:line )?(?:\d{1,9}: )?"
    r"(?:(?P<name>[\w.+-]{1,100}): (?:command )?not found"
    r"|command not found: (?P<last>[\w.+-]{1,100}))\s*\Z"
)
"""What a shell says of a program that is not installed."""

_LEAD = re.compile(
    r"(?:/\S*/)?(?:ba|z|da)?sh: |[\w./+-]+: (?!\s)|fatal: |error: |[\w.]*Error: |find: "
)


def read_output(text: str, *, has_failed: bool = False, is_shortened: bool = False) -> Output:
    """Return the lines of ``text`` without the decorations that harnesses add.

    ``is_shortened``: the trace cut it, so that the agent saw more.
    """
    is_shortened = is_shortened or len(text) > MAX_OUTPUT
    text = text[:MAX_OUTPUT]
    if is_refusal(text):
        return Output((), is_refused=True)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "<system-reminder>" in text:
        text = _DECORATION.sub("", text)
    is_saved = "<persisted-output>" in text
    lines: list[str] = []
    is_background = False
    reset_cwd: str | None = None
    for i, line in enumerate(text.replace("\r\n", "\n").split("\n")):
        if i >= len(_OPENINGS) and line[:1] not in _FIRST_OF_NOTES:
            lines.append(line)
            continue
        reset = _RESET.match(line)
        if reset:
            reset_cwd = reset[1] or reset[2]
        elif _BACKGROUND.fullmatch(line):
            is_background = True
        elif (i < len(_OPENINGS) and _OPENINGS[i].fullmatch(line)) or _STATUS.fullmatch(line):
            continue
        elif not (is_saved and _SAVED.match(line[:200])):
            lines.append(line)
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) == 1 and _EMPTY.fullmatch(lines[0].strip()):
        lines = []
    kept, errors, absent = _parted(text, lines, has_failed)
    cuts: tuple[int, ...] = ()
    if is_shortened and CUT_HERE not in text:
        cuts = (len(kept),)
    elif CUT_HERE in text:
        kept, cuts = _cut_apart(kept)
    found = [_UNKNOWN.match(line) for line in lines] if errors and "not found" in text else ()
    return Output(
        kept,
        errors,
        absent,
        frozenset(match["name"] or match["last"] for match in found if match is not None),
        cuts,
        is_background=is_background,
        reset_cwd=reset_cwd,
        is_shortened=is_shortened,
    )


def _cut_apart(lines: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return lines without the marks of cuts and the empty lines around them, and the places."""
    kept: list[str] = []
    cuts: list[int] = []
    is_behind = False
    for line in lines:
        if line == CUT_HERE:
            while kept and not kept[-1].strip() and (not cuts or len(kept) > cuts[-1]):
                kept.pop()
            if not cuts or cuts[-1] != len(kept):
                cuts.append(len(kept))
            is_behind = True
        elif not is_behind or line.strip():
            kept.append(line)
            is_behind = False
    return tuple(kept), tuple(cuts)


def _parted(
    text: str, lines: list[str], has_failed: bool
) -> tuple[tuple[str, ...], frozenset[str], frozenset[tuple[str, str]]]:
    """Return the lines of ``text`` that are no error messages, and what those are about."""
    kept: list[str] = []
    errors: set[str] = set()
    absent: set[tuple[str, str]] = set()
    may_be_unreached = any(hint in text for hint in _WITHOUT_COLON)
    if not may_be_unreached and ": " not in text:
        return tuple(lines), frozenset(), frozenset()
    for line in lines:
        may_be_error = may_be_unreached or ": " in line
        if may_be_error and is_error_line(line, has_failed=has_failed):
            names = _names(line)
            errors.update(names)
            if _IS_FOLDER.search(line) is None:
                absent.update((names[0].rpartition("/")[2], name) for name in names)
        else:
            kept.append(line)
    return tuple(kept), frozenset(errors), frozenset(absent)


_IS_FOLDER = re.compile(r"\bis a directory", re.IGNORECASE)
"""What programs say of a folder that is there."""


def _names(line: str) -> list[str]:
    """Return everything an error message may be about: its parts between colons and quotes."""
    names = [part.strip() for part in re.split(r": |['\"`‘’]", line)]
    tail = [name.removeprefix("can't read ").removeprefix("cannot open ") for name in names]
    words = [name.rsplit(" ", 1)[-1] for name in names]
    return [name.rstrip(":") for name in (*names, *tail, *words) if name]


# --------------------------------------------------------------------------------------------------
# Which lines of the output belong to which step.
#
# Scripts print known lines between their commands (``echo "--- a.py ---"``). Where such a marker
# is found as often as it was printed, it divides the output; the steps between two dividers share
# the lines between them.

BLANK = Marker(("",))


class Segment(Struct):
    """Lines shared by the steps numbered in ``members``.

    ``noise`` are marker lines that could not be placed, and ``cuts`` the numbers of the lines
    before which a part is left out. ``is_mixed``: lines of other steps may stand among them, as
    those of standard error do, which come in no order with those of standard output.
    """

    lines: list[str]
    members: list[int] = field(default_factory=list)
    noise: set[str] = field(default_factory=set)
    cuts: list[int] = field(default_factory=list)
    is_mixed: bool = False

    def extend(self, output: Output, start: int, end: int) -> None:
        """Add the lines of an output from ``start`` to before ``end``, with the cuts in them."""
        shift = len(self.lines) - start
        self.lines += output.lines[start:end]
        at = bisect_left(output.cuts, start)
        while at < len(output.cuts) and output.cuts[at] <= end:
            self.cuts.append(output.cuts[at] + shift)
            at += 1

    def shown(self, most: int) -> tuple[list[str], list[int]]:
        """Return the lines without noise, at most so many, and where they are cut."""
        lines, cuts = self.lines, self.cuts
        if self.noise:
            keeps = [line.rstrip() not in self.noise for line in lines]
            before = [0]
            for keep in keeps:
                before.append(before[-1] + keep)
            cuts = [before[cut] for cut in cuts]
            lines = [line for line, keep in zip(lines, keeps, strict=True) if keep]
        if len(lines) <= most:
            return lines, cuts
        return lines[:most], [*(cut for cut in cuts if cut < most), most]


def align(steps: list[Step], output: Output) -> list[Segment]:
    """Return the segment of each step; steps without a divider between them share one."""
    output, unplaced = _without_errors(steps, output)
    placed = _place(steps, output)
    _place_blanks(steps, output.lines, placed)
    is_mixed = any(step.is_unordered and step.marker is None for step in steps)
    segments: list[Segment] = []
    current = Segment([], noise=set(unplaced), is_mixed=is_mixed)
    start = 0
    prefix: str | None = None
    for i, step in enumerate(steps):
        if step.is_unordered:
            anywhere = Segment(list(output.lines), [i], cuts=list(output.cuts), is_mixed=True)
            segments.append(Segment([], [i]) if step.marker is not None else anywhere)
            continue
        if i in placed and step.marker is not None:
            at = placed[i]
            current.extend(output, start, at)
            start = at + 1
            following = Segment([], noise=set(unplaced), is_mixed=is_mixed)
            rest = _rest(step.marker, output.lines[at])
            if step.stages:
                segments.append(Segment([rest or ""], [i]))
            else:
                segments.append(Segment([], [i]))
                prefix = rest if not step.marker.ends_line else None
                if prefix:
                    following.lines.append(prefix)
            current = following
            continue
        if step.marker is not None and step.marker.text:
            current.noise.add(step.marker.text.rstrip())
        current.members.append(i)
        segments.append(current)
    current.extend(output, start, len(output.lines))
    return segments


def _without_errors(steps: list[Step], output: Output) -> tuple[Output, Set[str]]:
    """Return an output without the lines that ``echo`` printed to standard error.

    They stand anywhere among the others. Where more lines are like one of them than it printed,
    they are noise.
    """
    markers = [step.marker for step in steps if step.is_unordered and step.marker is not None]
    texts = Counter(marker.text.rstrip() for marker in markers if marker.text)
    texts.pop("", None)
    if not texts:
        return output, frozenset()
    there = Counter(text for line in output.lines if (text := line.rstrip()) in texts)
    gone = {text for text, count in there.items() if count <= texts[text]}
    segment = Segment(list(output.lines), noise=gone, cuts=list(output.cuts))
    lines, cuts = segment.shown(len(output.lines))
    return replace(output, lines=tuple(lines), cuts=tuple(cuts)), there.keys() - gone


def _rest(marker: Marker, line: str) -> str:
    """Return what ``line`` shows beyond the marker's known text."""
    if marker.text is not None:
        return line[len(marker.text) :]
    at = marker.parts.index(None)
    prefix = "".join(part or "" for part in marker.parts[:at])
    suffix = "".join(part or "" for part in marker.parts[at + 1 :])
    return line[len(prefix) : len(line) - len(suffix)]


def _place(steps: list[Step], output: Output) -> dict[int, int]:
    groups: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for i, step in enumerate(steps):
        marker = step.marker
        if marker is None or step.is_unordered:
            continue
        key = _key(marker)
        if key is not None:
            groups[key].append(i)
    if not groups:
        return {}
    positions = _positions(groups, output.lines)
    chosen: dict[int, int] = {}
    for key, members in groups.items():
        places = positions[key]
        if len(places) == len(members) or len(places) == 1 == len(members):
            chosen.update(zip(members, places, strict=True))
        elif output.cuts and len(places) < len(members):
            # What is left out may hold the others: those before it are the first, and so on.
            n_before = bisect_left(places, output.cuts[0])
            n_behind = len(places) - bisect_left(places, output.cuts[-1])
            chosen.update(zip(members[:n_before], places[:n_before], strict=True))
            if n_behind:
                chosen.update(zip(members[-n_behind:], places[-n_behind:], strict=True))
        elif output.is_stopped and len(places) < len(members):
            chosen.update(zip(members, places, strict=False))
    return _increasing(chosen)


def _key(marker: Marker) -> tuple[str, str, bool] | None:
    text = marker.text
    if text is not None:
        return (text.rstrip(), "", marker.ends_line) if text.strip() else None
    if marker.parts.count(None) != 1:
        return None
    at = marker.parts.index(None)
    prefix = "".join(part or "" for part in marker.parts[:at])
    suffix = "".join(part or "" for part in marker.parts[at + 1 :])
    return (prefix, suffix + "\0", True) if len((prefix + suffix).strip()) > 2 else None


def _positions(
    groups: dict[tuple[str, str, bool], list[int]], lines: tuple[str, ...]
) -> dict[tuple[str, str, bool], list[int]]:
    whole = {key[0] for key in groups if key[2] and not key[1]}
    found: dict[tuple[str, str, bool], list[int]] = {key: [] for key in groups}
    partial = [key for key in groups if key[1] or not key[2]][:200]
    for i, line in enumerate(lines):
        text = line.rstrip()
        if text in whole:
            found[(text, "", True)].append(i)
        for key in partial:
            prefix, suffix = key[0], key[1].rstrip("\0")
            is_long = len(line) >= len(prefix) + len(suffix)
            if is_long and line.startswith(prefix) and line.endswith(suffix):
                found[key].append(i)
    return found


def _increasing(chosen: dict[int, int]) -> dict[int, int]:
    kept: dict[int, int] = {}
    last = -1
    for step in sorted(chosen):
        if chosen[step] > last:
            kept[step] = last = chosen[step]
    return kept


def _place_blanks(steps: list[Step], lines: tuple[str, ...], placed: dict[int, int]) -> None:
    """Place ``echo ""`` between two dividers that enclose just as many blank lines."""
    edges = [-1, *sorted(placed), len(steps)]
    for left, right in pairwise(edges):
        blanks = [
            i
            for i in range(left + 1, right)
            if steps[i].marker == BLANK and not steps[i].is_unordered
        ]
        if not blanks or any(steps[i].is_conditional for i in blanks):
            continue
        first = placed[left] + 1 if left >= 0 else 0
        last = placed[right] if right < len(steps) else len(lines)
        empty = [n for n in range(first, last) if not lines[n].strip()]
        if right == len(steps):
            # Blank lines at the very end of an output are trimmed by every harness.
            blanks = blanks[: len(empty)] if len(blanks) > len(empty) else blanks
        if len(empty) == len(blanks):
            placed.update(zip(blanks, empty, strict=True))
