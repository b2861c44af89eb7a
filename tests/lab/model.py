"""A scripted model on loopback, in the four dialects that harnesses speak.

It plays plans: ``PLAN:main`` in the last prompt names the list of turns, and each request takes
the next of them. Each request is recorded with its number and time, with what was answered and
which tokens were charged.
Request n costs 1,000 + 10 n tokens of input, 500 of them cached, and 20 + n of output, so that a
sum has one right value.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TextIO

import zstandard

PORT: Final = 8123
CACHED: Final = 500
_PLAN: Final = re.compile(r"PLAN:(\w+)")
_SUMMARY: Final = "Summary of the work so far: PLAN:main goes on."


@dataclass(frozen=True)
class Call:
    """A call in a harness's own tools; ``raw`` are arguments as the model wrote them."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None
    namespace: str | None = None
    custom: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False) if self.raw is None else self.raw


@dataclass(frozen=True)
class Turn:
    """One answer of the model; ``input_tokens`` replaces what the request would cost.

    ``label`` stands in the ids of its calls.
    """

    calls: tuple[Call, ...] = ()
    text: str = ""
    input_tokens: int | None = None
    label: str = "main"


@dataclass(frozen=True)
class Script:
    """What the model will say: plans by name.

    ``values`` are found in the last request and replace ``{{NAME}}`` in arguments; a request whose
    last prompt matches ``summary`` asks for a summary; ``side`` answers a request that belongs to
    no plan, such as one for a title; ``is_text`` says that calls are written in the answer's text,
    so that a request without tools is one of the plan, too, and its last turn is repeated.
    """

    plans: dict[str, list[Turn]]
    values: dict[str, str] = field(default_factory=dict)
    summary: str = "(?!)"
    side: str = "Scripted."
    is_text: bool = False


@dataclass(frozen=True)
class Answer:
    number: int
    turn: Turn
    ids: tuple[str, ...]
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = CACHED


