"""Observations of Langfuse: a downloaded trace, answers of its interface, or exported rows.

An observation names its parent and has a type: of a tool, a model (``GENERATION``), an agent or
something else. What went in and came out is JSON or JSON in a text, and messages are in whichever
form the instrument kept them. Downloads of large traces have neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.formats.spans import Span, chosen_spans
from retrieval_eval.agents.traces.reading import Complaints, Reading, Unreadable
from retrieval_eval.agents.traces.untrusted import (
    amount_of,
    clean,
    count_of,
    dict_at,
    dict_of,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode

FORMAT: Final = "langfuse-observations"

_TYPES: Final = {
    "TOOL": "TOOL",
    "GENERATION": "LLM",
    "AGENT": "AGENT",
    "RETRIEVER": "RETRIEVER",
    "SPAN": "CHAIN",
    "EVENT": "CHAIN",
    "CHAIN": "CHAIN",
    "EMBEDDING": "EMBEDDING",
    "EVALUATOR": "CHAIN",
    "GUARDRAIL": "GUARDRAIL",
}
_DEEPEST: Final = 3


def read_observation_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of observations, one a line, or of objects that hold some."""
    complaints = Complaints(name)
    return _read(complaints.objects(lines), name, complaints)


def read_observation_document(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of an object that holds observations."""
    return _read([(document, name)], name, Complaints(name))


def _read(
    entries: Iterable[tuple[Mapping[str, Any], str]], name: str, complaints: Complaints
) -> Reading | Unreadable:
    spans = {
        span.identity: span
        for entry, where in entries
        for row, place in _observations(entry, where, _DEEPEST)
        for span in _span(row, place, complaints)
    }
    return chosen_spans([*spans.values()], name, complaints, FORMAT)


def _observations(value: Any, where: str, depth: int) -> Iterator[tuple[Mapping[str, Any], str]]:
    entry = dict_of(value)
    if _is_observation(entry):
        yield entry, where
        return
    for name in ("trace", "observations", "data", "traces") if depth else ():
        inner = entry.get(name)
        for n, item in enumerate(inner if isinstance(inner, list) else [inner]):
            yield from _observations(item, f"{where}/{name}/{n}", depth - 1)


def _is_observation(entry: Mapping[str, Any]) -> bool:
    kind, parent = text_of(entry.get("type")), _either(entry, "parentObservationId")
    is_named = _either(entry, "traceId") is not None or parent is not None
    is_timed = _either(entry, "startTime") is not None
    return kind in _TYPES and is_named and is_timed and text_of(entry.get("id")) is not None


def _either(entry: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in JSON, or by its name in Python and in exported tables."""
    found = entry.get(name)
    if found is None:
        found = entry.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name))
    return found


def _span(row: Mapping[str, Any], where: str, complaints: Complaints) -> Iterator[Span]:
    kind = _TYPES[str(row["type"])]
    if kind == "TOOL" and text_at(row, "name") is None:
        complaints.note(where, "a tool call without a name")
        return
    given, came = _value(row.get("input")), _value(row.get("output"))
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    if kind == "LLM":
        attributes |= {
            "gen_ai.input.messages": [*_messages(given)],
            "gen_ai.output.messages": [*_messages(came)],
            "llm.model_name": _either(row, "providedModelName") or row.get("model"),
            **_used(row),
        }
    elif kind in ("TOOL", "RETRIEVER"):
        attributes |= {"tool.name": row.get("name"), "input.value": given, "output.value": came}
        attributes |= {"tool.id": _call_id(came)} if _call_id(came) else {}
    session = text_of(_either(row, "sessionId"))
    attributes |= {"session.id": session} if session is not None else {}
    yield Span(
        identity=str(clean(row["id"])),
        parent=text_of(_either(row, "parentObservationId")),
        trace=text_of(_either(row, "traceId")) or "unnamed",
        name=text_at(row, "name") or "",
        start=unix_seconds(_either(row, "startTime")),
        end=unix_seconds(_either(row, "endTime")),
        attributes=attributes,
        service=None,
        is_error=row.get("level") == "ERROR",
        message=text_of(_either(row, "statusMessage")) or "",
        where=where,
    )


