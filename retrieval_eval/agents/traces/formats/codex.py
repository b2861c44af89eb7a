"""Codex: session files with items of the Responses interface, and ``exec --json``.

A session file is one thread. Lines are ``{timestamp, type, payload}``. What the agent saw is in
lines of type ``response_item``; events beside them state exit codes and tokens. Where the agent
wrote scripts that call tools (code mode), only the events name the commands: what they printed is
certain to have been seen where the script's own output holds it. Sub-agents have files of their
own. Some versions keep events only, and until autumn 2025 ``exec --json`` printed these events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    addressees,
    read_nothing,
    tool_name,
)
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.messages import (
    function_arguments,
    log_item,
    output_text,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.results.base import Found, Seen, distinct, joined, text_argument
from retrieval_eval.agents.traces.results.grep import read_grep
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.tokens import (
    OPENAI_COUNTS,
    Item,
    Usage,
    is_misstated,
    openai_usage,
)
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    clean,
    count_at,
    dict_at,
    dict_of,
    dicts_at,
    list_of,
    status_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.spooled import like
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# The envelope of a result, in three generations: a JSON object with ``output`` and ``metadata``, a
# heading with the exit code, and a heading with the state of a process that may still run.

_HEADING: Final = re.compile(
    r"(?:Chunk ID: \S{1,80}\n)?(?:Exit code: (?P<code>-?\d{1,9})\n)?"
    r"(?:Wall time: [\d.]{1,20} seconds\n)?"
    r"(?:Process exited with code (?P<exited>-?\d{1,9})\n)?"
    r"(?:Process running with session ID (?P<session>[\w-]{1,80})(?:\n|\Z))?"
    r"(?:Original token count: (?P<tokens>\d{1,12})\n)?"
    r"(?:Total output lines: (?P<lines>\d{1,12})\n)?"
    r"(?:Output:(?:\n|\Z))?"
)
_CELL: Final = re.compile(
    r"Script (?P<state>completed|failed|running[^\n]{0,200})\n"
    r"(?:Wall time:? [\d.]{1,20} seconds\n)?(?:Output:(?:\n|\Z))?"
)
_NOTICE: Final = re.compile(
    r"(?:Warning: truncated output \(original token count: (?P<tokens>\d{1,12})\)\n)?"
    r"(?:Total output lines: (?P<lines>\d{1,12})\n\n?)?"
)
_CUT: Final = re.compile(
    r"\n?(?:\u2026\d{1,12} (?:tokens|chars) truncated\u2026"
    r"|\[\.\.\. omitted \d{1,12} of \d{1,12} lines \.\.\.\])\n?"
)
_TIMED_OUT: Final = re.compile(r"command timed out after \d{1,12} milliseconds(?:\n|\Z)")
STATUS_OF_TIMEOUT: Final = 124
"""The exit status of a command that was stopped at its time limit."""
_ABORTED: Final = re.compile(
    r"(?:Wall time: [\d.]{1,20} seconds\n)?aborted by user[^\n]{0,80}\s*\Z"
)
_REFUSALS: Final = (
    r"exec command rejected by user",
    r"aborted by user after",
    r"Wall time: [\d.]{1,20} seconds\naborted by user",
    r"execution error: \w{1,40}\(",
    r"exec_command failed for ",
    r"patch rejected by user",
    r"failed to parse function arguments: ",
    r"aborted\s*\Z",
    r"approval policy is \w{1,40}; reject command\b",
    r"(?:collab spawn failed|[Aa]gent (?:depth|thread) limit reached)\b",
    r"(?:live )?agent (?:path|with id) \S{1,200} not found\b",
    r"invalid agent id\b",
)
_DOUBTFUL: Final = (
    *("execution error: ", "exec_command failed", "CreateProcess", r"Rejected\(\"", "err: "),
    *(r"[^\n]{1,400} blocked by policy", "unsupported call: "),
)
"""Openings of errors that a program's output may have too, so that they count without envelope."""
_REFUSED: Final = re.compile("|".join(f"(?:{text})" for text in (*_REFUSALS, *_DOUBTFUL)))


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without Codex's envelope.

    Output that was printed before a command timed out or was interrupted is kept, because the
    agent saw it.

    Examples
    --------
    >>> text = "Exit code: 1\nWall time: 0.1 seconds\nOutput:\na.py:3:x"
    >>> answer(ToolCall("c", "shell", {}, ToolResult(text))).text
    'a.py:3:x'
    >>> text = '{"output": "x = 1", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}'
    >>> answer(ToolCall("c", "shell", {}, ToolResult(text))).text
    'x = 1'
    >>> text = "Wall time: 10.0 seconds\nProcess running with session ID 3\nOutput:\n"
    >>> answer(ToolCall("c", "exec_command", {}, ToolResult(text))).doubt
    'background'
    """
    result = call.result or ToolResult("")
    if result.is_unfinished:
        return result
    text, status, is_running, is_part = _opened(result.text, call.name)
    if status is None and (_REFUSED.match(text[:600]) or _ABORTED.match(text[:200])):
        return replace(result, text=text, is_error=True, is_unfinished=True)
    late = timed_out(text) if status in (None, STATUS_OF_TIMEOUT) else None
    if late is not None:
        return replace(
            result, text=late, is_error=True, is_unfinished=not late, is_stopped=bool(late)
        )
    text = _uncut(text, is_part=is_part)
    doubt = result.doubt or ("background" if is_running and not text.strip() else None)
    is_error = result.is_error or bool(status)
    is_stated = status is not None and result.structured is None
    known = {"exit_code": status} if is_stated else result.structured
    return replace(
        result,
        text=text,
        structured=known,
        is_error=is_error,
        is_stopped=is_running,
        doubt=doubt,
    )


def timed_out(text: str) -> str | None:
    r"""Return what a command printed before it was stopped at its time limit, if it was.

    Examples
    --------
    >>> timed_out("command timed out after 9 milliseconds\nimport os"), timed_out("import os")
    ('import os', None)
    """
    late = _TIMED_OUT.match(text[:200])
    if late is None:
        return None
    rest = _uncut(text[late.end() :])
    return rest if rest.strip() else ""


_LONGEST_SHOWN: Final = 10_000
"""Characters of an output that every version shows to the agent whole."""


def seen_part(output: str) -> tuple[str, bool]:
    """Return what of a whole output the agent saw for certain, and whether there was more.

    Of a long output Codex shows head and tail.

    Examples
    --------
    >>> seen_part("import os")
    ('import os', False)
    """
    if len(output) <= _LONGEST_SHOWN:
        return output, False
    half = _LONGEST_SHOWN // 2
    head, tail = output[:half].rpartition("\n")[0], output[-half:].partition("\n")[2]
    return f"{head}\n{CUT_HERE}\n{tail}", True


def session_of(text: str) -> str | None:
    r"""Return the id of the process that a result says is still running.

    Examples
    --------
    >>> session_of("Wall time: 10.0 seconds\nProcess running with session ID 3\nOutput:\n")
    '3'
    """
    heading = _HEADING.match(text[:2000])
    return heading["session"] if heading is not None else None


def _opened(text: str, name: str) -> tuple[str, int | None, bool, bool]:
    """Return the text inside the envelope, the exit status and what else the envelope states.

    That is whether the command still runs, and whether the text is a part of the output.
    """
    if text.startswith('{"output"'):
        value = dict_of(decode(text)[0])
        inner, metadata = value.get("output"), value.get("metadata")
        if isinstance(inner, str) and isinstance(metadata, dict):
            return inner, status_of(metadata.get("exit_code")), False, False
    if name in ("exec", "wait"):
        cell = _CELL.match(text[:2000])
        if cell is not None:
            is_running = cell["state"].startswith("running")
            return text[cell.end() :], int(cell["state"] == "failed"), is_running, False
    heading = _HEADING.match(text[:2000])
    # A file may begin like one line of the heading, but not like two.
    if heading is None or heading[0].count("\n") + heading[0].endswith("Output:") < 2:
        return text, None, False, False
    code = heading["code"] or heading["exited"]
    status = None if code is None else int(code)
    rest = text[heading.end() :]
    return rest, status, heading["session"] is not None, _is_part(rest, heading)


_BYTES_OF_TOKEN: Final = 4
_SURPLUS: Final = 16


def _is_part(text: str, stated: re.Match[str]) -> bool:
    """Return whether an output was longer than a text, by the tokens and lines that are stated.

    Codex takes four bytes for a token.
    """
    n_bytes = len(text.encode("utf-8", "replace"))
    n_tokens, n_lines = int(stated["tokens"] or 0), int(stated["lines"] or 0)
    most_tokens = 1.1 * n_bytes / _BYTES_OF_TOKEN + _SURPLUS
    return n_tokens > most_tokens or n_lines > text.count("\n") + 1


def _uncut(text: str, *, is_part: bool = False) -> str:
    """Mark where Codex left out the middle of an output; where no mark is, at both ends."""
    notice = _NOTICE.match(text)
    if notice is not None and notice[0]:
        text = text[notice.end() :]
        is_part = is_part or _is_part(text, notice)
    if " truncated\u2026" in text or "[... omitted " in text:
        text = _CUT.sub(f"\n{CUT_HERE}\n", text, count=1)
    is_open = is_part and CUT_HERE not in text and bool(text.strip())
    return f"{CUT_HERE}\n{text}\n{CUT_HERE}" if is_open else text


# --------------------------------------------------------------------------------------------------
# Programs that were already running, and scripts that call tools themselves (code mode).


_SPAWN: Final = re.compile(r"\btools\s{0,9}\.\s{0,9}(?:\w{1,60}__)?spawn_agents?(?:_on_csv)?\b")


def spawns(call: ToolCall) -> int:
    """Return 1 for a script that starts a sub-agent."""
    script = text_argument(call.arguments, ("input", "code")) if call.name == "exec" else None
    return int(script is not None and _SPAWN.search(script[:_LONGEST_SCRIPT]) is not None)


_TURNING: Final = frozenset(
    {
        *("send_input", "followup_task", "assign_task", "resume_agent", "wait_agent"),
        *("close_agent", "interrupt_agent"),
    }
)
_TURNS: Final = re.compile(
    rf"\btools\s{{0,9}}\.\s{{0,9}}(?:\w{{1,60}}__)?(?:{'|'.join(sorted(_TURNING))})\b"
)


def addresses(call: ToolCall) -> Sequence[str]:
    """Return the sub-agents to which a call or a script turns.

    Examples
    --------
    >>> addresses(ToolCall("c", "wait_agent", {"targets": ["t2"], "timeout_ms": 9}, None))
    ('t2',)
    """
    if tool_name(call.name, {}).bare in _TURNING:
        return addressees(call.arguments)
    script = text_argument(call.arguments, ("input", "code")) if call.name == "exec" else None
    turns = script is not None and _TURNS.search(script[:_LONGEST_SCRIPT]) is not None
    return ("",) if turns else ()


def read_image(seen: Seen) -> Found:
    """Return the image that the agent was shown, unless the answer is a sentence about a fault."""
    path = text_argument(seen.arguments, ("path",))
    if path is None or (seen.text.strip() and not _ATTACHED.match(seen.text[:200])):
        return Found()
    return Found((RawTarget(joined(seen.cwd, path), "opened", is_whole=True),))


_ATTACHED: Final = re.compile(r"\s*attached local image path")


def read_typed(seen: Seen) -> Found:
    """Return what a program that was already running printed: it may have shown any file."""
    is_program = any(name in seen.arguments for name in ("session_id", "cell_id", "chars"))
    return Found(is_opaque=is_program and not is_empty_answer(seen.text))


_LITERAL: Final = re.compile(
    r"\"((?:[^\"\\\n]|\\.){1,4000})\"|'((?:[^'\\\n]|\\.){1,4000})'|`((?:[^`\\]|\\.){1,4000})`"
)
_NOT_IN_PATHS: Final = re.compile(r"[^\w./@+~()\[\]-]+")
_IS_PATH: Final = re.compile(r"[^/]*(?:/[^/]+)+|[^/]+\.\w{1,10}")
_LONGEST_PATH: Final = 1000
_LONGEST_SCRIPT: Final = 50_000


def read_cell(seen: Seen) -> Found:
    """Return the files that a script's texts name, as possible: what it printed is its choice."""
    if is_empty_answer(seen.text):
        return Found()
    script = text_argument(seen.arguments, ("input", "code")) or ""
    named: list[str] = []
    for literal in _LITERAL.finditer(script[:_LONGEST_SCRIPT]):
        words = _NOT_IN_PATHS.split(literal[1] or literal[2] or literal[3])
        named += [word for word in words if _IS_PATH.fullmatch(word[:_LONGEST_PATH])]
    targets = distinct(
        RawTarget(joined(seen.cwd, path), "opened", doubt="opaque_call") for path in named
    )
    return Found(targets, is_opaque=True)


