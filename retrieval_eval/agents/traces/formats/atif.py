"""ATIF trajectories: steps with tool calls and, in the same step, the observed results.

Source: the Agent Trajectory Interchange Format, versions 1.0 to 1.8. Results are joined by
``source_call_id``, over the whole document where a converter put one into another step. Results
that lack it belong to the calls of their step in order where there are as many; otherwise each may
be any call's, which is a doubt. An answer that could not be parsed has an observation about that
and no call; some converters put that observation into the step before. Steps marked
``is_copied_context`` replay what happened before and are left out. Embedded sub-agent trajectories
follow the call that refers to them; a reference to another file is not opened.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    dialect_of,
    read_nothing,
)
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, openhands, swe_agent
from retrieval_eval.agents.traces.formats.claude_code import marked
from retrieval_eval.agents.traces.formats.openhands import HARNESS as OPENHANDS
from retrieval_eval.agents.traces.formats.openhands import SDK, written
from retrieval_eval.agents.traces.reading import (
    CONTINUED_ELSEWHERE,
    HISTORY_COMPACTED,
    SUBAGENT_ELSEWHERE,
    Reading,
    Unreadable,
    arguments_of,
    complains_of_format,
    is_summary,
)
from retrieval_eval.agents.traces.results.payload import (
    TRIMMED,
    TRUNCATED,
    complete_json,
    is_placeholder,
    preview_of,
    whole_or_rest,
)
from retrieval_eval.agents.traces.served import states_end, states_exit_status
from retrieval_eval.agents.traces.tokens import is_misstated
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    dict_at,
    dict_of,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, Doubt, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Terminus-2: keys typed into one terminal, whose screen answers all of a step together.

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


# --------------------------------------------------------------------------------------------------
# ATIF trajectories: steps with tool calls and, in the same step, the observed results.

_VERSION = re.compile(r"ATIF-v(\d{1,6})(?:\.(\d{1,6}))?", re.IGNORECASE)
NEWEST_MINOR = 8
_DEEPEST_DELEGATION = 8
_FAILURES_ARE_EMPTY = frozenset({"gemini-cli", "qwen-coder", "qwen-code", "goose"})
"""Agents whose trajectories lose the text of failed calls, so an empty result is ambiguous."""


class _Trajectory(Transcript):
    """A trajectory's transcript; ``runner`` is the agent that it is of, in lower case."""

    def __init__(self, name: str, runner: str) -> None:
        super().__init__(name, "step", are_ids_reused=True)
        self.runner = runner
        self.terminal = Terminal()
        self.embedded: frozenset[str] = frozenset()
        self.own_ids: frozenset[str] = frozenset()

    def lose(self, what: str) -> None:
        """Record an unusable step; its tokens are unknown, and so is every later total."""
        self.note(what)
        self.add_gap()


