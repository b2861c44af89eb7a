"""Which lines of a file a command printed, where the file holds what an earlier call printed.

A harness saves an output that is too large to show to a file, and the agent searches that file or
prints some of its lines. Only programs that print lines as they are, or with a number or the name
of the file before them, tell which lines of the file were shown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from retrieval_eval.agents.traces.received import is_cut
from retrieval_eval.agents.traces.shell.copies import copied
from retrieval_eval.agents.traces.shell.expansion import Environment
from retrieval_eval.agents.traces.shell.interpreter import Context, Interpreter
from retrieval_eval.agents.traces.shell.output import Output, read_output
from retrieval_eval.agents.traces.shell.pipeline import SILENT
from retrieval_eval.agents.traces.shell.plan import Operand
from retrieval_eval.agents.traces.shell.programs import plans_of
from retrieval_eval.agents.traces.shell.programs.filters import effect_of
from retrieval_eval.agents.traces.shell.programs.listing import DESCRIBERS, SEARCHERS
from retrieval_eval.agents.traces.shell.session import MAX_COMMAND
from retrieval_eval.agents.traces.shell.steps import Invocation, Step, scan, words
from retrieval_eval.agents.traces.shell.syntax import parse
from retrieval_eval.records import CUT_HERE

_ABOUT: Final = frozenset({*DESCRIBERS, "ls", "test", "["})
"""Programs that print a line about the file, in which it is named."""

_IN_ORDER: Final = words("cat head less more bat batcat nl cut tee expand tail")
"""Programs that print what they read from its beginning on, or up to its end."""

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
    known = {path: path for path in files}
    shown = [_Shown(step, known) for step in interpreter.steps]
    reading = [one for one in shown if one.names]
    if not reading or not all(one.is_known for one in shown):
        return None
    if len({one.n_numbers for one in reading if one.prints}) > 1:
        return None
    printed = read_output(output, has_failed=has_failed)
    noise = {one.marker for one in shown if one.marker}
    every = {name: path for one in reading for name, path in one.names.items()}
    is_about = any(one.is_about for one in shown)
    rest = _without(printed.lines, noise, every, is_about=is_about)
    paths = _named(rest, every)
    if len(paths) != 1:
        return None
    path = paths.pop()
    names = {name for name, of in every.items() if of == path}
    n_numbers = next((one.n_numbers for one in reading if one.prints), 0)
    lines = _plain(rest, names, n_numbers, may_number=any(one.may_number for one in reading))
    is_sole = len(reading) == 1 and not is_cut(output)
    return PrintedLines(
        path,
        tuple(lines),
        is_sole and reading[0].is_beginning,
        is_sole and reading[0].is_end,
    )


def _named(lines: Iterable[str], names: dict[str, str]) -> set[str]:
    """Return the files that lines are of: of several, those that the lines begin with."""
    paths = set(names.values())
    if len(paths) == 1:
        return paths
    marked = [(f"{name}{mark}", path) for name, path in names.items() for mark in ":-"]
    found: set[str] = set()
    for line in lines:
        of = next((path for opening, path in marked if line.startswith(opening)), None)
        if of is None:
            return paths
        found.add(of)
    return found or paths


class _Shown:
    """What a step prints: lines of files, a line about them, a marker, or nothing.

    ``names`` are the names with which programs may print each file. ``known`` are the files by
    their paths, to which those are added that the step copies.
    """

    def __init__(self, step: Step, known: dict[str, str]) -> None:
        self.names: dict[str, str] = {}
        self.n_numbers = 0
        self.may_number = self.is_about = self.prints = False
        self.is_beginning = self.is_end = True
        self.marker = (step.marker.text or "").rstrip() if step.marker is not None else None
        self.is_known = step.reason is None and self._is_known(step.stages, known)

    def _is_known(self, stages: tuple[Invocation, ...], known: dict[str, str]) -> bool:
        if not stages:
            return True
        first = stages[0]
        for path, copy in copied(first):
            if copy.source in known:
                known[path] = known[copy.source]
        if first.program in SILENT | _STILL and len(stages) == 1 and first.program not in _ABOUT:
            return True
        plan = plans_of(first)[-1]
        found = [dict(_meant(first, operand, known)) for operand in plan.operands]
        if not found or not all(found):
            return False
        self.names = {name: path for names in found for name, path in names.items()}
        if not stages[-1].is_shown:
            target = stages[-1].writes[0].text if len(stages[-1].writes) == 1 else None
            if target and len(stages) == 1 and first.program == "cat" and len(plan.operands) == 1:
                known[first.resolve(target)] = next(iter(self.names.values()))
            return True
        if first.program in _ABOUT:
            self.is_about = True
            return len(stages) == 1
        self.prints = True
        return all(map(self._keeps, stages))

    def _keeps(self, stage: Invocation) -> bool:
        """Whether a program prints lines as they are, or with numbers before them."""
        effect = effect_of(stage)
        if effect is None or effect.kind not in ("selects", "numbers", "begins"):
            return False
        if effect.kind == "begins" and (effect.width or 0) < _LONG_ENOUGH:
            return False
        has_numbers = effect.kind == "numbers"
        self.n_numbers += has_numbers
        # A program that believes that it prints on a terminal adds numbers of its own accord.
        self.may_number = self.may_number or (stage.program in ("rg", "ag") and not has_numbers)
        is_from_1 = _is_from_1(stage)
        if stage.program not in _IN_ORDER - {"tail"} and not is_from_1:
            self.is_beginning = False
        if stage.program not in _IN_ORDER - {"head"}:
            self.is_end = False
        return True


_STILL: Final = words("cd pushd popd")


def _meant(stage: Invocation, operand: Operand, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the known files that an operand means, each with the names it may be printed with."""
    written = operand.written
    place = stage.resolve(written)
    if operand.kind == "pattern":
        folder = "" if written.startswith("/") else f"{stage.cwd}/"
        for path, of in known.items():
            if fnmatchcase(path, place) and path.count("/") == place.count("/"):
                yield from ((path, of), (path.removeprefix(folder), of))
    elif place in known:
        yield from ((place, known[place]), (written, known[place]))
    elif stage.program in SEARCHERS:
        for path, of in known.items():
            if path.startswith(f"{place}/"):
                rest = path[len(place) + 1 :]
                yield from ((path, of), (posixpath.join(written, rest), of), (rest, of))


def _is_from_1(stage: Invocation) -> bool:
    if stage.program not in ("sed", "gsed"):
        return False
    options = scan(stage.args, "efl", "expression file line-length")
    scripts = options.values.get("e") or options.operands[:1]
    return len(scripts) == 1 and _FROM_START.fullmatch(scripts[0].raw) is not None


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
