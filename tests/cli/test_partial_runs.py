"""A run file that lacks queries is no regression: what it lacks is named; nothing is decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli import run

QUERIES = [f"q{n:02}" for n in range(24)]
# The first relevant document stands second for every third query.
SAME = {q: ["x", "r"] if n % 3 == 0 else ["r", "x"] for n, q in enumerate(QUERIES)}
BETTER = {q: ["r", "x"] for q in QUERIES}
LOSS = {q: ["x", "y"] if n < 8 else SAME[q] for n, q in enumerate(QUERIES)}
NOTHING = {q: [] for q in QUERIES}
HALF = {q: SAME[q] for q in QUERIES[::2]}


def trec(rankings):
    return "".join(
        f"{q} Q0 {doc} {rank} {9 - rank} t\n"
        for q, docs in rankings.items()
        for rank, doc in enumerate(docs, 1)
    )


def jsonl(rankings):
    return "".join(json.dumps({"id": q, "ranking": docs}) + "\n" for q, docs in rankings.items())


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    found = tmp_path_factory.mktemp("partial")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(found)
        rows = [
            {"id": q, "query": f"text {q}", "relevant": {"r": 1}, "source": "chair"}
            for q in QUERIES
        ]
        rows.append({"id": "u", "query": "no answer", "relevant": {}, "answerable": False})
        gold = found / "data/eval/gold-set.jsonl"
        gold.parent.mkdir(parents=True)
        gold.write_text("".join(json.dumps({"source": "chair", **row}) + "\n" for row in rows))
        assert measured("base", trec({**SAME, "u": ["x"]})) == 0
        assert run(["search", "guard", "--init", "base", "--accept-weak-baseline"]) == 0
        yield found


def measured(label, content):
    Path(f"{label}.run").write_text(content)
    return run(["search", "run", "--retriever", f"run:{label}.run", "--label", label])


@pytest.mark.parametrize(
    ("label", "content", "code", "said"),
    [
        ("same", trec({**SAME, "u": ["x"]}), 0, "PASS"),
        ("better", trec({**BETTER, "u": ["x"]}), 0, "PASS"),
        ("loss", trec({**LOSS, "u": ["x"]}), 1, "BREACH"),
        ("half", trec(HALF), 2, "no line for 13 of 25 queries (q01, q03, q05"),
        ("half-jsonl", jsonl(HALF), 2, "no line for 13 of 25 queries (q01, q03, q05"),
        ("mute", jsonl({**NOTHING, **HALF, "q00": [], "u": []}), 2, "document for 13 of 24 answer"),
        ("empty", "", 3, "holds no ranking"),
        ("nothing", jsonl(NOTHING), 3, "no query has a document"),
        ("twice", trec({**SAME, "u": ["x"]}) * 2, 3, "occurs twice"),
    ],
)  # fmt: skip
def test_every_run_file_ends_as_it_should(tree, monkeypatch, capsys, label, content, code, said):
    monkeypatch.chdir(tree)
    first = measured(label, content)
    output = "".join(capsys.readouterr())
    if first != 3:
        second = run(["search", "guard", label])
        output = "".join(capsys.readouterr())
        assert first in (0, second)
        first = second
    assert (first, said in output) == (code, True), output


def test_what_is_missing_is_no_refusal_and_counts_as_trec_eval_does(tree, monkeypatch, capsys):
    monkeypatch.chdir(tree)
    measured("half", trec(HALF))
    capsys.readouterr()
    run(["search", "show", "half", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["P@1"] == found["metrics"]["P@1"] | {"value": 8 / 24, "n": 24}
    assert found["abstention"]["false_refusal_rate"]["value"] is None
    assert measured("said", trec(SAME)) == 2
    assert run(["search", "run", "--retriever", "run:said.run", "--option", "missing=empty"]) == 0
