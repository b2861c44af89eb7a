"""Spans of OpenTelemetry's conventions for generative AI, and of OpenInference.

They come as OTLP's JSON (``resourceSpans``; an exporter writes one such object a line) or as one
span a line, as SDKs print and stores export them. A call is known from the span of its tool, from
the message of the model that made it and from the message that answered it, which every later
span of a model repeats; the three are one call by its id or, where the tool's span has none, by its
name and arguments, and then by its order. Some instruments give a call another id where a message
repeats it. What a later message answered is what the model saw.

Work below a tool is a sub-agent's if the tool delegates or a model was asked there, or below an
agent inside another one. A span of an agent at the top that does nothing itself is the whole run.

The contents of calls are opt-in: without them a call is known by its name and has no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import delegating_tools, dialect_of, harness_of
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.atif import result_of_claude_code
from retrieval_eval.agents.traces.formats.messages import function_arguments
from retrieval_eval.agents.traces.reading import Complaints, Reading, Unreadable, chosen, is_talk
from retrieval_eval.agents.traces.results.payload import (
    complete_json,
    is_envelope,
    parsed,
    states_failure,
    unwrapped,
)
from retrieval_eval.agents.traces.tokens import Usage
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    blocks_text,
    clean,
    count_at,
    count_of,
    dict_of,
    from_milliseconds,
    is_picture,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.records import ToolCall, ToolResult

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


class Span(Struct):
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
    span: Span | None
    where: str
    is_seen: bool = False
    """Whether the result is what the model was sent."""


_Repeated = tuple[str | None, str]


@dataclass(slots=True)
class _Joined:
    calls: dict[str, _Call] = field(default_factory=dict)
    order: list[_Call | Usage] = field(default_factory=list)
    alike: dict[_Repeated, list[_Call]] = field(default_factory=dict)
    """Calls of one agent with one name and the same arguments, in their order."""
    n_talked: int = 0
    """Answers of a model that are words without the form of a call."""


class _Tree:
    """The spans of a session, and which agent each belongs to."""

    def __init__(self, spans: list[Span]) -> None:
        self.by_id = {span.identity: span for span in spans}
        work = [span for span in spans if span.kind in ("llm", "tool", "retriever")]
        asked = (tool for span in work if span.kind == "llm" for tool in self.tools_above(span))
        self._delegating = {tool.identity for tool in asked}
        self._around = self._whole_runs(work)

    def above(self, span: Span) -> Iterator[Span]:
        """Yield the spans that a span lies in, the nearest first."""
        passed = {span.identity}
        while len(passed) < _LONGEST_CHAIN:
            parent = self.by_id.get(span.parent or "")
            if parent is None or parent.identity in passed:
                return
            yield parent
            passed.add(parent.identity)
            span = parent

    def tools_above(self, span: Span) -> Iterator[Span]:
        """Yield the spans of tools that a span lies in."""
        return (above for above in self.above(span) if above.kind == "tool")

    def sub_agent(self, span: Span) -> str | None:
        """Return the span of the sub-agent that a span lies in, or None."""
        found: str | None = None
        for above in self.above(span):
            if above.identity in self._around:
                break
            if above.kind == "tool" and (found is not None or self._delegates(above)):
                return found or above.identity
            if above.kind == "agent":
                if found is not None:
                    return found
                found = above.identity
        return None

    def repeats(self, span: Span) -> bool:
        """Return whether a span lies in another one of the same call, as a client's in an agent's.

        What a sub-agent calls below a tool that delegates is no repetition.
        """
        name = _tool_name(span)
        same = (above for above in self.tools_above(span) if _tool_name(above) == name)
        nearest = next(same, None)
        return nearest is not None and not self._delegates(nearest)

    def _delegates(self, tool: Span) -> bool:
        return tool.identity in self._delegating or _tool_name(tool) in delegating_tools()

    def _whole_runs(self, work: list[Span]) -> set[str]:
        """Return the agents' spans at the top in which all work is that of other agents."""
        around: set[str] = set()
        nearest: set[str] = set()
        for span in work:
            agents = [above.identity for above in self.above(span) if above.kind == "agent"]
            nearest.update(agents[:1])
            around.update(agents[1:])
        tops = {span for span in around if not self._is_below_work(span)}
        return tops - nearest

    def _is_below_work(self, identity: str) -> bool:
        return any(above.kind in ("agent", "tool") for above in self.above(self.by_id[identity]))


