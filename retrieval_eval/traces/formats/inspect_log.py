"""Inspect's evaluation logs: one JSON document, or an ``.eval`` archive with a file a sample.

A log holds many samples, each of which is a trace. The tool events of a sample hold every call in
order, also those of sub-agents; where there are none, its messages do. Events about the sandbox are
an execution log, which the model did not see. Long texts lie under ``attachments``.

Members of newer archives are compressed with zstd. An archive is untrusted: sizes are bounded, and
nothing is unpacked to the disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.packed import PackedError, member, members
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult
from retrieval_eval.traces.clock import earliest, latest, unix_seconds
from retrieval_eval.traces.dialects import dialect_of
from retrieval_eval.traces.dialects.inspect_ai import has_marks
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, FileFormat, LineFormat
from retrieval_eval.traces.reading import (
    CallLog,
    Complaints,
    Reading,
    Unreadable,
    arguments_of,
    chosen,
)
from retrieval_eval.traces.tokens import Usage
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

FORMAT: Final = "inspect"
HARNESS: Final = "inspect-ai"

_ATTACHMENT: Final = "attachment://"
_DEEPEST: Final = 40
_NOT_RUN: Final = ("approval", "parsing", "timeout", "cancelled")
"""Kinds of error of a call that was refused or did not finish."""

_MOST_MEMBERS: Final = 100_000


@dataclass(slots=True)
class _State:
    name: str
    complaints: Complaints
    log: CallLog
    attachments: Mapping[str, Any]
    calls: dict[str, ToolCall] = field(default_factory=dict)
    spans: dict[str, tuple[str | None, str]] = field(default_factory=dict)
    model: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    has_agent: bool = False
    n_models: int = 0
    sub_agents: set[str] = field(default_factory=set)
    in_spans: dict[str, str] = field(default_factory=dict)
    """Calls by the spans that they lie in."""


def read_log(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a log in one document, or the samples among which to choose."""
    header = dict_of(document.get("eval"))
    samples = {_sample_name(sample): sample for sample in _samples(document)}
    if not samples:
        return Unreadable(f"{name}: the log holds no sample")
    return chosen(name, tuple(samples), lambda sample: read_sample(samples[sample], header, name))


def read_sample_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of samples that were exported one a line, or of one sample."""
    values = (line.value for line in lines if isinstance(line.value, dict))
    samples = {_sample_name(value): value for value in values if _is_sample(value)}
    if not samples:
        return Unreadable(f"{name}: the log holds no sample")
    return chosen(name, tuple(samples), lambda sample: read_sample(samples[sample], {}, name))


def _samples(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [sample for sample in list_of(document.get("samples")) if isinstance(sample, dict)]


def _sample_name(sample: Mapping[str, Any]) -> str:
    """Return the name that an archive gives the file of a sample."""
    stated = sample.get("id")
    number = stated if isinstance(stated, int) else text_of(stated) or "unnamed"
    return f"{number}_epoch_{count_of(sample.get('epoch')) or 1}"


def read_sample(sample: Mapping[str, Any], header: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of one sample of a log.

    Parameters
    ----------
    sample
        The sample as a log keeps it.
    header
        What the log says of the evaluation.
    name
        The name of the log in messages.
    """
    complaints = Complaints(name, "step")
    log = CallLog(complaints)
    state = _State(name, complaints, log, dict_of(sample.get("attachments")))
    events = list_of(sample.get("events"))
    is_told_by_events = any(dict_of(event).get("event") == "tool" for event in events)
    for n, event in enumerate(events):
        _take_event(state, event, f"{name}#{n}", log_calls=is_told_by_events)
    if not is_told_by_events:
        for n, message in enumerate(list_of(sample.get("messages"))):
            _take_message(state, message, f"{name}#messages/{n}")
    usages = [dict_of(usage) for usage in dict_of(sample.get("model_usage")).values()]
    costs = [cost for usage in usages if (cost := amount_of(usage.get("total_cost"))) is not None]
    models = [*dict_of(sample.get("model_usage"))]
    session = text_of(sample.get("uuid"))
    flags = {
        "sample_error": isinstance(sample.get("error"), dict),
        "sample_limit": isinstance(sample.get("limit"), dict),
    }
    return Reading(
        format=FORMAT,
        items=log.items(),
        session_ids=frozenset({session} if session else ()),
        harness=HARNESS,
        harness_version=text_of(dict_of(header.get("packages")).get("inspect_ai")),
        model=state.model or text_of(header.get("model")) or (models[0] if models else None),
        started_at=earliest(state.started_at, log.first_time),
        finished_at=state.finished_at,
        declared_tokens=sum(_total(usage) for usage in usages) or None,
        declared_cost_usd=sum(costs) if costs else None,
        flags=(
            *(flag for flag, is_raised in flags.items() if is_raised),
            *log.all_flags(0 if log.n_answers else state.n_models),
            *complaints.flags(),
        ),
        problems=complaints.sentences(),
        has_agent=state.has_agent or log.n_calls > 0,
        holds_run=True,
        sub_agents=frozenset(state.sub_agents),
        delegated=_delegated(state),
    )


