"""Labels of a run: drift, and labels that only the measured retriever had found."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.cli import run
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.gold import gold_stats, load_gold_set
from retrieval_eval.search.gold.chunks import text_digest
from retrieval_eval.search.run.trust import circularity, circularity_sentence, label_facts
from tests.rechunking import write_rows

TEXTS = {"d1": "late fees are due at once and always", "d2": "an objection suspends the payment"}


def _gold(**found_by):
    relevant = {"d1": 1, "d2": 2, "d3": 0}
    return GoldSet((GoldQuery("q", "fees", "c", relevant=relevant, found_by=found_by),), "")


@pytest.mark.parametrize(
    ("found_by", "counts", "share", "bounds"),
    [
        ({}, (2, 0, 0, 2), None, (None, None)),
        ({"d3": ("bm25",)}, (2, 0, 0, 2), None, (None, None)),
        ({"d1": ("bm25",)}, (2, 1, 0, 1), 1.0, (0.5, 1.0)),
        ({"d1": ("bm25", "dense"), "d2": ("dense",)}, (2, 0, 2, 0), 0.0, (0.0, 0.0)),
        ({"d1": ("bm25",), "d2": ("dense",)}, (2, 1, 1, 0), 0.5, (0.5, 0.5)),
    ],
)
def test_the_share_rests_on_what_is_recorded(found_by, counts, share, bounds):
    found = circularity(_gold(**found_by), "bm25")
    assert (found.n_relevant, found.n_only_this, found.n_others, found.n_not_recorded) == counts
    assert (found.share, (found.low, found.high)) == (share, bounds)
    assert (found.reason is None) == (share is not None)
    assert str(found.n_relevant - found.n_not_recorded) in circularity_sentence(found) or (
        "not recorded for 2" in circularity_sentence(found)
    )


def test_from_a_pool_to_a_run_and_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    corpus = tmp_path / "corpus.jsonl"
    write_rows(corpus, [{"id": doc, "text": text} for doc, text in TEXTS.items()])
    write_rows(
        tmp_path / "gold.jsonl",
        [{"id": "q1", "query": "late fees", "relevant": ["d1"], "source": "chair"}],
    )
    files = ["--gold", "gold.jsonl", "--corpus-file", str(corpus)]
    measure = ["search", "run", *files, "--retriever", "bm25:corpus.jsonl", "--out", "runs"]
    assert run([*measure, "--label", "first"]) == 0
    (tmp_path / "retrieval-eval.toml").write_text('data = "runs"')
    sheets = ["--labellers", "ana", "--out", "sheets"]
    assert run(["gold", "pool", *files, "--run", "first", *sheets]) == 0
    sheet = tmp_path / "sheets" / "sheet-ana.jsonl"
    write_rows(sheet, [json.loads(x) | {"grade": 1} for x in sheet.read_text().splitlines()])
    given = ["--key", "sheets/key.json", "--gold", "gold.jsonl"]
    assert run(["gold", "settle", str(sheet), *given]) == 0
    (row,) = load_gold_set(tmp_path / "gold.jsonl").queries
    assert row.found_by == {"d1": ("bm25",)}
    assert row.digests["d1"] == text_digest(TEXTS["d1"])
    parts = gold_stats(load_gold_set(tmp_path / "gold.jsonl"))["composition"]["found_by"]["parts"]
    assert [(part["value"], part["n"]) for part in parts] == [("bm25", 1)]

    write_rows(corpus, [{"id": "d1", "text": "late and other fees"}])
    capsys.readouterr()
    assert run([*measure, "--label", "second", "--json"]) == 0
    labels = json.loads(capsys.readouterr().out)["labels"]
    assert labels["circularity"]["share"] == 1.0
    assert (labels["drift"]["changed"], labels["drift"]["total"]) == (1, 1)
    assert labels["drifted_queries"] == ["q1"]
    assert run(measure) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 of 1 relevant label found by bm25 alone (100%)" in shown
    assert "Labels given to other texts than the documents have now: 1 label of 1 query" in shown


def test_labels_of_documents_that_the_corpus_lacks_are_counted():
    gold = _gold()
    assert label_facts(gold, ["q"], "bm25").outside is None
    assert label_facts(gold, ["q"], "bm25", known={"c": ["d1", "d2", "d3"]}).outside.n_outside == 0
    found = label_facts(gold, ["q"], "bm25", known={"c": ["d1"], "b": ["d2"]}).outside
    assert (found.n_labels, found.n_outside, found.n_relevant) == (3, 2, 1)
    assert found.documents == {"q": ("d2", "d3")}
    assert label_facts(gold, ["q"], "bm25", known={}).outside.n_outside == 3


def test_a_run_says_which_labels_cannot_be_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rows(
        tmp_path / "corpus.jsonl", [{"id": doc, "text": text} for doc, text in TEXTS.items()]
    )
    rows = [
        {"id": "q1", "query": "late fees", "relevant": ["d1", "gone"], "source": "chair"},
        {"id": "q2", "query": "objection", "relevant": {"d2": 1, "old": 0}, "source": "chair"},
    ]
    write_rows(tmp_path / "gold.jsonl", rows)
    ranked = [{"id": f"q{n}", "ranking": ["d1", "d2"]} for n in (1, 2, 3)]
    write_rows(tmp_path / "ranked.jsonl", ranked)
    asked = ["search", "run", "--gold", "gold.jsonl", "--retriever", "run:ranked.jsonl"]
    asked += ["--corpus-file", "corpus.jsonl", "--out", "runs"]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "2 of 4 labels name documents that the corpus lacks, 1 of them relevant" in said
    assert "(q1, q2)" in said
    assert "the file has rankings of 1 query that the gold set lacks" in said
    assert run([*asked, "--json", "--label", "again"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["labels"]["outside"]["documents"] == {"q1": ["gone"], "q2": ["old"]}
    assert document["run"]["n_other_queries"] == 1
    assert document["random"]["metrics"]["Recall@5"]["value"] == 0.75