def read_span_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of spans that come one a line, or of OTLP objects that do."""
    complaints = Complaints(name)
    spans: list[Span] = []
    for line in lines:
        if not isinstance(line.value, dict):
            complaints.add(line)
            continue
        if len(spans) < _MOST_SPANS:
            spans += _spans_in(line.value, f"{name}:{line.number}")
    return chosen_spans(spans, name, complaints)


def read_span_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of one OTLP object, or of an object with a list of spans."""
    return chosen_spans(list(_spans_in(document, name)), name, Complaints(name))


def chosen_spans(
    spans: list[Span], name: str, complaints: Complaints, form: str | None = None
) -> Reading | Unreadable:
    """Return the reading of the only session, or the sessions among which to choose.

    A session is what spans name so, else one trace. ``form`` is the format, where it is not one of
    the two conventions.
    """
    sessions: dict[str, str] = {}
    for span in spans:
        stated = next(filter(None, (text_of(span.attributes.get(n)) for n in _SESSIONS)), None)
        if stated is not None:
            sessions.setdefault(span.trace, stated)
    groups: dict[str, list[Span]] = {}
    for span in spans:
        groups.setdefault(sessions.get(span.trace, span.trace), []).append(span)
    kept = {session: group for session, group in groups.items() if _holds_work(group)}
    if not kept:
        return Unreadable(f"{name}: the spans hold no call of a tool and none of a model")

    def read(session: str) -> Reading:
        return _reading(session, kept[session], name, complaints, form)

    return chosen(name, tuple(kept), read)


def _holds_work(spans: list[Span]) -> bool:
    return any(span.kind in ("tool", "llm", "retriever") for span in spans)


def _reading(
    session: str, spans: list[Span], name: str, complaints: Complaints, form: str | None
) -> Reading:
    ordered = sorted(spans, key=lambda span: (span.start is None, span.start or 0.0))
    tree = _Tree(ordered)
    by_id = tree.by_id
    joined = _Joined()
    models = [span for span in ordered if span.kind == "llm"]
    tools = [span for span in ordered if span.kind == "tool" and not tree.repeats(span)]
    for span in models:
        _take_model(joined, span, tree)
    _take_tools(joined, tools)
    _take_managed(joined, [span for span in ordered if span.kind == "agent"])
    for span in ordered:
        if span.kind == "retriever":
            _take_retriever(joined, span)
    top = _top(ordered, by_id)
    finished = {id(item): _finished(item, tree) for item in _calls(joined)}
    harness = _harness(top) or harness_of(finished.values())
    is_converted = "atif.schema_version" in top and harness == "claude-code"
    said = Transcript(name, holds_run=True)
    said.complaints, said.has_agent = complaints, True
    for span in ordered:
        said.at(span.where, span.start, starts=True)
        said.until(span.end)
    for item in sorted(joined.order, key=_moment_of(joined, ordered)):
        if isinstance(item, Usage):
            said.add_usage(item)
        else:
            said.add(_answered(finished[id(item)], harness, is_converted=is_converted))
    said.session(session)
    said.model = next(filter(None, map(_model, models)), None)
    said.version = next(filter(None, (text_at(top, name) for name in _VERSIONS)), None)
    said.sub_agents.update(filter(None, map(tree.sub_agent, (*models, *tools))))
    said.delegated = _delegated(joined, tree)
    for span in models:
        said.paid(span.attributes.get("llm.cost.total"))
    if said.cost is None:
        said.paid(top.get("llm.cost.total"))
    is_open_inference = any("openinference.span.kind" in span.attributes for span in ordered)
    tokens = count_at(top, "llm.token_count.prompt", "llm.token_count.completion")
    return said.reading(
        form or (OPEN_INFERENCE if is_open_inference else GEN_AI),
        n_requests=len(models) - joined.n_talked,
        harness=harness or next(filter(None, (span.service for span in ordered)), None),
        harness_version=said.version if harness else None,
        declared_tokens=tokens or None,
    )


