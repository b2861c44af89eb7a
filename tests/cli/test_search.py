from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli import run
from retrieval_eval.cli.common import SHORT, print_short
from retrieval_eval.schema import faults

RETRIEVER = '''
"""A retriever of this test: documents by shared words, and one query that fails on demand."""
import os

DOCUMENTS = {"f1": "a red apple", "f2": "an apple", "f3": "a plum that is blue"}

class Words:
    def search(self, query, *, corpus, k):
        if query == os.environ.get("FAIL_ON"):
            raise ConnectionError("refused \\x1b[31m")
        words = set(query.split())
        found = {doc: len(words & set(text.split())) for doc, text in DOCUMENTS.items()}
        ranked = sorted(found.items(), key=lambda item: item[1], reverse=True)
        ranked = [(doc, score) for doc, score in ranked if score]
        if os.environ.get("BROKEN"):
            ranked = [(doc, float("nan")) for doc, _ in ranked]
        return ranked[:k]

    def first_stage(self, query, *, corpus, k):
        return [(doc, -place) for place, doc in enumerate(DOCUMENTS)][:k]

    def rerank(self, query, docs, *, k):
        return docs[:k]

    def describe(self):
        return {"name": "words", "reranker": "none at all"}
'''
GOLD = [
    {"id": "q1", "query": "red apple", "corpus": "fruit", "relevant": {"f1": 2, "f2": 1}},
    {"id": "q2", "query": "blue plum", "corpus": "fruit", "relevant": ["f3"]},
]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAIL_ON", raising=False)
    monkeypatch.delenv("BROKEN", raising=False)
    (tmp_path / "words_of_a_test.py").write_text(RETRIEVER)
    write_gold(tmp_path, GOLD)
    return tmp_path


def write_gold(tree, rows):
    path = tree / "data/eval/gold-set.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"source": "bootstrap", **row}) + "\n" for row in rows]
    path.write_text("".join(lines))


COMMAND = ["search", "run", "--retriever", "words_of_a_test:Words"]


def reports(tree):
    return sorted((tree / "data/eval").glob("eval-report-*.json"))


