"""A team adopts the guard: what `search guard --init` writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.cli import run
from retrieval_eval.search.decide.thresholds import read_thresholds, shipped_thresholds
from retrieval_eval.search.run.document import run_bytes
from tests.guards import run_with
from tests.searches import answer, gold_query, gold_set, run_of


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A folder with a run, and a function that begins with it."""
    monkeypatch.chdir(tmp_path)
    made = run_with([3] * 10, refused=[True] * 3, label="main")
    Path("run.json").write_bytes(run_bytes(made))
    # All its queries have the same labels, so that those of another query do as well.
    begin = ["search", "guard", "--init", "--accept-weak-baseline"]
    return lambda *arguments: run([*begin, *arguments])


def test_what_the_baseline_supports_is_written_and_the_rest_has_a_reason(begun, capsys):
    assert begun("run.json", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["written"] == ["data/eval/baseline.json", "data/eval/guard.toml"]
    assert list(document["left_out"]) == ["claim_coverage"]
    found = read_thresholds(Path("data/eval/guard.toml"))
    shipped = {row.metric: row for row in shipped_thresholds().rows}
    assert found.rows == tuple(shipped[row.metric] for row in found.rows)
    assert (found.rule, found.alpha) == ("threshold_and_real", 0.05)
    assert [row.metric for row in found.rows] == [m for m in shipped if m != "claim_coverage"]
    assert "# - claim_coverage: the baseline has no" in Path("data/eval/guard.toml").read_text()


def test_slices_are_declared_on_request(begun, capsys):
    corpora = [*"a" * 20, *"b" * 20]
    Path("run.json").write_bytes(run_bytes(run_with([3] * 40, corpora=corpora)))
    assert begun("run.json", "--slices", "corpus", "--slices", "area") == 0
    assert "checked: P@5 [worst corpus or area] −2 points" in capsys.readouterr().out
    rows = read_thresholds(Path("data/eval/guard.toml")).rows
    assert [(row.metric, row.slices, row.max_change) for row in rows if row.slices] == [
        ("P@5", ("corpus", "area"), 2.0),
        ("Recall@20", ("corpus", "area"), 2.0),
    ]
    assert begun("run.json", "--slices", "team") == 64


def test_measured_noise_adds_the_first_result_corpora_and_areas(begun, capsys):
    corpora = [*"a" * 20, *"b" * 20]
    for place in range(3):
        hits = [3] * 40
        hits[place] = 0
        at = f"2026-01-0{place + 1}T10:00:00Z"
        made = run_with(hits, corpora=corpora, label=f"n{place}", generated_at=at)
        Path(f"n{place}.json").write_bytes(run_bytes(made))
    assert run(["search", "noise", "n0.json", "n1.json", "n2.json"]) == 0
    capsys.readouterr()
    assert begun("n2.json") == 0
    rows = read_thresholds(Path("data/eval/guard.toml")).rows
    assert [(row.metric, row.slices) for row in rows] == [
        *(("P@5", ()), ("Recall@20", ()), ("P@1", ()), ("first_ten_changed", ())),
        *(("P@5", ("corpus",)), ("Recall@20", ("corpus",)), ("P@1", ("corpus",))),
    ]
    # As wide as runs of one system differ, so that an unchanged one passes.
    assert rows[2].max_change > 5
    assert run(["search", "guard", "n1.json"]) == 0


def test_nothing_is_overwritten_unless_that_is_meant(begun, capsys):
    assert begun("run.json") == 0
    before = Path("data/eval/baseline.json").read_bytes()
    assert "unchanged" not in capsys.readouterr().out
    assert begun("run.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["written"] == []
    Path("data/eval/guard.toml").write_text("# mine\n")
    Path("worse.json").write_bytes(run_bytes(run_with([1] * 10, label="worse")))
    assert begun("worse.json") == 3
    said = capsys.readouterr().err
    assert "data/eval/baseline.json, data/eval/guard.toml would be overwritten; --force" in said
    assert Path("data/eval/baseline.json").read_bytes() == before
    assert Path("data/eval/guard.toml").read_text() == "# mine\n"
    assert begun("worse.json", "--force") == 0
    assert json.loads(Path("data/eval/baseline.json").read_bytes())["label"] == "worse"
    # A retriever is not even asked.
    assert begun("--retriever", "none:such") == 3
    assert "would be overwritten" in capsys.readouterr().err
    # Without a run the thresholds are those of the baseline that is there.
    assert begun("--force", "--json") == 0


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda made: made["queries"].pop(), 2, "truncated"),
        (lambda made: made["queries"][0].update(status="failed", error="no"), 2, "failed"),
        (lambda made: made.update(queries=[]), 2, "it holds no query"),
        (
            lambda made: made["run"].update(
                pinned={"name": "p.txt", "n_queries": 10, "fingerprint": "0" * 64}
            ),
            2,
            "it asked the list p.txt; name it with --queries",
        ),
    ],
)
def test_a_run_without_a_verdict_is_no_beginning(begun, capsys, change, code, words):
    made = run_with([3] * 10)
    change(made)
    Path("run.json").write_bytes(run_bytes(made))
    assert begun("run.json") == code
    assert words in capsys.readouterr().err
    assert not Path("data").exists()


def labelled(n, ranking_of):
    """A run of queries with a relevant document each, as a file is written."""
    gold = gold_set(*(gold_query(f"q{i:02d}", {f"d{i}": 1}) for i in range(n)))
    answers = [answer(f"q{i:02d}", ranking_of(i)) for i in range(n)]
    made = run_of(gold, answers, label="main", n_documents=n)
    Path("run.json").write_bytes(run_bytes(made))


WEAK = {
    "none of the ids is one of the gold set": (
        lambda i: [str(i + j) for j in range(8)],
        "every metric is 0, so nothing could get worse; None of the 160 returned documents has",
    ),
    "nothing comes back": (lambda _: [], "every metric is 0, so nothing could get worse"),
    "the same answer to every query": (
        lambda _: [f"d{j}" for j in range(20)],
        "the baseline is not better than random documents in P@5, Recall@20",
    ),
}


@pytest.mark.parametrize(("ranking_of", "words"), WEAK.values(), ids=WEAK)
def test_a_baseline_that_cannot_get_worse_is_refused(
    tmp_path, monkeypatch, capsys, ranking_of, words
):
    monkeypatch.chdir(tmp_path)
    labelled(20, ranking_of)
    begin = ["search", "guard", "--init", "run.json"]
    assert run(begin) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "--accept-weak-baseline" in said
    # To overwrite is another thing.
    assert run([*begin, "--force"]) == 2
    assert not Path("data").exists()
    assert run([*begin, "--accept-weak-baseline", "--json"]) == 0
    assert any(words.partition(";")[0] in n for n in json.loads(capsys.readouterr().out)["notes"])


def test_a_baseline_with_skill_needs_no_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labelled(20, lambda i: [f"d{i}", f"d{(i + 1) % 20}"])
    assert run(["search", "guard", "--init", "run.json"]) == 0
