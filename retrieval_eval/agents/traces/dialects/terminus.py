"""Terminus-2: keys typed into one terminal, whose screen answers all of a step together."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool, read_nothing
from retrieval_eval.agents.traces.untrusted import at, clean, list_of
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, Doubt, ToolResult

HARNESS: Final = "terminus-2"
TOOL: Final = "bash_command"

_HEADER: Final = re.compile(r"^(New Terminal Output|Current Terminal Screen):[ \t]*$", re.MULTILINE)
_LIMITED: Final = re.compile(r"^\[\.\.\. output limited to [^\n]{0,200}\]$", re.MULTILINE)
_KEYS: Final = re.compile(r"\s*(?:[CM]-\S{1,6}|Escape|Tab|BSpace|Up|Down|Left|Right|q|:q!?)\s*")
_PROMPT: Final = re.compile(r"(?:[^\n]{0,300}?[\w~/\])])?\s?[#$%>]\s?")
_PLACE: Final = re.compile(r":(/[^\s#$%]{0,4000})[#$%]\s?$")
_LONGEST_PROMPT: Final = 300
_MOST_PLACES: Final = 50
_LONGEST_LINE: Final = 200_000


_TYPED: Final = re.compile(r"<keystrokes(?:[^>\n]{0,200})>([^<]*(?:<(?!/keystrokes>)[^<]*)*)")
_LONGEST_ANSWER: Final = 1_000_000


def typed_in(answer: str) -> list[str]:
    r"""Return the keystrokes in an answer of the model, which are JSON or between tags.

    Examples
    --------
    >>> typed_in('{"analysis": "", "plan": "", "commands": [{"keystrokes": "ls\\n"}]}')
    ['ls\n']
    >>> typed_in('<commands>\n<keystrokes duration="0.1">cat a.py\n</keystrokes>\n</commands>')
    ['cat a.py\n']
    """
    first, last = answer.find("{"), answer.rfind("}")
    stated = decode(answer[first : last + 1])[0] if 0 <= first < last < _LONGEST_ANSWER else None
    if isinstance(stated, dict):
        keys = [at(command, "keystrokes") for command in list_of(stated.get("commands"))]
        return [clean(key) for key in keys if isinstance(key, str)]
    _, opening, commands = answer[:_LONGEST_ANSWER].partition("<commands>")
    return [found[1] for found in _TYPED.finditer(commands)] if opening else []


class Typed(Struct, frozen=True, gc=False):
    """What one call typed: the command that it ran, its folder and its share of the screen."""

    command: str | None
    cwd: str | None = None
    result: ToolResult | None = None


class Terminal:
    r"""The line that is being typed into a terminal, across steps.

    Examples
    --------
    >>> screen = "New Terminal Output:\n\nroot@x:/app# cat a.py\nx = 1\nroot@x:/app# "
    >>> (typed,) = Terminal().read(["cat a.py\n"], screen)
    >>> typed.command, typed.cwd, typed.result.text
    ('cat a.py', '/app', 'x = 1')
    """

    def __init__(self) -> None:
        self._pending = ""
        self._running: str | None = None

    def read(self, keystrokes: Sequence[str], screen: str | None) -> list[Typed]:
        """Return what each call of a step did.

        Parameters
        ----------
        keystrokes
            What each call typed. Text without a line end waits for one and did not run.
        screen
            The joint result of the step, None where there is none.

        Returns
        -------
        list of Typed
            Shares are certain where each command stands behind a prompt on the screen. Else the
            screen may be any command's.
        """
        commands = [self._command(keys) for keys in keystrokes]
        if screen is None:
            return [Typed(command) for command in commands]
        header = _HEADER.search(screen)
        body = screen[header.end() :] if header is not None else screen
        body = _LIMITED.sub(CUT_HERE, body)
        ran = [command for command in commands if command is not None]
        is_new = header is not None and header[1].startswith("New")
        if not ran and self._running is not None and is_new:
            has_keys = any(_KEYS.fullmatch(keys) for keys in keystrokes)
            return self._waited(len(commands), body, has_keys)
        shares = _shares(ran, body)
        if ran:
            has_ended = shares is not None and _has_prompt(body)
            self._running = None if has_ended else ran[-1]
        if shares is None:
            joint = ToolResult(body.strip("\n"), doubt="unlinked_result")
            return [Typed(command, None, joint) for command in commands]
        parts = iter(shares)
        typed = []
        for command in commands:
            if command is None:
                # Nothing ran: what the screen shows belongs to a command of an earlier step.
                later = ToolResult(body.strip("\n") if not shares else "")
                typed.append(Typed(None, None, later))
                continue
            cwd, text = next(parts)
            # A command that goes on may not have reached its last part.
            goes_on = command == self._running and command is ran[-1]
            result = ToolResult(text or "", is_error=goes_on, is_stopped=goes_on)
            typed.append(Typed(command, cwd, None if text is None else result))
        return typed

    def _waited(self, n_calls: int, body: str, has_keys: bool) -> list[Typed]:
        """Return what calls that ran nothing show: more of the command that is running.

        After a key such as an interruption that is not certain.
        """
        lines = [line for line in body.strip("\n").split("\n") if line.strip() != "^C"]
        command = self._running
        if not lines or _is_prompt(lines[-1]):
            lines = lines[:-1]
            self._running = None
        text = "\n".join(lines)
        doubt: Doubt | None = "unlinked_result" if has_keys and text.strip() else None
        shown = Typed(command, None, ToolResult(text, doubt=doubt))
        return [*(Typed(None, None, ToolResult("")) for _ in range(n_calls - 1)), shown]

    def _command(self, keys: str) -> str | None:
        """Return the command that a call completed, or None."""
        if _KEYS.fullmatch(keys):
            self._pending = ""
            return None
        if keys.strip() == "Enter":
            keys = "\n"
        self._pending = (self._pending + keys.replace("\r", "\n"))[:_LONGEST_LINE]
        line, end, rest = self._pending.rpartition("\n")
        if not end:
            return None
        self._pending = rest
        return line if line.strip() else None


_Share = tuple[str | None, str | None]


def _shares(commands: Sequence[str], body: str) -> list[_Share] | None:
    """Return folder and output of each command, or None unless each has its prompt and echo.

    An output is None where nothing was printed and no further prompt shows that the command ended.
    Terminals break long lines and drop spaces at their ends, so texts are compared without spaces.
    """
    lines = [line.rstrip() for line in body.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    squeezed = ["".join(line.split()) for line in lines]
    ends = list(accumulate(map(len, squeezed)))
    flat = "".join(squeezed)
    found: list[tuple[int, int, str | None]] = []
    position = 0
    for command in commands:
        place = _echo(command, flat, ends, lines, squeezed, position)
        if place is None:
            return None
        found.append(place)
        position = ends[place[1]]
    shares: list[_Share] = []
    for number, (_, last, cwd) in enumerate(found):
        is_last = number + 1 == len(found)
        stop = len(lines) if is_last else found[number + 1][0]
        shown = lines[last + 1 : stop]
        has_ended = not is_last
        if is_last and shown and _is_prompt(shown[-1]):
            shown, has_ended = shown[:-1], True
        text = "\n".join(shown)
        shares.append((cwd, text if has_ended or text.strip() else None))
    return shares


def _echo(
    command: str,
    flat: str,
    ends: Sequence[int],
    lines: Sequence[str],
    squeezed: Sequence[str],
    position: int,
) -> tuple[int, int, str | None] | None:
    """Return the first and last line of a command on the screen, and the folder of its prompt."""
    rows = [wanted for row in command.split("\n") if (wanted := "".join(row.split()))]
    at = flat.find(rows[0], position)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return None
        first = bisect_right(ends, at)
        before = at - (ends[first] - len(squeezed[first]))
        end = at + len(rows[0])
        last = bisect_right(ends, end - 1)
        is_first = at == position == 0
        prompt = lines[first][:_LONGEST_PROMPT]
        has_prompt = is_first or _stands_behind_prompt(prompt, before)
        if ends[last] == end and has_prompt:
            place = _PLACE.search(_before(prompt, before))
            return first, _below(rows[1:], squeezed, last), place[1] if place else None
        at = flat.find(rows[0], at + 1)
    return None


def _before(line: str, n_characters: int) -> str:
    """Return the part of a line with so many characters that are no spaces, and spaces behind."""
    for index, character in enumerate(line):
        if n_characters == 0 and not character.isspace():
            return line[:index]
        n_characters -= not character.isspace()
    return line


def _stands_behind_prompt(line: str, before: int) -> bool:
    return before > 0 and _PROMPT.fullmatch(_before(line, before)) is not None


def _below(rows: Sequence[str], squeezed: Sequence[str], last: int) -> int:
    """Return the last line that echoes the further lines of a command, such as a document."""
    for row in rows:
        follows = squeezed[last + 1] if last + 1 < len(squeezed) else ""
        if follows.removeprefix(">") != row:
            break
        last += 1
    return last


def _has_prompt(body: str) -> bool:
    return _is_prompt(body.rstrip().rpartition("\n")[2])


def _is_prompt(line: str) -> bool:
    return len(line) <= _LONGEST_PROMPT and _PROMPT.fullmatch(line) is not None


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS, "terminus"}),
        refusals=(r"Previous response had parsing errors:",),
        cut=(
            "'[... output limited to N bytes; …]' in the middle; a screen of 40 lines after "
            "'Current Terminal Screen:', on which commands that scrolled away have no share"
        ),
        finished=(
            "a command without a prompt behind it goes on; later waits show the rest; an answer "
            "that could not be parsed has an observation about that, and no call"
        ),
        delegated="none: references lead to summaries of the history, which call no tool",
        source="Harbor 0.22 and 0.25, read in its source; five of its golden trajectories seen",
        tools=(
            Tool((TOOL,), "other", read_nothing, is_shell=True),
            Tool(("mark_task_complete",), "other", read_nothing, is_retrieval=False),
        ),
    ),
)
