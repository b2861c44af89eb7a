"""SWE-agent's ``.traj`` files: steps of an action, which is a line of a shell, and its observation.

The state of a step is what the shell was in *after* the step, so a step starts in the folder, and
with the open file, of the step before. Before 1.0 it was what the shell was in before the step,
written as an object in a text. Steps have no times and no ids.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import DIALECTS, Dialect, Tool
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    PATH_ARGUMENTS,
    Found,
    Seen,
    distinct,
    integer,
    joined,
    merged_ranges,
    text_argument,
)
from retrieval_eval.agents.traces.results.local_files import read_create, read_write, window
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    text_at,
    text_of,
)
from retrieval_eval.io.files import decode
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# SWE-agent: tools that are commands of a shell, each with a window on one file.

HARNESS: Final = "swe-agent"
ACTION: Final = "swe_agent_action"
"""The name that trajectories in ATIF give to every call."""

_LONGEST: Final = 20_000
_OPERATORS: Final = frozenset("();<>|&")
_WINDOW: Final = frozenset({"goto", "scroll_up", "scroll_down", "set_cursors"})
_EDITS: Final = frozenset({"edit", "insert"})
_SEARCHES: Final = {"find_file": "file_name", "search_dir": "pattern", "search_file": "pattern"}


def call_of(action: str, open_file: str | None) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of an action, which is a line of a shell.

    Parameters
    ----------
    action
        The text that ran. What is no tool, or combines several commands, is a shell command.
    open_file
        The file in the window before the action, which tools without a path act on.

    Examples
    --------
    >>> call_of("open src/a.py 12", None)
    ('open', {'path': 'src/a.py', 'line_number': '12'})
    >>> call_of("scroll_down", "/w/a.py"), call_of("ls && open a.py", None)[0]
    (('scroll_down', {'path': '/w/a.py'}), 'bash')
    """
    text = action.strip()
    first = text.split(None, 1)[0] if text else ""
    window = {} if open_file is None else {"path": open_file}
    if first in _EDITS:
        return first, window
    words = _words(text)
    if words is None:
        return "bash", {"command": action}
    rest = words[1:]
    if first in _WINDOW:
        return first, window
    if first == "open" and rest:
        return first, {"path": rest[0]} | ({"line_number": rest[1]} if rest[1:] else {})
    if first in ("create", "filemap") and rest:
        return first, {"path": rest[0]}
    if first in _SEARCHES and rest:
        found: dict[str, Any] = {_SEARCHES[first]: rest[0]}
        return first, found | ({"path": rest[1]} if rest[1:] else window)
    if first == "str_replace_editor" and rest[1:]:
        return first, _editor(rest)
    if first in ("submit", "exit_cost", "exit_forfeit"):
        return "submit", {}
    return "bash", {"command": action}


def _words(text: str) -> list[str] | None:
    """Return the words of a single command, or None for anything that is more than that."""
    if len(text) > _LONGEST:
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    return None if any(set(word) <= _OPERATORS for word in words) else words