def _delegated(joined: _Joined, tree: _Tree) -> dict[str, str]:
    """Return which sub-agent each call started in whose span others lie."""
    started = {
        call.span.identity: call.call_id
        for call in joined.order
        if isinstance(call, _Call) and call.span is not None
    }
    found: dict[str, str] = {}
    for span in tree.by_id.values():
        agent = tree.sub_agent(span) if span.kind in ("llm", "tool") else None
        for above in (*tree.above(span),) if agent is not None else ():
            if above.identity in started:
                found.setdefault(started[above.identity], agent or "")
                break
    return found


def _top(spans: list[Span], by_id: Mapping[str, Span]) -> Mapping[str, Any]:
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


def _moment_of(joined: _Joined, spans: list[Span]) -> Any:
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


def _finished(call: _Call, tree: _Tree) -> ToolCall:
    agent = tree.sub_agent(call.span) if call.span is not None else None
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


def _model(span: Span) -> str | None:
    names = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
    return next(filter(None, (text_of(span.attributes.get(name)) for name in names)), None)


def _take_model(joined: _Joined, span: Span, tree: _Tree) -> None:
    found = span.attributes
    prompt = count_of(found.get("gen_ai.usage.input_tokens", found.get("llm.token_count.prompt")))
    output = count_of(
        found.get("gen_ai.usage.output_tokens", found.get("llm.token_count.completion"))
    )
    agent = tree.sub_agent(span)
    if prompt + output:
        joined.order.append(Usage(span.identity, prompt, output, agent is not None))
    for direction in ("input", "output"):
        messages = _messages(span, direction)
        parts = [(n, part) for n, message in enumerate(messages) for part in _parts(message)]
        if direction == "input":
            _take_repeated(joined, [part for _, part in parts], agent)
        else:
            joined.n_talked += is_talk("\n".join(filter(None, map(_text_in, messages))))
        for n, part in parts:
            _take_part(joined, part, span, agent, f"{span.where}/{direction}/{n}")


def _text_in(message: Mapping[str, Any]) -> str:
    """Return the text of a message, without its calls."""
    inner = dict_of(message.get("message"))
    contents = dict_of(inner.get("contents"))
    texts = [dict_of(contents[key]).get("message_content") for key in sorted(contents, key=_place)]
    texts += list_of(message.get("parts"))
    stated = [message.get("content"), inner.get("content")]
    stated += [dict_of(part).get("text", dict_of(part).get("content")) for part in texts]
    return "\n".join(filter(None, map(text_of, stated)))


def _take_repeated(joined: _Joined, parts: list[Mapping[str, Any]], agent: str | None) -> None:
    """Give the calls of a history that have other ids there their first ids.

    The n-th call in a history with a name and arguments is the n-th that was made with them.
    """
    calls = [part for part in parts if part.get("type") == "tool_call"]
    stated = {_part_id(part) for part in calls}
    if stated <= joined.calls.keys():
        return
    counts: Counter[_Repeated] = Counter()
    for part in calls:
        key = (agent, _fingerprint(text_of(part.get("name")), _arguments(part.get("arguments"))))
        known = joined.alike.get(key, [])[counts[key] : counts[key] + 1]
        counts[key] += 1
        call_id = _part_id(part)
        if call_id and call_id not in joined.calls and known and known[0].call_id not in stated:
            joined.calls[call_id] = known[0]


def _part_id(part: Mapping[str, Any]) -> str:
    return (text_of(part.get("id")) or "").strip()


def _fingerprint(name: str | None, arguments: Mapping[str, Any]) -> str:
    return repr((name, sorted(clean(dict(arguments)).items(), key=itemgetter(0))))


def _messages(span: Span, direction: str) -> list[Mapping[str, Any]]:
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