class Dialect:
    """How requests of one interface are read and answered."""

    def prompts(self, body: dict[str, Any]) -> list[str]:
        """Return what the user said, in order."""
        return [
            _plain(item.get("content"))
            for item in self.items(body)
            if item.get("role") in {"user", "system", "developer"}
        ]

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        items = body.get("messages") or []
        return [item for item in items if isinstance(item, dict)]

    def has_tools(self, body: dict[str, Any]) -> bool:
        return bool(body.get("tools"))

    def received(self, body: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        """Return the texts that the model did not write, each with the call that it answers."""
        raise NotImplementedError

    def whole(self, answer: Answer) -> dict[str, Any]:
        raise NotImplementedError

    def stream(self, answer: Answer) -> Iterator[dict[str, Any] | str]:
        raise NotImplementedError


class Chat(Dialect):
    """OpenAI chat completions."""

    def received(self, body: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        for item in self.items(body):
            if item.get("role") != "assistant":
                yield item.get("tool_call_id"), _plain(item.get("content"))

    def _calls(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {
                "id": key,
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for key, call in zip(answer.ids, answer.turn.calls, strict=True)
        ]

    def _usage(self, answer: Answer) -> dict[str, Any]:
        return {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        }

    def _head(self, answer: Answer, kind: str) -> dict[str, Any]:
        key = f"chatcmpl-{answer.number}"
        return {"id": key, "object": kind, "created": int(time.time()), "model": answer.model}

    def whole(self, answer: Answer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.turn.text or None}
        if answer.turn.calls:
            message["tool_calls"] = self._calls(answer)  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": self._reason(answer)}
        head = self._head(answer, "chat.completion")
        return {**head, "choices": [choice], "usage": self._usage(answer)}

    def _reason(self, answer: Answer) -> str:
        return "tool_calls" if answer.turn.calls else "stop"

    def stream(self, answer: Answer) -> Iterator[dict[str, Any] | str]:
        head = self._head(answer, "chat.completion.chunk")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": answer.turn.text}]
        deltas += [
            {"tool_calls": [{"index": index, **call}]}
            for index, call in enumerate(self._calls(answer))
        ]
        for delta in deltas:
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {"index": 0, "delta": {}, "finish_reason": self._reason(answer)}
        yield {**head, "choices": [last]}
        yield {**head, "choices": [], "usage": self._usage(answer)}
        yield "[DONE]"


class Responses(Dialect):
    """OpenAI Responses."""

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        items = body.get("input") or []
        if isinstance(items, str):
            return [{"role": "user", "content": items}]
        return [item for item in items if isinstance(item, dict)]

    def prompts(self, body: dict[str, Any]) -> list[str]:
        return [
            _plain(item.get("content"))
            for item in self.items(body)
            if item.get("role") == "user" or item.get("type") == "agent_message"
        ]

    def has_tools(self, body: dict[str, Any]) -> bool:
        items = self.items(body)
        return bool(body.get("tools")) or any(i.get("type") == "additional_tools" for i in items)

    def received(self, body: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        for item in self.items(body):
            if str(item.get("type")).endswith("_output"):
                yield item.get("call_id"), _plain(item.get("output"))
            elif item.get("role") in {"user", "developer", "system"}:
                yield None, _plain(item.get("content"))

    def whole(self, answer: Answer) -> dict[str, Any]:
        usage = {
            "input_tokens": answer.input_tokens,
            "input_tokens_details": {"cached_tokens": answer.cached_tokens},
            "output_tokens": answer.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": answer.input_tokens + answer.output_tokens,
        }
        return {
            "id": f"resp_{answer.number}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "model": answer.model,
            "output": list(self._output(answer)),
            "usage": usage,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": 1,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1,
        }

    def _output(self, answer: Answer) -> Iterator[dict[str, Any]]:
        if answer.turn.text:
            part = {"type": "output_text", "text": answer.turn.text, "annotations": []}
            key = f"msg_{answer.number}"
            head = {"id": key, "type": "message", "role": "assistant", "status": "completed"}
            yield {**head, "content": [part]}
        for key, call in zip(answer.ids, answer.turn.calls, strict=True):
            space = {"namespace": call.namespace} if call.namespace else {}
            said = {"call_id": key, "name": call.name, "status": "completed", **space}
            if call.custom is None:
                yield {"type": "function_call", "id": f"fc_{key}", **said, "arguments": call.text}
            else:
                yield {"type": "custom_tool_call", "id": f"ct_{key}", **said, "input": call.custom}

    def stream(self, answer: Answer) -> Iterator[dict[str, Any] | str]:
        whole = self.whole(answer)
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "sequence_number": 0, "response": begun}
        for index, item in enumerate(whole["output"]):
            where = {"output_index": index, "sequence_number": index + 1}
            yield {"type": "response.output_item.added", **where, "item": item}
            if item["type"] == "message":
                delta = {"item_id": item["id"], "content_index": 0, "delta": answer.turn.text}
                yield {"type": "response.output_text.delta", **where, **delta}
            if item["type"] == "function_call":
                done = {"item_id": item["id"], "arguments": item["arguments"]}
                yield {"type": "response.function_call_arguments.done", **where, **done}
            yield {"type": "response.output_item.done", **where, "item": item}
        yield {"type": "response.completed", "sequence_number": 99, "response": whole}


class Anthropic(Dialect):
    """Anthropic Messages; the tokens that were cached are stated beside those of the input."""

    def received(self, body: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        yield None, _plain(body.get("system"))
        for item in self.items(body):
            blocks = item.get("content")
            if item.get("role") == "assistant":
                continue
            for block in blocks if isinstance(blocks, list) else [blocks]:
                is_result = isinstance(block, dict) and block.get("type") == "tool_result"
                if is_result:
                    yield block.get("tool_use_id"), _plain(block.get("content"))
                else:
                    yield None, _plain(block)

    def prompts(self, body: dict[str, Any]) -> list[str]:
        said = []
        for item in self.items(body):
            if item.get("role") == "user":
                blocks = item.get("content")
                blocks = blocks if isinstance(blocks, list) else [blocks]
                said.append(
                    "\n".join(
                        _plain(block)
                        for block in blocks
                        if not (isinstance(block, dict) and block.get("type") == "tool_result")
                    )
                )
        return said

    def _usage(self, answer: Answer, output: int) -> dict[str, Any]:
        return {
            "input_tokens": answer.input_tokens - answer.cached_tokens,
            "cache_read_input_tokens": answer.cached_tokens,
            "cache_creation_input_tokens": 0,
            "output_tokens": output,
        }

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        text = [{"type": "text", "text": answer.turn.text}] if answer.turn.text else []
        return [
            *text,
            *(
                {"type": "tool_use", "id": key, "name": call.name, "input": call.arguments}
                for key, call in zip(answer.ids, answer.turn.calls, strict=True)
            ),
        ]

    def whole(self, answer: Answer) -> dict[str, Any]:
        return {
            "id": f"msg_{answer.number}",
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": self._blocks(answer),
            "stop_reason": "tool_use" if answer.turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": self._usage(answer, answer.output_tokens),
        }

    def stream(self, answer: Answer) -> Iterator[dict[str, Any] | str]:
        whole = self.whole(answer)
        begun = {**whole, "content": [], "stop_reason": None, "usage": self._usage(answer, 1)}
        yield {"type": "message_start", "message": begun}
        calls = list(answer.turn.calls)
        for index, block in enumerate(whole["content"]):
            where = {"index": index}
            if block["type"] == "text":
                empty: dict[str, Any] = {"type": "text", "text": ""}
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": calls.pop(0).text}
            yield {"type": "content_block_start", **where, "content_block": empty}
            yield {"type": "content_block_delta", **where, "delta": delta}
            yield {"type": "content_block_stop", **where}
        end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": whole["usage"]}
        yield {"type": "message_stop"}


class Gemini(Dialect):
    """Gemini's generateContent."""

    def items(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        return [item for item in body.get("contents") or [] if isinstance(item, dict)]

    def prompts(self, body: dict[str, Any]) -> list[str]:
        return [
            "\n".join(part.get("text", "") for part in item.get("parts", []))
            for item in self.items(body)
            if item.get("role") == "user"
        ]

    def received(self, body: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
        yield None, _plain((body.get("systemInstruction") or {}).get("parts"))
        for item in self.items(body):
            if item.get("role") == "model":
                continue
            for part in item.get("parts", []):
                result = part.get("functionResponse")
                if result is None:
                    yield None, part.get("text", "")
                else:
                    yield result.get("id"), _plain(result.get("response"))

    def whole(self, answer: Answer) -> dict[str, Any]:
        parts: list[dict[str, Any]] = [{"text": answer.turn.text}] if answer.turn.text else []
        parts += [
            {
                "functionCall": {"id": key, "name": call.name, "args": call.arguments},
                "thoughtSignature": "c2ln",
            }
            for key, call in zip(answer.ids, answer.turn.calls, strict=True)
        ]
        content = {"role": "model", "parts": parts}
        usage = {
            "promptTokenCount": answer.input_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
            "cachedContentTokenCount": answer.cached_tokens,
        }
        return {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": usage,
            "modelVersion": answer.model,
            "responseId": f"r{answer.number}",
        }

    def stream(self, answer: Answer) -> Iterator[dict[str, Any] | str]:
        yield self.whole(answer)


DIALECTS: Final = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/messages": Anthropic(),
    "enerateContent": Gemini(),
}


def _plain(value: Any) -> str:
    """Return all text in a value of a message, without the names of its fields."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(_plain(item) for item in value)
    if isinstance(value, dict):
        kept = [item for key, item in value.items() if key not in {"type", "id", "data", "name"}]
        return "\n".join(filter(None, map(_plain, kept)))
    return ""


class Model:
    """The state of one run: which turn of which plan comes next, and the record of requests."""

    def __init__(self, script: Script, record: TextIO) -> None:
        self._script = script
        self._record = record
        self._turns: Counter[str] = Counter()
        self._number = 0
        self._lock = threading.Lock()

    def note(self, **line: Any) -> None:
        """Record a request that asks for no answer of the model."""
        with self._lock:
            self._record.write(json.dumps(line) + "\n")
            self._record.flush()

    def answer(self, where: str, dialect: Dialect, body: dict[str, Any]) -> Answer:
        """Take the next turn of the plan that the request belongs to."""
        prompts = dialect.prompts(body)
        names = _PLAN.findall("\n".join(prompts))
        plan = names[-1] if names else None
        role = "plan"
        with self._lock:
            self._number += 1
            number = self._number
            if prompts and re.search(self._script.summary, prompts[-1]):
                role, turn = "summary", Turn(text=_SUMMARY)
            elif plan not in self._script.plans or not (
                self._script.is_text or dialect.has_tools(body)
            ):
                role, turn = "side", Turn(text=self._script.side)
            else:
                turns, at = self._script.plans[plan], self._turns[plan]
                self._turns[plan] += 1
                rest = turns[-1] if self._script.is_text else Turn(text="Done.")
                turn = turns[at] if at < len(turns) else rest
        turn = self._filled(turn, body)
        asked = turn.input_tokens or 1000 + 10 * number
        ids = tuple(f"call_{turn.label}_{number:03d}_{index}" for index in range(len(turn.calls)))
        answer = Answer(number, turn, ids, _model(where, body), asked, 20 + number)
        spent = {"input": asked, "output": answer.output_tokens}
        calls = [
            [call.name, call.text if call.custom is None else call.custom] for call in turn.calls
        ]
        when = {"number": number, "at": time.time()}
        said = {"calls": calls, "text": turn.text, "body": body}
        self.note(path=where, role=role, plan=plan, tokens=spent, **when, **said)
        return answer

    def _filled(self, turn: Turn, body: dict[str, Any]) -> Turn:
        if not any("{{" in call.text for call in turn.calls):
            return turn
        text = json.dumps(body, ensure_ascii=False)
        found = {name: re.findall(rule, text) for name, rule in self._script.values.items()}
        calls = []
        for call in turn.calls:
            filled = call.text
            for name, values in found.items():
                value = values[-1] if values else ""
                filled = filled.replace(f'"{{{{#{name}}}}}"', value or "0")
                filled = filled.replace(f"{{{{{name}}}}}", value)
            calls.append(Call(call.name, json.loads(filled), None, call.namespace, call.custom))
        return replace(turn, calls=tuple(calls))


def _model(where: str, body: dict[str, Any]) -> str:
    found = re.search(r"models/([^:/]+)", where)
    return str(body.get("model") or (found[1] if found else "scripted"))


def requests(record: Path) -> list[dict[str, Any]]:
    """Return the recorded requests that the model answered."""
    text = record.read_text(encoding="utf-8") if record.exists() else ""
    lines = text.rpartition("\n")[0].split("\n") if text else []
    return [line for line in map(json.loads, filter(None, lines)) if "role" in line]


def dialect_of(where: str) -> Dialect | None:
    return next((found for part, found in DIALECTS.items() if part in where), None)


def serve(script: Script, record: TextIO) -> ThreadingHTTPServer:  # noqa: C901  a handler
    """Start the model on loopback."""
    model = Model(script, record)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def do_HEAD(self) -> None:
            self._send({})

        def do_GET(self) -> None:
            model.note(path=self.path)
            entry = {"id": "scripted", "object": "model", "created": 1, "owned_by": "dev"}
            self._send({"object": "list", "data": [entry], "models": []})

        def do_POST(self) -> None:
            body = self._body()
            where = self.path.split("?")[0]
            dialect = dialect_of(where)
            if "count" in where.rsplit("/", 1)[-1].lower():
                self._send({"input_tokens": 1000, "totalTokens": 1000})
            elif dialect is None:
                model.note(path=where, other=body)
                self._send({})
            else:
                answer = model.answer(where, dialect, body)
                if body.get("stream") or "streamGenerate" in where:
                    self._stream(dialect, answer)
                else:
                    self._send(dialect.whole(answer))

        def _body(self) -> dict[str, Any]:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            match self.headers.get("Content-Encoding"):
                case "gzip":
                    data = gzip.decompress(data)
                case "zstd":
                    data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
            try:
                body = json.loads(data or b"{}")
            except ValueError:
                body = {}
            return body if isinstance(body, dict) else {}

        def _send(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, dialect: Dialect, answer: Answer) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for event in dialect.stream(answer):
                kind = event.get("type") if isinstance(event, dict) else None
                text = event if isinstance(event, str) else json.dumps(event)
                name = f"event: {kind}\n" if kind else ""
                self.wfile.write(f"{name}data: {text}\n\n".encode())
                self.wfile.flush()

    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
