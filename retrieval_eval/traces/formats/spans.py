"""Spans of OpenTelemetry's conventions for generative AI, and of OpenInference.

They come as OTLP's JSON (``resourceSpans``; an exporter writes one such object a line) or as one
span a line, as SDKs print and stores export them. A call is known from the span of its tool, from
the message of the model that made it and from the message that answered it, which every later
span of a model repeats; the three are one call by its id or, where the tool's span has none, by its
name and order. What a later message answered is what the model saw.

The contents of calls are opt-in: without them a call is known by its name and has no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces.clock import from_milliseconds, unix_seconds
from retrieval_eval.traces.dialects import dialect_of
from retrieval_eval.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.traces.formats.atif import result_of_claude_code
from retrieval_eval.traces.formats.openai_calls import function_arguments
from retrieval_eval.traces.reading import (
    CallLog,
    Complaints,
    Reading,
    Unreadable,
    chosen,
)
from retrieval_eval.traces.tokens import Usage
from retrieval_eval.traces.truncated import complete_json
from retrieval_eval.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_of,
    dict_of,
    list_of,
    text_of,
)

GEN_AI: Final = "opentelemetry-genai"
OPEN_INFERENCE: Final = "openinference"

_MOST_SPANS: Final = 1_000_000
_DEEPEST: Final = 12
_LONGEST_CHAIN: Final = 100
_MODEL_OPERATIONS: Final = ("chat", "generate_content", "text_completion")
_CUT: Final = "...[truncated]"
"""What an exporter writes behind a value that it cut."""

_VERSIONS: Final = ("agent.version", "gen_ai.agent.version")
_SESSIONS: Final = ("session.id", "gen_ai.conversation.id")


class _Span(Struct):
    """One span with its attributes, flat: the names of nested ones are joined with dots."""

    identity: str
    parent: str | None
    trace: str
    name: str
    start: float | None
    end: float | None
    attributes: dict[str, Any]
    service: str | None
    is_error: bool
    message: str
    where: str

    @property
    def kind(self) -> str:
        """What the span is about: a tool, a model, an agent, a retriever or something else."""
        stated = text_of(self.attributes.get("openinference.span.kind"))
        if stated is not None:
            return stated.lower()
        operation = text_of(self.attributes.get("gen_ai.operation.name")) or ""
        is_named = "gen_ai.tool.name" in self.attributes and not operation
        if operation == "execute_tool" or is_named or "ai.toolCall.name" in self.attributes:
            return "tool"
        if operation in _MODEL_OPERATIONS:
            return "llm"
        return "agent" if operation in ("invoke_agent", "create_agent") else operation


@dataclass(slots=True)
class _Call:
    """A call under construction, from its span and from messages."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] | None
    result: ToolResult | None
    span: _Span | None
    where: str
    is_seen: bool = False
    """Whether the result is what the model was sent."""


@dataclass(slots=True)
class _Joined:
    calls: dict[str, _Call] = field(default_factory=dict)
    order: list[_Call | Usage] = field(default_factory=list)


def read_span_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of spans that come one a line, or of OTLP objects that do."""
    complaints = Complaints(name)
    spans: list[_Span] = []
    for line in lines:
        if not isinstance(line.value, dict):
            complaints.add(line)
            continue
        if len(spans) < _MOST_SPANS:
            spans += _spans_in(line.value, f"{name}:{line.number}")
    return _chosen(spans, name, complaints)


def read_span_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of one OTLP object, or of an object with a list of spans."""
    return _chosen(list(_spans_in(document, name)), name, Complaints(name))


def _chosen(spans: list[_Span], name: str, complaints: Complaints) -> Reading | Unreadable:
    """Return the reading of the only session, or the sessions among which to choose.

    A session is what spans name so, else one trace.
    """
    sessions: dict[str, str] = {}
    for span in spans:
        stated = next(filter(None, (text_of(span.attributes.get(n)) for n in _SESSIONS)), None)
        if stated is not None:
            sessions.setdefault(span.trace, stated)
    groups: dict[str, list[_Span]] = {}
    for span in spans:
        groups.setdefault(sessions.get(span.trace, span.trace), []).append(span)
    kept = {session: group for session, group in groups.items() if _holds_work(group)}
    if not kept:
        return Unreadable(f"{name}: the spans hold no call of a tool and none of a model")
    return chosen(name, tuple(kept), lambda session: _reading(session, kept[session], complaints))