def _take_part(
    joined: _Joined, part: Mapping[str, Any], span: Span, agent: str | None, where: str
) -> None:
    call_id, kind = _part_id(part), part.get("type")
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
        joined.alike.setdefault((agent, _fingerprint(name, arguments)), []).append(known)
    elif kind == "tool_call_response" and known is not None and not known.is_seen:
        answer = part.get("result", part.get("response"))
        if answer is not None:
            known.result = _result(answer)
            known.is_seen = True


def _take_tools(joined: _Joined, spans: list[Span]) -> None:
    """Join the spans of tools to the calls of models.

    First by id, then by name and arguments, and what is left by name and order.
    """
    left: list[Span] = []
    taken: set[int] = set()
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
        elif id(known) in taken:
            continue
        taken.add(id(known))
        _fill(known, span)
    left = _take_equal(joined, left, taken)
    waiting: dict[str, list[_Call]] = {}
    for call in _calls(joined):
        if id(call) not in taken:
            waiting.setdefault(call.name, []).append(call)
    for span in left:
        name = _tool_name(span)
        same = waiting.get(name, [])
        call = same.pop(0) if same else _Call(span.identity, name, None, None, span, span.where)
        if call.span is span:
            joined.order.append(call)
        _fill(call, span)


def _calls(joined: _Joined) -> list[_Call]:
    return [item for item in joined.order if isinstance(item, _Call)]


def _take_equal(joined: _Joined, spans: list[Span], taken: set[int]) -> list[Span]:
    """Join spans to calls with their names and arguments; return the others."""
    waiting: dict[str, list[_Call]] = {}
    for call in _calls(joined):
        if id(call) not in taken and call.arguments:
            waiting.setdefault(_fingerprint(call.name, call.arguments), []).append(call)
    left = []
    for span in spans:
        same = waiting.get(_fingerprint(_tool_name(span), _span_arguments(span)), [])
        if not same:
            left.append(span)
            continue
        call = same.pop(0)
        taken.add(id(call))
        _fill(call, span)
    return left


def _take_managed(joined: _Joined, agents: list[Span]) -> None:
    """Join the spans of managed agents to the calls that started them, which have no other span."""
    waiting = [call for call in _calls(joined) if call.result is None]
    for span in agents:
        name = span.name.removesuffix(".run")
        started = next((call for call in waiting if call.name == name != span.name), None)
        if started is not None:
            waiting.remove(started)
            _fill(started, span)


_IDS: Final = ("gen_ai.tool.call.id", "tool.id", "tool_call.id", "ai.toolCall.id")
_NAMES: Final = (*("gen_ai.tool.name", "tool.name", "tool_call.function.name", "ai.toolCall.name"),)
_ARGUMENTS: Final = (
    *("gen_ai.tool.call.arguments", "tool_call.function.arguments", "ai.toolCall.args"),
    "input.value",
)
_RESULTS: Final = ("gen_ai.tool.call.result", "ai.toolCall.result", "output.value")


def _tool_name(span: Span) -> str:
    stated = _first(span, _NAMES)
    return stated or span.name.removeprefix("execute_tool ").strip() or "unknown"


def _fill(call: _Call, span: Span) -> None:
    """Add what the span of a tool states: its time, and what no message states."""
    found = span.attributes
    call.span = span
    call.name = call.name or _tool_name(span)
    call.arguments = call.arguments or _span_arguments(span)
    answer = next((found[name] for name in _RESULTS if found.get(name) is not None), None)
    if span.is_error or text_of(found.get("error.type")):
        text = call.result.text if call.result is not None else _text(answer) or span.message
        call.result = ToolResult(text, is_error=True, is_unfinished=answer is None)
    elif call.result is None:
        below = _below(found, ("gen_ai.tool.call.result.", "output.value."))
        if answer is not None or below:
            call.result = _result(answer if answer is not None else _nested(below))
            if _is_called_by_code(found.get("input.value")):
                # The code that called the tool may not have printed what it returned.
                call.result = replace(call.result, doubt=call.result.doubt or "display_only")
    elif answer is not None and not call.result.text:
        own = _result(answer)
        # Messages are kept without their pictures.
        call.result = own if own.structured == _PICTURE else call.result


def _is_called_by_code(given: Any) -> bool:
    """Return whether a tool was given what code of the agent called it with."""
    return isinstance(given, dict | str) and "sanitize_inputs_outputs" in given


