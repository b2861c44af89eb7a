"""Rules for every request: accepted host names and methods, and headers that restrict browsers.

No credentials protect this server, so a page of another site must not be able to read it through
a visitor's browser. A name of that site may resolve to the loopback address (DNS rebinding), but
the browser then still sends the name of that site in ``Host``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from retrieval_eval.io.files import json_bytes

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS: Final = ("GET", "HEAD")

# RFC 9112: a host and perhaps a port. An address of version 6 is in brackets, and only it.
_HOST: Final = re.compile(
    r"(?:(?P<name>[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?)|\[(?P<bracketed>[0-9A-Fa-f:.]+)\])"
    r"(?::(?P<port>[0-9]{1,5})?)?"
)
_HIGHEST_PORT: Final = 65_535

HEADERS: Final[dict[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""

_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(frozen=True, slots=True)
class HostRule:
    """Which ``Host`` a request may name: allowed names, and addresses written as numbers.

    Numbers cannot be rebound. Bound to loopback, only loopback addresses are allowed; bound
    elsewhere, any address is.
    """

    names: frozenset[str]
    is_loopback: bool

    @classmethod
    def of(cls, host: str, allowed: Iterable[str] = ()) -> HostRule:
        """Return the rule of a server bound to ``host`` that also answers to ``allowed`` names."""
        names = {"localhost", host, *allowed}
        return cls(frozenset(name.lower().removesuffix(".") for name in names), is_loopback(host))

    def allows(self, header: str) -> bool:
        """Return whether a ``Host`` header is allowed: a name or an address, and perhaps a port.

        Any port is allowed, because a tunnel may use another one; anything else beside a name, such
        as what precedes an ``@``, is rejected.

        Examples
        --------
        >>> rule = HostRule.of("127.0.0.1")
        >>> rule.allows("localhost:8765"), rule.allows("[::1]"), rule.allows("evil.example")
        (True, True, False)
        """
        found = _HOST.fullmatch(header)
        if found is None or int(found["port"] or 0) > _HIGHEST_PORT:
            return False
        if ":" not in (found["bracketed"] or ":"):
            return False
        name = (found["name"] or found["bracketed"]).lower().removesuffix(".")
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.is_loopback


def is_loopback(host: str) -> bool:
    """Return whether a server bound to ``host`` can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guarded(app: Asgi, rule: HostRule) -> Asgi:
    """Return ``app`` behind the rules: GET and HEAD only, known hosts only, safe headers always."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if _is_free(pair[0])]
                message = {**message, "headers": [*kept, *_RAW_HEADERS]}
            await send(message)

        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or not rule.allows(hosts[0].decode("latin-1")):
            return await _refuse(
                send_safely, 421, "this server does not answer to that host name", []
            )
        if scope["method"] not in METHODS:
            allow = [(b"allow", ", ".join(METHODS).encode())]
            return await _refuse(send_safely, 405, "this server is read-only: GET or HEAD", allow)
        return await app(scope, receive, send_safely)

    return guard


def error_body(status: int, message: str) -> bytes:
    """Return the JSON body of an error."""
    return json_bytes({"error": {"status": status, "message": message}})


async def _refuse(
    send: Send, status: int, message: str, headers: list[tuple[bytes, bytes]]
) -> None:
    body = error_body(status, message)
    length = (b"content-length", str(len(body)).encode())
    kind = (b"content-type", b"application/json")
    start = {"type": "http.response.start", "status": status, "headers": [kind, length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _is_free(name: bytes) -> bool:
    return name.lower().decode("latin-1") not in HEADERS