def _holds_work(spans: list[_Span]) -> bool:
    return any(span.kind in ("tool", "llm", "retriever") for span in spans)


def _reading(session: str, spans: list[_Span], complaints: Complaints) -> Reading:
    ordered = sorted(spans, key=lambda span: (span.start is None, span.start or 0.0))
    by_id = {span.identity: span for span in ordered}
    joined = _Joined()
    models = [span for span in ordered if span.kind == "llm"]
    tools = [span for span in ordered if span.kind == "tool" and not _repeats(span, by_id)]
    for span in models:
        _take_model(joined, span, by_id)
    _take_tools(joined, tools)
    for span in ordered:
        if span.kind == "retriever":
            _take_retriever(joined, span)
    top = _top(ordered, by_id)
    harness = _harness(top)
    is_converted = "atif.schema_version" in top and harness == "claude-code"
    log = CallLog(complaints)
    for item in sorted(joined.order, key=_moment_of(joined, ordered)):
        if isinstance(item, Usage):
            log.add_usage(item)
        else:
            log.add(_answered(_finished(item, by_id), harness, is_converted=is_converted))
    costs = [c for s in models if (c := amount_of(s.attributes.get("llm.cost.total"))) is not None]
    service = next(filter(None, (span.service for span in ordered)), None)
    total = [count_of(top.get(f"llm.token_count.{name}")) for name in ("prompt", "completion")]
    version = next(filter(None, (text_of(top.get(name)) for name in _VERSIONS)), None)
    is_open_inference = any("openinference.span.kind" in span.attributes for span in ordered)
    starts = [span.start for span in ordered if span.start is not None]
    ends = [span.end for span in ordered if span.end is not None]
    return Reading(
        format=OPEN_INFERENCE if is_open_inference else GEN_AI,
        items=log.items(),
        session_ids=frozenset({session}),
        harness=harness or service,
        harness_version=version if harness else None,
        model=next(filter(None, map(_model, models)), None),
        started_at=min(starts, default=None),
        finished_at=max(ends, default=None),
        declared_tokens=sum(total) or None,
        declared_cost_usd=sum(costs) if costs else amount_of(top.get("llm.cost.total")),
        flags=(*log.all_flags(len(models)), *complaints.flags()),
        problems=complaints.sentences(),
        holds_run=True,
    )


def _top(spans: list[_Span], by_id: Mapping[str, _Span]) -> Mapping[str, Any]:
    """Return the attributes of the agent's span that contains the others, which states totals."""
    tops = (span for span in spans if span.parent not in by_id and span.kind == "agent")
    found = next(tops, None)
    return {} if found is None else found.attributes


def _harness(top: Mapping[str, Any]) -> str | None:
    """Return the agent's name where it is that of a known harness."""
    names = (text_of(clean(top.get(name))) for name in ("agent.name", "gen_ai.agent.name"))
    return next((name for name in names if dialect_of(name) is not None), None)


def _answered(call: ToolCall, harness: str | None, *, is_converted: bool) -> ToolCall:
    """Return a call whose result is without its harness's envelope."""
    if call.result is None:
        return call
    if is_converted:
        plain = result_of_claude_code(
            call.call_id, call.result.text, call.result.is_truncated, extra={}
        )
        stated = call.result
        plain = replace(
            plain,
            structured=plain.structured or stated.structured,
            is_error=plain.is_error or stated.is_error,
            is_unfinished=plain.is_unfinished or stated.is_unfinished,
        )
        call = replace(call, result=plain)
    dialect = dialect_of(harness)
    if dialect is None or dialect.answer is None:
        return call
    return replace(call, result=dialect.answer(call))


def _moment_of(joined: _Joined, spans: list[_Span]) -> Any:
    """Return the key that orders calls and usages by time, and else as they were found."""
    places = {id(item): place for place, item in enumerate(joined.order)}
    starts = {span.identity: span.start for span in spans}

    def key(item: _Call | Usage) -> tuple[float, int]:
        if isinstance(item, Usage):
            moment = starts.get(item.message_id)
        else:
            moment = item.span.start if item.span is not None else None
        return (moment if moment is not None else float("inf"), places[id(item)])

    return key