DIALECTS.add(
    "codex",
    Dialect(
        harnesses=frozenset({"codex", "codex-cli", "codex_exec"}),
        delegating=frozenset({"spawn_agent", "spawn_agents_on_csv"}),
        delegates=spawns,
        addresses=addresses,
        cut=(
            "An output of more than about 10,000 tokens loses its middle, of whole lines with the "
            "ends of two: `…N tokens truncated…` or `[... omitted N of M lines ...]`; `exec "
            "--json` has it whole. The heading states the tokens of the whole output."
        ),
        finished=(
            "The heading states the exit status, or the session of a process that still runs; a "
            "call that was refused, denied or not understood has a sentence instead, and in "
            "`exec --json` no item at all."
        ),
        delegated=(
            "`spawn_agent` and `spawn_agents_on_csv`, called directly or by a script of code mode, "
            "and a review; a call that turns to a sub-agent shows one, too. Each has a rollout of "
            "its own that names its parent; `exec --json` holds none of its calls."
        ),
        namespaces=frozenset({"multi_agent_v1", "collaboration"}),
        keeps_shell=False,
        refusals=_REFUSALS,
        statuses=(r"Exit code:? -?\d+", r"Process exited with code -?\d+"),
        failures=(r"apply_patch verification failed", r"tool call (?:error: |failed for `)"),
        answer=answer,
        source=(
            "openai/codex: core/tools 7f589e4, protocol 001cb8e and 01baf68 (items), "
            "exec_events 08a1f30; code mode and the history of sub-agents from readers of "
            "its traces; a session of 0.47 and lines of 0.107 to 0.155 seen"
        ),
        tools=(
            Tool(
                ("local_shell", "container_exec", "exec_command", "shell_command"),
                "other",
                read_nothing,
                is_shell=True,
            ),
            Tool(("write_stdin",), "other", read_typed),
            Tool(("exec",), "other", read_cell),
            Tool(("wait",), "other", read_typed),
            Tool(("spawn_agent", "spawn_agents_on_csv"), "other", read_nothing),
            Tool(
                (
                    *("wait_agent", "sub_agent", "send_input", "resume_agent", "close_agent"),
                    *("followup_task", "assign_task", "interrupt_agent", "list_agents"),
                ),
                "other",
                read_nothing,
                is_retrieval=False,
            ),
            Tool(("view_image",), "file_read", read_image),
            Tool(("grep_files",), "file_search", read_grep),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Codex: session files with items of the Responses interface, and ``exec --json``.

FORMAT = "codex-rollout"
STREAM = "codex-exec-events"
"""The form of ``exec --json`` until autumn 2025: the events of a session file without the items."""
_KINDS = frozenset(
    {
        *("session_meta", "turn_context", "response_item", "event_msg", "compacted"),
        *("token_usage_record", "world_state"),
    }
)
_BARE_KINDS = frozenset({"function_call", "function_call_output", "local_shell_call", "reasoning"})
_CELLS = frozenset({"exec", "wait"})
_OUTPUTS_LOOKED_AT = 3
"""Outputs of scripts after an event in which the text of the event is looked for."""
_MOST_WAITING = 200
_TEXTS = ("formatted_output", "aggregated_output", "stdout", "stderr")
"""Where an event holds the output of a command: as the agent saw it, or else as it was printed."""


class _Seen(Struct):
    """What an event reports of a call: its text, and how many outputs may still hold it."""

    call_id: str
    text: str
    n_left: int = _OUTPUTS_LOOKED_AT


class _Session(Transcript):
    """A session's transcript, and what its events state beside the items."""

    def __init__(self, name: str) -> None:
        super().__init__(name, harness="codex", is_native=True, tokens_follow=True)
        self.meta: Mapping[str, Any] | None = None
        self.is_inner = self.is_stream = self.has_ended = False
        self.first_own = 0
        self.copied_from: str | None = None
        self.copied_at: float | None = None
        self.total: Usage | None = None
        self.n_tokens = self.n_counters = 0
        self.has_records = False
        self.agents: dict[str, str] = {}  # the call that started each sub-agent
        self.names: dict[str, str] = {}
        self.commands: set[str] = set()
        self.ended: dict[str, bool] = {}
        self.begun: dict[str, Mapping[str, Any]] = {}  # starts of sub-agents that did not end yet
        self.unseen: list[_Seen] = []
        self.certain: set[str] = set()
        self.explained: set[str] = set()
        self.open_cells: set[str] = set()
        self.has_cells = self.is_in_review = False

    @property
    def thread(self) -> str:
        return text_at(self.meta, "id") or self.name


def read_codex_rollout(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a session file; ``name`` is the file's name in messages."""
    said = _Session(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where)
    for started in said.begun.values():
        _take_item(said, started)
    said.release()
    meta = dict_of(said.meta)
    if said.is_inner:
        said.sub_agents.add(said.thread)
    said.session(meta.get("id"), meta.get("session_id"), _parent(meta), meta.get("forked_from_id"))
    if said.is_stream and not said.has_ended:
        said.ending = ("no_result_event",)
    return said.reading(
        STREAM if said.is_stream else FORMAT,
        items=_finished(said),
        harness_version=text_at(meta, "cli_version"),
        model=None if said.is_inner else said.model,
        cwd=text_at(meta, "cwd") or said.cwd,
        declared_tokens=None if said.is_inner else said.n_tokens or None,
        part_of=_parent(meta) if said.is_inner else None,
    )


def _take(said: _Session, entry: Mapping[str, Any], where: str) -> None:
    kind, payload = text_at(entry, "type"), dict_at(entry, "payload")
    if isinstance(entry.get("msg"), dict):
        kind, payload, said.is_stream = "event_msg", dict_at(entry, "msg"), True
    elif kind is None and text_at(entry, "workdir"):
        said.cwd, said.model = text_at(entry, "workdir"), text_at(entry, "model")
    elif kind in _BARE_KINDS and "payload" not in entry:
        kind, payload = "response_item", entry
    said.at(where, unix_seconds(entry.get("timestamp")), starts=kind == "turn_context")
    ordinal = status_of(entry.get("ordinal"))
    is_copied = ordinal is not None and 0 < ordinal < said.first_own
    if said.copied_from is not None and _is_own_turn(said, payload):
        said.copied_from = None
    is_copied = is_copied or said.copied_from is not None
    said.by(said.thread if said.is_inner and not is_copied else None)
    # What the agent that started this one did and paid is in a file of its own.
    is_foreign = is_copied and said.is_inner
    match kind:
        case "session_meta":
            _take_meta(said, payload)
        case "world_state":
            stated = dict_at(payload, "state", "agents_md")
            _attach_instructions(said, text_at(stated, "directory"), text_at(stated, "text"))
        case "turn_context":
            said.model = text_at(payload, "model") or said.model
            said.cwd = text_at(payload, "cwd") or said.cwd
        case "compacted":
            said.note_summary()
        case "token_usage_record":
            _take_record(said, payload, is_foreign=is_foreign)
        case "event_msg":
            _take_event(said, payload, is_foreign=is_foreign)
        case "response_item":
            said.has_agent = said.has_agent or payload.get("role") not in ("user", "developer")
            if payload.get("role") == "user":
                _look_for_instructions(said, output_text(payload.get("content")))
            _note_name(said, payload)
            _take_response(said, payload)


def _take_meta(said: _Session, meta: Mapping[str, Any]) -> None:
    """Take the description of the thread, or the first line of a copied history: another's."""
    if said.meta is not None:
        if not said.first_own and text_at(meta, "id") not in (None, said.thread):
            said.copied_from, said.copied_at = text_at(meta, "id"), said.time
        return
    said.meta = meta
    said.is_inner = (
        bool(at(meta, "source", "subagent"))
        or meta.get("thread_source") == "subagent"
        or _parent(meta) is not None
    )
    # Newer versions state where the copy of what the other agent did ends.
    said.first_own = count_at(meta, "subagent_history_start_ordinal")
    said.cwd = text_at(meta, "cwd")


def _parent(meta: Mapping[str, Any]) -> str | None:
    """Return the thread that started this one as its sub-agent, if the file names it."""
    spawned = text_at(meta, "source", "subagent", "thread_spawn", "parent_thread_id")
    return spawned or text_at(meta, "parent_thread_id")


_AGENT_ID = re.compile(r"\"agent_id\":\s{0,9}\"([\w-]{1,80})\"")
_LONGEST_START = 4000


def _is_own_turn(said: _Session, payload: Mapping[str, Any]) -> bool:
    """Return whether a line behind a copied history begins a turn of this thread.

    Ids begin with the time at which they were made, so that copied turns have smaller ones than
    the thread. Where the thread's id is of another time than its lines, the time of the lines
    decides: a copy is written at once.
    """
    turn = text_at(payload, "turn_id")
    if turn is None or payload.get("type") not in (None, "task_started", "turn_started"):
        return False
    made = _made_at(said.thread)
    if made is not None and said.time is not None and abs(said.time - made) < _DAY:
        return turn >= said.thread
    return said.time is not None and said.copied_at is not None and said.time > said.copied_at


_DAY = 86_400.0
_UUID_7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-")


def _made_at(identity: str) -> float | None:
    """Return the time in an id, which is a UUID of version 7."""
    found = _UUID_7.match(identity)
    return None if found is None else int(found[1] + found[2], 16) / 1000


_INSTRUCTIONS = re.compile(r"# AGENTS\.md instructions for (?P<folder>/[^\n]{0,4000})\n")
_SEVERAL = "--- project-doc ---"
"""What stands between several files of instructions, whose folders are not stated."""


def _look_for_instructions(said: _Session, text: str) -> None:
    found = _INSTRUCTIONS.match(text)
    if found is not None:
        _attach_instructions(said, found["folder"].strip(), text[found.end() :])


def _attach_instructions(said: _Session, folder: str | None, text: str | None) -> None:
    if not folder or not text or _SEVERAL in text:
        return
    path = f"{folder.rstrip('/')}/AGENTS.md"
    if all(file.path != path for file in said.attached):
        said.attach(path, "instructions")


def _take_response(said: _Session, item: Mapping[str, Any]) -> None:
    """Log an item, which the next count of tokens counts."""
    call_id, output = text_at(item, "call_id"), item.get("output")
    name = said.names.get(call_id or "")
    is_logged = log_item(said, item)
    if call_id is None or output is None or not is_logged:
        return
    text = output_text(output)
    if name in _CELLS:
        _look_for(said, text)
        said.open_cells.discard(call_id)
    if name in _CELLS or name == "spawn_agent":
        started = _AGENT_ID.search(text[:_LONGEST_START])
        _link(said, call_id, [started[1]] if started is not None else [])


def _note_name(said: _Session, item: Mapping[str, Any]) -> None:
    call_id, name = text_at(item, "call_id") or text_at(item, "id"), text_at(item, "name")
    is_call = name is not None or item.get("type") == "local_shell_call"
    if call_id is None or not is_call:
        return
    said.names[call_id] = name or "local_shell"
    stated = item.get("arguments")
    said.commands |= _commands(decode(stated)[0] if isinstance(stated, str) else stated)
    if name == "exec":
        said.open_cells.add(call_id)
        said.has_cells = True


# --------------------------------------------------------------------------------------------------
# Events beside the items: tokens, how calls ended, and what scripts did.


def _commands(arguments: Any) -> set[str]:
    """Return a call's command, as a line and without the shell that runs it."""
    command = dict_of(arguments).get("command", at(arguments, "cmd"))
    if isinstance(command, str):
        return {command}
    words = [word for word in list_of(command) if isinstance(word, str)]
    return {" ".join(words), words[-1]} if words else set()


def _take_event(said: _Session, event: Mapping[str, Any], *, is_foreign: bool) -> None:
    match text_at(event, "type"):
        case "token_count":
            _take_tokens(said, event.get("info"), is_foreign=is_foreign)
            said.release()
        case "item_completed":
            said.release()
            said.has_agent = True
            _take_item(said, dict_at(event, "item"))
        case "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end":
            call_id = text_at(event, "call_id")
            if call_id is None:
                return
            if call_id not in said.names:
                said.release()
            said.has_agent = True
            _take_item(said, _item_of(event, call_id))
        case str(kind) if kind.startswith(_ABOUT_SUB_AGENTS):
            said.release()
            _take_collaboration(said, kind, event)
        case "session_configured":
            said.has_agent = True
            said.model = text_at(event, "model") or said.model
            said.meta = said.meta or {"id": event.get("session_id")}
        case "task_complete" | "turn_complete":
            said.has_ended = True


def _item_of(event: Mapping[str, Any], call_id: str) -> Mapping[str, Any]:
    """Return the end of a call, as older versions report it, in the form of newer ones."""
    item = {**event, "id": call_id}
    match event.get("type"):
        case "exec_command_end":
            return {**item, "type": "CommandExecution"}
        case "patch_apply_end":
            status = "failed" if event.get("success") is False else "completed"
            return {**item, "type": "FileChange", "status": status}
    result = dict_at(event, "result")
    return {
        **item,
        **dict_at(event, "invocation"),
        "type": "McpToolCall",
        "status": "failed" if "Err" in result else "completed",
        "error": result.get("Err"),
        "result": result.get("Ok"),
    }


_REVIEW = ("entered_review_mode", "exited_review_mode")
_ABOUT_SUB_AGENTS = ("collab_", "sub_agent_activity", *_REVIEW)
"""How the kinds of events about sub-agents begin; the collaboration's have a begin and an end."""

_COLLABORATION = {
    "collab_agent_spawn": "spawn_agent",
    "collab_agent_interaction": "send_input",
    "collab_waiting": "wait_agent",
    "collab_resume": "resume_agent",
    "collab_close": "close_agent",
}
_NAMING = ("new_thread_id", "receiver_thread_id", "agent_thread_id")


def _take_collaboration(said: _Session, kind: str, event: Mapping[str, Any]) -> None:
    """Take an event about a sub-agent, in the form of an item; a review is work of one, too."""
    said.has_agent = True
    call_id = text_at(event, "call_id") or text_at(event, "event_id") or said.where
    item: dict[str, Any] = {"id": call_id, "type": "SubAgentActivity", "status": "completed"}
    if kind in _REVIEW:
        # A file that begins inside a review only says that it ended.
        if kind == _REVIEW[0] or not said.is_in_review:
            said.delegated[call_id] = ""
            _take_item(said, item)
        said.is_in_review = kind == _REVIEW[0]
        return
    what, _, moment = kind.rpartition("_")
    waited = [*dict_at(event, "statuses"), *list_of(event.get("receiver_thread_ids"))]
    agents = [agent for agent in (*map(event.get, _NAMING), *waited) if text_of(agent)]
    if what in _COLLABORATION:
        tool = {"tool": _COLLABORATION[what], "prompt": event.get("prompt")}
        item |= {"type": "CollabAgentToolCall", **tool}
    if moment == "begin":
        # Who is asked is named again by the end, and a start names its sub-agent there alone.
        said.begun[call_id] = {**item, "receiver_thread_ids": agents, "status": "inProgress"}
        return
    said.begun.pop(call_id, None)
    _take_item(said, {**item, "receiver_thread_ids": agents})


def _take_record(said: _Session, record: Mapping[str, Any], *, is_foreign: bool) -> None:
    """Log the tokens of one request, which newer versions state beside the running totals."""
    if is_foreign:
        said.release()
        return
    is_wrong = is_misstated(record.get("usage"), OPENAI_COUNTS)
    usage = openai_usage("", record.get("usage"))
    if usage is not None:
        said.has_records = True
        said.n_tokens += usage.total
    counts = (usage.prompt, usage.output) if usage is not None else (0, 0)
    said.used(record.get("response_id"), *counts, is_misstated=is_wrong)


def _take_tokens(said: _Session, info: Any, *, is_foreign: bool) -> None:
    """Log what a request added to the total, which is stated again between requests.

    The total of a thread that was forked begins with that of the other one, and a counter may begin
    anew. A request is known by the total that it led to, so that a copy of it counts once.
    """
    stated = at(info, "total_token_usage")
    if is_misstated(stated, OPENAI_COUNTS):
        said.used(None, 0, 0, is_misstated=True)
        return
    total = openai_usage("total", stated)
    if is_foreign:
        said.total = total
    if total is None or is_foreign or said.has_records:
        return
    last = openai_usage("last", at(info, "last_token_usage"))
    before = said.total
    if before is None:
        first = last or total
        before = Usage("total", total.prompt - first.prompt, total.output - first.output)
    elif _begins_anew(before, total, last):
        said.n_counters += 1
        first = last if last is not None and last.total < total.total else total
        before = Usage("total", total.prompt - first.prompt, total.output - first.output)
    added = (total.prompt - before.prompt, total.output - before.output)
    said.total = total
    if any(added):
        said.n_tokens += sum(added)
        counter = said.copied_from or said.thread
        said.used(f"{counter}/{said.n_counters}={total.total}", *added)


def _begins_anew(before: Usage, total: Usage, last: Usage | None) -> bool:
    """Return whether a total is that of another counter: it fell, or holds one request alone."""
    if total.prompt < before.prompt or total.output < before.output:
        return True
    stated = (total.prompt, total.output)
    is_first = last is not None and stated == (last.prompt, last.output)
    return is_first and stated != (before.prompt, before.output)


def _take_item(said: _Session, item: Mapping[str, Any]) -> None:
    """Take an event about a call: one that an item names already, or one that a script made.

    In a file without other calls such events are the record. Beside some, an event about a command
    of theirs repeats it; any other shows what ran, and not what the agent saw.
    """
    call_id, status = text_at(item, "id"), text_at(item, "status")
    if call_id is None:
        return
    has_failed = status in ("failed", "declined") or bool(status_of(item.get("exit_code")))
    agents = _agents_of(item)
    if call_id in said.names:
        said.ended[call_id] = has_failed
        _link(said, call_id, agents)
        return
    name, arguments, result = _call_of(item)
    if agents or name in ("spawn_agent", "sub_agent"):
        _link(said, call_id, agents)
        if call_id not in said.delegated and name != "spawn_agent":
            return
        for cell in said.open_cells:
            said.delegated.setdefault(cell, said.delegated.get(call_id, ""))
    if name is None or item.get("source") in ("userShell", "user_shell"):
        return
    call = said.made(name, function_arguments(arguments), call_id)
    if not said.has_cells and _commands(call.arguments) & said.commands:
        return
    said.add(call)
    said.release()
    said.explained |= said.open_cells
    said.open_cells.clear()
    if result is None or status in ("inProgress", "in_progress"):
        return
    has_ended = status_of(item.get("exit_code")) is not None
    is_unfinished = result.is_unfinished or (has_failed and not has_ended) or status == "declined"
    is_certain = is_unfinished or not result.text.strip() or not said.names
    text, is_cut = seen_part(result.text) if is_certain else (result.text, result.is_truncated)
    said.join(
        call_id,
        replace(
            result,
            text=text,
            is_truncated=is_cut,
            is_error=has_failed or result.is_error,
            is_unfinished=is_unfinished,
            doubt=None if is_certain else "display_only",
        ),
    )
    if not is_certain and len(said.unseen) < _MOST_WAITING:
        said.unseen.append(_Seen(call_id, result.text))


def _agents_of(item: Mapping[str, Any]) -> list[str]:
    """Return the threads of the sub-agents that an event is about."""
    stated = [*list_of(item.get("receiver_thread_ids")), item.get("agent_thread_id")]
    return [agent for agent in map(text_of, stated) if agent is not None]


def _link(said: _Session, call_id: str, agents: Iterable[str]) -> None:
    """Note the sub-agents that a call is the first to name: it started them."""
    for agent in agents:
        if said.agents.setdefault(agent, call_id) == call_id:
            said.delegated.setdefault(call_id, agent)


def _call_of(item: Mapping[str, Any]) -> tuple[str | None, Any, ToolResult | None]:
    """Return the name, the arguments and the result of the call that an event is about."""
    match item.get("type"):
        case "CommandExecution":
            arguments: dict[str, Any] = {"command": item.get("command")}
            folder = text_at(item, "cwd")
            if folder is not None:
                arguments["workdir"] = folder.removeprefix("file://")
            texts = (text_at(item, name) for name in _TEXTS)
            return "exec_command", arguments, ToolResult(next(filter(None, texts), ""))
        case "FileChange":
            changes = dict_at(item, "changes").items()
            files = [{"path": path, "kind": text_at(what, "type")} for path, what in changes]
            contents = [text for _, what in changes if (text := text_at(what, "content"))]
            written = {"content": "\n".join(contents)} if contents else {}
            result = ToolResult(text_at(item, "stdout") or "")
            return "apply_patch", {"files": files, **written}, result
        case "McpToolCall":
            name = f"mcp__{text_at(item, 'server')}__{text_at(item, 'tool')}"
            return name, item.get("arguments"), mcp_result(item)
        case "CollabAgentToolCall":
            tool = text_at(item, "tool") or "sub_agent"
            name = {"wait": "wait_agent", "spawnAgent": "spawn_agent"}.get(tool, tool)
            return name, {"message": item.get("prompt")}, ToolResult("")
        case "SubAgentActivity":
            return "sub_agent", {}, ToolResult("")
        case "ImageView":
            return "view_image", {"path": item.get("path")}, ToolResult("")
        case "DynamicToolCall":
            content = output_text(item.get("content_items"))
            result = ToolResult(content, is_error=item.get("success") is False)
            return text_at(item, "tool"), item.get("arguments"), result
    return None, None, None


def mcp_result(item: Mapping[str, Any]) -> ToolResult | None:
    """Return the result that an item about a server's tool holds, or None where it holds none."""
    error, result = item.get("error"), item.get("result")
    if error:
        message = text_at(error, "message") or text_of(error)
        return ToolResult(message or "", is_error=True, is_unfinished=True)
    if not isinstance(result, dict):
        return None
    is_error = result.get("isError") is True or result.get("is_error") is True
    return ToolResult(output_text(result), clean(result), is_error)


def _look_for(said: _Session, output: str) -> None:
    """Note the calls of a script whose texts its output holds: the agent saw them."""
    left = []
    for seen in said.unseen:
        text = seen.text.strip()
        if text in output or json.dumps(text, ensure_ascii=False)[1:-1] in output:
            said.certain.add(seen.call_id)
        elif seen.n_left > 1:
            left.append(replace(seen, n_left=seen.n_left - 1))
    said.unseen = left


# --------------------------------------------------------------------------------------------------
# What can be said of calls only when all lines are known.


def _finished(said: _Session) -> Sequence[Item]:
    items = said.items()
    return like(items, Item, _answered(said, items, _polls(said, items)))


def _polls(said: _Session, items: Sequence[Item]) -> dict[int, list[int]]:
    """Return the places of the calls that fetched later output, by that of the command's call."""
    running: dict[str, int] = {}
    polls: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        if not isinstance(item, ToolCall) or item.result is None:
            continue
        is_poll = item.name == "write_stdin" and not item.arguments.get("chars")
        polled = running.get(str(item.arguments.get("session_id"))) if is_poll else None
        if polled is not None:
            polls.setdefault(polled, []).append(place)
        elif item.name != "write_stdin" and item.call_id not in said.explained:
            session = session_of(item.result.text)
            if session is not None:
                running[session] = place
    return polls


def _answered(
    said: _Session, items: Sequence[Item], polls: Mapping[int, Sequence[int]]
) -> Iterator[Item]:
    """Yield every item, calls with what the agent saw of their results."""
    fetched = {place for places in polls.values() for place in places}
    for place, item in enumerate(items):
        result = _result(said, item)
        if not isinstance(item, ToolCall) or result is None:
            yield item
        elif place in fetched:
            yield replace(item, result=replace(result, text="", doubt=None))
        else:
            parts = [_result(said, items[later]) for later in polls.get(place, ())]
            yield replace(item, result=_continued(result, [p for p in parts if p is not None]))


def _continued(result: ToolResult, parts: Sequence[ToolResult]) -> ToolResult:
    """Return a command's result with what was printed later, when its output was fetched."""
    if not parts:
        return result
    texts = [result.text.removesuffix("\n"), *(part.text for part in parts)]
    text = "\n".join(filter(None, texts))
    is_error = result.is_error or any(part.is_error for part in parts)
    doubt = None if text.strip() else parts[-1].doubt
    return replace(
        result, text=text, is_error=is_error, is_stopped=parts[-1].is_stopped, doubt=doubt
    )


def _result(said: _Session, item: Item) -> ToolResult | None:
    """Return what the agent saw of a call's result, with what the events state about it."""
    if not isinstance(item, ToolCall) or item.result is None:
        return None
    result = item.result
    if item.call_id in said.explained:
        # The calls that the script made are calls of their own.
        result = ToolResult("")
    if item.call_id in said.certain:
        result = replace(result, doubt=None)
    if said.ended.get(item.call_id):
        result = replace(result, is_error=True)
    return answer(replace(item, result=result))


def _is_rollout_line(line: Mapping[str, Any]) -> bool:
    if text_at(line, "type") in _KINDS and isinstance(line.get("payload"), dict):
        return True
    return line.get("record_type") == "state"


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    return "id" in line and text_at(line, "msg", "type") is not None


FORMATS.add(
    STREAM,
    LineFormat(
        recognises=_is_stream_line,
        read=read_codex_rollout,
        counters=(
            "`token_count` counts the thread since it began; cached tokens are inside the "
            "input, and sub-agents are left out."
        ),
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=3,
        example=(
            {"model": "gpt-5", "workdir": "/w"},
            {
                "id": "0",
                "msg": {
                    "type": "exec_command_end",
                    "call_id": "c",
                    "command": ["bash", "-lc", "cat a.py"],
                    "cwd": "/w",
                    "formatted_output": "import os",
                    "exit_code": 0,
                },
            },
            {"id": "0", "msg": {"type": "task_complete"}},
        ),
    ),
)
FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_rollout_line,
        read=read_codex_rollout,
        keeps=("times", "tokens", "model", "version", "sub-agents"),
        priority=3,
        file_names=("*.jsonl.zst", "*.jsonl.gz"),
        sub_agent_files=("rollout-*.jsonl*",),
        counters=(
            "`token_usage_record` counts a request; `token_count` the thread since it began, "
            "also what it had when it was forked, which is left out. Cached tokens are inside "
            "the input; sub-agents count in their own files; a copied history counts once."
        ),
        example=(
            {
                "timestamp": "2026-01-01T00:00:00Z",
                "type": "session_meta",
                "payload": {"id": "t", "cwd": "/w", "cli_version": "0.150.0"},
            },
            {
                "timestamp": "2026-01-01T00:00:01Z",
                "type": "response_item",
                "payload": {
                    "type": "function_call",
                    "name": "exec_command",
                    "arguments": '{"cmd": "ls"}',
                    "call_id": "c",
                },
            },
            {
                "timestamp": "2026-01-01T00:00:02Z",
                "type": "event_msg",
                "payload": {
                    "type": "token_count",
                    "info": {"total_token_usage": {"input_tokens": 9, "output_tokens": 1}},
                },
            },
            {
                "timestamp": "2026-01-01T00:00:03Z",
                "type": "response_item",
                "payload": {
                    "type": "function_call_output",
                    "call_id": "c",
                    "output": "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\na.py",
                },
            },
            {
                "timestamp": "2026-01-01T00:00:04Z",
                "type": "event_msg",
                "payload": {
                    "type": "item_completed",
                    "item": {
                        "type": "CommandExecution",
                        "id": "exec-1",
                        "command": ["cat", "a.py"],
                        "cwd": "/w",
                        "status": "completed",
                        "exit_code": 0,
                        "aggregated_output": "import os",
                    },
                },
            },
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Codex's ``exec --json``: events about items, each a call and its result in one.

EXEC = "codex-exec-json"
_SILENT = frozenset({"agent_message", "reasoning", "plan", "todo_list", "error"})


def read_codex_exec(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of the events of ``exec --json``."""
    said = Transcript(name, harness="codex", is_digest=True)
    n_turns, knows_code_mode = 0, True
    ending: str | None = None
    for line in lines:
        event = line.value
        if not isinstance(event, dict):
            # What other programs wrote before the first event is no fault.
            if line.problem is None or n_turns or said.session_ids:
                said.complaints.add(line)
            continue
        kind = text_at(event, "type") or ""
        said.at(f"{name}:{line.number}")
        if kind == "thread.started":
            said.session(event.get("thread_id"))
        elif kind in ("turn.started", "turn.completed", "turn.failed"):
            n_turns += kind == "turn.started"
            ending = None if kind == "turn.started" else kind
            usage = dict_at(event, "usage")
            # Only versions that know models of code mode state what was written to the cache.
            knows_code_mode = "cache_write_input_tokens" in usage if usage else knows_code_mode
        elif kind.startswith("item."):
            _exec_item(said, dict_at(event, "item"), n_turns, has_ended=kind == "item.completed")
    endings = {None: ("no_result_event",), "turn.failed": ("result_error",)}
    said.ending = endings.get(ending, ())
    if not knows_code_mode:
        return said.reading(EXEC)
    items = said.items()
    return said.reading(EXEC, items=like(items, Item, _as_displayed(items)))


def _as_displayed(items: Sequence[Item]) -> Iterator[Item]:
    """Yield commands and calls of servers as what a person was shown of them."""
    for item in items:
        result = item.result if isinstance(item, ToolCall) else None
        if isinstance(item, ToolCall) and result is not None and item.name != "apply_patch":
            shown = result.text.strip() and not result.is_unfinished and result.doubt is None
            yield replace(item, result=replace(result, doubt="display_only")) if shown else item
        else:
            yield item


def _exec_item(said: Transcript, item: Mapping[str, Any], turn: int, *, has_ended: bool) -> None:
    kind, item_id = text_at(item, "type"), text_at(item, "id")
    said.has_agent = said.has_agent or kind != "error"
    if kind in _SILENT:
        return
    if item_id is None or kind is None:
        said.note("an item without an id or a type")
        return
    called = _called(item, kind)
    if called is None:
        return
    call = said.made(*called, f"turn{turn}/{item_id}")
    if not said.has(call.call_id):
        said.add(call)
    if kind == "collab_tool_call" and has_ended:
        _link_agents(said, call, item)
    result = _item_result(item, kind) if has_ended else None
    if result is not None:
        said.join(call.call_id, result)


def _called(item: Mapping[str, Any], kind: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and the arguments of the call that an item is, or None for another item."""
    match kind:
        case "command_execution":
            return "exec_command", {"cmd": item.get("command")}
        case "file_change":
            changes = dicts_at(item, "changes")
            files = [{"path": change.get("path"), "kind": change.get("kind")} for change in changes]
            return "apply_patch", {"files": files}
        case "mcp_tool_call":
            name = f"mcp__{text_at(item, 'server')}__{text_at(item, 'tool')}"
            return name, function_arguments(item.get("arguments"))
        case "collab_tool_call":
            tool = text_at(item, "tool") or "sub_agent"
            name = "wait_agent" if tool == "wait" else tool
            return name, {"message": item.get("prompt")}
        case "web_search":
            return "web_search", {"query": item.get("query")}
    return None


def _link_agents(said: Transcript, call: ToolCall, item: Mapping[str, Any]) -> None:
    """Note the sub-agent that a call is the first to name.

    In code mode the start of a sub-agent leaves no item.
    """
    known = set(said.delegated.values())
    agents = [text_of(agent) for agent in list_of(item.get("receiver_thread_ids"))]
    new = next((agent for agent in agents if agent is not None and agent not in known), None)
    if new is not None:
        said.delegated[call.call_id] = new


def _item_result(item: Mapping[str, Any], kind: str) -> ToolResult | None:
    status, exit_status = text_at(item, "status"), status_of(item.get("exit_code"))
    if status == "in_progress":
        return None
    has_failed = status in ("failed", "declined") or bool(exit_status)
    if kind == "mcp_tool_call":
        return mcp_result(item)
    if kind == "command_execution":
        text, is_truncated = seen_part(text_at(item, "aggregated_output") or "")
        is_unfinished = status == "declined" or (has_failed and exit_status is None)
        late = timed_out(text) if exit_status == STATUS_OF_TIMEOUT else None
        return ToolResult(
            text if late is None else late,
            None,
            has_failed,
            is_truncated,
            is_unfinished or late == "",
            is_stopped=bool(late),
        )
    if kind == "web_search":
        return None
    return ToolResult("", is_error=has_failed, is_unfinished=has_failed)


def _is_exec_event(event: Mapping[str, Any]) -> bool:
    kind = text_at(event, "type") or ""
    if kind.startswith("item."):
        return isinstance(event.get("item"), dict)
    return kind == "thread.started" and text_at(event, "thread_id") is not None


FORMATS.add(
    EXEC,
    LineFormat(
        recognises=_is_exec_event,
        read=read_codex_exec,
        has_workdirs=False,
        counters=(
            "`turn.completed` counts the thread since it began, also before it was resumed or "
            "forked, and nothing tells such a thread from a new one: no count is stated."
        ),
        priority=3,
        example=(
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {
                "type": "item.completed",
                "item": {
                    "id": "item_0",
                    "type": "command_execution",
                    "command": "bash -lc 'cat a.py'",
                    "aggregated_output": "import os",
                    "exit_code": 0,
                    "status": "completed",
                },
            },
            {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 1}},
        ),
    ),
)
