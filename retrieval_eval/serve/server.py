"""Listening on an address and answering there until somebody stops it."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from retrieval_eval.errors import BadInputError
from retrieval_eval.serve.app import INSTALL
from retrieval_eval.serve.connections import MOST, SECONDS_TO_ASK, bounded_protocol
from retrieval_eval.serve.guard import Asgi

if TYPE_CHECKING:
    import uvicorn

_SECONDS_TO_FINISH = 5  # what a request in flight gets when the server is stopped


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
        http=bounded_protocol(seconds_to_ask),
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
