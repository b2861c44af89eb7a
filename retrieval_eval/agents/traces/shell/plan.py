"""What one pipeline intends to show, and which lines of it, before its output is examined."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec import Struct

from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.agents.traces.results.mentions import path_texts
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, resolve
from retrieval_eval.records import Access, FileState, LineRange, ToolCategory

# --------------------------------------------------------------------------------------------------
# Line ranges through a pipeline: what ``sed -n 10,99p f | head -5`` shows of ``f``.

Span = tuple[int, int | None]
Spans = tuple[Span, ...]

WHOLE: Final[Spans] = ((1, None),)
"""The whole file."""


def take(spans: Spans | None, wanted: Spans | None) -> Spans | None:
    """Return the lines of ``spans`` at the stream positions ``wanted``.

    Examples
    --------
    >>> take(((10, 99),), ((1, 5),))
    ((10, 14),)
    >>> take(((10, 12), (20, 30)), ((3, 4),))
    ((12, 12), (20, 20))
    """
    if spans is None or wanted is None:
        return None
    found: list[Span] = []
    for first, last in wanted:
        position = 1
        for start, end in spans:
            length = None if end is None else end - start + 1
            low = max(first, position)
            high = last if length is None else position + length - 1
            if last is not None and high is not None:
                high = min(high, last)
            if high is None or high >= low:
                found.append(
                    (start + low - position, None if high is None else start + high - position)
                )
            if length is None:
                break
            position += length
    return tuple(found)


def close(spans: Spans | None, n_lines: int | None) -> tuple[LineRange, ...] | None:
    """Return ``spans`` as merged ranges; an open end is found from the number of lines shown.

    None when an end stays unknown.
    """
    if not spans:
        return None
    closed: list[LineRange] = []
    for first, last in spans:
        if last is None:
            if n_lines is None:
                return None
            last = first + n_lines - sum(b - a + 1 for a, b in closed) - 1
        if last >= first:
            closed.append((first, last))
    return merged_ranges(closed) or ()


_SED_PART = re.compile(r"(\d{1,9})(?:,(\+?)(\d{1,9}|\$))?(p|q|d)?")


def sed_spans(script: str) -> Spans | None:
    """Return the lines that ``sed -n script`` prints; None when they depend on the text.

    Examples
    --------
    >>> sed_spans("1,3p;10,$p"), sed_spans("/x/,/y/p")
    (((1, 3), (10, None)), None)
    >>> sed_spans("1,100p;20q")
    ((1, 20),)
    """
    found: list[Span] = []
    end: int | None = None
    for part in filter(None, (p.strip() for p in re.split(r"[;\n]", script.strip("{} \n")))):
        match = _SED_PART.fullmatch(part.replace(" ", ""))
        if match is None or match[4] not in ("p", "q"):
            return None
        first = int(match[1])
        if match[4] == "q":
            # What stands before it still sees the line on which it quits.
            found, end = _until(found, first), first - 1
            continue
        last: int | None = first
        if match[3]:
            last = None if match[3] == "$" else int(match[3]) + (first if match[2] else 0)
        if last is not None and last < first:
            last = first
        found += _until([(first, last)], end)
    return tuple(sorted(found, key=lambda s: s[0])) or None


def _until(spans: list[Span], end: int | None) -> list[Span]:
    """Return the spans as far as line ``end``; all of them where there is no end."""
    if end is None:
        return spans
    return [(a, end if b is None else min(b, end)) for a, b in spans if a <= end]


_AWK_FLAT = re.compile(r"F?NR(>=|<=|==|>|<)(\d{1,9})")


def awk_spans(program: str) -> Spans | None:
    """Return the lines an awk program selects by number alone, else None.

    Examples
    --------
    >>> awk_spans("NR>=10 && NR<=20"), awk_spans("NR==5{print; exit}"), awk_spans("/x/")
    (((10, 20),), ((5, 5),), None)
    """
    text = re.sub(r"\s+", "", program)
    text = re.sub(r"\{printf?[^{};]*(;exit)?;?\}", "", text)
    text = re.sub(r";?F?NR>=?\d+\{exit\}$", "", text)
    edges = re.fullmatch(r"F?NR==(\d{1,9}),F?NR==(\d{1,9})", text)
    if edges:
        return ((int(edges[1]), int(edges[2])),)
    low, high = 1, None
    for part in text.split("&&"):
        match = _AWK_FLAT.fullmatch(part)
        if match is None:
            return None
        number = int(match[2])
        if match[1] == "==":
            return ((number, number),) if "&&" not in text else None
        if match[1][0] == ">":
            low = max(low, number + (match[1] == ">"))
        else:
            top = number - (match[1] == "<")
            high = top if high is None else min(high, top)
    return ((low, high),)


# --------------------------------------------------------------------------------------------------
# The plan.

Evidence = Literal["text", "numbers", "names", "write", "mentions", "nothing", "opaque"]
"""What in the output proves an access.