def _delegated(state: _State) -> dict[str, str]:
    """Return which sub-agent each call started: the one whose span lies in the call's."""
    found: dict[str, str] = {}
    for agent in sorted(state.sub_agents):
        span: str | None = agent
        for _ in range(_DEEPEST):
            if span in state.in_spans:
                found.setdefault(state.in_spans[span], agent)
                break
            span, _kind = state.spans.get(span or "", (None, ""))
    return found


def _take_event(
    state: _State,
    event: Any,
    where: str,
    *,
    log_calls: bool,
    inside: str | None = None,
    depth: int = _DEEPEST,
) -> None:
    """Log what an event says; ``inside`` is the call whose events older logs keep in it."""
    if not isinstance(event, dict):
        state.complaints.note(where, "expected a JSON object")
        return
    kind = event.get("event")
    moment = unix_seconds(event.get("timestamp"))
    if kind in ("tool", "model"):
        state.started_at = earliest(state.started_at, moment)
        ended = unix_seconds(event.get("completed"))
        state.finished_at = latest(state.finished_at, moment, ended)
    if kind == "span_begin" and (span := text_of(event.get("id"))):
        state.spans[span] = (text_of(event.get("parent_id")), text_of(event.get("type")) or "")
    elif kind == "model":
        _take_model(state, event, where, inside)
    elif kind == "compaction" and state.log.n_calls:
        state.log.note_summary()
    elif kind == "tool" and log_calls:
        _take_tool(state, event, where, moment, inside)
        inside = text_of(event.get("id")) or where
    nested = list_of(event.get("events")) if kind in ("tool", "subtask") and depth else []
    for n, inner in enumerate(nested):
        place = f"{where}/{n}"
        _take_event(state, inner, place, log_calls=log_calls, inside=inside, depth=depth - 1)


def _take_model(state: _State, event: Mapping[str, Any], where: str, inside: str | None) -> None:
    state.has_agent = True
    state.n_models += 1
    state.model = state.model or text_of(event.get("model"))
    usage = dict_of(dict_of(event.get("output")).get("usage"))
    output = count_of(usage.get("output_tokens"))
    agent = inside or _sub_agent(state, text_of(event.get("span_id")))
    state.sub_agents |= {agent} if agent is not None else set()
    if total := _total(usage):
        identity = text_of(event.get("uuid")) or where
        usage_of = Usage(identity, max(total - output, 0), min(output, total), agent is not None)
        state.log.add_usage(usage_of)


def _total(usage: Mapping[str, Any]) -> int:
    """Return the tokens of a usage, where what a cache held is counted beside the input."""
    parts = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    stated = count_of(usage.get("total_tokens"))
    return stated or sum(count_of(usage.get(part)) for part in parts)


def _take_tool(
    state: _State,
    event: Mapping[str, Any],
    where: str,
    moment: float | None,
    inside: str | None,
) -> None:
    name = text_of(event.get("function"))
    if name is None:
        state.complaints.note(where, "a tool call without a name")
        return
    span = text_of(event.get("span_id"))
    agent = inside or _sub_agent(state, span, is_tool=True)
    state.sub_agents |= {agent} if agent is not None else set()
    call = ToolCall(
        call_id=text_of(event.get("id")) or where,
        name=name,
        arguments=arguments_of(_resolved(state, event.get("arguments"))),
        result=None,
        timestamp=moment,
        is_subagent=agent is not None,
        where=where,
        parent_id=agent,
    )
    state.log.add(call)
    if span is not None and state.spans.get(span, (None, ""))[1] == "tool":
        state.in_spans.setdefault(span, call.call_id)
    if event.get("pending") is True or "result" not in event:
        return
    text = blocks_text(_as_text(_resolved(state, event.get("result"))))
    _join(state, call, text, event.get("error"), moment)