def _finished(call: _Call, by_id: Mapping[str, _Span]) -> ToolCall:
    agent = _sub_agent(call.span, by_id) if call.span is not None else None
    return ToolCall(
        call_id=call.call_id,
        name=call.name,
        arguments=call.arguments or {},
        result=call.result,
        timestamp=call.span.start if call.span is not None else None,
        is_subagent=agent is not None,
        where=call.where,
        parent_id=agent,
    )


# --------------------------------------------------------------------------------------------------
# Spans of models, tools and retrievers.


def _model(span: _Span) -> str | None:
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    return next(filter(None, (text_of(span.attributes.get(name)) for name in names)), None)


def _take_model(joined: _Joined, span: _Span, by_id: Mapping[str, _Span]) -> None:
    found = span.attributes
    prompt = count_of(found.get("gen_ai.usage.input_tokens", found.get("llm.token_count.prompt")))
    output = count_of(
        found.get("gen_ai.usage.output_tokens", found.get("llm.token_count.completion"))
    )
    if prompt + output:
        is_sub = _sub_agent(span, by_id) is not None
        joined.order.append(Usage(span.identity, prompt, output, is_sub))
    for direction in ("input", "output"):
        for n, message in enumerate(_messages(span, direction)):
            for part in _parts(message):
                _take_part(joined, part, span, f"{span.where}/{direction}/{n}")


def _messages(span: _Span, direction: str) -> list[Mapping[str, Any]]:
    """Return the messages that a model was sent or sent, in either of the conventions."""
    stated = span.attributes.get(f"gen_ai.{direction}.messages")
    value = decode(stated)[0] if isinstance(stated, str) else stated
    messages = [message for message in list_of(value) if isinstance(message, dict)]
    prefix = f"llm.{direction}_messages."
    flat = {
        key.removeprefix(prefix): inner
        for key, inner in span.attributes.items()
        if key.startswith(prefix)
    }
    nested = _nested(flat)
    return [*messages, *(dict_of(nested[key]) for key in sorted(nested, key=_place))]


