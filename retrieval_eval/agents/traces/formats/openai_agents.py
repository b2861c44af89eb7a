"""Traces of openai-agents as the library exports them: a trace, and spans that name their parent.

They come one object a line, as a processor of traces is given them, or as the ``data`` of what is
sent to the library's maker. Calls of tools have no id, and what the model was sent of the Responses
interface is not there; a tool that runs another agent holds its spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.spans import Span, chosen_spans
from retrieval_eval.agents.traces.reading import Complaints, Reading, Unreadable
from retrieval_eval.agents.traces.untrusted import (
    clean,
    dict_at,
    dict_of,
    dicts_at,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line

FORMAT: Final = "openai-agents-trace"
_HARNESS: Final = "openai-agents"
_TRACE: Final = "trace"
_SPAN: Final = "trace.span"


def read_openai_agents_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of exported traces and spans, one a line."""
    complaints = Complaints(name)
    return _read(complaints.objects(lines), name, complaints)


def read_openai_agents_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of one batch of traces and spans."""
    complaints = Complaints(name)
    return _read([(document, name)], name, complaints)


def _read(
    entries: Iterable[tuple[Mapping[str, Any], str]], name: str, complaints: Complaints
) -> Reading | Unreadable:
    groups: dict[str, str] = {}
    spans: list[Span] = []
    for entry, where in entries:
        for n, item in enumerate(list_of(entry.get("data")) or [entry]):
            place = where if item is entry else f"{where}/data/{n}"
            if not isinstance(item, dict):
                complaints.note(place, "expected a JSON object")
            elif item.get("object") == _TRACE:
                group = text_at(item, "group_id")
                groups |= {text_at(item, "id") or "": group} if group is not None else {}
            elif item.get("object") == _SPAN:
                spans += _span(item, place, complaints)
    for span in spans:
        if span.trace in groups:
            span.attributes["session.id"] = groups[span.trace]
    return chosen_spans(spans, name, complaints, FORMAT)


def _span(item: Mapping[str, Any], where: str, complaints: Complaints) -> Iterator[Span]:
    data = dict_at(item, "span_data")
    kind = text_at(data, "type") or ""
    if kind == "function" and text_at(data, "name") is None:
        complaints.note(where, "a tool call without a name")
        return
    error = dict_at(item, "error")
    yield Span(
        identity=text_at(item, "id") or where,
        parent=text_at(item, "parent_id"),
        trace=text_at(item, "trace_id") or "unnamed",
        name=text_at(data, "name") or kind,
        start=unix_seconds(item.get("started_at")),
        end=unix_seconds(item.get("ended_at")),
        attributes={"openinference.span.kind": _KINDS.get(kind, "CHAIN"), **_attributes(data)},
        service=_HARNESS,
        is_error=bool(error),
        message=text_at(error, "data", "error") or text_at(error, "message") or "",
        where=where,
    )


_KINDS: Final = {"function": "TOOL", "response": "LLM", "generation": "LLM", "agent": "AGENT"}


def _attributes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the span of a tool or of a model states, as attributes of OpenInference."""
    usage = dict_at(data, "usage")
    tokens = {
        "llm.token_count.prompt": usage.get("input_tokens", usage.get("prompt_tokens")),
        "llm.token_count.completion": usage.get("output_tokens", usage.get("completion_tokens")),
    }
    match data.get("type"):
        case "function":
            server, name = text_at(data, "mcp_data", "server"), text_at(data, "name")
            whole = name if server is None else f"mcp__{server}__{name}"
            output = data.get("output")
            output = _shown(output) if server is not None and isinstance(output, str) else output
            stated = {"input.value": data.get("input"), "output.value": output}
            return {"tool.name": whole, **clean(stated)}
        case "generation":
            messages = {
                f"gen_ai.{direction}.messages": dicts_at(data, direction)
                for direction in ("input", "output")
            }
            return {**tokens, **messages, "llm.model_name": text_at(data, "model")}
        case "response":
            return tokens
        case _:
            return {}


_TEXT: Final = r"'[^'\\\n]*(?:\\.[^'\\\n]*)*'|\"[^\"\\\n]*(?:\\.[^\"\\\n]*)*\""
_BLOCK: Final = re.compile(
    rf"[\[ ,]{{0,2}}\{{'type': 'text', 'text': ({_TEXT})[^{{}}\n]{{0,200}}\}}"
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5})|(.))")
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}


def _shown(output: str) -> str:
    """Return the text of MCP's blocks, which stand in the span as Python writes them."""
    texts, place = [], 0
    while (found := _BLOCK.match(output, place)) is not None:
        texts.append(_ESCAPE.sub(_unescaped, found[1][1:-1]))
        place = found.end()
    return "\n".join(texts) if output[place:] in ("", "]") and texts else output


def _unescaped(found: re.Match[str]) -> str:
    number = found[1] or found[2] or found[3]
    return chr(int(number, 16)) if number else _CONTROLS.get(found[4], found[4])


def _proves(value: Mapping[str, Any]) -> bool:
    items = [dict_of(item) for item in list_of(value.get("data"))] or [value]
    return any(
        item.get("object") == _SPAN and text_of(dict_at(item, "span_data").get("type"))
        for item in items
    )


def _example_span(identity: str, parent: str | None, **data: Any) -> dict[str, Any]:
    return {
        "object": _SPAN,
        "id": f"span_{identity}",
        "trace_id": "trace_1",
        "parent_id": parent and f"span_{parent}",
        "started_at": "2026-01-05T10:00:00+00:00",
        "ended_at": "2026-01-05T10:00:01+00:00",
        "span_data": data,
        "error": None,
    }


_USED: Final = {"input_tokens": 10, "output_tokens": 2}
_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"object": _TRACE, "id": "trace_1", "workflow_name": "Agent workflow", "group_id": None},
    _example_span("b", "a", type="response", response_id="resp_1", usage=_USED),
    _example_span("c", "a", type="function", name="read_file", input='{"path": "a"}', output="x"),
    _example_span("a", None, type="agent", name="finder", tools=["read_file"]),
)
_COUNTERS: Final = "each request's own tokens, sub-agents marked, cached tokens inside the input"
_SOURCE: Final = "openai-agents 0.24.0, run"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_proves,
        read=read_openai_agents_lines,
        example=_EXAMPLE,
        keeps=("times", "tokens", "model", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        priority=2,
    ),
)
FORMATS.add(
    "openai-agents-batch",
    DocumentFormat(
        recognises=_proves,
        read=read_openai_agents_document,
        example={"data": list(_EXAMPLE)},
        keeps=("times", "tokens", "model", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        priority=2,
    ),
)
