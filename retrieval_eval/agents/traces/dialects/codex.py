"""Codex: shells of several generations, their envelopes, code mode, and sub-agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    addressees,
    read_nothing,
    tool_name,
)
from retrieval_eval.agents.traces.results.base import Found, Seen, distinct, joined, text_argument
from retrieval_eval.agents.traces.results.grep import read_grep
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.untrusted import dict_of, status_of
from retrieval_eval.io.files import decode
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
