from __future__ import annotations

import json

import jsonschema
import pytest

from retrieval_eval.cli import run
from retrieval_eval.cli.common import SHORT
from retrieval_eval.io.files import write_bytes
from retrieval_eval.model import json_schema
from retrieval_eval.schema import faults
from retrieval_eval.search.run.document import run_bytes
from tests.rechunking import write_rows
from tests.searches import answer, gold_query, gold_set, run_of

GOLD = gold_set(
    gold_query("q1", {"a": 2}, query="red\x1b[31m " + "apple " * 20),
    gold_query("q2", {"a": 1}),
    gold_query("q3", {"b": 1}),
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, (label, docs) in enumerate(
        [("before", ["a", "x"]), ("after", ["x", "a"]), ("after", ["x", "y"])], 1
    ):
        answers = [answer("q1", docs), answer("q2", ["a"]), answer("q3", ["b"])]
        document = run_of(GOLD, answers, label=label, generated_at=f"2026-01-0{number}T00:00:00Z")
        write_bytes(tmp_path / f"data/eval/eval-report-{number}.json", run_bytes(document))
    return tmp_path


def test_a_diff_by_labels_is_printed_queries_first(tree, capsys):
    pair = ["before", "data/eval/eval-report-2.json"]
    assert run(["search", "diff", *pair]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= SHORT
    assert "1 query moved, 1 has another first document;" in short
    assert run(["search", "diff", *pair, "--verbose"]) == 0
    text, errors = capsys.readouterr()
    assert errors == ""
    assert text.startswith("Guard, B against A: PASS: 5 thresholds: 2 pass, 3 not applied\n")
    assert short.startswith(text.splitlines()[0])
    assert "\n\nThe digest of corpus docs was not recorded" in text
    assert "1 query moved, 1 has another first document;" in text
    assert text.index("Another first document") < text.index("\nmetric ")
    (row,) = [line.split() for line in text.splitlines() if line.startswith("RR ")]
    # 1 to 1/2 in one of three queries.
    assert row[:4] == ["RR", "1.000", "0.833", "−16.67"]
    assert "\x1b" not in text
    assert "a (grade 2)  x (unjudged)" in text


def test_the_verdict_of_the_guard_comes_first(tree, capsys):
    guard = tree / "data/eval/guard.toml"
    rule = '[decision]\nrule = "threshold"\n'
    row = '[[threshold]]\nmetric = "RR"\ndirection = "down is bad"\nmax_change = 1\n'
    guard.write_text(f'{rule}{row}unit = "points"\n')
    assert run(["search", "diff", "before", "after"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == (
        "Guard, B against A: BREACH: 1 threshold: 1 breach"
        " (no justification was read; `search guard --justification` reads one)"
    )
    assert run(["search", "guard", "after", "--baseline", "data/eval/eval-report-1.json"]) == 1
    assert first.startswith(f"Guard, B against A: {capsys.readouterr().out.splitlines()[0]} (")
    guard.write_text("[")
    assert run(["search", "diff", "before", "after"]) == 0
    assert capsys.readouterr().out.startswith("Guard not asked: data/eval/guard.toml: ")


def test_single_queries_are_shown_with_both_rankings(tree, capsys):
    command = ["search", "diff", "before", "data/eval/eval-report-2.json"]
    assert run([*command, "--query", "q1", "--query", "q2", "--query", "q1"]) == 0
    text, errors = capsys.readouterr()
    assert errors == ""
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in text
    assert lines[3].startswith("q1: red\\u001b[31m apple apple")
    rows = [line.split() for line in lines]
    assert ["RR", "1.000", "0.500", "−16.67"] in rows
    first = rows.index(["rank", "A", "grade", "in", "B", "B", "grade", "in", "A"])
    assert rows[first + 1] == ["1", "a", "2", "2", "x", "unjudged", "2"]
    # q1 once, q2 after it.
    assert [line.split(":")[0] for line in lines if line.startswith("q")] == ["q1", "q2"]
    assert "corpus docs, it did not move" in text


def test_single_queries_as_json(tree, capsys):
    assert run(["search", "diff", "before", "after", "--query", "q1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json_schema("compared_queries"))
    (query,) = found["queries"]
    assert query["a"]["ranking"][0] == {
        "rank": 1,
        "doc": "a",
        "score": 2.0,
        "grade": 2,
        "other_rank": None,
    }
    assert query["metrics"]["RR"] == {"a": 1.0, "b": 0.0, "points": pytest.approx(-100 / 3)}
    assert found["n_queries_moved"] == 1


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--query", "q11"], 3, "neither run has a query 'q11'; the closest: 'q1'"),
        (["--query", "q1", "--out", "x.md"], 64, "leave out --out"),
    ],
)
def test_queries_that_cannot_be_shown(tree, capsys, options, code, message):
    assert run(["search", "diff", "before", "after", *options]) == code
    assert message in capsys.readouterr().err


def test_the_newest_of_a_label_is_taken_and_said(tree, capsys):
    assert run(["search", "diff", "before", "after", "--json"]) == 0
    text, errors = capsys.readouterr()
    assert "2 runs are labelled 'after'; the newest is data/eval/eval-report-3.json" in errors
    found = json.loads(text)
    assert faults(found, "search_diff") == []
    assert found["metrics"]["RR"]["delta_points"] == pytest.approx(-100 / 3)


def test_markdown_is_written_whole_and_the_same_again(tree, capsys):
    command = ["search", "diff", "before", "after", "--out", "diff.md"]
    assert run(command) == 0
    assert capsys.readouterr().out.endswith("\ndiff.md\n")
    first = (tree / "diff.md").read_bytes()
    assert first.startswith(b"# Search diff: before")
    assert run(command) == 0
    assert (tree / "diff.md").read_bytes() == first
    assert run([*command[:4], "--out", "diff.md/below.md"]) == 3
    assert "cannot be written" in capsys.readouterr().err


def test_what_differs_must_be_named(tree, capsys):
    path = tree / "data/eval/eval-report-1.json"
    document = json.loads(path.read_text())
    document["run"]["settings"]["depth"] = 20
    path.write_text(json.dumps(document))
    assert run(["search", "diff", "before", "after"]) == 2
    assert "add --accept depth" in capsys.readouterr().err
    assert run(["search", "diff", "before", "after", "--accept", "depth"]) == 0
    assert capsys.readouterr().out.startswith("THESE RUNS DID NOT MEASURE THE SAME THING")
    assert run(["search", "diff", "before", "after", "--accept", "all"]) == 64


def test_a_run_without_a_verdict_is_shown_under_a_banner_with_exit_code_2(tree, capsys):
    path = tree / "data/eval/eval-report-3.json"
    document = json.loads(path.read_text())
    document["queries"].append(document["queries"][0])
    path.write_text(json.dumps(document))
    assert run(["search", "diff", "before", "after"]) == 2
    text = capsys.readouterr().out
    assert text.startswith("NO VERDICT, what follows decides nothing: run B has no verdict: it ")
    assert "\nmetric " in text
    assert run(["search", "diff", "before", "after", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert faults(found, "search_diff") == []
    assert len(found["no_verdict"]) == 1


def test_noise_of_finished_runs(tree, capsys):
    names = [f"data/eval/eval-report-{number}.json" for number in (1, 2)]
    assert run(["search", "noise", *names, "--change", "before", "after"]) == 0
    text = capsys.readouterr().out
    assert "1 of 3 queries got other documents in some run." in text
    assert 'metric = "P@5"' in text
    assert text.endswith("\ndata/eval/noise.json\n")
    assert faults(json.loads((tree / "data/eval/noise.json").read_text()), "search_noise") == []
    assert run(["validate", "data/eval/noise.json"]) == 0


def test_noise_of_repeats_writes_no_report(tree, capsys):
    write_rows(tree / "documents.jsonl", ({"id": d, "text": f"{d} apple"} for d in "abx"))
    row = {"id": "q1", "query": "apple", "corpus": "default", "relevant": ["a"]}
    write_rows(tree / "gold.jsonl", [row | {"source": "chair"}])
    command = ["search", "noise", "--retriever", "bm25:documents.jsonl", "--gold", "gold.jsonl"]
    before = sorted((tree / "data/eval").iterdir())
    assert run([*command, "--repeats", "2", "--out", "noise.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((tree / "noise.json").read_text())
    assert (found["n_runs"], found["is_deterministic"]) == (2, True)
    assert sorted((tree / "data/eval").iterdir()) == before


def test_the_retriever_of_a_run_is_asked_again_as_the_run_was(tree, capsys):
    texts = ({"id": d, "text": f"{d} one two three"} for d in "abxyz")
    write_rows(tree / "documents.jsonl", texts)
    row = {"id": "q1", "query": "one", "corpus": "default", "relevant": ["a"]}
    write_rows(tree / "data/eval/gold-set.jsonl", [row | {"source": "chair"}])
    asked = ["--retriever", "bm25:documents.jsonl", "--option", "k1=0.5", "--depth", "30"]
    assert run(["search", "run", *asked, "--label", "first", "--floor", "0.001"]) == 0
    capsys.readouterr()
    assert run(["search", "noise", "first", "--repeats", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_runs"], found["is_deterministic"]) == (3, True)
    (tree / "other.jsonl").write_bytes((tree / "documents.jsonl").read_bytes())
    other = ["--retriever", "bm25:other.jsonl", "--repeats", "2"]
    assert run(["search", "noise", "first", *other]) == 2, "another system than that of the run"


def test_a_run_that_hides_a_secret_is_not_asked_again(tree, capsys):
    path = tree / "data/eval/eval-report-1.json"
    document = json.loads(path.read_text())
    document["run"]["retriever"]["options"] = {"header.Authorization": "***"}
    path.write_text(json.dumps(document))
    assert run(["search", "noise", "before", "--repeats", "2"]) == 3
    assert "does not keep its option header.Authorization" in capsys.readouterr().err


def test_noise_needs_runs(tree, capsys):
    assert run(["search", "noise"]) == 64
    assert run(["search", "noise", "before"]) == 2
    assert "1 run shows no noise" in capsys.readouterr().err
