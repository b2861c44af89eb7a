from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import tracemalloc
import zlib
from contextlib import ExitStack
from functools import partial

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import RetrieverError, ScoredDoc
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.ask.retrievers.http import http_settings
from retrieval_eval.search.run.running import run_queries
from tests.local_server import body, hang_up, local_server, stall

FOUND = {"results": [{"doc": "a", "score": 2.0}, {"doc": "b", "score": 1.0}]}
DOCS = [ScoredDoc("a", 2.0), ScoredDoc("b", 1.0)]
QUICK = {"backoff": "0", "read_timeout": "30"}


endpoint = partial(local_server, path="/search")


def answer(found, status=200, **headers):
    """An answer of a whole body, as JSON unless it is bytes."""
    data = found if isinstance(found, bytes) else json.dumps(found).encode()
    return body(data, status, **headers)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def opened():
    """Open retrievers that are closed before their server goes."""
    with ExitStack() as stack:

        def open_(url, **options):
            retriever = open_retriever(url, {**QUICK, **options})
            stack.callback(retriever.close)
            return retriever

        yield open_


def ask(retriever):
    return retriever.search("levy", corpus="law", k=5)


def test_a_query_is_posted_as_json_and_the_documents_come_back(opened):
    with endpoint(answer(FOUND)) as server:
        assert ask(opened(server.url)) == DOCS
        [request] = server.requests
    assert (request.method, request.path) == ("POST", "/search")
    assert request.body == {"query": "levy", "corpus": "law", "k": 5}
    assert request.headers["Content-Type"] == request.headers["Accept"] == "application/json"


def test_a_get_puts_the_query_into_the_address_beside_what_stands_there(opened):
    with endpoint(answer(FOUND)) as server:
        retriever = opened(server.url + "?lang=en", method="GET", query="q", corpus="", k="limit")
        assert ask(retriever) == DOCS
        [request] = server.requests
    assert (request.method, request.path) == ("GET", "/search?lang=en&q=levy&limit=5")


def test_request_and_answer_can_have_other_names(opened):
    body = {"data": {"hits": [{"_id": 7, "meta": {"rank_score": 3}, "score": 0}]}}
    names = {"results": "data.hits", "doc": "_id", "score": "meta.rank_score"}
    with endpoint(answer(body)) as server:
        retriever = opened(server.url, query="text", corpus="index", k="size", **names)
        assert ask(retriever) == [ScoredDoc("7", 3.0)]
        assert server.requests[0].body == {"text": "levy", "index": "law", "size": 5}


@pytest.mark.parametrize("body", [["b", "a"], [{"doc": "b"}, {"doc": "a"}]])
def test_an_answer_may_be_a_bare_list_in_order(opened, body):
    with endpoint(answer(body)) as server:
        assert ask(opened(server.url, results="")) == [ScoredDoc("b", -1.0), ScoredDoc("a", -2.0)]


def test_a_query_of_any_text_can_be_asked(opened):
    with endpoint(answer(FOUND)) as server:
        for method in ("POST", "GET"):
            retriever = opened(server.url, method=method)
            assert retriever.search('פסק "x"&\n\ud800', corpus="law", k=1) == DOCS
        assert server.requests[0].body["query"] == 'פסק "x"&\n\ufffd'


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_passing_failure_is_tried_again(opened, status):
    with endpoint(answer(b"busy", status), answer(b"busy", status), answer(FOUND)) as server:
        assert ask(opened(server.url)) == DOCS
        assert [request.body["query"] for request in server.requests] == ["levy"] * 3


def test_a_lost_connection_is_tried_again(opened):
    with endpoint(hang_up, answer(FOUND)) as server:
        assert ask(opened(server.url)) == DOCS
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 500, 501])
def test_a_lasting_failure_is_not_tried_again_and_quotes_the_answer(opened, status):
    with endpoint(answer(b"unknown\n field 'k'", status)) as server:
        with pytest.raises(RetrieverError, match=rf"answered {status} .*: unknown field 'k'$"):
            ask(opened(server.url))
        assert len(server.requests) == 1


def test_tries_are_counted_and_end(opened):
    with endpoint(answer(b"", 503)) as server:
        with pytest.raises(RetrieverError, match=r"answered 503 Service Unavailable \(tries: 3\)"):
            ask(opened(server.url, tries="3"))
        assert len(server.requests) == 3


def test_retry_after_is_honoured_up_to_the_cap(opened):
    # An hour, were it not for the cap.
    busy = answer(b"", 429, Retry_After="3600")
    with endpoint(busy, answer(FOUND)) as server:
        assert ask(opened(server.url, max_retry_after="0.01", backoff="3600")) == DOCS
        assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_named(opened):
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        port = reserved.getsockname()[1]
        with pytest.raises(RetrieverError) as caught:
            ask(opened(f"http://127.0.0.1:{port}/search?token=hush", tries="2"))
    message = str(caught.value)
    assert message.startswith(f"http://127.0.0.1:{port}/search: no connection (ConnectError: ")
    assert message.endswith("(tries: 2)")
    assert "hush" not in message