def read_atif(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of an ATIF document, or why its version cannot be read."""
    version = _VERSION.fullmatch(text_of(document.get("schema_version")) or "")
    if version is None or int(version[1]) != 1:
        stated = str(clean(document.get("schema_version")))[:60]
        return Unreadable(f"{name}: schema_version {stated} is not readable (expected ATIF-v1.x)")
    if not isinstance(document.get("steps"), list):
        return Unreadable(f"{name}: an ATIF trajectory without a list of steps")
    agent = dict_at(document, "agent")
    said = _Trajectory(name, (text_at(agent, "name") or "").lower())
    said.embedded = frozenset(_embedded_ids(document, _DEEPEST_DELEGATION))
    if int(version[2] or 0) > NEWEST_MINOR:
        said.flags["newer_minor_version"] = None
    if document.get("_corpus_trim_applied"):
        said.flags[TRIMMED] = None
    if text_of(document.get("continued_trajectory_ref")):
        said.flags[CONTINUED_ELSEWHERE] = None
    own = (step for step in _steps(document) if not step.get("is_copied_context"))
    said.own_ids = frozenset(key for step in own for key in _call_ids(step) if key)
    _take_document(said, document, "", None, depth=0)
    metrics = dict_at(document, "final_metrics")
    said.session(document.get("session_id"))
    said.version = text_at(agent, "version")
    said.model = text_at(agent, "model_name") or _model(document)
    said.paid(metrics.get("total_cost_usd"))
    return said.reading(
        f"atif-1.{int(version[2] or 0)}",
        harness=text_at(agent, "name"),
        cwd=_folder(agent),
        declared_tokens=declared_tokens(metrics),
    )


def _steps(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from map(dict_of, list_of(document.get("steps")))


def _call_ids(step: Mapping[str, Any]) -> Iterator[str | None]:
    for call in list_of(step.get("tool_calls")):
        yield text_of(dict_of(call).get("tool_call_id"))


def _embedded_ids(document: Mapping[str, Any], depth: int) -> Iterator[str]:
    """Yield the ids of the trajectories of sub-agents that a document holds."""
    for child in list_of(document.get("subagent_trajectories")) if depth else ():
        key = text_of(dict_of(child).get("trajectory_id"))
        if key is not None:
            yield key
        yield from _embedded_ids(dict_of(child), depth - 1)


def _take_document(
    said: _Trajectory, document: Mapping[str, Any], pointer: str, agent: str | None, *, depth: int
) -> None:
    """Log all steps of a trajectory, then the embedded ones that no step refers to.

    ``agent`` is the sub-agent whose trajectory it is.
    """
    children: dict[str, tuple[int, Any]] = {}
    for index, child in enumerate(list_of(document.get("subagent_trajectories"))):
        key = text_of(dict_of(child).get("trajectory_id"))
        children[f"#{index}" if key is None or key in children else key] = (index, child)
    tokens = StepTokens(said.runner, pointer or said.name)

    def descend(key: str) -> None:
        index, child = children.pop(key)
        place = f"{pointer}/subagent_trajectories/{index}"
        if depth < _DEEPEST_DELEGATION:
            known = key if not key.startswith("#") else place
            said.sub_agents.add(known)
            _take_document(said, dict_of(child), place, known, depth=depth + 1)

    n_before = said.n_calls
    before: Any = None
    for index, step in enumerate(list_of(document.get("steps"))):
        entry, place = dict_of(step), f"{pointer}/steps/{index}"
        said.at(f"{said.name}#{place}")
        said.by(agent)
        if is_placeholder(entry) or _is_apart(before, entry.get("step_id")):
            said.flags[TRIMMED] = None
            said.add_gap()
        before = entry.get("step_id")
        if is_placeholder(entry):
            continue
        if not isinstance(step, dict):
            said.lose("expected an object")
        elif entry.get("is_copied_context"):
            _take_copied(said, entry, is_part=agent is None)
        elif entry:
            if _is_summary(entry):
                said.note_summary(n_before)
            is_wrong = is_misstated(entry.get("metrics"), COUNTS)
            used = tokens.of(entry, index)
            said.used(*((None, 0, 0) if is_wrong else used), is_misstated=is_wrong)
            for key in _take_step(said, entry, place):
                if key in children:
                    descend(key)
    for key in list(children):
        descend(key)


def _take_copied(said: _Trajectory, step: Mapping[str, Any], *, is_part: bool) -> None:
    """Note that a trajectory goes on from another file, which is seen where it copies a call."""
    is_first = not said.n_calls and HISTORY_COMPACTED not in said.flags
    if is_part and is_first and any(key not in said.own_ids for key in _call_ids(step)):
        said.note_summary()


def _is_apart(before: Any, number: Any) -> bool:
    """Return whether steps are missing between two step numbers."""
    return isinstance(number, int) and isinstance(before, int) and number > before + 1


def _is_summary(step: Mapping[str, Any]) -> bool:
    source = step.get("source")
    if source not in ("user", "system"):
        return False
    extra = dict_of(whole_or_rest(step.get("extra"), keep_cut_text=False))
    if source == "system" and dict_of(extra.get("context_management")):
        return True
    message = whole_or_rest(step.get("message"), keep_cut_text=True)
    return is_summary(blocks_text(message))


def _take_step(said: _Trajectory, step: Mapping[str, Any], pointer: str) -> list[str]:
    """Log one step and return the ids of the embedded trajectories it refers to."""
    source = step.get("source")
    extra = dict_of(whole_or_rest(step.get("extra"), keep_cut_text=False))
    said.at(
        said.where,
        unix_seconds(step.get("timestamp")),
        by_agent=source not in ("user", "system"),
        starts=source == "agent",
    )
    is_inner = said.agent is not None or extra.get("is_sidechain") is True
    said.by(said.agent, is_subagent=is_inner)
    said.cwd = text_at(extra, "cwd")
    results = _results(said, step)
    calls = _calls(said, step, extra) or _written(said, step, results)
    said.begin_step()
    if source == "agent":
        said.spoke(blocks_text(step.get("message")))
    elif source == "user":
        said.heard(blocks_text(step.get("message")))
    added: list[ToolCall] = []
    for call_id, name, arguments in calls:
        if said.runner == OPENHANDS and len(calls) == 1:
            text = results[0].text if len(results) == 1 else None
            seen = openhands.repaired(name, arguments, step.get("message"), text)
            if seen is not None:
                arguments = seen
                if preview_of(step.get("tool_calls")) is None:
                    said.flags["argument_mismatch"] = None
        own = pointer if len(calls) == 1 else f"{pointer}/{len(added)}"
        added.append(said.made(name, arguments, call_id or own))
    results = _without_refused(said, results, added)
    _take_delegated(said, results, added)
    references = [key for found in results for key in found.refers_to]
    if any(call.name == TOOL for call in added) and _is_terminus(said.runner):
        _type(said, added, results)
        return references
    for call in added:
        said.add(call)
    _join_results(said, step, added, results, extra)
    shown = "\n".join(found.text for found in results if found.text.strip())
    if shown:
        said.heard(shown, is_users=False)
    return references


def _without_refused(
    said: _Trajectory, results: list[_Found], calls: list[ToolCall]
) -> list[_Found]:
    """Return the results without those of answers that held no call that could be read."""
    n_more = len(results) - len(calls)
    kept = []
    for found in reversed(results):
        if n_more > 0 and found.call_id is None and complains_of_format(found.text):
            n_more -= 1
            said.heard(found.text)
        else:
            kept.append(found)
    return kept[::-1]


def _take_delegated(said: _Trajectory, results: list[_Found], calls: list[ToolCall]) -> None:
    """Note which sub-agent each call started, as its result states."""
    for found in results:
        only = calls[0].call_id if len(calls) == 1 else None
        call_id = found.call_id or only
        if call_id is not None and found.refers_to:
            said.delegated[call_id] = found.refers_to[0]


def _join_results(
    said: _Trajectory,
    step: Mapping[str, Any],
    calls: list[ToolCall],
    results: list[_Found],
    extra: Mapping[str, Any],
) -> None:
    """Give the results of a step to their calls."""
    by_id = {call.call_id: call for call in calls}
    is_paired = len(results) == len(calls) and _is_whole(step, len(calls))
    if calls and is_paired and all(found.call_id is None for found in results):
        results = [replace(r, call_id=c.call_id) for r, c in zip(results, calls, strict=True)]
    loose: list[_Found] = []
    for found in results:
        if found.call_id:
            call = by_id.get(found.call_id, ToolCall(found.call_id, "", {}, None))
            answer = _result(said, found, call, extra, len(calls))
            if answer is not None:
                said.join(found.call_id, answer)
        elif found.text or not found.refers_to:
            loose.append(found)
    if loose:
        answered = {found.call_id for found in results}
        _join_any(said, [c for c in calls if c.call_id not in answered], loose)


def _is_whole(step: Mapping[str, Any], n_calls: int) -> bool:
    """Return whether a step certainly held so many calls, and no more, and all of its results."""
    calls, results = step.get("tool_calls"), dict_of(step.get("observation")).get("results")
    is_whole = calls is None or (isinstance(calls, list) and len(calls) == n_calls)
    return is_whole and isinstance(results, list)


def _join_any(said: _Trajectory, calls: list[ToolCall], loose: list[_Found]) -> None:
    """Join results that may be any of several calls' to each of them, with that doubt."""
    said.flags["result_without_call"] = None
    text = "\n".join(found.text for found in loose if found.text)
    is_error = all(_is_error(found.extra) for found in loose)
    is_cut = any(found.is_truncated for found in loose)
    for call in calls if text or is_error else ():
        answer = ToolResult(text, None, is_error, is_cut, is_error, doubt="unlinked_result")
        said.join(call.call_id, answer)


def _is_terminus(agent: str) -> bool:
    dialect = dialect_of(agent)
    return dialect is not None and HARNESS in dialect.harnesses


def _type(said: _Trajectory, calls: list[ToolCall], results: list[_Found]) -> None:
    """Log the commands that were typed in a step, each with its share of the joint screen."""
    typing = [call for call in calls if call.name == TOOL]
    keys = [text_of(call.arguments.get("keystrokes")) or "" for call in typing]
    screens = [found.text for found in results if found.has_content]
    shares = said.terminal.read(keys, "\n".join(screens) if screens else None)
    typed = dict(zip(map(id, typing), shares, strict=True))
    for call in calls:
        share = typed.get(id(call))
        if share is None:
            said.add(replace(call, result=ToolResult("")))
        elif share.command is None:
            arguments = {**call.arguments, "is_input": True}
            said.add(replace(call, arguments=arguments, result=share.result))
        else:
            folder = {"workdir": share.cwd} if share.cwd is not None else {}
            arguments = {"command": share.command, **folder}
            said.add(replace(call, arguments=arguments, result=share.result))


def _objects(said: _Trajectory, value: Any, what: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list; anything but a list of objects (or null) is a problem."""
    stated = [value] if isinstance(value, dict) else value
    found: list[Mapping[str, Any]] = [e for e in list_of(stated) if isinstance(e, dict)]
    if stated is not None and (not isinstance(stated, list) or len(found) < len(stated)):
        said.lose(f"{what} are no list of objects")
    return found


def _calls(
    said: _Trajectory, step: Mapping[str, Any], extra: Mapping[str, Any]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    stated = step.get("tool_calls")
    if preview_of(stated) is not None:
        said.flags[TRUNCATED] = None
        stated = whole_or_rest(stated, keep_cut_text=False)
    calls = []
    for call in _objects(said, stated, "the tool calls"):
        name = text_of(call.get("function_name"))
        if name is not None:
            arguments = arguments_of(call.get("arguments", extra.get("raw_arguments")))
            action = text_of(arguments.get("raw_action"))
            if name == swe_agent.ACTION and action is not None:
                name, arguments = swe_agent.call_of(action, None)
            calls.append((text_of(call.get("tool_call_id")) or "", name, arguments))
        elif preview_of(step.get("tool_calls")) is None:
            said.lose("a tool call without a name")
    return calls


def _written(
    said: _Trajectory, step: Mapping[str, Any], results: list[_Found]
) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return the calls in the text of an answer, where a trajectory keeps the answer as it was.

    The harness carried them out if it answered with something else than a complaint.
    """
    if step.get("source") != "agent" or not results:
        return []
    if any(complains_of_format(found.text) for found in results):
        return []
    text = blocks_text(step.get("message"))
    if _is_terminus(said.runner):
        return [("", TOOL, {"keystrokes": keys}) for keys in typed_in(text)]
    call = written(text) if said.runner == OPENHANDS else None
    return [("", *call)] if call is not None else []


class _Found(Struct, frozen=True, gc=False):
    call_id: str | None
    text: str
    has_content: bool
    is_truncated: bool
    extra: Mapping[str, Any]
    refers_to: tuple[str, ...]


def _results(said: _Trajectory, step: Mapping[str, Any]) -> list[_Found]:
    stated = step.get("observation")
    is_cut = preview_of(stated) is not None
    if is_cut:
        said.flags[TRUNCATED] = None
    observation = whole_or_rest(stated, keep_cut_text=True)
    if observation is not None and not isinstance(observation, dict):
        said.lose("the observation is no object")
    entries = _objects(said, dict_of(observation).get("results"), "the results")
    are_failures_empty = said.runner in _FAILURES_ARE_EMPTY
    found = []
    for entry in entries:
        refs = [dict_of(ref) for ref in list_of(entry.get("subagent_trajectory_ref"))]
        if any(_is_elsewhere(said, ref) for ref in refs):
            said.flags[SUBAGENT_ELSEWHERE] = None
        content = entry.get("content")
        if not isinstance(content, str | list | None):
            said.lose("the content of a result is no text")
        found.append(
            _Found(
                text_of(entry.get("source_call_id")),
                blocks_text(content),
                content is not None and (content != "" or not are_failures_empty),
                is_cut and entry is entries[-1],
                dict_of(entry.get("extra")),
                tuple(key for ref in refs if (key := text_of(ref.get("trajectory_id")))),
            )
        )
    return found


def _is_elsewhere(said: _Trajectory, reference: Mapping[str, Any]) -> bool:
    """Return whether the trajectory of a sub-agent lies in another file."""
    return text_of(reference.get("trajectory_id")) not in said.embedded and not _has_no_calls(
        reference
    )


def _has_no_calls(reference: Mapping[str, Any]) -> bool:
    """Return whether a sub-agent only wrote a summary of the history, without calls of tools."""
    path = text_of(reference.get("trajectory_path")) or ""
    return path.rpartition("/")[2].startswith("trajectory.summarization-")


def _result(
    said: _Trajectory, found: _Found, call: ToolCall, extra: Mapping[str, Any], n_calls: int
) -> ToolResult | None:
    """Return the result of a call, or None where an empty result does not show how it ended."""
    own = extra if n_calls == 1 else {}
    if said.runner == CLAUDE_CODE:
        answer = result_of_claude_code(found.call_id or "", found.text, found.is_truncated, own)
        answer = marked(replace(answer, is_error=True)) if _is_error(found.extra) else answer
        is_answer = found.has_content or answer.is_error or bool(answer.text or answer.structured)
        return answer if is_answer or found.refers_to else None
    if said.runner == OPENHANDS:
        answer = openhands.result(call.name, found.text, found.is_truncated)
    else:
        answer = ToolResult(found.text, None, _is_error(own), found.is_truncated)
    records = [found.extra, own, *(dict_of(e.get("tool_metadata")) for e in (found.extra, own))]
    details = dict_of(dict_of(extra.get("tool_call_details")).get(found.call_id or ""))
    records += [details, dict_of(details.get("metadata"))]
    has_ended = states_exit_status(answer.text, *records)
    if answer.is_error or _is_error(found.extra):
        known = answer.structured
        if known is None and has_ended:
            known = next(filter(states_end, records), None)
        answer = replace(answer, structured=known, is_error=True, is_unfinished=not has_ended)
    is_answer = found.has_content or has_ended or found.extra.get("success") is True
    if not is_answer and not answer.is_error:
        return answer if found.refers_to else None
    if said.runner == SDK and call.name == "terminal" and not has_ended:
        # Harbor's runner leaves out the note of a time limit, and the exit status.
        answer = replace(answer, is_stopped=bool(answer.text.strip()))
    dialect = dialect_of(said.runner)
    if dialect is None or dialect.answer is None:
        return answer
    return dialect.answer(replace(call, result=answer))


def _is_error(extra: Mapping[str, Any]) -> bool:
    if not extra:
        return False
    flags = ("is_error", "isError", "tool_result_is_error")
    return any(extra.get(flag) is True for flag in flags) or extra.get("success") is False


def _model(document: Mapping[str, Any]) -> str | None:
    models = (text_of(step.get("model_name")) for step in _steps(document))
    return next(filter(None, models), None)


def _folder(agent: Mapping[str, Any]) -> str | None:
    folders = list_of(dict_of(agent.get("extra")).get("cwds"))
    return text_of(clean(folders[0])) if len(folders) == 1 else None


# --------------------------------------------------------------------------------------------------
# Tool results as Claude Code's ATIF converter writes them: original text plus decorations.
#
# A result's content is the original text, then ``[stdout]``, ``[stderr]`` and ``[metadata]`` copies
# of the structured result, then ``[error] tool reported failure``. The original is kept in the
# step's ``extra``; where that was lost, the decorations are taken off again.

_FAILURE = "[error] tool reported failure"
_METADATA = "[metadata] {"
_STREAM = re.compile(r"(?:\A|\n\n)\[std(?:out|err)\]\n")
_STATED = re.compile(r"(?:\A|\n)\[(?:exit_code\] -?\d{1,9}|interrupted\] \w{1,10})\s*\Z")
_LONGEST_STATED = 60


def result_of_claude_code(
    call_id: str, content: str, is_truncated: bool, extra: Mapping[str, Any]
) -> ToolResult:
    """Return the result of a call.

    Parameters
    ----------
    call_id, content, is_truncated
        The observed result; a truncated one may end anywhere.
    extra
        The ``extra`` of a step with this one call (empty when it has several).
    """
    text, structured, is_error = undecorated(content, is_truncated)
    metadata = dict_of(extra.get("tool_result_metadata"))
    raw = dict_of(metadata.get("raw_tool_result"))
    if raw.get("tool_use_id") == call_id and isinstance(raw.get("content"), (str, list)):
        text, is_truncated = blocks_text(raw["content"]), False
    if isinstance(metadata.get("tool_use_result"), (dict, list)):
        structured = clean(metadata["tool_use_result"])
    is_error = is_error or extra.get("tool_result_is_error") is True or raw.get("is_error") is True
    return marked(ToolResult(text, structured, is_error, is_truncated))


def undecorated(content: str, is_truncated: bool = False) -> tuple[str, Any, bool]:
    r"""Return a result's original text, its structured result and whether it failed.

    Examples
    --------
    >>> undecorated('a.py\n\n[stdout]\na.py\n[metadata] {"noOutputExpected": false}')
    ('a.py', {'noOutputExpected': False}, False)
    >>> undecorated("no such file\n\n[error] tool reported failure")
    ('no such file', None, True)
    """
    text, is_error, structured = content, False, None
    if text.endswith(_FAILURE):
        text, is_error = text.removesuffix(_FAILURE).rstrip("\n"), True
    # The copies are JSON on one line, so the last line that begins like this is the decoration.
    at = text.rfind("\n" + _METADATA) + 1
    if text.startswith(_METADATA, at):
        structured = _decoded_metadata(text[at + len(_METADATA) - 1 :], is_truncated)
        if structured is not None:
            text = text[:at].rstrip("\n")
    while (stated := _STATED.search(text, max(0, len(text) - _LONGEST_STATED))) is not None:
        text = text[: stated.start()].rstrip("\n")
    return _without_streams(text), structured, is_error


def _decoded_metadata(text: str, is_truncated: bool) -> Any:
    return clean(complete_json(text, keep_cut_text=False) if is_truncated else decode(text)[0])


def _without_streams(text: str) -> str:
    """Cut the copy of standard output where it certainly repeats what stands before it."""
    found = _STREAM.search(text)
    if found is None:
        return text
    before, after = text[: found.start()], text[found.end() :]
    if not before:
        # The result itself was empty, so the copy is all that is left of it.
        return after.replace("\n[stderr]\n", "\n", 1)
    copy = after.split("\n[stderr]\n", 1)[0].strip()
    is_copy = before.startswith(copy) or copy.startswith(before)
    return before if is_copy else text


# --------------------------------------------------------------------------------------------------
# Tokens of ATIF steps; one message of the model may be split over several steps.

CLAUDE_CODE = "claude-code"
COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens")
"""The names of the token counts in a step's ``metrics``."""


class StepTokens:
    """Converts the ``metrics`` of successive steps into usages, one for each message.

    Steps have no message id. The Claude Code converter writes a step for each block of a message
    and repeats the message's prompt counts on each, so neighbouring steps with the same prompt
    counts are one message there (prompts only grow). Its ``prompt_tokens`` leave out the tokens
    written to the cache; they are added where the numbers prove that they are missing.
    """

    def __init__(self, agent: str, scope: str) -> None:
        self._repeats = agent == CLAUDE_CODE
        self._scope = scope
        self._key: tuple[Any, ...] | None = None
        self._message_id = ""

    def of(self, step: Mapping[str, Any], index: int) -> tuple[str, int, int]:
        """Return the message that a step is of, and its tokens: prompt and output."""
        metrics = dict_at(step, "metrics")
        prompt, output = count_at(metrics, "prompt_tokens"), count_at(metrics, "completion_tokens")
        if not prompt + output:
            return self._message_id, 0, 0
        extra = dict_at(metrics, "extra")
        written = count_at(extra, "cache_creation_input_tokens")
        read = max(count_at(metrics, "cached_tokens"), count_at(extra, "cache_read_input_tokens"))
        key = (prompt, read, written)
        if not self._repeats or key != self._key:
            self._message_id = f"{self._scope}/steps/{index}"
        self._key = key
        # A prompt that included what was read and what was written could not be smaller.
        is_written_missing = prompt < read + written
        prompt += written if is_written_missing else 0
        return self._message_id, prompt, output


def declared_tokens(metrics: Mapping[str, Any]) -> int | None:
    """Return the prompt and completion tokens that ``final_metrics`` declares, if any.

    The Claude Code converter sums over steps, so its declared totals count messages repeatedly.
    """
    return count_at(metrics, "total_prompt_tokens", "total_completion_tokens") or None


def _is_atif(document: Mapping[str, Any]) -> bool:
    return _VERSION.fullmatch(text_of(document.get("schema_version")) or "") is not None


def _may_be_atif(document: Mapping[str, Any]) -> bool:
    """Whether a document states any version: the reader then reports which it expects."""
    return text_of(document.get("schema_version")) is not None


FORMATS.add(
    "atif",
    DocumentFormat(
        recognises=_is_atif,
        read=read_atif,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=(
            "each step's own tokens, cached ones inside the prompt (Claude Code's converter leaves "
            "out those written to the cache; they are added), sub-agents marked; the totals are "
            "those of the file, in a part of a continued run from the run's beginning"
        ),
        source="ATIF 1.0 to 1.8 as described; files of 1.2 and 1.5 seen",
        may_be=_may_be_atif,
        example={
            "schema_version": "ATIF-v1.6",
            "session_id": "s",
            "agent": {"name": "codex", "version": "1"},
            "steps": [
                {
                    "step_id": 1,
                    "source": "agent",
                    "tool_calls": [
                        {"tool_call_id": "c", "function_name": "shell", "arguments": {}}
                    ],
                    "observation": {"results": [{"source_call_id": "c", "content": "a.py"}]},
                }
            ],
        },
    ),
)
