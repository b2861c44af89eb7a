"""Templates, batches and shapes of search servers, against local servers that answer in kind."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.ask import RetrieverError, ScoredDoc
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.ask.retrievers.http import SHAPES
from tests.local_server import body, local_server

DOCS = [ScoredDoc("a", 2.0), ScoredDoc("b", 1.0)]
HOSTILE = '"}}, {"match_all": {}} \\" $k \u2028\n\ud800'
VECTORS = {"levy": [1.0, 0.5], "fee": [0.0, 2.0], HOSTILE: [1, 1]}


def hits(*pairs, **changes):
    """An answer of the form of Elasticsearch and OpenSearch."""
    shards = {"total": 2, "successful": 2, "skipped": 0, "failed": 0}
    found = [{"_index": "law", "_id": doc, "_score": score} for doc, score in pairs]
    answer = {"took": 3, "timed_out": False, "_shards": shards}
    answer["hits"] = {"total": {"value": 2, "relation": "eq"}, "max_score": 2.0, "hits": found}
    return answer | {"status": 200} | changes


def points(*pairs):
    return [{"id": doc, "version": 1, "score": score} for doc, score in pairs]


def vespa(*pairs, errors=None, full=True):
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": len(pairs)}}
    root["coverage"] = {"coverage": 100 if full else 50, "full": full, "results": 1}
    if pairs:
        root["children"] = [
            {"id": f"index:law/0/{doc}", "relevance": score, "fields": {"id": doc}}
            for doc, score in pairs
        ]
    return {"root": root | ({"errors": errors} if errors else {})}


PAIRS = (("a", 2.0), ("b", 1.0))
ANSWERS = {
    "elasticsearch": hits(*PAIRS),
    "elasticsearch_batch": {"took": 3, "responses": [hits(*PAIRS)]},
    "opensearch": hits(*PAIRS),
    "opensearch_batch": {"took": 3, "responses": [hits(*PAIRS)]},
    "qdrant": {"time": 0.01, "status": "ok", "result": {"points": points(*PAIRS)}},
    "qdrant_batch": {"time": 0.01, "status": "ok", "result": [{"points": points(*PAIRS)}]},
    "vespa": vespa(*PAIRS),
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "queries.jsonl"
    lines = (json.dumps({"query": query, "vector": row}) for query, row in VECTORS.items())
    path.write_text("\n".join(lines))
    return str(path)


@contextmanager
def asked(*answers, path="/search", **options):
    """A retriever of a server that gives these answers, and what the server was sent."""
    with ExitStack() as stack:
        whole = [a if callable(a) else body(json.dumps(a).encode()) for a in answers]
        server = stack.enter_context(local_server(*whole, path=path))
        retriever = open_retriever(server.url, {"backoff": "0", "tries": "2", **options})
        stack.callback(retriever.close)
        yield SimpleNamespace(retriever=retriever, requests=server.requests)


def search(server, query="levy", corpus="law", k=5):
    return server.retriever.search(query, corpus=corpus, k=k)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_shape_asks_and_reads_its_server(shape, vectors):
    assert SHAPES.keys() == ANSWERS.keys()
    options = {"query_vectors": vectors} if "qdrant" in shape else {}
    with asked(ANSWERS[shape], shape=shape, **options) as server:
        assert search(server, HOSTILE) == DOCS
        [request] = server.requests
        facts = server.retriever.describe()
    assert (request.method, facts["shape"]) == ("POST", shape)
    sent = request.body if isinstance(request.body, list) else [request.body]
    text = HOSTILE.replace("\ud800", "\ufffd")
    match = {"query": {"match": {"text": text}}, "size": 5, "_source": False}
    point = {"query": [1.0, 1.0], "limit": 5}
    yql = "select * from sources * where userQuery()"
    assert (
        sent
        == {
            "elasticsearch": [match],
            "elasticsearch_batch": [{}, match],
            "opensearch": [match],
            "opensearch_batch": [{}, match],
            "qdrant": [point],
            "qdrant_batch": [{"searches": [point]}],
            "vespa": [{"yql": yql, "query": text, "hits": 5}],
        }[shape]
    )
    is_lines = shape in ("elasticsearch_batch", "opensearch_batch")
    kind = "x-ndjson" if is_lines else "json"
    assert request.headers["Content-Type"] == f"application/{kind}"


FAILED_SHARDS = {"total": 2, "successful": 1, "skipped": 0, "failed": 1}
MISSING = {"type": "index_not_found_exception", "reason": "no such index [law]"}


@pytest.mark.parametrize(
    ("shape", "answer", "said"),
    [
        ("elasticsearch", hits(*PAIRS, timed_out=True), "'timed_out' is true and must be false"),
        ("elasticsearch", hits(*PAIRS, _shards=FAILED_SHARDS), "'_shards.failed' is 1 and must"),
        ("elasticsearch", hits(*PAIRS, terminated_early=True), "'terminated_early' is true"),
        ("elasticsearch", hits(*PAIRS, _clusters={"skipped": 1}), "'_clusters.skipped' is 1"),
        ("elasticsearch", {"error": MISSING, "status": 404}, "'error' is .*index_not_found"),
        ("elasticsearch", {"hits": {"hits": []}}, "'timed_out' is missing and must be false"),
        ("elasticsearch", [], "'timed_out' is missing"),
        ("opensearch", hits(("a", None), ("b", 1.0)), "'a'.* has no score, and others"),
        ("qdrant", {"status": {"error": "Wrong input"}, "result": None}, "'status' is .*Wrong in"),
        ("qdrant", {"status": "acknowledged", "result": {"points": []}}, "'status' is \"ackn"),
        ("qdrant", {"status": "ok", "result": points(*PAIRS)}, "no list at 'result.points'"),
        ("qdrant_batch", {"status": "ok", "result": []}, "1 queries were sent .* has 0 items"),
        ("vespa", vespa(*PAIRS, errors=[{"code": 12}]), "'root.errors' is .*12"),
        ("vespa", vespa(*PAIRS, full=False), "'root.coverage.full' is false and must be true"),
        ("vespa", {"root": {"coverage": {"full": True}}}, "no list at 'root.children'"),
    ],
)
def test_a_partial_answer_is_a_failure_and_no_ranking(shape, answer, said, vectors):
    options = {"query_vectors": vectors} if "qdrant" in shape else {}
    with asked(answer, shape=shape, **options) as server:
        with pytest.raises(RetrieverError, match=said):
            search(server)
        assert len(server.requests) == 1


def test_nothing_found_is_an_empty_answer_in_every_shape(vectors):
    empty = {
        "elasticsearch": hits(),
        "qdrant": {"status": "ok", "result": {"points": []}},
        "vespa": vespa(),
    }
    for shape, answer in empty.items():
        options = {"query_vectors": vectors} if shape == "qdrant" else {}
        with asked(answer, shape=shape, **options) as server:
            assert search(server) == []


def test_a_secret_in_a_partial_answer_stays_secret(monkeypatch):
    monkeypatch.setenv("KEY", "hush-1")
    answer = {"error": {"reason": "no right for ApiKey hush-1"}}
    options = {"shape": "elasticsearch", "header_env.Authorization": "KEY"}
    with asked(answer, **options) as server, pytest.raises(RetrieverError) as caught:
        search(server)
    assert "ApiKey ***" in str(caught.value)
    assert "hush" not in str(caught.value)


# --- templates and paths ---


def test_a_template_is_filled_by_whole_values_in_lists_and_objects(tmp_path):
    template = {"$query": [{"a": "$query"}, ["$k", "$corpus", "$$query", "no $query"]]}
    (tmp_path / "body.json").write_text(json.dumps(template))
    with asked({"results": ["a"]}, body=f"@{tmp_path / 'body.json'}") as server:
        search(server, HOSTILE, corpus='l"aw', k=7)
        [request] = server.requests
    text = HOSTILE.replace("\ud800", "\ufffd")
    assert request.body == {"$query": [{"a": text}, [7, 'l"aw', "$query", "no $query"]]}


def test_the_description_follows_the_template_and_how_the_answer_is_read(tmp_path):
    path = tmp_path / "body.json"

    def request(text='{"q": "$query"}', **options):
        path.write_text(text)
        return open_retriever("http://127.0.0.1:1/", {"body": f"@{path}", **options}).describe()

    digests = [
        request()["request"],
        request('{"q": "$query", "boost": 2}')["request"],
        request(results="hits")["request"],
        request(require='{"a": 1}')["request"],
        request(best="low")["request"],
    ]
    assert len(set(digests)) == len(digests)
    assert request()["request"] == digests[0]


def test_a_path_reaches_into_nested_lists():
    answer = {
        "pages": [
            {"groups": [{"hits": [{"meta": {"doc.id": ["a"]}, "s": [2.0]}]}]},
            {"groups": [{"hits": []}, {"hits": [{"meta": {"doc.id": ["b"]}, "s": [1.0]}]}]},
        ]
    }
    paths = {"results": "pages[*].groups[*].hits", "doc": 'meta["doc.id"][0]', "score": "s.0"}
    with asked(answer, **paths) as server:
        assert search(server) == DOCS
    del answer["pages"][1]["groups"][0]["hits"]
    with asked(answer, **paths) as server, pytest.raises(RetrieverError, match="has no list at"):
        search(server)


def test_a_distance_is_negated_and_the_name_of_the_corpus_can_be_in_the_address():
    answer = {"results": [{"doc": "a", "score": 0.5}, {"doc": "b", "score": 2}]}
    with asked(answer, path="/$corpus/search", best="low") as server:
        found = search(server, corpus="the law/../x?y")
        assert found == [ScoredDoc("a", -0.5), ScoredDoc("b", -2.0)]
        assert server.requests[0].path == "/the%20law%2F..%2Fx%3Fy/search"
        with pytest.raises(RetrieverError, match="cannot be a part of an address"):
            search(server, corpus="..")
    with asked({"results": ["b", "a"]}, best="low") as server:
        assert [each.doc for each in search(server)] == ["b", "a"]
        assert search(server)[0].score == -1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shape": "solr"}, "shape is 'solr'; it must be one of elasticsearch"),
        ({"body": "{"}, "option body is not valid JSON"),
        ({"body": '{"q": "$text"}'}, r'placeholder "\$text"; there are "\$query"'),
        ({"body": '{"q": 1}'}, r'neither "\$query" nor "\$vector"'),
        ({"body": "@/no/such/file"}, "/no/such/file"),
        ({"body": '{"q": "$query"}', "method": "GET"}, "method has no effect beside a body"),
        ({"body": '{"q": "$vector"}'}, "query_vectors and embedder belong together"),
        ({"batch": "5"}, "option batch needs a body"),
        ({"shape": "qdrant_batch", "batch_body": "{}"}, r'batch_body lacks "\$requests"'),
        ({"shape": "qdrant_batch", "batch_header": "{}"}, "exclude each other"),
        ({"results": "a..b"}, "results is 'a..b'; expected a path"),
        ({"results": ".a"}, "expected a path"),
        ({"doc": "ids[*]"}, "leads to several values"),
        ({"require": "[]"}, "require is no JSON object"),
        ({"best": "mid"}, "one of high, low"),
        ({"cache": "x"}, "belong to the option embedder"),
    ],
)
def test_a_form_of_no_use_is_refused(options, said):
    with pytest.raises(BadInputError, match=said):
        open_retriever("http://127.0.0.1:1/", options)


# --- batches ---


def test_in_a_batch_each_answer_belongs_to_its_query_and_fails_alone():
    answers = [hits(*PAIRS), {"error": MISSING, "status": 404}, hits(("c", 3.0))]
    with asked({"took": 1, "responses": answers}, shape="elasticsearch_batch") as server:
        assert server.retriever.batch_size == 20
        first, second, third = server.retriever.search_many(["x", "y", "z"], corpus="law", k=2)
        assert len(server.requests) == 1
    assert (first, third) == (DOCS, [ScoredDoc("c", 3.0)])
    assert isinstance(second, RetrieverError)
    assert "index_not_found" in str(second)


@pytest.mark.parametrize("found", [[hits(*PAIRS)], [hits(*PAIRS)] * 3, None, {"a": 1}])
def test_a_batch_with_another_number_of_answers_gives_none(found):
    with asked({"responses": found}, shape="elasticsearch_batch") as server:
        answers = server.retriever.search_many(["x", "y"], corpus="law", k=2)
    assert [type(answer) for answer in answers] == [RetrieverError] * 2


def test_the_queries_of_a_refused_batch_are_asked_alone(vectors):
    refused = body(b'{"status": {"error": "vector dimension error"}}', 400)
    fine = {"status": "ok", "result": [{"points": points(*PAIRS)}]}
    shape = {"shape": "qdrant_batch", "query_vectors": vectors}
    with asked(refused, fine, refused, **shape) as server:
        found = server.retriever.search_many(["levy", "unknown", "fee"], corpus="law", k=2)
        assert [len(r.body["searches"]) for r in server.requests] == [2, 1, 1]
    assert found[0] == DOCS
    assert "has none for this query" in str(found[1])
    assert "vector dimension error" in str(found[2])


def test_a_server_that_is_down_fails_a_batch_once():
    with asked(body(b"", 503), shape="elasticsearch_batch") as server:
        found = server.retriever.search_many(["x", "y"], corpus="law", k=2)
        assert len(server.requests) == 2  # two tries of one request
    assert all("503" in str(each) for each in found)
