"""A query's own document, labels that no retriever can reach, and texts under several ids."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.cli import run
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import ScoredDoc, rank
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.trust import warnings

WITHOUT = Settings(k_values=(1, 2), depth=20, n_resamples=20, without_own=True)


class SelfFirst:
    """Finds the text of the query itself first, as every engine does."""

    def search(self, query, *, corpus, k):
        return [ScoredDoc(f"d{(int(query) + step) % 40}", 40.0 - step) for step in range(k)]


def _gold(*, own=False):
    """Forty arguments in one corpus; the answer to each is the next, and perhaps it is its own."""
    rows = [
        GoldQuery(
            f"d{i}", str(i), "c", relevant={f"d{(i + 1) % 40}": 1, **({f"d{i}": 1} if own else {})}
        )
        for i in range(40)
    ]
    return GoldSet(tuple(rows), "f")


def test_the_own_document_is_left_out_before_the_cut_and_one_more_is_requested():
    kept = run_search(_gold(), SelfFirst(), settings=Settings(n_resamples=20, depth=20))
    left_out = run_search(_gold(), SelfFirst(), settings=WITHOUT)
    assert (kept.metrics["P@1"].value, left_out.metrics["P@1"].value) == (0.0, 1.0)
    assert {len(query.ranking) for query in left_out.queries} == {20}
    assert all(query.id not in {d.doc for d in query.ranking} for query in left_out.queries)
    assert not left_out.status.problems


@pytest.mark.parametrize(
    ("docs", "expected", "problems"),
    [
        # An order without scores stays one, and an answer as long as requested is not too long.
        ([("own", -1.0), ("a", -2.0), ("b", -3.0)], [("a", -1.0), ("b", -2.0)], ()),
        ([("a", 3.0), ("b", 2.0), ("c", 1.0)], [("a", 3.0), ("b", 2.0)], ()),
        ([("own", 2.0), ("a", 1.0)], [("a", 1.0)], ("fewer_than_k",)),
        (
            [("own", 9.0), ("a", 3.0), ("b", 2.0), ("c", 1.0)],
            [("a", 3.0), ("b", 2.0)],
            ("more_than_k",),
        ),
    ],
)
def test_of_an_answer_without_the_own_document(docs, expected, problems):
    found = rank([ScoredDoc(*one) for one in docs], depth=2, own="own")
    assert [(doc.doc, doc.score) for doc in found.ranking] == expected
    assert found.problems == problems


def test_labels_that_no_retriever_can_reach_are_named():
    (said,) = warnings(run_search(_gold(own=True), SelfFirst(), settings=WITHOUT))
    assert said.startswith("40 relevant labels of the query's own document, which was left out")
    many = GoldSet((GoldQuery("q", "1", "c", relevant={f"d{i}": 1 for i in range(30)}),), "f")
    (said,) = warnings(run_search(many, SelfFirst(), settings=Settings(n_resamples=20)))
    assert said == (
        "Recall@20 cannot reach 1 for 1 query with more relevant documents than that, such as q"
        " with 30"
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two arguments and the answer to the first, which the corpus holds twice."""
    monkeypatch.chdir(tmp_path)
    texts = {"a": "cats sleep by day", "b": "cats hunt by night", "c": "cats  hunt by night"}
    corpus = [{"id": doc, "text": text} for doc, text in texts.items()]
    gold = [
        {"id": "a", "query": texts["a"], "relevant": ["b"], "source": "chair"},
        {"id": "b", "query": texts["b"], "relevant": ["b", "c"], "source": "chair"},
    ]
    for name, rows in (("corpus.jsonl", corpus), ("gold.jsonl", gold)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_equal_texts_are_counted_in_run_and_validate(folder, capsys):
    said = (
        "1 text of the corpus has several ids (2 documents): a twin of 1 relevant label is not"
        " judged and counts as not relevant where it is returned, such as c, the text of b, for a"
    )
    assert run(["validate", "gold.jsonl", "--corpus-file", "corpus.jsonl"]) == 0
    assert said in capsys.readouterr().out
    files = ["--gold", "gold.jsonl", "--corpus-file", "corpus.jsonl", "--out", "runs"]
    assert run(["search", "run", "--retriever", "bm25:corpus.jsonl", *files]) == 0
    assert f"Warning: {said}." in capsys.readouterr().out


def test_runs_with_and_without_the_own_document_are_not_compared(folder, capsys):
    measure = ["search", "run", "--retriever", "bm25:corpus.jsonl", "--gold", "gold.jsonl"]
    assert run([*measure, "--label", "with"]) == 0
    assert run(["search", "guard", "--init", "with", "--gold", "gold.jsonl"]) == 0
    assert run([*measure, "--label", "without", "--without-own"]) == 0
    assert "own document : left out" in capsys.readouterr().out
    why = "only this run leaves out the query's own document (--without-own)"
    assert run(["search", "guard", "without", "--gold", "gold.jsonl"]) == 2
    assert why in capsys.readouterr().out
    assert run(["search", "diff", "with", "without"]) == 2
    assert f"{why}. If that is meant, add --accept without_own" in capsys.readouterr().err
    # A repeated run is asked as the run was.
    assert run(["search", "noise", "without", "--repeats", "2", "--gold", "gold.jsonl"]) == 0
