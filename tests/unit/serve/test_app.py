from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.serve.app import CONTENT_TYPES, create_app
from retrieval_eval.serve.dashboard import Sources
from tests.unit.serve.asgi import ask
from tests.unit.serve.documents import BACKLOG, BACKLOG_SERVED, search_run, write

SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
SECRET = b"nobody outside may read this"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("serve")
    write(root / "data", "1", search_run("first", "2026-01-01T00:00:00Z", p5=0.25))
    write(root / "data", "2", search_run("second", "2026-01-02T00:00:00Z", p5=0.5))
    reports = root / "reports"
    (reports / "run-1").mkdir(parents=True)
    for suffix in CONTENT_TYPES:
        (reports / "run-1" / f"index{suffix}").write_bytes(b"content of " + suffix.encode())
    (root / "secret.html").write_bytes(SECRET)
    (reports / "link.html").symlink_to(root / "secret.html")
    (reports / "up").symlink_to(root)
    (reports / ".hidden.html").write_bytes(SECRET)
    (reports / "run-1" / "secret.txt").write_bytes(SECRET)
    return root


@pytest.fixture(scope="module")
def app(place):
    return create_app(Sources(place / "data", place / "reports", lambda: BACKLOG))


def test_metrics(app):
    answer = ask(app, "/api/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json["latest_run"]["headline"]["P@5"]["value"] == 0.5
    assert answer.json["backlog"] == BACKLOG_SERVED


def test_metrics_of_a_run_and_a_corpus(app):
    answer = ask(app, "/api/metrics", query=b"run=first&corpus=cases")
    assert answer.json["latest_run"]["label"] == "first"
    assert answer.json["latest_run"]["headline"]["P@5"]["value"] == 0.6


@pytest.mark.parametrize("query", [b"run=none", b"corpus=none", b"run=first&run=second", b"run="])
def test_metrics_of_what_is_not_there(app, query):
    answer = ask(app, "/api/metrics", query=query)
    assert answer.status == 404
    assert answer.json["error"]["status"] == 404
    assert answer.json["error"]["message"]


def test_the_index_links_what_is_served(app):
    answer = ask(app, "/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert b'href="/reports/run-1/index.html"' in answer.body
    assert ask(app, "/reports/run-1/index.html").status == 200


@pytest.mark.parametrize("suffix", sorted(CONTENT_TYPES))
def test_reports_have_their_content_type(app, suffix):
    answer = ask(app, f"/reports/run-1/index{suffix}")
    assert answer.status == 200
    assert answer.headers["content-type"] == CONTENT_TYPES[suffix]
    assert answer.body == b"content of " + suffix.encode()


def test_every_answer_has_safe_headers(app):
    for path in ("/", "/api/metrics", "/reports/run-1/index.html", "/none"):
        answer = ask(app, path)
        assert SAFE.items() <= answer.headers.items()
        policy = [each.strip() for each in answer.headers["content-security-policy"].split(";")]
        assert policy[:3] == [
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            "img-src data: 'self'",
        ]
        assert not [each for each in policy if each.startswith("script-src")]
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get"])
@pytest.mark.parametrize("path", ["/", "/api/metrics", "/reports/run-1/index.html", "/none"])
def test_other_methods_are_refused(app, method, path):
    answer = ask(app, path, method)
    assert answer.status == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.json["error"]["status"] == 405
    assert SAFE.items() <= answer.headers.items()


def test_an_unexpected_error_is_reported_without_details(place):
    def broken():
        raise RuntimeError("postgresql://me:secret@db/x")

    app = create_app(Sources(place / "data", place / "reports", broken))
    answer = ask(app, "/api/metrics", raises=RuntimeError)
    assert answer.status == 500
    assert answer.json == {"error": {"status": 500, "message": "the server failed; see its log"}}
    assert SAFE.items() <= answer.headers.items()


PIECES = st.sampled_from(
    [
        *("..", ".", "", "reports", "run-1", "index.html", "secret.html", "up", "link.html", "api"),
        *("metrics", "%2e%2e", "..%5c", "\\", "\0", ".hidden.html", "secret.txt", "~", "C:"),
    ]
)


@given(
    st.lists(PIECES | st.text(max_size=5), max_size=8).map("/".join),
    st.sampled_from(["/reports/", "/", ""]),
    st.sampled_from(["GET", "HEAD", "POST", "DELETE"]),
    st.binary(max_size=20),
)
def test_no_path_method_or_query_breaks_it_or_leads_out(app, place, path, start, method, query):
    answer = ask(app, start + path, method, query=query)
    assert answer.status in ({200, 404} if method in ("GET", "HEAD") else {405})
    assert SECRET not in answer.body
    assert SAFE.items() <= answer.headers.items()
