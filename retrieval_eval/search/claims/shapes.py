"""How model servers are asked, and where their answers hold the text: one shape per API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from retrieval_eval.registry import Registry
from retrieval_eval.search.ask.http import TransientError
from retrieval_eval.search.ask.json_shape import at
from retrieval_eval.search.ask.returned import clean_text

TEMPERATURE: Final = "temperature"
JSON_ANSWER: Final = "response_format"


class NoVerdictError(TransientError):
    """The model answered, and its answer is no verdict that may count."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is sent: instruction and data as two texts; None and False leave a setting out."""

    model: str
    instruction: str
    data: str
    temperature: float | None
    asks_for_json: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """One API of model servers.

    Attributes
    ----------
    path
        Returns the path behind the base address for the name of a model.
    body
        Returns the JSON body of a request.
    text
        Returns the text of an answer. Raises `NoVerdictError` where it was cut, `TransientError`
        where the model refused or there is no such answer.
    key_header, key_prefix
        The header that holds the key, and what stands before the key in it.
    key_variable
        The environment variable that usually holds the key.
    headers
        Headers that every request needs.
    own
        Members of the body that hold the question, so that no option may replace them.
    refused_as
        Words by which an answer 400 names a setting that the model does not take.
    """

    path: Callable[[str], str]
    body: Callable[[Question], dict[str, Any]]
    text: Callable[[Any], str]
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    key_variable: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset({"model", "messages", "stream"})
    refused_as: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {TEMPERATURE: (TEMPERATURE,), JSON_ANSWER: (JSON_ANSWER,)}
    )


SHAPES: Final[Registry[Shape]] = Registry("retrieval_eval.judge_shapes", "shape of a judge's API")
"""The APIs by name, those of other distributions included."""


def _ended(reason: Any, whole: frozenset[str], refused: frozenset[str]) -> None:
    """Raise where the reason why an answer ended is no regular end."""
    said = "" if reason is None else clean_text(str(reason)[:40])
    if not said or said in whole:
        return
    if said in refused:
        raise TransientError(f"the model or its provider refused ({said})")
    raise NoVerdictError(f"the answer ended early ({said})")


def _text(parts: Any, where: str, is_meant: Callable[[Any], bool]) -> str:
    """Return the text of a string, or of the parts of a list that are meant."""
    if isinstance(parts, str):
        return parts
    texts: Iterable[Any] = parts if isinstance(parts, list) else ()
    found = [at(part, "text") for part in texts if is_meant(part)]
    if not found or not all(isinstance(text, str) for text in found):
        raise TransientError(f"the answer has no text at {where}")
    return "".join(found)


def _chat(question: Question) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": question.instruction},
        {"role": "user", "content": question.data},
    ]
    return {"model": question.model, "messages": messages}


def _temperature(question: Question) -> dict[str, Any]:
    return {} if question.temperature is None else {TEMPERATURE: question.temperature}


# --- OpenAI's chat completions, and the many servers compatible with them ---


def _openai_body(question: Question) -> dict[str, Any]:
    wanted = {JSON_ANSWER: {"type": "json_object"}} if question.asks_for_json else {}
    return {**_chat(question), **_temperature(question), **wanted}


def _openai_text(answer: Any) -> str:
    choice = at(answer, "choices", 0)
    if at(choice, "message", "refusal"):
        raise TransientError("the model refused")
    _ended(at(choice, "finish_reason"), frozenset({"stop"}), frozenset({"content_filter"}))
    content = at(choice, "message", "content")
    return _text(content, "choices[0].message.content", lambda part: at(part, "type") == "text")


SHAPES.add(
    "openai",
    Shape(
        path=lambda model: "/chat/completions",  # noqa: ARG005
        body=_openai_body,
        text=_openai_text,
        key_variable="OPENAI_API_KEY",
    ),
)


# --- Anthropic's messages: instruction at the top, content in blocks ---


def _anthropic_body(question: Question) -> dict[str, Any]:
    blocks = [{"type": "text", "text": question.data}]
    return {
        "model": question.model,
        "max_tokens": 1024,
        "system": question.instruction,
        "messages": [{"role": "user", "content": blocks}],
        **_temperature(question),
    }


def _anthropic_text(answer: Any) -> str:
    if at(answer, "type") == "error":
        raise TransientError("the answer is an error")
    whole = frozenset({"end_turn", "stop_sequence"})
    _ended(at(answer, "stop_reason"), whole, frozenset({"refusal"}))
    return _text(at(answer, "content"), "content[].text", lambda part: at(part, "type") == "text")


SHAPES.add(
    "anthropic",
    Shape(
        path=lambda model: "/messages",  # noqa: ARG005
        body=_anthropic_body,
        text=_anthropic_text,
        key_header="x-api-key",
        key_prefix="",
        key_variable="ANTHROPIC_API_KEY",
        headers={"anthropic-version": "2023-06-01"},
        own=frozenset({"model", "messages", "system", "stream"}),
    ),
)


# --- Google's generateContent: the model in the path, everything in parts ---

_GEMINI_REFUSALS: Final = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}
)


def _gemini_body(question: Question) -> dict[str, Any]:
    wanted = {"responseMimeType": "application/json"} if question.asks_for_json else {}
    settings = {**_temperature(question), **wanted}
    return {
        "systemInstruction": {"parts": [{"text": question.instruction}]},
        "contents": [{"role": "user", "parts": [{"text": question.data}]}],
        **({"generationConfig": settings} if settings else {}),
    }


def _gemini_text(answer: Any) -> str:
    if at(answer, "promptFeedback", "blockReason"):
        raise TransientError("the provider refused the question")
    candidate = at(answer, "candidates", 0)
    _ended(at(candidate, "finishReason"), frozenset({"STOP"}), _GEMINI_REFUSALS)
    parts = at(candidate, "content", "parts")
    where = "candidates[0].content.parts[].text"
    return _text(parts, where, lambda part: not at(part, "thought"))


SHAPES.add(
    "gemini",
    Shape(
        path=lambda model: f"/models/{quote(model, safe='')}:generateContent",
        body=_gemini_body,
        text=_gemini_text,
        key_header="x-goog-api-key",
        key_prefix="",
        key_variable="GEMINI_API_KEY",
        own=frozenset({"contents", "systemInstruction", "system_instruction"}),
        refused_as={
            TEMPERATURE: (TEMPERATURE,),
            JSON_ANSWER: ("responseMimeType", "response_mime_type", "JSON mode"),
        },
    ),
)


# --- Ollama's own chat: one message, settings under "options" ---


def _ollama_body(question: Question) -> dict[str, Any]:
    settings = _temperature(question)
    return {
        **_chat(question),
        "stream": False,
        **({"format": "json"} if question.asks_for_json else {}),
        **({"options": settings} if settings else {}),
    }


def _ollama_text(answer: Any) -> str:
    if at(answer, "error"):
        raise TransientError("the answer is an error")
    if at(answer, "done") is False:
        raise NoVerdictError("the answer is not done")
    _ended(at(answer, "done_reason"), frozenset({"stop"}), frozenset())
    return _text(at(answer, "message", "content"), "message.content", lambda part: False)  # noqa: ARG005


SHAPES.add(
    "ollama",
    Shape(
        path=lambda model: "/api/chat",  # noqa: ARG005
        body=_ollama_body,
        text=_ollama_text,
        refused_as={TEMPERATURE: (TEMPERATURE,), JSON_ANSWER: ("format",)},
    ),
)