def _take_message(state: _State, message: Any, where: str) -> None:
    if not isinstance(message, dict):
        state.complaints.note(where, "expected a JSON object")
        return
    role = message.get("role")
    state.has_agent = state.has_agent or role == "assistant"
    if role == "assistant":
        state.log.spoke(blocks_text(message.get("content")))
    elif role in ("user", "tool"):
        state.log.heard(blocks_text(message.get("content")), is_users=role == "user")
    for n, stated in enumerate(list_of(message.get("tool_calls")) if role == "assistant" else []):
        entry = dict_of(stated)
        name = text_of(entry.get("function"))
        if name is None:
            state.complaints.note(where, "a tool call without a name")
            continue
        arguments = arguments_of(_resolved(state, entry.get("arguments")))
        call_id = text_of(entry.get("id")) or f"{where}#{n}"
        call = ToolCall(call_id, name, arguments, None, where=where)
        state.calls.setdefault(call_id, call)
        state.log.add(call)
    if role == "tool":
        call_id = text_of(message.get("tool_call_id")) or ""
        if not call_id:
            state.complaints.note(where, "a tool result does not name its call")
            return
        text = blocks_text(_as_text(_resolved(state, message.get("content"))))
        call = state.calls.get(call_id) or ToolCall(call_id, "", {}, None, where=where)
        _join(state, call, text, message.get("error"), None)


def _join(state: _State, call: ToolCall, text: str, error: Any, moment: float | None) -> None:
    """Join a result to its call; the model saw the message of an error in its place."""
    stated = dict_of(error)
    kind = text_of(stated.get("type"))
    has_output = bool(text.strip())
    # What was printed up to a limit of its size, or before the call was ended, was shown.
    is_cut = kind in ("limit", "output_limit") and has_output
    is_stopped = kind in ("timeout", "cancelled") and has_output
    if is_cut and not has_marks(text):
        text = f"{text.rstrip()}\n{CUT_HERE}"
    if stated:
        text = text or blocks_text(_resolved(state, stated.get("message")))
    is_error = bool(stated) and not is_cut
    # An error without an output: only the error's message was shown.
    is_unfinished = is_error and not is_stopped and (kind in _NOT_RUN or not has_output)
    result = ToolResult(text, None, is_error, is_unfinished=is_unfinished, is_stopped=is_stopped)
    dialect = dialect_of(HARNESS)
    if dialect is not None and dialect.answer is not None:
        call = ToolCall(call.call_id, call.name, call.arguments, result)
        result = dialect.answer(call)
    state.log.join(call.call_id, result, moment)


def _as_text(value: Any) -> Any:
    """Return the result of a tool as text or content; a number or truth value is its own text."""
    return value if isinstance(value, (str, list)) or value is None else str(clean(value))


