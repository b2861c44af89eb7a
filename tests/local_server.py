"""A real local HTTP server that gives answers made by the test, whole or broken ones."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

Give = Callable[[Any], None]


def says(content: Any, status: int = 200, **message: Any) -> Give:
    """A chat completion whose message is this text, or this object as JSON.

    Without ``is_text`` the content is sent as it is.
    """
    is_text = message.pop("is_text", True)
    is_plain = isinstance(content, str) or content is None or not is_text
    text = content if is_plain else json.dumps(content)
    finish = message.pop("finish_reason", "stop")
    choice = {"finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    return body(json.dumps({"choices": [choice]}).encode(), status)


def body(data: bytes, status: int = 200, **headers: str) -> Give:
    """A whole answer of these bytes."""

    def give(handler: Any) -> None:
        handler.send_response(status)
        own = {"Content_Length": str(len(data)), **headers}
        for name, value in own.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return give


def half_a_body(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def hang_up(handler: Any) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def stall(handler: Any) -> None:
    handler.released.wait(30)
    handler.close_connection = True


def drip(handler: Any) -> None:
    """One byte now and then, each soon enough for a time-out that looks at single reads."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    with suppress(OSError):
        while not handler.released.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()


def _sent(data: bytes, kind: str | None) -> Any:
    """What was sent: a JSON value, or of lines of JSON a list of values."""
    if kind == "application/x-ndjson":
        return [json.loads(line) for line in data.splitlines()]
    return json.loads(data) if data else None


@contextmanager
def local_server(*answers: Give, path: str = "/v1") -> Iterator[SimpleNamespace]:
    """A server that gives the answers in turn, the last one for ever; remembers the requests."""
    requests: list[SimpleNamespace] = []
    connections: list[socket.socket] = []
    released = threading.Event()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with lock:
                turn = len(requests)
                requests.append(
                    SimpleNamespace(
                        method=self.command,
                        path=self.path,
                        headers=dict(self.headers),
                        body=_sent(data, self.headers.get("Content-Type")),
                    )
                )
            self.released = released
            self.sent = requests[turn].body
            answers[min(turn, len(answers) - 1)](self)

        do_GET = do_POST  # noqa: N815 - http.server's name

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # the client went away, as some tests want

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}{path}"
        yield SimpleNamespace(url=url, requests=requests, port=server.server_port)
    finally:
        released.set()
        server.shutdown()
        for connection in connections:  # the client keeps them open for the next request
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()