def _value(value: Any) -> Any:
    """Return what went in or came out, which may be JSON in a text."""
    decoded = decode(value)[0] if isinstance(value, str) and value[:1] in ("{", "[", '"') else None
    return clean(value if decoded is None else decoded)


def _messages(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield messages in the form of OpenAI's, whichever form the instrument kept them in."""
    entry = dict_of(value)
    held = entry.get("messages", value)
    for item in held if isinstance(held, list) else [held]:
        message = dict_of(dict_of(item).get("message", item))
        calls = [
            {
                "id": dict_of(call).get("id"),
                "function": {"name": dict_of(call)["name"], "arguments": dict_of(call)["args"]},
            }
            if dict_of(call).keys() >= {"name", "args"}
            else call
            for call in list_of(message.get("tool_calls"))
        ]
        yield {**message, "tool_calls": calls} if calls else message


def _call_id(value: Any) -> str | None:
    """Return the id of the call that the message of a tool answers."""
    entry = dict_of(value)
    for message in (entry, dict_of(entry.get("data")), dict_of(entry.get("kwargs"))):
        if text_at(message, "tool_call_id") is not None:
            return text_at(message, "tool_call_id")
    return None


def _used(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return tokens and cost; details are parts of a total, whose names begin with the side."""
    usage = dict_of(_either(row, "usageDetails")) or dict_at(row, "usage")
    output = sum(count_of(n) for key, n in usage.items() if key.startswith("output"))
    asked = sum(count_of(n) for key, n in usage.items() if key.startswith("input"))
    total = count_of(usage.get("total"))
    cost = dict_of(_either(row, "costDetails")).get("total", _either(row, "totalCost"))
    paid = {"llm.cost.total": cost} if amount_of(cost) else {}
    prompt = total - output if total > output else asked
    return {"llm.token_count.prompt": prompt, "llm.token_count.completion": output, **paid}


def _proves(value: Mapping[str, Any]) -> bool:
    return next(_observations(value, "", _DEEPEST), None) is not None


def _example_row(identity: str, kind: str, **more: Any) -> dict[str, Any]:
    times = {"startTime": "2026-01-05T10:00:00.000Z", "endTime": "2026-01-05T10:00:01.000Z"}
    parent = {"parentObservationId": "a" if identity != "a" else None}
    return {"id": identity, "traceId": "t", "type": kind, **parent, **times, **more}


_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    _example_row("a", "AGENT", name="finder"),
    _example_row(
        "b",
        "GENERATION",
        name="chat",
        model="m",
        input='{"messages": [{"role": "user", "content": "Where is the limit set?"}]}',
        output='{"role": "assistant", "content": "I look."}',
        usageDetails={"input": 10, "output": 2, "total": 12},
        costDetails={"total": 0.01},
    ),
    _example_row("c", "TOOL", name="read_file", input='{"path": "a.py"}', output="x = 1"),
)
_COUNTERS: Final = (
    "each generation's own tokens, sub-agents marked, of the total where it is stated, cached "
    "tokens in it; the cost that Langfuse computed or was given"
)
_SOURCE: Final = (
    "Langfuse's download of a trace at 0ebbea78 and the types of its Python library 5.0.4, read; "
    "observations of that library made in a run and put into that layout, as no server was run"
)

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_observation,
        read=read_observation_lines,
        example=_EXAMPLE,
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        priority=1,
    ),
)
FORMATS.add(
    "langfuse-trace",
    DocumentFormat(
        recognises=_proves,
        read=read_observation_document,
        example={"observations": list(_EXAMPLE), "scores": []},
        keeps=("times", "tokens", "cost", "model", "sub-agents"),
        counters=_COUNTERS,
        source=_SOURCE,
        priority=1,
    ),
)