def _resolved(state: _State, value: Any, depth: int = _DEEPEST) -> Any:
    """Return a value with the texts that lie under ``attachments`` in their places."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return text_of(state.attachments.get(value.removeprefix(_ATTACHMENT))) or value
    if isinstance(value, dict) and depth:
        return {key: _resolved(state, inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list) and depth:
        return [_resolved(state, inner, depth - 1) for inner in value]
    return value


def _sub_agent(state: _State, span: str | None, *, is_tool: bool = False) -> str | None:
    """Return the span of the sub-agent that an event lies in, or None.

    That is an agent's span inside another agent's or a tool's, or a tool's span in which a model or
    another tool was called. The agent of the sample itself lies in neither. The event of a tool
    (``is_tool``) lies in a span of its own.
    """
    found: str | None = None
    for place in range(_DEEPEST):
        if span is None or span not in state.spans:
            return None
        parent, kind = state.spans[span]
        is_own = is_tool and place == 0 and kind == "tool"
        if kind in ("tool", "handoff") and not is_own:
            return found or span
        if kind == "agent":
            if found is not None:
                return found
            found = span
        span = parent
    return None


# --------------------------------------------------------------------------------------------------
# The archive. Its header lies in ``header.json``, or in the journal of a log that was not finished.


def read_archive(path: Path, name: str) -> Reading | Unreadable:
    """Return the reading of an archive with one sample, or the samples among which to choose."""
    try:
        found = members(path)
    except PackedError as error:
        return Unreadable(f"{name}: {error}")
    if len(found) > _MOST_MEMBERS:
        return Unreadable(f"{name}: the archive holds more than {_MOST_MEMBERS:,} files")
    samples = {
        entry.removeprefix("samples/").removesuffix(".json"): entry
        for entry in found
        if entry.startswith("samples/") and entry.endswith(".json")
    }
    if not samples:
        shown = ", ".join(sorted(found)[:5])
        what = f"found a zip archive with {shown}" if found else "found an empty zip archive"
        return Unreadable(f"{name}: not a known trace format ({what})", is_unknown=True)
    headers = [entry for entry in ("header.json", "_journal/start.json") if entry in found]

    def read(sample: str) -> Reading | Unreadable:
        header: Any = {}
        for entry in headers[:1]:
            header = _document(path, entry, name)
        body = _document(path, samples[sample], name)
        if isinstance(body, Unreadable):
            return body
        stated = dict_of(dict_of(header).get("eval"))
        return read_sample(dict_of(body), stated, f"{name}/{samples[sample]}")

    return chosen(name, tuple(sorted(samples, key=_natural)), read)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return the order of a name in which numbers have that of their value."""
    return tuple(
        (int(part[:18]), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
    )


def _document(path: Path, entry: str, name: str) -> Any:
    """Return a decoded member of the archive, or why it cannot be read."""
    place = f"{name}/{entry[:200]}"
    try:
        text = member(path, entry).decode("utf-8")
    except PackedError as error:
        return Unreadable(f"{place}: {error}")
    except UnicodeDecodeError:
        return Unreadable(f"{place}: not UTF-8")
    value, problem = decode(text)
    return Unreadable(f"{place}: {problem}") if problem is not None else value


def _is_log(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("eval"), dict) and isinstance(document.get("samples"), list)


def _is_sample(document: Mapping[str, Any]) -> bool:
    return (
        "epoch" in document
        and isinstance(document.get("messages"), list)
        and ("events" in document or "model_usage" in document)
    )


_EXAMPLE: Final[Mapping[str, Any]] = {
    "id": "task-7",
    "epoch": 1,
    "messages": [],
    "model_usage": {"openai/gpt-x": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}},
    "events": [
        {"event": "model", "timestamp": "2026-01-05T10:00:00+00:00", "model": "openai/gpt-x"},
        {
            "event": "tool",
            "timestamp": "2026-01-05T10:00:01+00:00",
            "id": "c",
            "function": "bash",
            "arguments": {"cmd": "cat /repo/a.py"},
            "result": "attachment://1f",
            "error": None,
        },
    ],
    "attachments": {"1f": "x = 1"},
}


def _example_archive() -> bytes:
    """Return an archive with one sample."""
    import zipfile
    from io import BytesIO
    from json import dumps

    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("header.json", dumps({"eval": {"model": "openai/gpt-x"}}))
        archive.writestr("samples/task-7_epoch_1.json", dumps(_EXAMPLE))
    return target.getvalue()


_COUNTERS: Final = (
    "the sample's totals by model, sub-agents and retries within it inside; tokens read from and "
    "written to a cache stand beside the input and are added"
)
_ZIP: Final = b"PK\x03\x04"


def _is_zip(head: bytes) -> bool:
    return head.startswith(_ZIP)


FORMATS.add(
    "inspect-json",
    DocumentFormat(
        recognises=_is_log,
        read=read_log,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example={"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [_EXAMPLE]},
        priority=2,
    ),
)
FORMATS.add(
    "inspect-samples",
    LineFormat(
        recognises=_is_sample,
        read=read_sample_lines,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example=(_EXAMPLE,),
        priority=2,
    ),
)
FORMATS.add(
    "inspect-eval",
    FileFormat(
        recognises=_is_zip,
        read=read_archive,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example=_example_archive(),
        file_names=("*.eval",),
    ),
)
