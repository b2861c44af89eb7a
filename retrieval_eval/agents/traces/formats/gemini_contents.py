"""Contents of Gemini's interface: requests, responses, or the history of a chat.

A content has ``role`` and ``parts``, among them ``functionCall`` and ``functionResponse``, as JSON
of the interface or as Python's library dumps them (``function_call``). Calls have ids only where
the model gave some; else their place in the history is their id, and the answers behind a content
belong to its calls by name, in order. A history that is repeated counts once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, chosen, size
from retrieval_eval.agents.traces.results.payload import is_envelope, states_failure, unwrapped
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    blocks_text,
    clean,
    count_at,
    dict_of,
    from_seconds,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import ToolResult

FORMAT: Final = "gemini-contents"

_HISTORIES: Final = ("contents", "history", "automatic_function_calling_history")
_AROUND: Final = ("request", "response", "candidates", "content")
"""Members below which contents lie, requests before responses."""
_DEEPEST: Final = 6
_LONGEST_KEY: Final = 2_000


class _Contents(Transcript):
    """The transcript of contents, and the last calls of the model, which wait for answers."""

    def __init__(self, name: str) -> None:
        super().__init__(name, holds_run=True)
        self.waiting: list[tuple[str, str]] = []
        self.place = 0
        """How many contents stand before the next one in its history."""


def read_contents_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of lines that are contents, or requests and responses."""
    kept: Spooled[Line] = Spooled(Line)
    groups: dict[str, list[int]] = {}
    for line in lines:
        history = _history(line.value)
        if history:
            key = json.dumps(clean(history[0]), sort_keys=True)[:_LONGEST_KEY]
            groups.setdefault(key, []).append(len(kept))
        kept.append(line, size(line.value))
    if len(groups) < 2:
        return _read(kept, name)
    named = {f"line {kept[group[0]].number}": group for group in groups.values()}
    return chosen(name, tuple(named), lambda which: _read((kept[n] for n in named[which]), name))


