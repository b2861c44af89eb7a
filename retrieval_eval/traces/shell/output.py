"""What a shell call printed, free of decorations, with its error messages set apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from retrieval_eval.traces.served import is_refusal
from retrieval_eval.traces.shell.steps import resolve

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
    r"|command not found|cannot open|can't (?:read|open)|cannot access|does not exist"
    r"|unknown revision or path|: not found$|[Rr]epository not found"
)
_DECORATION = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_CUT = re.compile(
    r"^(?:\.\.\. \[\d+ (?:lines|characters) truncated\] \.\.\.|\[\.\.\. .*truncated.*"
    r"|<response clipped>.*|Output too large \(.*|\.\.\.)$"
)
_RESET = re.compile(
    r"^(?:Shell cwd was reset to (/.*)|\[Current working directory: (/[^\]]{1,1000})\])$"
)
_STATUS = re.compile(
    r"\[(?:The command (?:completed|finished) with exit code|Command finished with exit code"
    r"|Python interpreter:|The command timed out after|The command has no new output after)"
    r"[^\]]{0,1000}\]"
)
_OPENINGS = (
    re.compile(r"Exit code \d+|[Cc]ommand timed out after \d.{0,100}"),
    re.compile(r"(?:[Cc]|The previous c)ommand timed out after \d.{0,100}"),
)
"""What a harness writes into the first and the second line."""
_BACKGROUND = re.compile(
    r"(?:Command running in background with ID|Command is running in background\. PID"
    r"|Process running with session ID|Command moved to background)[^\n]{0,1000}"
)
_SAVED = re.compile(r"^(?:</?persisted-output>|Preview \(first .*|Output too large \(.*)$")


@dataclass(frozen=True, slots=True)
class Output:
    """The lines of an output.

    ``errors`` are the names and phrases that error messages mention. ``is_cut`` says that the
    agent saw only part of it, ``is_refused`` that nothing was executed at all, ``is_background``
    that the command went on where nothing more of it was seen, and ``reset_cwd`` is the directory
    the harness put the shell back to.
    """

    lines: tuple[str, ...]
    errors: frozenset[str] = frozenset()
    is_cut: bool = False
    is_refused: bool = False
    is_background: bool = False
    reset_cwd: str | None = None

    def failed(self, written: str, cwd: str | None, program: str = "") -> bool:
        """Return whether an error message names this file (for this program)."""
        if not self.errors or (program and program not in self.errors):
            return False
        return written in self.errors or resolve(cwd, written) in self.errors


def is_error_line(line: str) -> bool:
    """Return whether ``line`` is the error message of a command.

    Examples
    --------
    >>> is_error_line("cat: a.py: No such file or directory"), is_error_line("cat: 3")
    (True, False)
    """
    if len(line) > _MAX_ERROR_LINE or ":" not in line or line[:1] in " \t#":
        return False
    if _IN_ANY_LANGUAGE.match(line) and not line.endswith("binary file matches"):
        return True
    return _ERROR.search(line) is not None and _LEAD.match(line) is not None


_IN_ANY_LANGUAGE = re.compile(r"(?:cat|tac|nl|head|tail|sed|wc|ls|find|[ef]?grep): \S.*: \S")
_LEAD = re.compile(
    r"(?:/\S*/)?(?:ba|z|da)?sh: |[\w./+-]+: (?!\s)|fatal: |error: |[\w.]*Error: |find: "
)


def read_output(text: str) -> Output:
    """Return the lines of ``text`` without the decorations that harnesses add."""
    is_cut = len(text) > MAX_OUTPUT
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
        reset = _RESET.match(line)
        if reset:
            reset_cwd = reset[1] or reset[2]
        elif _CUT.match(line[:200]):
            is_cut = True
        elif _BACKGROUND.fullmatch(line):
            is_background = True
        elif (i < len(_OPENINGS) and _OPENINGS[i].fullmatch(line)) or _STATUS.fullmatch(line):
            continue
        elif not (is_saved and _SAVED.match(line[:200])):
            lines.append(line)
    if is_saved:
        is_cut = True
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) == 1 and _EMPTY.fullmatch(lines[0].strip()):
        lines = []
    kept = tuple(line for line in lines if not is_error_line(line))
    errors = frozenset(name for line in lines if is_error_line(line) for name in _names(line))
    return Output(kept, errors, is_cut, is_background=is_background, reset_cwd=reset_cwd)


def _names(line: str) -> list[str]:
    """Return everything an error message may be about: its parts between colons and quotes."""
    names = [part.strip() for part in re.split(r": |['\"`‘’]", line)]
    tail = [name.removeprefix("can't read ").removeprefix("cannot open ") for name in names]
    words = [name.rsplit(" ", 1)[-1] for name in names]
    return [name.rstrip(":") for name in (*names, *tail, *words) if name]