def _editor(rest: list[str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {"command": rest[0], "path": rest[1]}
    if "--file_text" in rest[:-1]:
        arguments["file_text"] = rest[rest.index("--file_text") + 1]
    if "--view_range" in rest:
        at = rest.index("--view_range")
        numbers = [int(n) for n in rest[at + 1 : at + 3] if n.lstrip("-").isdecimal()]
        if len(numbers) == 2:
            arguments["view_range"] = numbers
    return arguments


_REFUSALS: Final = (
    r"Your bash command contained syntax errors and was NOT executed",
    r"The command [^\n]{0,300} was cancelled because it took more than",
    r"Operation [^\n]{0,300} is not supported by this environment",
)
_REFUSED: Final = re.compile("|".join(f"(?:{text})" for text in _REFUSALS))
_FAILURES: Final = (
    r"File \S{1,300} not found",
    r"No file open\b",
    r"Usage: (?:open|goto|create|find_file|search_dir|search_file)\b",
    r"Your proposed edit has introduced new syntax error",
)
_FAILED: Final = re.compile("|".join(f"(?:{text})" for text in _FAILURES))
_SILENT: Final = "Your command ran successfully and did not produce any output."


def answer(call: ToolCall) -> ToolResult:
    """Return a result with what its first words state; observations have no exit status."""
    result = call.result or ToolResult("")
    text = result.text.lstrip()[:1000]
    if _REFUSED.match(text):
        return replace(result, is_error=True, is_unfinished=True)
    if text.startswith(_SILENT):
        return replace(result, text="")
    return replace(result, is_error=True) if _FAILED.match(text) else result


# --------------------------------------------------------------------------------------------------
# Results: a window on a file, and the lists of the searches.

_LINE: Final = re.compile(r"^(\d{1,9}):", re.MULTILINE)
_MATCHED: Final = re.compile(r"^([^\n]{1,4096}) \(\d{1,9} match(?:es)?\)$", re.MULTILINE)
_MATCH: Final = re.compile(r"^Line (\d{1,9}):", re.MULTILINE)


def shown_file(text: str) -> str | None:
    """Return the file that an answer shows a window on."""
    shown = window(text)
    return None if shown is None else shown.path


def read_window(seen: Seen) -> Found:
    """Return the file in the window and the lines shown; the answer names the file."""
    shown = window(seen.text)
    if shown is not None:
        if shown.lines is None:
            return NOTHING
        return Found((RawTarget(joined(seen.cwd, shown.path), "opened", None, shown.lines),))
    path = text_argument(seen.arguments, PATH_ARGUMENTS)
    if path is None or is_empty_answer(seen.text):
        return Found(is_opaque=not is_empty_answer(seen.text))
    lines = merged_ranges((n, n) for n in map(int, _LINE.findall(seen.text)) if n > 0)
    return Found((RawTarget(joined(seen.cwd, path), "opened", None, lines),))


def read_matching_files(seen: Seen) -> Found:
    """Return the files of a search in a folder, each with the number of its matches."""
    paths = (joined(seen.cwd, found[1].strip()) for found in _MATCHED.finditer(seen.text))
    targets = distinct(RawTarget(path, "matched") for path in paths)
    return Found(targets, is_opaque=not targets and not is_empty_answer(seen.text))


def read_matching_lines(seen: Seen) -> Found:
    """Return the one file that was searched and the lines that match."""
    heading = seen.text.lstrip().split("\n", 1)[0]
    _, separator, named = heading.rpartition(" in ")
    is_named = heading.startswith("Found ") and separator and named.endswith(":")
    path = named[:-1] if is_named else text_argument(seen.arguments, PATH_ARGUMENTS)
    numbers = [n for found in _MATCH.finditer(seen.text) if (n := integer(found[1])) is not None]
    if path is None or not numbers:
        return Found(is_opaque=not is_empty_answer(seen.text))
    lines = merged_ranges((n, n) for n in numbers)
    return Found((RawTarget(joined(seen.cwd, path), "matched", None, lines),))


def read_found_files(seen: Seen) -> Found:
    """Return the absolute paths below the heading of a search for names."""
    names = (line.strip() for line in seen.text.split("\n"))
    return Found(distinct(RawTarget(name, "listed") for name in names if name.startswith("/")))


DIALECTS.add(
    HARNESS,
    Dialect(
        harnesses=frozenset({HARNESS}),
        refusals=_REFUSALS,
        failures=_FAILURES,
        empty=(r"More than \d{1,9} files matched for ",),
        answer=answer,
        cut=(
            "since 1.0 the model is sent the first 100,000 characters, or as many as the "
            "configuration states; the trajectory keeps the whole observation"
        ),
        finished=(
            "an observation begins with the sentence that a command was cancelled, blocked or not "
            "executed; what it printed before is lost; no exit status is kept"
        ),
        delegated="none: the one agent has tools of its shell alone",
        source=(
            "SWE-agent 1.x at 3ea751c0, read in its source; 22 trajectories of 0.x and 1.0 seen"
        ),
        tools=(
            Tool(("open", *sorted(_WINDOW), "filemap"), "file_read", read_window),
            Tool(("find_file",), "file_search", read_found_files),
            Tool(("search_dir",), "file_search", read_matching_files),
            Tool(("search_file",), "code_search", read_matching_lines),
            Tool(("create",), "file_write", read_create),
            Tool(("insert",), "file_write", read_write),
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# SWE-agent's ``.traj`` files: steps of an action, which is a line of a shell, and its
# observation.

FORMAT = "swe-agent-traj"
_LONGEST_SHOWN = 100_000


def read_swe_agent(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a trajectory; of several attempts it is the one that was chosen."""
    steps = document.get("trajectory")
    if not isinstance(steps, list):
        return Unreadable(f"{name}: a SWE-agent trajectory without a list of steps")
    said = Transcript(name, "step", harness=HARNESS, holds_run=True, is_native=True)
    said.cwd = _first_folder(steps)
    config = document.get("replay_config")
    config = decode(config)[0] if isinstance(config, str) else config
    said.version = text_at(document, "info", "swe_agent_version")
    longest = _longest_observation(config, said.version)
    open_file: str | None = None
    for index, step in enumerate(steps):
        said.at(f"{name}#/trajectory/{index}", by_agent=True)
        state = at(step, "state")
        if not isinstance(step, dict):
            said.note("expected an object")
            said.add_gap()
        elif isinstance(state, str):
            open_file = _enter(said, decode(state)[0])
            _take(said, step, open_file, longest)
        else:
            _take(said, step, open_file, longest)
            open_file = _enter(said, state)
    said.model = text_of(clean(at(config, "agent", "model", "name")))
    stats = at(document, "info", "model_stats")
    said.paid(at(stats, "instance_cost"))
    said.ending = _ending(text_at(document, "info", "exit_status"))
    tokens = count_at(stats, "tokens_sent", "tokens_received") or None
    said.submission = _submission(document)
    # A step may have taken several requests, whose answers were refused.
    n_requests = 0 if steps else count_at(stats, "api_calls")
    return said.reading(FORMAT, n_requests=n_requests, cwd=None, declared_tokens=tokens)


def _submission(document: Mapping[str, Any]) -> str | None:
    """Return the patch that was handed in; files of evaluations keep it beside the trajectory."""
    stated = (at(document, "info", "submission"), document.get("model_patch"))
    return next(filter(None, (text_of(clean(value)) for value in stated)), None)


def _longest_observation(config: Any, version: str | None) -> int | None:
    """Return how many characters of an observation the model is sent at most."""
    stated = count_at(at(config, "agent", "templates"), "max_observation_length")
    is_known = version is not None and version.startswith("1.")
    return stated or (_LONGEST_SHOWN if is_known else None)


def _take(
    said: Transcript, step: Mapping[str, Any], open_file: str | None, longest: int | None
) -> None:
    action, observed = text_at(step, "action"), step.get("observation")
    said.spoke()
    if action is not None and action.strip():
        name, arguments = call_of(action, open_file)
        if name == "bash" and said.cwd is not None:
            arguments["workdir"] = said.cwd
        result = None
        if isinstance(observed, str | list):
            text = blocks_text(observed)
            if longest is not None and len(text) > longest:
                text = f"{text[:longest]}\n{CUT_HERE}"
            call = ToolCall(said.where, name, arguments, ToolResult(text))
            result = answer(call)
            if name in ("edit", "insert") and (shown := shown_file(result.text)) is not None:
                arguments["path"] = shown
        said.call(name, arguments, result=result)
    elif not isinstance(step.get("action"), str | None):
        said.note("the action is no text")
    if blocks_text(observed).strip():
        said.heard(blocks_text(observed), is_users=False)


def _enter(said: Transcript, shell: Any) -> str | None:
    """Take over the folder of a shell; return its open file."""
    said.cwd = text_of(clean(at(shell, "working_dir"))) or said.cwd
    file = text_of(clean(at(shell, "open_file")))
    return file if file and file.lower() not in ("n/a", "none") else None


def _first_folder(steps: list[Any]) -> str | None:
    """Return the folder of the first step's shell, known where that step does not change it."""
    action = text_at(steps[0], "action") if steps else None
    if "cd" in (action or "") or "pushd" in (action or ""):
        return None
    return text_at(steps[0], "state", "working_dir") if steps else None


def _ending(status: str | None) -> tuple[str, ...]:
    if status is None:
        return ("no_result_event",)
    return () if status.startswith("submitted") else (f"result_{status[:60]}",)


def _is_swe_agent(document: Mapping[str, Any]) -> bool:
    beside = ("info", "history", "replay_config", "environment")
    return "trajectory" in document and sum(name in document for name in beside) >= 2


FORMATS.add(
    FORMAT,
    DocumentFormat(
        recognises=_is_swe_agent,
        read=read_swe_agent,
        keeps=("tokens", "cost", "model", "version"),
        counters=(
            "the run's totals, of all attempts: tokens sent, cached ones inside, and received; "
            "none by step"
        ),
        file_names=("*.traj", "swe-agent.trajectory.json"),
        folders=("swe-agent-output",),
        example={
            "environment": "main",
            "trajectory": [
                {
                    "action": "open src/a.py 1",
                    "observation": "[File: /w/src/a.py (1 lines total)]\n1:import os",
                    "thought": "I look.",
                    "state": {"working_dir": "/w", "open_file": "/w/src/a.py"},
                }
            ],
            "history": [],
            "info": {
                "exit_status": "submitted",
                "model_stats": {"instance_cost": 0.5, "tokens_sent": 10, "tokens_received": 2},
            },
            "replay_config": '{"agent": {"model": {"name": "m"}}}',
        },
    ),
)
