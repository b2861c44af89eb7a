"""Bind a socket and run Uvicorn, with a deadline for every request.

Connections that send no complete request are closed, so that they cannot block others.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.serve.app import INSTALL
from retrieval_eval.serve.guard import Asgi

if TYPE_CHECKING:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_SECONDS_TO_FINISH = 5  # for requests in flight when the server is stopped

SECONDS_TO_ASK: Final = 10.0
"""Seconds in which a connection must have sent the head of a request."""

MOST_WAITING: Final = 64
"""Most connections that may be open without a complete request; beyond it the oldest is closed."""

MOST: Final = 256
"""Connections above this number get status 503 (come back later)."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on ``host`` and ``port``; port 0 picks a free one.

    Raises ``BadInputError`` when the host is unknown, or the port is in use or not allowed.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family)
    except (socket.gaierror, UnicodeError) as error:
        raise BadInputError(f"--host {host!r} is no address of this machine ({error})") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "is in use; stop the other program or choose another with --port"
        else:
            why = f"cannot be used ({error.strerror or error})"
        raise BadInputError(f"port {port} of {host} {why}") from error


def url_of(listening: socket.socket) -> str:
    """Return the address of a listening socket as a browser wants it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def create_server(app: Asgi, *, seconds_to_ask: float = SECONDS_TO_ASK) -> uvicorn.Server:
    """Return a server whose ``run(sockets=[...])`` answers until SIGINT or SIGTERM.

    A connection is closed that has sent no whole request after ``seconds_to_ask``. Requests in
    flight are finished first; ``run`` raises ``KeyboardInterrupt`` after SIGINT.
    Raises ``BadInputError`` when Uvicorn is missing.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise BadInputError(f"serving needs Starlette and Uvicorn: {INSTALL} ({error})") from error
    config = uvicorn.Config(
        app,
        # One parser everywhere, whatever else is installed: the same request, the same answer.
        http=_bounded_protocol(seconds_to_ask),
        limit_concurrency=MOST,
        loop="asyncio",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def _bounded_protocol(seconds: float = SECONDS_TO_ASK) -> type[H11Protocol]:
    """Return Uvicorn's protocol with a deadline for the head of each request.

    Uvicorn closes connections that are idle between two requests; one that never
    sends a request, or sends one without end, it keeps open for ever.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedProtocol(H11Protocol):
        _waiting: dict[BoundedProtocol, asyncio.TimerHandle] = {}  # noqa: RUF012  all share it

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _watch(self) -> None:
            cycle: RequestResponseCycle | None = self.cycle
            is_answering = cycle is not None and not cycle.response_complete
            if is_answering or self.transport.is_closing():
                self._forget()
            elif self not in self._waiting:
                self._waiting[self] = self.loop.call_later(seconds, self.give_up)
                if len(self._waiting) > MOST_WAITING:
                    next(iter(self._waiting)).give_up()

        def _forget(self) -> None:
            timer = self._waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

        def give_up(self) -> None:
            """Close the connection; data already sent still arrives."""
            self._forget()
            self.transport.close()

    return BoundedProtocol