def _span_arguments(span: Span) -> Mapping[str, Any]:
    found = span.attributes
    stated = next((found[name] for name in _ARGUMENTS if found.get(name) is not None), None)
    if stated is not None:
        return _arguments(stated)
    return _nested(_below(found, ("gen_ai.tool.call.arguments.", "input.value.")))


def _take_retriever(joined: _Joined, span: Span) -> None:
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


def _arguments(value: Any) -> Mapping[str, Any]:
    arguments = function_arguments(value)
    text = text_of(arguments.get("input")) or ""
    if len(arguments) == 1 and text == value and text.startswith("{"):
        # Exporters cut long values.
        arguments = dict_of(clean(complete_json(text, keep_cut_text=False))) or arguments
    if "sanitize_inputs_outputs" in arguments:
        named = dict_of(arguments.get("kwargs"))
        unnamed = [value for value in list_of(arguments.get("args")) if isinstance(value, str)]
        return {**({"input": unnamed[0]} if unnamed else {}), **named}
    # Some frameworks nest what a tool was given: {"input": {…}}, {"kwargs": {…}}.
    for name in ("input", "kwargs", "args"):
        inner = arguments.get(name)
        if len(arguments) == 1 and isinstance(inner, dict):
            return inner
    return arguments


def _result(value: Any) -> ToolResult:
    """Return a result: text, MCP's answer, a message, or an object, which may be JSON in a text."""
    record = parsed(value) if isinstance(value, str) else value
    message = _message(record)
    if message is not None:
        content = message.get("content")
        is_error = message.get("status") == "error"
        inner = _result(content) if is_envelope(content) else ToolResult(blocks_text(content))
        return replace(inner, is_error=inner.is_error or is_error)
    if is_envelope(record):
        text, _ = unwrapped("", record)
        structured = clean(dict_of(record).get("structuredContent"))
        if is_picture(record):
            structured = _PICTURE
        return ToolResult(text, structured, states_failure("", record))
    stated = clean(value) if isinstance(value, (dict, list)) else None
    text = _text(value)
    is_cut = text.endswith(_CUT)
    has_failed = states_failure("", record)
    return ToolResult(text.removesuffix(_CUT), stated, has_failed, is_truncated=is_cut)


_PICTURE: Final = {"type": "image"}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return text_of(value) or ""
    if isinstance(value, dict):
        named = (value.get(name) for name in ("content", "output", "result", "text"))
        return next(filter(None, map(blocks_text, named)), "")
    return blocks_text(value)


def _message(value: Any) -> Mapping[str, Any] | None:
    """Return the message of a tool that a value is, which libraries nest once."""
    entry = dict_of(value)
    for record in (entry, dict_of(entry.get("data")), dict_of(entry.get("kwargs"))):
        if "tool_call_id" in record and "content" in record:
            return record
    return None


def _first(span: Span, names: Iterable[str]) -> str | None:
    stated = next(filter(None, (text_of(span.attributes.get(name)) for name in names)), None)
    return stated.strip() or None if stated is not None else None


# --------------------------------------------------------------------------------------------------
# The ways in which spans are written.


def _spans_in(value: Mapping[str, Any], where: str) -> Iterator[Span]:
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
    for name in _LISTS:
        if isinstance(value.get(name), list):
            for n, span in enumerate(value[name]):
                yield from _span(span, f"{where}#{n}", None)
            return
    yield from _span(value, where, None)


_LISTS: Final = ("spans", "data")
"""Members in which stores give the spans of a trace, or a page of those of a project."""


def _span(value: Any, where: str, service: str | None) -> Iterator[Span]:
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
    yield Span(
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
    for name in _LISTS:
        if isinstance(line.get(name), list):
            return any(_is_marked(span) for span in line[name])
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
    "converter made of two trajectories seen; spans of openai-agents 0.24.0, deepagents 0.7.32 and "
    "smolagents 1.26.0 in OpenInference, of openai-agents in OpenLLMetry 0.62.4, and a page of "
    "them from Phoenix 20.26.1, in runs"
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
