from __future__ import annotations

import json
import math

import pytest
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.corpus import read_corpus
from retrieval_eval.gold.gold_set import load_gold_set
from retrieval_eval.gold.labelling import build_pool, csv_sheet, jsonl_sheet, pooled, write_pool

N_QUERIES, N_DOCS = 8, 120


@pytest.fixture
def gold(tmp_path):
    rows = [
        {"id": f"q{n}", "query": f"question {n}", "corpus": "c", "source": "chair",
         "relevant": {"d3": 2, "d4": 0}}
        for n in range(N_QUERIES)
    ]  # fmt: skip
    path = tmp_path / "gold-set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_gold_set(path)


@pytest.fixture
def corpus(tmp_path):
    rows = [
        {"id": f"d{n}", "corpus": "c", "title": f"Title {n}", "text": f"text of {n}", "rank": n}
        for n in range(N_DOCS)
    ]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_corpus(path)


FORWARD = {f"q{n}": [f"d{i}" for i in range(60)] for n in range(N_QUERIES)}
OTHER = {f"q{n}": [f"d{i}" for i in range(89, 29, -1)] for n in range(N_QUERIES)}


def test_a_pool_is_the_union_of_the_first_documents():
    # 0..49 from the one, 40..89 from the other: 90 different documents.
    assert pooled([FORWARD, OTHER])["q0"] == {f"d{i}" for i in range(90)}
    assert pooled([FORWARD, OTHER], depth=1)["q1"] == {"d0", "d89"}


def test_the_order_of_the_runs_leaves_no_trace(gold, corpus):
    one = build_pool(gold, [FORWARD, OTHER], corpus, ["a", "b"])
    two = build_pool(gold, [OTHER, FORWARD], corpus, ["a", "b"])
    turned = {query: docs[:50][::-1] for query, docs in FORWARD.items()}
    three = build_pool(gold, [turned, OTHER], corpus, ["a", "b"])
    for other in (two, three):
        assert other == one
        for labeller in ("a", "b"):
            assert csv_sheet(other.sheets[labeller]) == csv_sheet(one.sheets[labeller])


def _places(pool, labeller):
    """Return for each query the documents in the order of the sheet."""
    found = {}
    for item in pool.sheets[labeller]:
        entry = pool.key["items"][item.id]
        found.setdefault(entry["query"], []).append(int(entry["doc"][1:]))
    return found


@pytest.mark.parametrize("labeller", ["a", "b"])
def test_the_place_in_a_sheet_says_nothing_about_the_rank(gold, corpus, labeller):
    from scipy.stats import spearmanr

    places = _places(build_pool(gold, [FORWARD], corpus, ["a", "b"]), labeller)
    # In FORWARD the number of a document is its rank. Under independence the mean of 8
    # correlations of 50 ranks has the standard error 1 / sqrt(49 * 8) = 0.05.
    correlations = [spearmanr(range(50), ranks).statistic for ranks in places.values()]
    assert len(correlations) == N_QUERIES
    assert abs(sum(correlations) / N_QUERIES) < 4 / math.sqrt(49 * N_QUERIES)
    assert len({tuple(ranks) for ranks in places.values()}) == N_QUERIES


def test_labellers_get_the_same_pairs_in_other_orders_under_other_ids(gold, corpus):
    pool = build_pool(gold, [FORWARD], corpus, ["a", "b"])
    first, second = pool.sheets["a"], pool.sheets["b"]
    assert {(i.query, i.document) for i in first} == {(i.query, i.document) for i in second}
    assert _places(pool, "a") != _places(pool, "b")
    assert list(_places(pool, "a")) != list(_places(pool, "b"))
    assert not {item.id for item in first} & {item.id for item in second}
    assert pool.n_pairs == len(first) == N_QUERIES * 50


def test_another_seed_gives_another_order(gold, corpus):
    one = build_pool(gold, [FORWARD], corpus, ["a"])
    assert _places(one, "a") != _places(build_pool(gold, [FORWARD], corpus, ["a"], seed=1), "a")


def test_no_field_leaks(gold, corpus):
    pool = build_pool(gold, [FORWARD, OTHER], corpus, ["a"])
    for line in jsonl_sheet(pool.sheets["a"]).decode().splitlines():
        row = json.loads(line)
        assert set(row) == {"item", "query", "document", "grade", "comment"}
        number = row["document"].removeprefix("Title ").split("\n")[0]
        assert row["document"] == f"Title {number}\n\ntext of {number}"
        assert row["grade"] is None
        assert row["item"][0] == "i"
        assert f"d{number}" != row["item"]
    # Grades that the gold set has already change nothing in a sheet.
    ungraded = replace(gold, queries=tuple(replace(q, relevant={}) for q in gold.queries))
    assert build_pool(ungraded, [FORWARD, OTHER], corpus, ["a"]).sheets == pool.sheets


def test_queries_without_candidates_are_counted(gold, corpus):
    pool = build_pool(gold, [{"q1": ["d1"], "q2": []}], corpus, ["a"])
    assert (pool.n_queries, pool.n_pairs, pool.n_without) == (1, 1, N_QUERIES - 1)


def test_nothing_found_is_nothing_to_label(gold, corpus):
    with pytest.raises(NothingToEvaluateError):
        build_pool(gold, [{"q1": []}], corpus, ["a"])


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ({"q99": ["d1"]}, r"not in the gold set: 1 query of the runs, 'q99'"),
        ({"q1": ["d1", "x7"]}, r"not in corpus.jsonl: 1 document of the runs.*'x7'"),
    ],
)
def test_unknown_queries_and_documents_are_named(gold, corpus, ranking, message):
    with pytest.raises(BadInputError, match=message):
        build_pool(gold, [ranking], corpus, ["a"])


@pytest.mark.parametrize("labellers", [[], [""], ["../x"], ["a", "A"], ["a b"]])
def test_labellers_must_name_files(gold, corpus, labellers):
    with pytest.raises(BadInputError, match="labeller"):
        build_pool(gold, [FORWARD], corpus, labellers)


def test_sheets_and_key_are_written_together(gold, corpus, tmp_path):
    pool = build_pool(gold, [FORWARD], corpus, ["a", "b"])
    paths = write_pool(pool, tmp_path / "out", tmp_path / "secret.json")
    assert sorted(path.name for path in paths) == [
        "secret.json", "sheet-a.csv", "sheet-a.jsonl", "sheet-b.csv", "sheet-b.jsonl"
    ]  # fmt: skip
    before = {path: path.read_bytes() for path in paths}
    write_pool(pool, tmp_path / "out", tmp_path / "secret.json")
    assert {path: path.read_bytes() for path in paths} == before