def _parts(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls and results in a message as parts of OpenTelemetry's convention."""
    yield from (part for part in list_of(message.get("parts")) if isinstance(part, dict))
    for stated in list_of(message.get("tool_calls")):  # some write OpenAI's messages
        function = dict_of(dict_of(stated).get("function"))
        yield {"type": "tool_call", "id": dict_of(stated).get("id"), **function}
    if text_of(message.get("tool_call_id")):
        answered = {"id": message.get("tool_call_id"), "result": message.get("content")}
        yield {"type": "tool_call_response", **answered}
    inner = dict_of(message.get("message"))
    calls = dict_of(inner.get("tool_calls"))
    for key in sorted(calls, key=_place):
        call = dict_of(dict_of(calls[key]).get("tool_call"))
        function = dict_of(call.get("function"))
        yield {
            "type": "tool_call",
            "id": call.get("id"),
            "name": function.get("name"),
            "arguments": function.get("arguments"),
        }
    if text_of(inner.get("tool_call_id")):
        contents = dict_of(inner.get("contents"))
        texts = (
            dict_of(dict_of(contents[key]).get("message_content")).get("text")
            for key in sorted(contents, key=_place)
        )
        text = inner.get("content")
        shown = text if isinstance(text, str) else "\n".join(filter(None, map(text_of, texts)))
        yield {"type": "tool_call_response", "id": inner.get("tool_call_id"), "result": shown}


def _take_part(joined: _Joined, part: Mapping[str, Any], span: _Span, where: str) -> None:
    call_id, kind = (text_of(part.get("id")) or "").strip(), part.get("type")
    if not call_id:
        return
    known = joined.calls.get(call_id)
    if kind == "tool_call" and (name := text_of(part.get("name"))) and known is None:
        arguments = _arguments(part.get("arguments"))
        known = _Call(call_id, name, arguments, None, None, where)
        # Its time is that of the message, until the span of the tool is found.
        known.span = replace(span, start=span.end or span.start)
        joined.calls[call_id] = known
        joined.order.append(known)
    elif kind == "tool_call_response" and known is not None and not known.is_seen:
        answer = part.get("result", part.get("response"))
        if answer is not None:
            known.result = _result(answer)
            known.is_seen = True


def _take_tools(joined: _Joined, spans: list[_Span]) -> None:
    """Join the spans of tools to the calls of models, first by id, then by name and order."""
    left: list[_Span] = []
    taken: set[str] = set()
    for span in spans:
        call_id = _first(span, _IDS)
        if call_id is None:
            left.append(span)
            continue
        known = joined.calls.get(call_id)
        if known is None:
            known = _Call(call_id, "", None, None, span, span.where)
            joined.calls[call_id] = known
            joined.order.append(known)
        elif call_id in taken:
            continue
        taken.add(call_id)
        _fill(known, span)
    waiting: dict[str, list[_Call]] = {}
    for call_id, call in joined.calls.items():
        if call_id not in taken:
            waiting.setdefault(call.name, []).append(call)
    for span in left:
        name = _tool_name(span)
        same = waiting.get(name, [])
        if same:
            _fill(same.pop(0), span)
        else:
            call = _Call(span.identity, name, None, None, span, span.where)
            _fill(call, span)
            joined.order.append(call)


_IDS: Final = ("gen_ai.tool.call.id", "tool.id", "tool_call.id", "ai.toolCall.id")
_NAMES: Final = (*("gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name"),)
_ARGUMENTS: Final = (
    *("gen_ai.tool.call.arguments", "tool_call.function.arguments", "ai.toolCall.args"),
    "input.value",
)
_RESULTS: Final = ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value")


def _tool_name(span: _Span) -> str:
    stated = _first(span, _NAMES)
    return stated or span.name.removeprefix("execute_tool ").strip() or "unknown"


def _fill(call: _Call, span: _Span) -> None:
    """Add what the span of a tool states: its time, and what no message states."""
    found = span.attributes
    call.span = span
    call.name = call.name or _tool_name(span)
    stated = next((found[name] for name in _ARGUMENTS if found.get(name) is not None), None)
    nested = _nested(_below(found, ("gen_ai.tool.call.arguments.", "input.value.")))
    if not call.arguments:
        call.arguments = _arguments(stated) if stated is not None else dict(nested)
    answer = next((found[name] for name in _RESULTS if found.get(name) is not None), None)
    if span.is_error or text_of(found.get("error.type")):
        text = call.result.text if call.result is not None else _text(answer) or span.message
        call.result = ToolResult(text, is_error=True, is_unfinished=answer is None)
    elif call.result is None:
        below = _below(found, ("gen_ai.tool.call.result.", "output.value."))
        if answer is not None or below:
            call.result = _result(answer if answer is not None else _nested(below))


def _take_retriever(joined: _Joined, span: _Span) -> None:
    """Log what a retriever returned; whether the model was sent it is not known."""
    documents = _nested(_below(span.attributes, ("retrieval.documents.",)))
    names = []
    for key in sorted(documents, key=_place):
        document = dict_of(dict_of(documents[key]).get("document"))
        metadata = document.get("metadata")
        beside = dict_of(decode(metadata)[0] if isinstance(metadata, str) else metadata)
        stated = (beside.get(name) for name in ("path", "file_path", "source", "filename"))
        name = next(filter(None, map(text_of, stated)), None) or text_of(document.get("id"))
        if name is not None:
            names.append(name)
    query = text_of(span.attributes.get("input.value"))
    result = ToolResult("\n".join(names), doubt="display_only") if names else None
    arguments = {"query": query} if query is not None else {}
    joined.order.append(
        _Call(span.identity, "retriever_search", arguments, result, span, span.where)
    )


def _repeats(span: _Span, by_id: Mapping[str, _Span]) -> bool:
    """Return whether a span lies in another one of the same call, as a client's in an agent's."""
    name = _tool_name(span)
    return any(above.kind == "tool" and _tool_name(above) == name for above in _above(span, by_id))


def _sub_agent(span: _Span, by_id: Mapping[str, _Span]) -> str | None:
    """Return the span of the sub-agent a span lies in: an agent's inside a tool's or agent's."""
    found: str | None = None
    for above in _above(span, by_id):
        if above.kind == "agent" and found is None:
            found = above.identity
        elif above.kind in ("agent", "tool") and found is not None:
            return found
    return None


def _above(span: _Span, by_id: Mapping[str, _Span]) -> Iterator[_Span]:
    passed = {span.identity}
    while len(passed) < _LONGEST_CHAIN:
        parent = by_id.get(span.parent or "")
        if parent is None or parent.identity in passed:
            return
        yield parent
        passed.add(parent.identity)
        span = parent


def _arguments(value: Any) -> Mapping[str, Any]:
    arguments = function_arguments(value)
    text = text_of(arguments.get("input")) or ""
    if len(arguments) == 1 and text == value and text.startswith("{"):
        # Exporters cut long values.
        arguments = dict_of(clean(complete_json(text, keep_cut_text=False))) or arguments
    # Some frameworks nest what a tool was given: {"input": {…}}, {"kwargs": {…}}.
    for name in ("input", "kwargs", "args"):
        inner = arguments.get(name)
        if len(arguments) == 1 and isinstance(inner, dict):
            return inner
    return arguments


def _result(value: Any) -> ToolResult:
    """Return a result: text, content blocks, or an object, which may be JSON in a text."""
    record = decode(value)[0] if isinstance(value, str) and '"isError"' in value else value
    is_error = dict_of(record).get("isError") is True
    stated = clean(value) if isinstance(value, (dict, list)) else None
    text = _text(value)
    is_cut = text.endswith(_CUT)
    return ToolResult(text.removesuffix(_CUT), stated, is_error, is_truncated=is_cut)


def _text(value: Any) -> str:
    if isinstance(value, str):
        inner = decode(value)[0] if value.lstrip().startswith(('{"', "[{")) else None
        return _unwrapped(inner) or text_of(value) or ""
    if isinstance(value, dict):
        named = (value.get(name) for name in ("content", "output", "result", "text"))
        return next(filter(None, map(blocks_text, named)), "")
    return blocks_text(value)


def _unwrapped(value: Any) -> str:
    """Return the text of a message or of blocks, which JSON that is itself a result is not."""
    is_message = isinstance(value, dict) and bool(value.keys() & _OF_MESSAGES)
    if is_message:
        return blocks_text(value.get("content"))
    are_blocks = isinstance(value, list) and all(
        dict_of(block).get("type") == "text" for block in value
    )
    return blocks_text(value) if are_blocks else ""


_OF_MESSAGES: Final = frozenset({"tool_call_id", "isError"})


def _first(span: _Span, names: Iterable[str]) -> str | None:
    stated = next(filter(None, (text_of(span.attributes.get(name)) for name in names)), None)
    return stated.strip() or None if stated is not None else None


# --------------------------------------------------------------------------------------------------
# The ways in which spans are written.


def _spans_in(value: Mapping[str, Any], where: str) -> Iterator[_Span]:
    """Yield the spans of an OTLP object, of an object with a list of spans, or the one it is."""
    resources = value.get("resourceSpans", value.get("resource_spans"))
    if isinstance(resources, list):
        for r, resource in enumerate(resources):
            entry = dict_of(resource)
            service = _service(_otlp_attributes(dict_of(entry.get("resource")).get("attributes")))
            scopes = entry.get("scopeSpans", entry.get("scope_spans"))
            for s, scope in enumerate(list_of(scopes)):
                for n, span in enumerate(list_of(dict_of(scope).get("spans"))):
                    place = f"{where}#{r}/{s}/{n}"
                    yield from _span(span, place, service)
        return
    if isinstance(value.get("spans"), list):
        for n, span in enumerate(value["spans"]):
            yield from _span(span, f"{where}#{n}", None)
        return
    yield from _span(value, where, None)


def _span(value: Any, where: str, service: str | None) -> Iterator[_Span]:
    entry = dict_of(value)
    context = dict_of(entry.get("context", entry.get("span_context")))
    stated = entry.get("attributes")
    attributes: dict[str, Any] = {}
    if isinstance(stated, list):
        attributes = _otlp_attributes(stated)
    elif isinstance(stated, dict):
        _flatten(stated, "", attributes, _DEEPEST)
    for key, inner in entry.items():
        if key.startswith("attributes."):
            _flatten(inner, key.removeprefix("attributes."), attributes, _DEEPEST)
    kind = text_of(entry.get("span_kind"))
    if kind is not None and kind.upper() in _KINDS:
        attributes.setdefault("openinference.span.kind", kind)
    if not attributes:
        return
    status = entry.get("status", entry.get("status_code"))
    code = status.get("code", status.get("status_code")) if isinstance(status, dict) else status
    message = dict_of(status).get("message", dict_of(status).get("description"))
    identity = _id(entry, context, ("spanId", "span_id", "id"))
    resource = dict_of(entry.get("resource"))
    yield _Span(
        identity=identity or where,
        parent=_id(entry, context, ("parentSpanId", "parent_id", "parent_span_id")),
        trace=_id(entry, context, ("traceId", "trace_id")) or "unnamed",
        name=text_of(entry.get("name")) or "",
        start=_time(entry, ("startTimeUnixNano", "start_time_unix_nano", "start_time")),
        end=_time(entry, ("endTimeUnixNano", "end_time_unix_nano", "end_time")),
        attributes=attributes,
        service=service or _service(dict_of(resource.get("attributes"))),
        is_error=code in _ERRORS if isinstance(code, (str, int)) else False,
        message=text_of(message) or text_of(entry.get("status_message")) or "",
        where=where,
    )


_KINDS: Final = frozenset(
    {"TOOL", "LLM", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL"}
)
_ERRORS: Final = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")


def _service(attributes: Mapping[str, Any]) -> str | None:
    name = text_of(attributes.get("service.name"))
    return None if name is None or name.startswith("unknown_service") else name


def _id(entry: Mapping[str, Any], context: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        found = text_of(entry.get(name)) or text_of(context.get(name))
        found = found or text_of(entry.get(f"context.{name}"))
        if found is not None:
            return found.lower().removeprefix("0x")
    return None


def _time(entry: Mapping[str, Any], names: Iterable[str]) -> float | None:
    for name in names:
        value = entry.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
            value = int(value)
        number = amount_of(value)
        if number is not None:
            # Nanoseconds, microseconds, milliseconds or seconds, by their size.
            for limit, factor in ((1e17, 1e-6), (1e14, 1e-3), (1e11, 1.0), (1e8, 1e3)):
                if number > limit:
                    return from_milliseconds(number * factor)
        moment = unix_seconds(value)
        if moment is not None:
            return moment
    return None


def _otlp_attributes(stated: Any) -> dict[str, Any]:
    """Return the attributes of OTLP, a list of keys with values that name their type."""
    flat: dict[str, Any] = {}
    for entry in list_of(stated):
        key = text_of(dict_of(entry).get("key"))
        if key is not None:
            _flatten(_otlp_value(dict_of(entry).get("value"), _DEEPEST), key, flat, _DEEPEST)
    return flat


def _otlp_value(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or not depth:
        return value
    if "intValue" in value or "int_value" in value:
        number = value.get("intValue", value.get("int_value"))
        if isinstance(number, str) and len(number) < 25 and number.removeprefix("-").isdecimal():
            return int(number)
        return number
    for name in ("stringValue", "doubleValue", "boolValue", "string_value", "double_value"):
        if name in value:
            return value[name]
    array = value.get("arrayValue", value.get("array_value"))
    if isinstance(array, dict):
        return [_otlp_value(inner, depth - 1) for inner in list_of(array.get("values"))]
    pairs = value.get("kvlistValue", value.get("kvlist_value"))
    if isinstance(pairs, dict):
        entries = [dict_of(entry) for entry in list_of(pairs.get("values"))]
        return {
            key: _otlp_value(entry.get("value"), depth - 1)
            for entry in entries
            if (key := text_of(entry.get("key")))
        }
    return None


_WHOLE: Final = frozenset(
    {
        *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"),
        *("gen_ai.tool.call.result", "input.value", "output.value", "tool.parameters"),
        *("ai.toolCall.args", "ai.toolCall.result"),
    }
)
"""Attributes whose values are kept as they are."""


def _flatten(value: Any, prefix: str, flat: dict[str, Any], depth: int) -> None:
    """Add a value under its name; what it holds gets names of its own, joined with dots."""
    if prefix in _WHOLE or not isinstance(value, (dict, list)) or not depth:
        if prefix:
            flat[prefix] = value
        return
    if isinstance(value, list) and not any(isinstance(inner, (dict, list)) for inner in value):
        flat[prefix] = value
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        _flatten(inner, f"{prefix}.{key}" if prefix else str(key), flat, depth - 1)


def _below(flat: Mapping[str, Any], prefixes: Iterable[str]) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value
        for prefix in prefixes
        for key, value in flat.items()
        if key.startswith(prefix)
    }


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return names that are joined with dots as objects in objects again."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        place = nested
        parts = key.split(".", _DEEPEST)
        for part in parts[:-1]:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place.setdefault(parts[-1], value)
    return nested


def _place(key: str) -> tuple[int, str]:
    """Return the order of a key that is a number in an array."""
    is_number = key.isascii() and key.isdigit() and len(key) < 10
    return (int(key) if is_number else 0, key)


# --------------------------------------------------------------------------------------------------
# Recognition.

_MARKS: Final = (
    *("gen_ai.", "openinference.", "llm.", "tool.name", "retrieval.documents", "ai.toolCall."),
)


def _is_marked(span: Any) -> bool:
    entry = dict_of(span)
    stated = entry.get("attributes")
    keys: list[Any] = list(stated) if isinstance(stated, dict) else []
    keys += [dict_of(pair).get("key") for pair in list_of(stated)]
    keys += [key.removeprefix("attributes.") for key in entry if key.startswith("attributes.")]
    if isinstance(stated, dict) and {"gen_ai", "openinference", "llm"} & stated.keys():
        return True
    return any(isinstance(key, str) and key.startswith(_MARKS) for key in keys)


def _is_span(line: Mapping[str, Any]) -> bool:
    """Whether an object is a span, or an OTLP object, about a model or a tool."""
    resources = line.get("resourceSpans", line.get("resource_spans"))
    if isinstance(resources, list):
        return any(_is_marked(span) for span in _raw_spans(resources))
    if isinstance(line.get("spans"), list):
        return any(_is_marked(span) for span in line["spans"])
    has_id = any(name in line for name in ("spanId", "span_id", "context", "context.span_id"))
    return has_id and _is_marked(line)


def _raw_spans(resources: list[Any]) -> Iterator[Any]:
    for resource in resources:
        entry = dict_of(resource)
        for scope in list_of(entry.get("scopeSpans", entry.get("scope_spans"))):
            yield from list_of(dict_of(scope).get("spans"))


def _example_span(identity: str, attributes: Mapping[str, str]) -> dict[str, Any]:
    return {
        "traceId": "t1",
        "spanId": identity,
        "name": "span",
        "startTimeUnixNano": "1767607200000000000",
        "endTimeUnixNano": "1767607201000000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }


_EXAMPLE: Final[Mapping[str, Any]] = {
    "resourceSpans": [
        {
            "resource": {"attributes": []},
            "scopeSpans": [
                {
                    "spans": [
                        _example_span(
                            "a1",
                            {
                                "gen_ai.operation.name": "execute_tool",
                                "gen_ai.tool.name": "read_file",
                                "gen_ai.tool.call.id": "c",
                                "gen_ai.tool.call.arguments": '{"path": "a.py"}',
                                "gen_ai.tool.call.result": "x = 1",
                            },
                        )
                    ]
                }
            ],
        }
    ]
}
_COUNTERS = (
    "each request's own tokens, sub-agents marked, cached tokens inside the input; the span of the "
    "whole agent may state totals"
)
_SOURCE = (
    "semantic-conventions-genai 9430220, openinference 1fe497f1, read; spans that Harbor's "
    "converter made of two trajectories seen"
)

FORMATS.add(
    "spans-json",
    DocumentFormat(
        recognises=_is_span,
        read=read_span_document,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        example=_EXAMPLE,
        priority=1,
        file_names=("spans.json",),
    ),
)
FORMATS.add(
    "spans-jsonl",
    LineFormat(
        recognises=_is_span,
        read=read_span_lines,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        example=(
            {
                "name": "read_file",
                "context": {"trace_id": "0xt1", "span_id": "0xa1"},
                "parent_id": None,
                "start_time": "2026-01-05T10:00:00Z",
                "end_time": "2026-01-05T10:00:01Z",
                "attributes": {
                    "openinference.span.kind": "TOOL",
                    "tool.name": "read_file",
                    "input.value": '{"path": "a.py"}',
                    "output.value": "x = 1",
                },
            },
        ),
        priority=1,
    ),
)