def test_a_server_that_stalls_is_given_up(opened):
    with endpoint(stall) as server:
        with pytest.raises(RetrieverError, match=r"time-out \(ReadTimeout: .*\(tries: 2\)"):
            ask(opened(server.url, read_timeout="0.05", tries="2"))
        assert len(server.requests) == 2


def test_a_server_that_drips_is_given_up_after_the_total_time(opened):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        while not handler.released.wait(0.01):
            handler.wfile.write(b" ")

    with (
        endpoint(drip) as server,
        pytest.raises(RetrieverError, match=r"no whole answer within 0\.3 seconds"),
    ):
        ask(opened(server.url, total_timeout="0.3"))


def test_an_answer_without_end_is_cut_off(opened):
    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        while not handler.released.is_set():
            handler.wfile.write(b"x" * 65536)

    with endpoint(flood) as server:
        with pytest.raises(RetrieverError, match="the answer is larger than 100000 bytes"):
            ask(opened(server.url, max_bytes="100000"))
        assert len(server.requests) == 1


def bomb(layers):
    """A few megabytes that expand to 2 GB, or with two layers to a terabyte and more."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = start + block * 2047
    return data if layers == 1 else gzip.compress(data)


@pytest.mark.parametrize("layers", [1, 2])
def test_an_answer_that_expands_without_end_takes_no_memory(opened, layers):
    encoding = ", ".join(["gzip"] * layers)
    with endpoint(answer(bomb(layers), Content_Encoding=encoding)) as server:
        retriever = opened(server.url)
        tracemalloc.start()
        try:
            with pytest.raises(RetrieverError, match=r"larger than 10000000 bytes|'gzip, gzip'"):
                ask(retriever)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 40_000_000


def test_no_other_compression_is_accepted(opened):
    with endpoint(answer(FOUND)) as server:
        ask(opened(server.url))
        assert server.requests[0].headers["Accept-Encoding"] == "gzip"
    with (
        endpoint(answer(b"x", Content_Encoding="br")) as server,
        pytest.raises(RetrieverError, match="compressed as 'br' is not read"),
    ):
        ask(opened(server.url))


def test_a_compressed_answer_of_any_size_is_whole(opened):
    docs = [f"document-{number:07d}" for number in range(10_000)]
    for packed, name in ((gzip.compress, "gzip"), (zlib.compress, "deflate")):
        data = packed(json.dumps({"results": docs}).encode())
        with endpoint(answer(data, Content_Encoding=name)) as server:
            assert [d.doc for d in ask(opened(server.url))] == docs


def test_a_cut_answer_is_no_answer(opened):
    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"results": []}')
        hang_up(handler)

    with endpoint(cut, answer(FOUND)) as server:
        assert ask(opened(server.url)) == DOCS


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "the answer is not valid JSON"),
        (b"", "the answer is not valid JSON"),
        (b"\xff\xfe", "the answer is not UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        ({"hits": []}, r"no list at 'results' \(it has 'hits'\); name its place with the option"),
        ({"results": {"a": 1}}, "no list at 'results'"),
        ([], r"no list at 'results' \(it is of type list\)"),
        ({"results": [{"id": "a"}]}, r"result 1 has no 'doc' \(it has 'id'\); name the field"),
        ({"results": [{"doc": "a"}, 3.5]}, r"result 2 has no 'doc' \(it is of type float\)"),
        ({"results": [{"doc": "a"}, True]}, r"result 2 has no 'doc' \(it is of type bool\)"),
        ({"results": [{"doc": ["a"]}]}, "item 1 has a value of type list for a document"),
    ],
)
def test_nonsense_is_a_sentence(opened, body, message):
    with endpoint(answer(body)) as server:
        with pytest.raises(RetrieverError, match=message):
            ask(opened(server.url))
        assert len(server.requests) == 1


# --- redirects ---


def test_a_redirect_on_the_same_host_is_followed_with_its_body(opened):
    with endpoint(answer(b"", 307, Location="/v2/search"), answer(FOUND)) as server:
        assert ask(opened(server.url)) == DOCS
        first, second = server.requests
    assert (second.method, second.path, second.body) == ("POST", "/v2/search", first.body)


def test_a_redirect_to_another_host_or_port_is_not_followed(opened, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "hush")
    with endpoint(answer(FOUND)) as other:
        for host in ("localhost", "127.0.0.1"):
            target = f"http://{host}:{other.port}/search"
            with endpoint(answer(b"", 307, Location=target)) as server:
                with pytest.raises(RetrieverError, match=f"to another host .{host}., which is not"):
                    ask(opened(server.url, bearer_env="KB_TOKEN"))
                assert len(server.requests) == 1
        assert other.requests == []


def test_a_redirect_that_loses_the_query_is_not_followed(opened):
    with endpoint(answer(b"", 302, Location="/login")) as server:
        with pytest.raises(RetrieverError, match="turns POST into GET"):
            ask(opened(server.url))
        assert len(server.requests) == 1
    with endpoint(answer(b"", 302, Location="/v2?q=levy"), answer(FOUND)) as server:
        assert ask(opened(server.url, method="GET")) == DOCS


# --- secrets, headers, options ---


def test_secrets_come_from_the_environment_and_appear_nowhere(opened, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "hush-1")
    monkeypatch.setenv("KB_KEY", "hush-2")
    options = {
        "bearer_env": "KB_TOKEN",
        "header_env.X-Api-Key": "KB_KEY",
        "header.X-Tenant": "acme",
    }
    with endpoint(answer(b"go away", 401)) as server:
        retriever = opened(server.url + "?sig=hush-3", **options)
        with pytest.raises(RetrieverError) as caught:
            ask(retriever)
        [request] = server.requests
    assert request.headers["Authorization"] == "Bearer hush-1"
    assert (request.headers["X-Api-Key"], request.headers["X-Tenant"]) == ("hush-2", "acme")
    assert retriever.describe() == {"name": server.url, "reranker": None, "method": "POST"}
    settings = http_settings(server.url, options)
    assert "hush" not in f"{caught.value} {retriever.describe()} {settings!r}"


def test_a_server_that_sends_a_secret_back_does_not_bring_it_into_the_message(opened, monkeypatch):
    monkeypatch.setenv("KB_TOKEN", "hush-1")
    monkeypatch.setenv("KB_KEY", "hush-12")
    options = {
        "bearer_env": "KB_TOKEN",
        "header_env.X-Key": "KB_KEY",
        "header.X-Auth": "Basic hush-3",
        "header.X-Tenant": "acme",
    }
    echo = b"no: Bearer hush-1, hush-12, " + b"x" * 160 + b" hush-3 of acme"
    hidden = r"no: Bearer \*\*\*, \*\*\*, x+ \*\*\* of acme"
    with endpoint(answer(echo, 401)) as server, pytest.raises(RetrieverError, match=hidden):
        ask(opened(server.url, **options))


def test_a_password_that_ends_the_host_is_not_quoted():
    with pytest.raises(BadInputError, match="the address cannot be read") as caught:
        open_retriever("http://user:hush/hush@127.0.0.1/x")
    assert "hush" not in str(caught.value)


def test_without_its_libraries_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(BadInputError, match=r"pip install '\.\[search\]'"):
        open_retriever("http://127.0.0.1/")


def test_a_secret_that_is_not_set_is_bad_input(monkeypatch):
    monkeypatch.delenv("KB_TOKEN", raising=False)
    with pytest.raises(BadInputError, match="environment variable 'KB_TOKEN' is not set"):
        open_retriever("http://127.0.0.1/", {"bearer_env": "KB_TOKEN"})
    monkeypatch.setenv("KB_TOKEN", "two\nlines")
    with pytest.raises(BadInputError, match="option bearer_env makes no header") as caught:
        open_retriever("http://127.0.0.1/", {"bearer_env": "KB_TOKEN"})
    assert "lines" not in str(caught.value)


def test_credentials_in_the_address_are_refused_unseen():
    with pytest.raises(BadInputError, match="the address holds credentials") as caught:
        open_retriever("https://me:hush@kb.example/search")
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "options", "message"),
    [
        ("http:///search", {}, "names no host"),
        ("http://", {}, "names no host"),
        ("http://x:99999/", {}, "the address cannot be read"),
        ("http://x", {"methd": "GET"}, "http has no option 'methd'; it has shape, method, body"),
        ("http://x", {"method": "PUT"}, "must be one of POST, GET"),
        ("http://x", {"tries": "0"}, "a number from 1 to 100"),
        ("http://x", {"tries": "2.5"}, "it must be whole"),
        ("http://x", {"read_timeout": "inf"}, "a number from 0.01 to 3600"),
        ("http://x", {"total_timeout": "soon"}, "option total_timeout is 'soon'"),
        ("http://x", {"query": ""}, "options query and doc cannot be empty"),
        ("http://x", {"header.Bad Name": "v"}, "option header.Bad Name makes no header"),
        ("http://x", {"header.X": "a\r\nB: c"}, "option header.X makes no header"),
    ],
)
def test_options_of_no_use_are_refused(url, options, message):
    with pytest.raises(BadInputError, match=message):
        open_retriever(url, options)


def test_many_threads_share_a_retriever_within_its_bound(opened):
    lock, running, most = threading.Lock(), 0, 0
    two_are_in = threading.Barrier(2)

    def slow(handler):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        two_are_in.wait(60)
        with lock:
            running -= 1
        answer(FOUND)(handler)

    queries = GoldSet(tuple(GoldQuery(f"q{i}", "levy", "law") for i in range(8)), "f")
    with endpoint(slow) as server:
        retriever = opened(server.url, concurrency="2")
        results = run_queries(queries, retriever, depth=2, jobs=4)
    assert [result.ranking for result in results] == [tuple(DOCS)] * 8
    assert most == 2
