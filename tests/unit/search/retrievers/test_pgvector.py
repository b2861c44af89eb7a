"""Nearest vectors by pgvector on a real PostgreSQL server."""

from __future__ import annotations

import json

import numpy as np
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import open_retriever
from retrieval_eval.search.returned import read_documents
from retrieval_eval.search.running import describe_retriever
from tests.databases import WritableDatabase

QUERIES = {"levy": [1.0, 2.0, 3.0], "fee": [-1.0, 0.5, 0.0], "short": [1.0], "zero": [0, 0, 0]}
# Sums and squares that single precision holds exactly; e9, e10 and E11 are one vector.
VECTORS = {"d1": [1, 2, 3], "d2": [2, 4, 6], "d3": [-1, 0, 1], "d4": [3, -2, 1]}
VECTORS |= {doc: [1, 0, 0] for doc in ("e9", "e10", "E11")}


@pytest.fixture(scope="module")
def documents(vector_url):
    database = WritableDatabase(vector_url)
    rows = [{"id": doc, "vector": json.dumps(row)} for doc, row in VECTORS.items()]
    drawn = np.random.default_rng(3).uniform(size=(500, 8)).round(3).tolist()
    many = [{"id": f"m{place}", "vector": json.dumps(row)} for place, row in enumerate(drawn)]
    database.run(
        "CREATE TABLE documents (id TEXT PRIMARY KEY, corpus TEXT, embedding vector(3))",
        ("INSERT INTO documents VALUES (:id, 'law', CAST(:vector AS vector))", rows),
        "INSERT INTO documents VALUES ('other', 'faq', '[1,2,3]'), ('none', 'law', NULL)",
        "CREATE TABLE halves (id INTEGER, vec halfvec(3), words TEXT)",
        "INSERT INTO halves VALUES (7, '[1,2,3]', 'x'), (8, '[3,2,1]', 'y')",
        "CREATE TABLE many (id TEXT, embedding vector(8))",
        ("INSERT INTO many VALUES (:id, CAST(:vector AS vector))", many),
        "CREATE INDEX many_near ON many USING hnsw (embedding vector_l2_ops)",
        "ANALYZE many",
    )
    return database


@pytest.fixture
def opened(documents, tmp_path):
    path = tmp_path / "queries.jsonl"
    rows = QUERIES | {"wide": list(np.linspace(0, 1, 8))}
    made = []

    def open_one(queries=("levy", "fee", "zero"), **options):
        lines = ({"query": name, "vector": list(map(float, rows[name]))} for name in queries)
        path.write_text("\n".join(map(json.dumps, lines)))
        given = {"vector": "embedding", "query_vectors": str(path), **options}
        made.append(open_retriever(documents.url, given))
        return made[-1]

    yield open_one
    for retriever in made:
        retriever.close()


def expected(query, distance):
    found = []
    for doc, row in VECTORS.items():
        x, q = np.array(row, float), np.array(QUERIES[query], float)
        score = {
            "l2": -np.linalg.norm(x - q),
            "ip": x @ q,
            "cosine": x @ q / np.linalg.norm(x) / np.linalg.norm(q) - 1,
        }[distance]
        found.append((float(score), doc))
    return found


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
@pytest.mark.parametrize("query", ["levy", "fee"])
def test_a_nearer_vector_scores_higher_by_every_operator(opened, distance, query):
    retriever = opened(distance=distance)
    found = retriever.search(query, corpus="law", k=50)
    score_of = {doc: score for score, doc in expected(query, distance)}
    assert {each.doc for each in found} == VECTORS.keys()
    assert all(each.score == pytest.approx(score_of[each.doc], abs=1e-6) for each in found)
    assert [d.score for d in found] == sorted((d.score for d in found), reverse=True)
    # Equal scores by code point of the id, descending, also at the cut.
    ties = [d.doc for d in found if d.doc[0] in "eE"]
    assert ties == ["e9", "e10", "E11"]
    assert list(retriever.search(query, corpus="law", k=3)) == list(found[:3])


def test_facts_say_whether_an_index_may_miss_documents(opened):
    plain = describe_retriever(opened())
    assert (plain["search"], plain["indexes"], plain["operator"]) == ("exact", [], "<=>")
    assert plain["extension"].startswith("pgvector 0.")
    assert plain["corpora"][1] == {"corpus": "law", "n_documents": 8, "fingerprint": None}
    many = {"table": "many", "corpus": "", "distance": "l2", "queries": ("wide",)}
    near, exact = opened(**many, ef_search="200"), opened(**many, exact="yes")
    facts = describe_retriever(near)
    assert (facts["search"], facts["indexes"]) == ("approximate", ["many_near (hnsw)"])
    assert describe_retriever(exact)["search"] == "exact"
    wanted = exact.search("wide", corpus="any", k=20)
    assert len(set(wanted) & set(near.search("wide", corpus="any", k=20))) >= 15


def test_half_precision_and_other_names_are_read(opened):
    retriever = opened(table="halves", vector="vec", corpus="", distance="l2")
    assert [d.doc for d in retriever.search("levy", corpus="any", k=5)] == ["7", "8"]


def test_a_query_without_a_fitting_vector_fails_alone(opened):
    with pytest.raises(RetrieverError, match="a vector of 1 numbers; the documents have 3"):
        opened(queries=("short",)).search("short", corpus="law", k=5)
    with pytest.raises(RetrieverError, match="has none for this query"):
        opened().search("toll", corpus="law", k=5)


def test_a_cosine_that_does_not_exist_is_no_score(opened):
    found = opened().search("zero", corpus="law", k=5)
    with pytest.raises(RetrieverError, match="a score of nan"):
        read_documents(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vector": "corpus"}, "is of type text; expected vector or halfvec"),
        ({"vector": "absent"}, "no column 'absent'"),
        ({"table": "halves", "corpus": "", "vector": "words"}, "is of type text"),
        ({"distance": "l1"}, "one of cosine, l2, ip"),
        ({"text": "body"}, "pgvector has no option 'text'"),
    ],
)
def test_columns_and_options_of_no_use_are_named(opened, options, said):
    with pytest.raises(BadInputError, match=said):
        opened(**options)


def test_options_of_vectors_need_their_column(documents):
    with pytest.raises(BadInputError, match="distance belongs to the search of vectors"):
        open_retriever(documents.url, {"distance": "l2"})
    with pytest.raises(BadInputError, match="needs the vectors of the queries"):
        open_retriever(documents.url, {"vector": "embedding"})
