from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.serve.app import create_app, create_server, listen, url_of
from retrieval_eval.serve.dashboard import Sources
from tests.unit.serve.documents import BACKLOG, BACKLOG_SERVED, digest, search_run, write

SECRET = "nobody outside may read this"
SECONDS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("server")
    write(root / "data", "1", search_run())
    (root / "reports" / "run").mkdir(parents=True)
    (root / "reports" / "run" / "index.html").write_text("<p>a report</p>")
    (root / "secret.html").write_text(SECRET)
    (root / "reports" / "link.html").symlink_to(root / "secret.html")
    return root


@contextmanager
def started(app, **options):
    """Run a real server and give its address; it is stopped at the end."""
    running = create_server(app, **options)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
        thread.start()
        try:
            deadline = time.monotonic() + SECONDS
            while not running.started:
                assert thread.is_alive()
                assert time.monotonic() < deadline
                time.sleep(0.01)
            yield listening.getsockname()
        finally:
            running.should_exit = True
            thread.join(SECONDS)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def app(place):
    return create_app(Sources(place / "data", place / "reports", lambda: BACKLOG))


@pytest.fixture(scope="module")
def server(app):
    with started(app) as address:
        yield address


@pytest.fixture
def client(server):
    import httpx

    host, port = server
    with httpx.Client(base_url=f"http://{host}:{port}", timeout=SECONDS, trust_env=False) as found:
        yield found


def raw(server, request: bytes) -> bytes:
    """Send bytes that no HTTP client would, and return the whole answer."""
    with socket.create_connection(server, timeout=SECONDS) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def get(target: bytes, host: bytes = b"localhost") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n"


def test_a_client_reads_it_all(client):
    assert client.get("/api/metrics").json()["backlog"] == BACKLOG_SERVED
    assert client.get("/api/system/diagnostics").json()["status"] == "ok"
    page = client.get("/reports/run/index.html")
    assert page.text == "<p>a report</p>"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "run/index.html" in client.get("/").text
    assert "server" not in page.headers


def test_head_has_no_body(client):
    head, got = client.head("/api/metrics"), client.get("/api/metrics")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(got.content))


@pytest.mark.parametrize(
    "target",
    [
        b"/reports/../secret.html",
        b"/reports/run/../../secret.html",
        b"/reports/%2e%2e/secret.html",
        b"/reports/%2E%2E%2Fsecret.html",
        b"/reports/..%2fsecret.html",
        b"/reports/..%5csecret.html",
        b"/reports/..\\secret.html",
        b"/reports/%252e%252e/secret.html",
        b"/reports/%c0%ae%c0%ae/secret.html",
        b"/reports/....//secret.html",
        b"/reports/link.html",
        b"/reports/run/index.html%00",
        b"/reports/%00",
        b"/reports/run/index.html%0d%0aX-Injected:%201",
        b"/reports/%ff.html",
        b"/reports//etc/passwd",
        b"/reports/%2fetc%2fpasswd",
        b"/../secret.html",
        b"//secret.html",
        b"http://evil.example/reports/../secret.html",
        b"/reports/" + b"a/" * 4000,
    ],
)
def test_raw_targets_do_not_lead_out(server, place, target):
    answer = raw(server, get(target))
    assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 400"))
    assert SECRET.encode() not in answer
    assert b"root:" not in answer
    assert b"X-Injected" not in answer.split(b"\r\n\r\n")[0]
    if target.startswith(b"/reports/") and b"\\" not in target:
        assert answer.startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    "request_",
    [
        get(b"/api/metrics", b"evil.example"),
        get(b"/api/metrics", b"evil.example:8765"),
        b"GET /api/metrics HTTP/1.0\r\n\r\n",
        b"GET /api/metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /api/metrics HTTP/1.1\r\n\r\n",
    ],
)
def test_unknown_host_names_get_nothing(server, request_):
    answer = raw(server, request_)
    assert answer.startswith((b"HTTP/1.1 421", b"HTTP/1.1 400"))
    assert b"latest_run" not in answer


def test_noise_is_refused_and_the_server_lives_on(server, client):
    end = b"\r\nConnection: close\r\n\r\n"
    for noise in (b"\x16\x03", b"GET", b"\0", b"GET / HTTP/9.9", b"GET  / HTTP/1.1", b": x"):
        assert b" 200 " not in raw(server, noise + end)
    assert client.get("/api/metrics").status_code == 200


def test_a_new_run_is_seen_and_nothing_is_written(client, place):
    before = digest(place)
    assert client.get("/api/metrics").json()["latest_run"]["label"] == "first"
    path = write(place / "data", "2", search_run("later", "2026-02-01T00:00:00Z"))
    assert client.get("/api/metrics").json()["latest_run"]["label"] == "later"
    path.unlink()
    assert client.get("/api/metrics").json()["latest_run"]["label"] == "first"
    assert digest(place) == before


def test_an_address_of_another_machine_is_one_sentence():
    # TEST-NET-1 (RFC 5737) is assigned to no machine, so it cannot be bound here.
    with pytest.raises(BadInputError, match=r"port 8765 of 192\.0\.2\.1 cannot be used"):
        listen("192.0.2.1", 8765)
    with pytest.raises(BadInputError, match="is no address of this machine"):
        listen("no host", 8765)


def test_the_address_as_a_browser_wants_it():
    with listen("127.0.0.1", 0) as listening:
        assert url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}/"


@pytest.mark.parametrize("host", [b"localhost:8971@evil", b"localhost @evil", b"localhost\\"])
def test_a_host_with_anything_beside_it_is_refused(server, host):
    assert raw(server, get(b"/api/metrics", host)).startswith(b"HTTP/1.1 4")


# --- connections that send no whole request ---

HALF = b"GET /api/metrics HTTP/1.1\r\nHost: local"


def is_closed(connection, seconds):
    """Whether the server closes a connection within so many seconds."""
    connection.settimeout(seconds)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def test_half_open_connections_keep_no_one_out_and_are_closed(app):
    with started(app, seconds_to_ask=2.0) as address, ExitStack() as stack:
        half_open = [stack.enter_context(socket.create_connection(address)) for _ in range(300)]
        for number, connection in enumerate(half_open):
            with contextlib.suppress(OSError):
                connection.sendall(HALF if number % 2 else b"")
        begun = time.monotonic()
        assert raw(address, get(b"/api/metrics")).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - begun < 2
        deadline = time.monotonic() + 10
        assert all(is_closed(c, max(0.1, deadline - time.monotonic())) for c in half_open)


def test_a_request_that_drips_is_given_up(app):
    with started(app, seconds_to_ask=1.0) as address, socket.create_connection(address) as slow:
        begun = time.monotonic()
        with pytest.raises(OSError):  # noqa: PT012
            while time.monotonic() - begun < 20:
                slow.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() - begun < 10


def test_the_second_request_of_a_connection_has_a_deadline_too(app):
    with started(app, seconds_to_ask=1.0) as address, socket.create_connection(address) as one:
        one.sendall(b"GET /api/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert one.recv(65536).startswith(b"HTTP/1.1 200")
        one.sendall(HALF)
        assert is_closed(one, 10)


def test_an_answer_may_take_longer_than_a_request():
    async def slow(scope, receive, send):
        await asyncio.sleep(1.5)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    with started(slow, seconds_to_ask=0.3) as address:
        assert raw(address, get(b"/")).endswith(b"done\r\n0\r\n\r\n")