``text``: any output shows the files' content; ``numbers``: numbered lines of one file;
``names``: lines that name files; ``write``: nothing needed but the absence of an error;
``mentions``: paths in prose, such as those of a compiler's messages, prove nothing;
``nothing``: no access at all; ``opaque``: accesses that cannot be determined.
"""

Style = Literal[
    "path",
    "match",
    "heading",
    "records",
    "count",
    "listing",
    "tree",
    "columns",
    "headers",
    "diff",
    "remote",
    "patching",
    "status",
    "words",
]
"""The grammar of lines that name files; see :mod:`~.naming`."""


class Operand(Struct, frozen=True, gc=False):
    """A file argument. ``written`` is how programs print it; a feed is many names.

    ``is_new``: the whole file is written, as which files are created.
    """

    written: str
    kind: Literal["file", "pattern", "feed", "unknown"] = "file"
    roots: tuple[str, ...] = ()
    is_new: bool = False

    def covers(self, path: str) -> bool:
        """Return whether a printed ``path`` can come from this operand."""
        written = slashed(self.written)
        if self.kind == "pattern":
            return fits(written, path) or _under_pattern(written, path)
        if self.kind == "file":
            return path == written or _under(written, path)
        if self.kind == "feed" and self.roots:
            return any(path == root or _under(root, path) for root in self.roots)
        return True


_BACKSLASHED = re.compile(r"(?:[A-Za-z]:|\.{1,2})?[^\s:*?\"<>|/]{0,1000}\\[^:*?\"<>|]{0,1000}")


def slashed(text: str) -> str:
    r"""Return a text with slashes in the path of Windows that it begins with.

    Examples
    --------
    >>> slashed(r"C:\w\a.py:3:'\t'"), slashed(r"a.py:3:'\t'")
    ("C:/w/a.py:3:'\\t'", "a.py:3:'\\t'")
    """
    if "\\" not in text:
        return text
    path = _BACKSLASHED.match(text)
    if path is None:
        return text
    return path[0].replace("\\", "/") + text[path.end() :]


def _under(root: str, path: str) -> bool:
    if root == ".":
        return path.startswith("./") or not path.startswith(("/", "../"))
    return path.startswith(root.rstrip("/") + "/")


def _under_pattern(pattern: str, path: str) -> bool:
    parts = path.split("/")
    depth = pattern.count("/") + 1
    return len(parts) > depth and fits(pattern, "/".join(parts[:depth]))


class Plan(Struct, frozen=True, gc=False):
    """One pipeline's access: which files, in which way, and what would prove it.

    ``spans`` are the lines of each file that are shown (see :mod:`~.spans`), None when they
    are unknown. ``is_selective`` marks commands that may read a file and print nothing; where
    ``is_joint``, what they print is about all of their operands. ``end`` and ``most`` say that of
    several files, shown one after the other, only the first or the last lines pass, and how many.
    ``is_open`` marks opaque ones that may print what lies in files below their operands, or in any.
    ``revisions`` may stand before the names that a search of git prints.
    ``is_recursive``: a listing names the folder before the entries of each.
    ``words`` are texts one of which a matching line must contain (empty: not known).
    ``state`` is what a write shows of the files themselves.

    What filters behind a command did to its lines: ``is_counted``: a number stands before each.
    ``width``: of a line at most so many characters passed, 0 where that number is not known.
    ``half``: the first or the last line may be half of one. ``is_changed``: the lines may be
    other ones than those that the command printed. ``has_context``: a search prints lines around
    its hits too.
    """

    program: str
    category: ToolCategory = "file_read"
    access: Access = "opened"
    evidence: Evidence = "nothing"
    operands: tuple[Operand, ...] = ()
    cwd: str | None = None
    spans: Spans | None = None
    style: Style = "path"
    has_numbers: bool = False
    is_selective: bool = False
    is_joint: bool = False
    end: Literal["first", "last"] | None = None
    most: int | None = None
    is_loose: bool = False
    is_open: bool = False
    has_only_files: bool = False
    hides_errors: bool = False
    ignores_case: bool = False
    words: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    repository: str | None = None
    reason: str = ""
    is_counted: bool = False
    width: int | None = None
    half: Literal["first", "last"] | None = None
    is_changed: bool = False
    has_context: bool = False
    is_recursive: bool = False
    state: FileState | None = None

    @property
    def files(self) -> tuple[Operand, ...]:
        """The operands that are exactly one known path."""
        return tuple(o for o in self.operands if o.kind == "file")

    def path(self, written: str) -> str:
        """Return a printed or typed path from the working directory."""
        return written if self.repository is not None else resolve(self.cwd, written)


def operands_of(args: list[Arg], stage: Invocation) -> tuple[Operand, ...]:
    """Return the file operands among ``args``; standard input and devices are none."""
    found = [operand_of(arg) for arg in args if not _is_stream(arg)]
    if not found and stage.stdin is not None and not _is_stream(stage.stdin):
        found.append(operand_of(stage.stdin))
    return tuple(found)


def _is_stream(arg: Arg) -> bool:
    text = arg.text
    return text is not None and (text in ("-", "") or text.startswith("/dev/"))


def operand_of(arg: Arg) -> Operand:
    """Return the operand that one argument is."""
    if arg.is_feed:
        return Operand(arg.raw, "feed", arg.roots)
    if arg.pattern is not None:
        return Operand(arg.pattern, "pattern")
    text = arg.text
    return Operand(arg.raw, "unknown") if text is None else Operand(text)


_ACCESS_OF: Final[dict[str, Access]] = {
    "file_write": "written",
    "file_search": "listed",
    "code_search": "matched",
    "commit_search": "matched",
}


def opaque(
    stage: Invocation,
    reason: str,
    category: ToolCategory = "file_read",
    operands: tuple[Operand, ...] = (),
    *,
    is_open: bool = False,
) -> Plan:
    """Return the plan of a command that cannot be resolved; ``operands`` are what it may touch."""
    return Plan(
        stage.program,
        category,
        _ACCESS_OF.get(category, "opened"),
        "opaque",
        operands,
        stage.cwd,
        reason=f"{stage.program}: {reason}",
        is_open=is_open,
    )


def reader(stage: Invocation, operands: tuple[Operand, ...], spans: Spans | None = WHOLE) -> Plan:
    """Return the plan of a command that prints the content of ``operands``."""
    return Plan(
        stage.program,
        evidence="text",
        operands=operands,
        cwd=stage.cwd,
        spans=spans,
        hides_errors=stage.hides_errors,
    )


def named_paths(args: Iterable[Arg]) -> tuple[Operand, ...]:
    """Return the paths of files among the arguments of a program that is not known."""
    texts = (arg.text for arg in args)
    return tuple(Operand(path) for path in path_texts(t for t in texts if t is not None))


# --------------------------------------------------------------------------------------------------
# File-name patterns of the shell, where ``*`` does not cross a slash.


def fits(pattern: str, path: str) -> bool:
    """Return whether ``path`` is one of the names ``pattern`` could expand to.

    Examples
    --------
    >>> (
    ...     fits("src/*.py", "src/a.py"),
    ...     fits("src/*.py", "src/x/a.py"),
    ...     fits("src/**/a.py", "src/a.py"),
    ... )
    (True, False, True)
    """
    if len(pattern) > 1000 or len(path) > 4000:
        return False
    return _fits(pattern.split("/"), path.split("/"))


def _fits(patterns: list[str], names: list[str]) -> bool:
    if "**" not in patterns:
        return len(patterns) == len(names) and all(map(_segment, names, patterns))
    at = patterns.index("**")
    head, tail = patterns[:at], [p for p in patterns[at + 1 :] if p != "**"]
    if len(names) < len(head) + len(tail):
        return False
    rest = names[len(names) - len(tail) :] if tail else []
    return all(map(_segment, names, head)) and all(map(_segment, rest, tail))


def _segment(name: str, pattern: str) -> bool:
    return bool(name or not pattern) and fnmatchcase(name, pattern)
