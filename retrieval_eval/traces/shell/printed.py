"""Which lines of a file a command printed, where the file holds what an earlier call printed.

A harness saves an output that is too large to show to a file, and the agent searches that file or
prints some of its lines. Only programs that print lines as they are, or with a number or the name
of the file before them, tell which lines of the file were shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final

from msgspec import Struct

from retrieval_eval.records import CUT_HERE
from retrieval_eval.traces.received import is_cut
from retrieval_eval.traces.shell.expansion import Environment
from retrieval_eval.traces.shell.interpreter import Context, Interpreter
from retrieval_eval.traces.shell.options import Options, scan, words
from retrieval_eval.traces.shell.output import Output, read_output
from retrieval_eval.traces.shell.session import MAX_COMMAND
from retrieval_eval.traces.shell.steps import Arg, Invocation, Step
from retrieval_eval.traces.shell.syntax import parse

_SILENT: Final = words("cd set export unset : true wait pushd popd")
_ABOUT: Final = words("wc ls stat file du md5sum sha256sum test [")
"""Programs that print a line about the file, in which it is named."""

_GREPS: Final = words("grep egrep fgrep rg zgrep ag ack")
_PRINTS: Final = words(
    "cat head tail less more bat batcat tac nl sort uniq cut sed gsed awk gawk mawk"
)
_OTHER_THAN_LINES: Final = frozenset(
    {
        *("o", "only-matching", "c", "count", "l", "files-with-matches", "L", "json", "r"),
        *("files-without-match", "b", "byte-offset", "Z", "null", "replace", "0", "count-matches"),
        *("q", "quiet", "silent", "heading", "pretty", "p", "vimgrep", "column"),
    }
)
_SELECTS: Final = re.compile(
    r"\s*(?:(?:\d{1,9}|\$|/[^/\n]{0,500}/I?)(?:,(?:\d{1,9}|\$|\+\d{1,9}|/[^/\n]{0,500}/I?))?"
    r"\s{0,9}!?[pqd]\s{0,9}[;\n]?\s{0,9}){1,100}"
)
_CONDITION: Final = re.compile(r"[^{}]{1,2000}(?:\{\s{0,9}print(?:\s{1,9}\$0)?\s{0,9};?\s{0,9}\})?")
_BEGINNING: Final = re.compile(r"-?c?1?-(\d{1,6})")
_LONG_ENOUGH: Final = 80
_FROM_START: Final = re.compile(r"\s*(?:1,\d{1,9}\s?p|1\s?p|\d{1,9}\s?q)\s*")
_BANNER: Final = re.compile(r"==> \S[^\n]{0,4096} <==")
_NUMBER: Final = re.compile(r"\s{0,9}\d{1,9}(?:[:-]|\t| {1,2})")
_OF_A_SEARCH: Final = re.compile(r"(\d{1,9})[:-]")


class PrintedLines(Struct, frozen=True, gc=False):
    """Lines of the file ``path``; whether they begin, and end, where the file does."""

    path: str
    lines: tuple[str, ...]
    is_beginning: bool
    is_end: bool


def printed_lines(
    command: str, output: str, files: Collection[str], cwd: str | None, *, has_failed: bool = False
) -> PrintedLines | None:
    r"""Return the lines of one of ``files`` of which alone the output of a command consists.

    None for a command that may have printed something else.

    Examples
    --------
    >>> printed_lines("tail -n +3 /t/a.txt | head -2", "c\nd\n", {"/t/a.txt"}, None).lines
    ('c', 'd')
    >>> printed_lines("grep -n x /t/a.txt", "3:x = 1\n", {"/t/a.txt"}, None).lines
    ('x = 1',)
    >>> printed_lines("cut -d: -f1 /t/a.txt", "src/a.py\n", {"/t/a.txt"}, None) is None
    True
    """
    if len(command) > MAX_COMMAND:
        return None
    interpreter = Interpreter(Environment(cwd or ""), Output(()), not has_failed)
    interpreter.run(parse(command), Context())
    shown = [_Shown(step, files) for step in interpreter.steps]
    reading = [one for one in shown if one.paths]
    paths = {path for one in reading for path in one.paths}
    if len(paths) != 1 or not all(one.is_known for one in shown):
        return None
    if len({one.n_numbers for one in reading if one.prints}) > 1:
        return None
    printed = read_output(output, has_failed=has_failed)
    noise = {one.marker for one in shown if one.marker}
    path = paths.pop()
    names = {path, *(name for one in reading for name in one.written)}
    rest = _without(printed.lines, noise, names, is_about=any(one.is_about for one in shown))
    n_numbers = next((one.n_numbers for one in reading if one.prints), 0)
    lines = _plain(rest, names, n_numbers, may_number=any(one.may_number for one in reading))
    is_sole = len(reading) == 1 and not is_cut(output)
    return PrintedLines(
        path,
        tuple(lines),
        is_sole and reading[0].is_beginning,
        is_sole and reading[0].is_end,
    )


class _Shown:
    """What a step prints: lines of files, a line about them, a marker, or nothing."""

    def __init__(self, step: Step, files: Collection[str]) -> None:
        self.paths: set[str] = set()
        self.written: set[str] = set()
        self.n_numbers = 0
        self.may_number = self.is_about = self.prints = False
        self.is_beginning = self.is_end = True
        self.marker = (step.marker.text or "").rstrip() if step.marker is not None else None
        self.is_known = step.reason is None and self._is_known(step.stages, files)

    def _is_known(self, stages: tuple[Invocation, ...], files: Collection[str]) -> bool:
        if not stages:
            return True
        first, *filters = stages
        if first.program in _SILENT and not filters:
            return True
        options = _options(first)
        operands = [arg.raw for arg in _files_of(first, options)]
        operands += [first.stdin.raw] if first.stdin is not None else []
        resolved = [first.resolve(name) for name in operands]
        if not resolved or not all(path in files for path in resolved):
            return False
        self.paths, self.written = set(resolved), set(operands)
        if not stages[-1].is_shown:
            return True
        if first.program in _ABOUT:
            self.is_about = True
            return not filters
        self.prints = True
        return all(map(self._keeps, stages))

    def _keeps(self, stage: Invocation) -> bool:
        """Whether a program prints lines as they are, or with numbers before them."""
        options = _options(stage)
        if stage.program not in _GREPS | _PRINTS or not _KEEPS.get(stage.program, _any)(options):
            return False
        is_search = stage.program in _GREPS
        has_numbers = stage.program == "nl" or (
            options.has("n", "line-number", "number", "b")
            and (is_search or stage.program in ("cat", "bat"))
        )
        self.n_numbers += has_numbers
        # A program that believes that it prints on a terminal adds numbers of its own accord.
        self.may_number = self.may_number or (stage.program in ("rg", "ag") and not has_numbers)
        if stage.program == "tail" or (stage.program in ("sed", "gsed") and not _is_from_1(stage)):
            self.is_beginning = False
        if is_search or stage.program in ("sort", "uniq", "tac", "awk", "gawk", "mawk"):
            self.is_beginning = self.is_end = False
        if stage.program in ("head", "sed", "gsed"):
            self.is_end = False
        return True


def _options(stage: Invocation) -> Options:
    program = stage.program
    if program in _GREPS:
        return scan(stage.args, "efmABCdDgtTj", "regexp file max-count context glob type include")
    values = {"head": "nc", "tail": "nc", "sed": "efl", "gsed": "efl", "cut": "cdfb", "sort": "kto"}
    return scan(stage.args, values.get(program, "Fvf" if "awk" in program else ""), "lines bytes")


def _files_of(stage: Invocation, options: Options) -> list[Arg]:
    """Return the operands that are files, without a pattern or a script before them."""
    has_script = stage.program in _GREPS or stage.program in ("sed", "gsed") or _is_awk(stage)
    is_given = options.has("e", "f", "regexp", "expression", "file")
    return options.operands[1:] if has_script and not is_given else options.operands


def _is_awk(stage: Invocation) -> bool:
    return "awk" in stage.program


def _any(_options: Options) -> bool:
    return True


def _keeps_head(options: Options) -> bool:
    return not options.has("c", "bytes")


def _keeps_grep(options: Options) -> bool:
    return options.values.keys().isdisjoint(_OTHER_THAN_LINES)


def _keeps_sed(options: Options) -> bool:
    if options.has("i", "in-place", "f", "z", "file"):
        return False
    scripts = options.values.get("e") or options.operands[:1]
    return bool(scripts) and all(_SELECTS.fullmatch(script.raw) for script in scripts)


def _is_from_1(stage: Invocation) -> bool:
    scripts = _options(stage).values.get("e") or _options(stage).operands[:1]
    return len(scripts) == 1 and _FROM_START.fullmatch(scripts[0].raw) is not None


def _keeps_awk(options: Options) -> bool:
    script = options.operands[0].raw if options.operands else ""
    return not options.has("f") and _CONDITION.fullmatch(script) is not None


def _keeps_cut(options: Options) -> bool:
    found = _BEGINNING.fullmatch(options.text("c", "characters") or "")
    return found is not None and int(found[1]) >= _LONG_ENOUGH


def _keeps_uniq(options: Options) -> bool:
    return not options.has("c", "count")


def _keeps_cat(options: Options) -> bool:
    return options.values.keys().isdisjoint({"A", "e", "E", "v", "t", "T", "show-all"})


_KEEPS: Final[dict[str, Callable[[Options], bool]]] = {
    **dict.fromkeys(("head", "tail"), _keeps_head),
    **dict.fromkeys(_GREPS, _keeps_grep),
    **dict.fromkeys(("sed", "gsed"), _keeps_sed),
    **dict.fromkeys(("awk", "gawk", "mawk"), _keeps_awk),
    "cut": _keeps_cut,
    "uniq": _keeps_uniq,
    "cat": _keeps_cat,
}


def _without(
    lines: Iterable[str], noise: Collection[str], names: Collection[str], *, is_about: bool
) -> list[str]:
    """Return the lines but for markers, banners and lines about the files."""
    kept = []
    for line in lines:
        is_noise = line.rstrip() in noise or line in ("--", CUT_HERE) or _BANNER.fullmatch(line)
        if not is_noise and not (is_about and line.endswith(tuple(names))):
            kept.append(line)
    return kept


def _plain(
    lines: list[str], names: Collection[str], n_numbers: int, *, may_number: bool
) -> list[str]:
    """Return lines without the file's name and the numbers before them."""
    openings = tuple(f"{name}{mark}" for name in names for mark in ":-")
    bare = []
    for line in lines:
        opening = next((text for text in openings if line.startswith(text)), "")
        bare.append(line[len(opening) :])
    if not n_numbers and may_number and _count_up(bare):
        n_numbers = 1
    for _ in range(n_numbers):
        bare = [_NUMBER.sub("", line, count=1) if _NUMBER.match(line) else line for line in bare]
    return bare


def _count_up(lines: list[str]) -> bool:
    """Whether every line begins with a number that is larger than the one before it."""
    found = [_OF_A_SEARCH.match(line) for line in lines]
    numbers = [int(number[1]) for number in found if number is not None]
    return bool(lines) and len(numbers) == len(lines) and numbers == sorted(set(numbers))