def test_a_run_prints_what_a_person_needs(tree, capsys):
    assert run([*COMMAND, "--label", "first", "--verbose"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("search run: first\n")
    assert "corpus    : fruit; document ids not checked (no --corpus-file)\n" in text
    assert "n_queries=2, n_labelled_pairs=3), provisional (bootstrap-only)" in text
    assert "retriever : words" in text
    assert "reranker  : none at all\n" in text
    assert "floor     : none\n" in text
    # q1 finds f1 and f2, q2 finds f3: (2/5 + 1/5) / 2.
    (row,) = [line.split() for line in text.splitlines() if line.startswith("P@5 ")]
    assert row[:4] == ["P@5", "0.300", "—", "2"]
    assert "No baseline yet" in text
    (path,) = reports(tree)
    assert text.endswith(f"data/eval/{path.name}\ndata/eval/{path.stem}.md\n")
    assert run(["validate", str(path)]) == 0


def test_a_run_as_json_is_one_document(tree, capsys):
    assert run([*COMMAND, "--json", "--k", "2", "--depth", "30"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert faults(document, "search_run") == []
    settings = document["run"]["settings"]
    assert (settings["k_values"], settings["depth"]) == ([2], 30)
    assert document["metrics"]["P@2"]["value"] == 0.75


def test_the_loop_of_baseline_and_delta(tree, capsys):
    run([*COMMAND, "--label", "before"])
    (before,) = reports(tree)
    capsys.readouterr()
    assert run(["search", "baseline", "--update", str(before)]) == 0
    assert "data/eval/baseline.json is now the run" in capsys.readouterr().out
    assert run(["search", "baseline"]) == 0
    assert capsys.readouterr().out.startswith("search run: before\n")

    assert run([*COMMAND, "--label", "after", "--no-rerank"]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= SHORT
    assert "reranker  : none at all, left out" in text
    assert "Changed: uses_rerank: True → False." in text
    # The first stage always gives f1, f2, f3, so q2 falls from rank 1 to 3: (1 + 1/3) / 2.
    (row,) = [line.split() for line in text.splitlines() if line.startswith("RR ")]
    assert row == ["RR", "0.667", "—", "2", "1.000", "−33.33", "—"]

    after = next(path for path in reports(tree) if path != before)
    assert run(["search", "baseline", "--update", str(after), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["queries_top1_changed"] == ["q2"]
    assert "is now the run" in captured.err
    assert json.loads((tree / "data/eval/baseline.json").read_text())["label"] == "after"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--corpus", "wine"], 3, "'wine'"),
        (["--gold", "none.jsonl"], 3, "none.jsonl"),
        (["--baseline", "none.json"], 3, "none.json: no such file"),
        (["--retriever", "nothing"], 3, "names no retriever"),
        (["--corpus-file", "none.jsonl"], 3, "none.jsonl"),
        (["--depth", "10"], 3, "deepest cut-off is 20"),
        (["--k", "0"], 3, "from 1"),
        (["--k", "x"], 64, "whole numbers"),
        (["--option", "k1"], 64, "'k1' is not NAME=VALUE"),
        (["--depth", "0"], 64, "--depth"),
    ],
)
def test_what_cannot_be_used_is_a_sentence_and_writes_nothing(
    tree, capsys, arguments, code, message
):
    assert run([*COMMAND, *arguments]) == code
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert [p.name for p in (tree / "data/eval").iterdir()] == ["gold-set.jsonl"]


def test_an_empty_gold_set_is_exit_code_2(tree, capsys):
    write_gold(tree, [])
    assert run(COMMAND) == 2
    assert "holds no query" in capsys.readouterr().err


def test_a_baseline_that_is_not_there_or_no_run(tree, capsys):
    assert run(["search", "baseline"]) == 3
    assert "search baseline --update RUN` makes one" in capsys.readouterr().err
    (tree / "x.json").write_text("{}")
    assert run(["search", "baseline", "--update", "x.json"]) == 3
    (tree / "data/eval/baseline.json").write_text("{")
    assert run(COMMAND) == 3
    assert "baseline.json" in capsys.readouterr().err


def interrupted(tree, *arguments):
    """Begin a run that stops at its last query."""
    name = "stops_of_a_test.py"
    (tree / name).write_text(
        "from words_of_a_test import Words as Base\n"
        "class Words(Base):\n"
        "    def search(self, query, *, corpus, k):\n"
        "        import os\n"
        "        if query == os.environ.get('STOP_AT'):\n"
        "            raise KeyboardInterrupt\n"
        "        return super().search(query, corpus=corpus, k=k)\n"
    )
    return ["search", "run", "--retriever", "stops_of_a_test:Words", *arguments]


def test_an_interrupted_run_is_announced_when_it_is_taken_up(tree, capsys, monkeypatch):
    from retrieval_eval.search.measure import JOURNAL

    command = interrupted(tree)
    monkeypatch.setenv("STOP_AT", "blue plum")
    assert run(command) == 130
    monkeypatch.delenv("STOP_AT")
    capsys.readouterr()
    assert run([*command, "--depth", "60"]) == 3
    refused = capsys.readouterr().err
    assert "unfinished run with other settings (depth)" in refused
    assert "continuing" not in refused
    assert run(command) == 0
    notice = "continuing an interrupted run: 1 of 2 queries answered; --fresh asks every query"
    assert notice in capsys.readouterr().err
    assert not (tree / "data/eval" / JOURNAL).exists()


def test_the_backlog_of_the_environment_is_counted_and_never_stops_a_run(tree, capsys, monkeypatch):
    import sqlite3

    with sqlite3.connect(tree / "items.db") as connection:
        connection.execute("CREATE TABLE review_items (review_status TEXT, created_at TEXT)")
        connection.execute("INSERT INTO review_items VALUES ('approved', NULL)")
    connection.close()
    monkeypatch.setenv("RETRIEVAL_EVAL_DATABASE_URL", "sqlite:///items.db")
    assert run([*COMMAND, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["backlog"]["approved"] == 1
    monkeypatch.setenv("RETRIEVAL_EVAL_DATABASE_URL", "sqlite:///absent.db")
    assert run([*COMMAND, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["backlog"] is None
    assert "backlog not counted (RETRIEVAL_EVAL_DATABASE_URL): " in captured.err
    assert run([*COMMAND, "--backlog", "sqlite:///absent.db"]) == 3


def test_answers_that_cannot_be_trusted_leave_no_verdict_anywhere(tree, capsys, monkeypatch):
    rows = [
        {"id": f"n{n}", "query": f"plum {n}", "corpus": "fruit", "answerable": False}
        for n in range(15)
    ]
    write_gold(tree, [*GOLD, *rows])
    documents = [{"id": f"f{n}", "corpus": "fruit", "text": "-"} for n in (1, 2, 3, 9)]
    (tree / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    command = [*COMMAND, "--corpus-file", "corpus.jsonl"]
    assert run([*command, "--label", "sound"]) == 0
    assert "not checked" not in capsys.readouterr().out
    assert run(["search", "baseline", "--update", "sound"]) == 0
    kept = (tree / "data/eval/baseline.json").read_bytes()
    monkeypatch.setenv("BROKEN", "yes")
    capsys.readouterr()

    assert run([*command, "--label", "broken", "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert faults(document, "search_run") == []
    assert document["run"]["ids_checked"] is True
    assert (document["status"]["n_failed"], document["status"]["has_verdict"]) == (17, False)
    assert all(query["error"] for query in document["queries"])
    assert document["abstention"]["true_positive_rate"]["value"] is None
    assert document["delta"] is None

    assert run(["search", "guard", "broken"]) == 2
    assert "NO VERDICT" in capsys.readouterr().out
    assert run(["search", "baseline", "--update", "broken"]) == 2
    assert (tree / "data/eval/baseline.json").read_bytes() == kept
    assert run(["search", "diff", "sound", "broken"]) == 2
    noise = [*COMMAND[2:], "--corpus-file", "corpus.jsonl", "--repeats", "2"]
    capsys.readouterr()
    assert run(["search", "noise", *noise]) == 2
    assert "has no verdict: 17 of 17 queries failed" in capsys.readouterr().err


def test_a_stated_share_of_failures_leaves_a_verdict_with_bounds(tree, capsys, monkeypatch):
    monkeypatch.setenv("FAIL_ON", "blue plum")
    assert run(COMMAND) == 2
    assert "answers   : 2 queries, 1 failed (1 the retriever raised an error" in (
        capsys.readouterr().out
    )
    assert run([*COMMAND, "--max-failed", "0.5", "--label", "some"]) == 0
    said = capsys.readouterr().out
    warning = "Warning: 1 of 2 queries failed, within the limit of 50 %, and means are over the"
    assert (
        f"{warning} others; with each failed one between 0 and 1, P@5 would lie from 0.200" in said
    )
    assert run(["search", "baseline", "--update", "some"]) == 2
    assert run([*COMMAND, "--max-failed", "1"]) == 64


@pytest.mark.parametrize("n_lines", [0, 3, 400])
def test_a_short_text_keeps_its_ends_and_cuts_where_it_may(n_lines, capsys):
    may_be_cut = [f"row {i}" for i in range(n_lines)]
    print_short([["head"] * 10, may_be_cut, ["end"] * 5], "more", [Path("a.json")], cut=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SHORT
    assert [line for line in lines if line][-3:] == ["end", "more", "a.json"]
    assert ("… and 393 lines more" in lines) == (n_lines == 400)