def read_contents_document(document: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of an object that holds contents."""
    said = _Contents(name)
    _take(said, document, name, _DEEPEST)
    return said.reading(FORMAT)


def _read(lines: Iterable[Line], name: str) -> Reading:
    said = _Contents(name)
    for entry, where in said.complaints.objects(lines):
        _take(said, entry, where, _DEEPEST)
    return said.reading(FORMAT)


def _history(value: Any) -> list[Any]:
    entry = dict_of(value)
    for holder in (entry, dict_of(entry.get("request"))):
        for name in _HISTORIES:
            if isinstance(holder.get(name), list):
                return list_of(holder[name])
    return []


def _either(entry: Mapping[str, Any], name: str) -> Any:
    """Return a member by its name in JSON, or by its name in Python."""
    python = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    found = entry.get(name)
    return entry.get(python) if found is None else found


def _take(said: _Contents, entry: Mapping[str, Any], where: str, depth: int) -> None:
    written = unix_seconds(_either(entry, "createTime")) or from_seconds(entry.get("timestamp"))
    said.at(where, written or said.time, starts=True)
    said.model = text_of(_either(entry, "modelVersion")) or text_at(entry, "model") or said.model
    usage = dict_of(_either(entry, "usageMetadata"))
    counts = [count_at({"n": _either(usage, name)}, "n") for name in _COUNTS]
    response = text_of(_either(entry, "responseId")) or text_at(entry, "id")
    if isinstance(entry.get("parts"), list):
        _take_content(said, entry)
        return
    for name in _HISTORIES if depth else ():
        if isinstance(entry.get(name), list):
            said.place = 0
            for n, content in enumerate(list_of(entry[name])):
                _take_inner(said, content, f"{where}/{name}/{n}", depth)
    said.used(response, counts[0] + counts[1], counts[2] + counts[3])
    for name in _AROUND if depth else ():
        inner = entry.get(name)
        # Of several candidates one goes on.
        inner = list_of(inner)[0] if list_of(inner) else inner
        if isinstance(inner, dict):
            _take_inner(said, inner, f"{where}/{name}", depth)


_COUNTS: Final = (
    *("promptTokenCount", "toolUsePromptTokenCount"),
    *("candidatesTokenCount", "thoughtsTokenCount"),
)


def _take_inner(said: _Contents, value: Any, where: str, depth: int) -> None:
    if isinstance(value, dict):
        _take(said, value, where, depth - 1)
    else:
        said.complaints.note(where, "expected a JSON object")


def _take_content(said: _Contents, content: Mapping[str, Any]) -> None:
    parts = [dict_of(part) for part in list_of(content.get("parts"))]
    text = "\n".join(filter(None, (text_at(part, "text") for part in parts)))
    calls = [(n, call) for n, part in enumerate(parts) if (call := _call(part)) is not None]
    if content.get("role") == "model" or calls:
        said.has_agent = True
        said.spoke(text)
        said.begin_step()
        said.waiting = []
        for n, call in calls:
            call_id = text_at(call, "id") or f"{said.place}/{n}"
            made = said.call(call.get("name"), call.get("args"), call_id)
            if made is not None:
                said.waiting.append((made.name, made.call_id))
    else:
        answers = [found for part in parts if (found := _answer(part)) is not None]
        said.heard(text, is_users=not answers)
        for answer in answers:
            said.answer(_called(said, answer), _result(answer.get("response")))
    said.place += 1


def _call(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _either(part, "functionCall")
    return found if isinstance(found, dict) else None


def _answer(part: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _either(part, "functionResponse")
    return found if isinstance(found, dict) else None


def _called(said: _Contents, answer: Mapping[str, Any]) -> str | None:
    """Return the id of the call that an answer belongs to."""
    stated, name = text_at(answer, "id"), text_at(answer, "name")
    fits = [call for call in said.waiting if stated == call[1]]
    fits = fits or [call for call in said.waiting if stated is None and name == call[0]]
    if fits:
        said.waiting.remove(fits[0])
        return fits[0][1]
    return stated


def _result(response: Any) -> ToolResult:
    """Return what a function answered, which the libraries put below ``result`` or ``error``."""
    stated = dict_of(response)
    if is_envelope(response):
        text, _ = unwrapped("", response)
        return ToolResult(text, None, states_failure("", response))
    if stated.keys() == {"error"}:
        return ToolResult(_text(stated["error"]), is_error=True)
    for name in ("result", "output"):
        if name in stated:
            inner = stated[name]
            if is_envelope(inner):
                return _result(inner)
            record = clean(inner) if isinstance(inner, (dict, list)) else None
            return ToolResult(_text(inner), record)
    return ToolResult(_text(response), clean(stated) or None)


def _text(value: Any) -> str:
    return blocks_text(value.get("content") if isinstance(value, dict) else value)


def _parts_in(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    entry = dict_of(value)
    if isinstance(entry.get("parts"), list):
        yield from map(dict_of, entry["parts"])
        return
    for name in (*_HISTORIES, *_AROUND) if depth else ():
        inner = entry.get(name)
        for content in inner if isinstance(inner, list) else [inner]:
            if isinstance(content, dict):
                yield from _parts_in(content, depth - 1)


def _proves(value: Mapping[str, Any]) -> bool:
    """Whether contents hold a call with a name, or an answer to one."""
    return any(
        text_at(found, "name") is not None
        for part in _parts_in(value, _DEEPEST)
        for found in (_call(part), _answer(part))
    )


def _may_be(value: Mapping[str, Any]) -> bool:
    return value.get("role") == "model" and isinstance(value.get("parts"), list)


_EXAMPLE: Final[tuple[Mapping[str, Any], ...]] = (
    {"role": "user", "parts": [{"text": "Where is the limit set?"}]},
    {
        "role": "model",
        "parts": [{"functionCall": {"id": "c", "name": "read_file", "args": {"path": "a.py"}}}],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "c", "name": "read_file", "response": {"result": "x = 1"}}}
        ],
    },
)
_COUNTERS: Final = (
    "each response's own usage where it is kept, cached tokens inside the prompt and thoughts "
    "added to the output; a repeated response counts once by its id"
)
_SOURCE: Final = "google-genai 1, run"

FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_proves,
        read=read_contents_lines,
        example=_EXAMPLE,
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        may_be=_may_be,
        priority=-1,
    ),
)
FORMATS.add(
    "gemini-request",
    DocumentFormat(
        recognises=_proves,
        read=read_contents_document,
        example={"contents": list(_EXAMPLE)},
        keeps=("times", "tokens", "model"),
        counters=_COUNTERS,
        source=_SOURCE,
        priority=-1,
    ),
)
