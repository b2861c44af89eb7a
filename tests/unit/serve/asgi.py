"""Calling an ASGI application with any request, also those no HTTP client would send."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def ask(
    app, path, method="GET", *, query=b"", headers=((b"host", b"localhost"),), raises=()
) -> Answer:
    """Return the answer; what is raised after it (for the server's log) must be in ``raises``."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "replace"),
        "root_path": "",
        "query_string": query,
        "headers": list(headers),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
    }
    with contextlib.suppress(*([raises] if raises else [])):
        asyncio.run(app(scope, receive, send))
    start = sent[0]
    headers = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    assert len(headers) == len(start["headers"]), "no header is sent twice"
    return Answer(start["status"], headers, b"".join(m.get("body", b"") for m in sent[1:]))
