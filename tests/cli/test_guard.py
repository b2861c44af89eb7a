from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval import schema
from retrieval_eval.cli import run
from retrieval_eval.demo import write_search_demo
from retrieval_eval.search.decide.guard.files import write_pinned
from retrieval_eval.search.decide.guard.rendering import MARKER
from retrieval_eval.search.gold.identity import read_pinned
from retrieval_eval.search.run.document import load_search_run, run_bytes
from tests.guards import drop, run_with
from tests.plain_runs import noise
from tests.searches import written

WHY = """
[[justification]]
metrics = { "P@5" = 40 }
reason = "chunks changed, labels follow next week"
author = "ann"
second_approver = "bob"
expires = 9999-01-31
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder with a baseline, three runs and thresholds on P@5 and RR."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "data/eval/baseline.json", run_bytes(run_with([3] * 10)))
    write(tmp_path, "same.json", run_bytes(run_with([3] * 10, label="same")))
    write(tmp_path, "worse.json", run_bytes(run_with([1] * 10, label="worse")))
    cut = run_with([3] * 10, label="cut")
    cut["queries"] = cut["queries"][:7]
    write(tmp_path, "cut.json", run_bytes(cut))
    rows = "".join(f"[[threshold]]\n{row}\n" for row in (drop("P@5", 0.5), drop("RR", 0.5)))
    write(tmp_path, "data/eval/guard.toml", rows.encode())
    write(tmp_path, "why.toml", WHY.encode())
    return tmp_path


def write(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def guard(*arguments):
    return run(["search", "guard", *arguments])


def test_exit_codes_say_pass_breach_and_no_verdict(tree, capsys):
    for name, code, words in (
        ("same.json", 0, "PASS: 2 thresholds: 2 pass\n"),
        ("worse.json", 1, "BREACH: 2 thresholds: 1 pass, 1 breach\n"),
        ("cut.json", 2, "NO VERDICT: 2 thresholds: 2 no verdict\n"),
    ):
        assert guard(name, "--comment", f"out/{name}.md") == code
        assert capsys.readouterr().out.startswith(words)
        assert (tree / f"out/{name}.md").read_text().startswith(MARKER)


def noise_file(folder, *runs):
    found = noise(runs, generated_at=runs[0]["generated_at"], seed=1)
    write(folder, "data/eval/noise.json", json.dumps(written(found)).encode())


def test_the_noise_file_at_hand_decides_and_each_row_says_so(tree, capsys):
    assert guard("worse.json", "--json") == 1
    without = json.loads(capsys.readouterr().out)
    assert {row["decided_by"] for row in without["rows"]} == {"significance"}
    noise_file(tree, run_with([3] * 10), run_with([3] * 10))
    assert guard("worse.json", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["schema_version"], document["decision"]["rule"]) == (
        "2.0",
        "threshold_and_real",
    )
    assert [row["decided_by"] for row in document["rows"]] == ["noise", "noise"]
    assert schema.kind_of(document) == "search_guard"
    assert schema.faults(document, "search_guard") == []
    guard("worse.json")
    head, row = capsys.readouterr().out.splitlines()[2:4]
    assert row[head.index("decided by") :].split() == ["noise", "BREACH"]


def test_several_runs_are_compared_with_a_folder_of_baselines(tree, capsys):
    for k in range(3):
        for name, hits in (("baselines", 3), ("now", 1)):
            run = run_with([hits + (k == 2), *[hits] * 9], label=f"{name} {k}")
            write(tree, f"{name}/{k}.json", run_bytes(run))
    runs = [f"now/{k}.json" for k in range(3)]
    assert guard(*runs, "--baseline", "baselines", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["run"]["n_runs"], document["baseline"]["n_runs"]) == (3, 3)
    assert document["rows"][0]["change_points"] == pytest.approx(-40)
    assert {row["decided_by"] for row in document["rows"]} == {"noise"}
    files = [option for k in range(3) for option in ("--baseline", f"baselines/{k}.json")]
    assert guard(*runs, *files) == 1
    assert "Paired over queries, means of 3 runs against 3 of the baseline;" in (
        capsys.readouterr().out
    )
    assert guard(runs[0], runs[0], "--baseline", "baselines") == 2
    assert "on the side of the run, run 2 is run 1 again" in capsys.readouterr().out
    (tree / "empty").mkdir()
    assert guard(*runs, "--baseline", "empty") == 3
    assert "empty: no JSON file in this folder" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b'{"schema_version": "1.2", "run": {}}'])
def test_a_run_that_is_none_has_no_verdict_and_still_a_comment(tree, capsys, content):
    write(tree, "broken.json", content)
    assert guard("broken.json", "--comment", "c.md") == 2
    assert "broken.json" in capsys.readouterr().out
    assert "NO VERDICT" in (tree / "c.md").read_text()
    assert guard("same.json", "--baseline", "broken.json") == 2


def test_a_justification_lets_a_breach_pass_until_its_day(tree, capsys):
    arguments = ["--justification", "why.toml"]
    assert guard("worse.json", *arguments) == 0
    assert "PASS BY JUSTIFICATION of 1" in capsys.readouterr().out
    assert guard("cut.json", *arguments) == 2
    write(tree, "why.toml", WHY.replace("9999", "2000").encode())
    capsys.readouterr()
    assert guard("worse.json", *arguments) == 1
    assert "expired on 2000-01-31" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.json"], "'none.json' is neither a file nor the label of a run"),
        (["same.json", "--baseline", "none.json"], "none.json: no such file; `retrieval-eval sea"),
        (["same.json", "--thresholds", "none.toml"], "none.toml: no such file"),
        (["same.json", "--thresholds", "why.toml"], "why.toml: /justification: unknown key"),
        (["same.json", "--justification", "data/eval/guard.toml"], "/threshold: unknown key"),
        (["same.json", "--queries", "none.txt"], "none.txt: no such file"),
        (["same.json", "--noise", "none.json"], "none.json"),
        (["same.json", "--comment", "data"], "data"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(tree, capsys, arguments, message):
    assert guard(*arguments) in (3, 64)
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_without_a_file_the_shipped_thresholds_are_taken(tree, capsys):
    (tree / "data/eval/guard.toml").unlink()
    assert guard("same.json", "--json") == 0
    shipped = json.loads(capsys.readouterr().out)
    assert [row["metric"] for row in shipped["rows"]][:3] == ["P@5", "Recall@20", "claim_coverage"]
    assert [row["verdict"] for row in shipped["rows"]] == ["pass"] * 2 + ["skipped"] * 3
    assert guard("same.json") == 0
    out = capsys.readouterr().out
    assert out.startswith("PASS: 5 thresholds: 2 pass, 3 not applied\n")
    assert (
        "not applied: claim_coverage: the baseline has no claim_coverage: the value was not" in out
    )


# Pinned queries, over the demo collection.


BM25 = ["--retriever", "bm25:data/eval/corpus.jsonl"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo collection in data/eval, with a baseline of it and the thresholds of a team."""
    root = tmp_path_factory.mktemp("team")
    write_search_demo(root / "data/eval")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert run(["search", "run", *BM25, "--label", "main", "--out", "main"]) == 0
    (report,) = (root / "main").glob("*.json")
    report.rename(root / "data/eval/baseline.json")
    rows = (drop("P@5", 0.5), drop("Recall@20", 0.5), drop("claim_coverage", 1, "required = false"))
    text = "".join(f"[[threshold]]\n{row}\n" for row in rows)
    (root / "data/eval/guard.toml").write_text(text)
    return root


def test_a_pinned_list_is_written_and_held(demo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(demo)
    pinned = str(write_pinned(tmp_path / "pinned.txt", Path("data/eval/gold-set.jsonl"), size=30))
    arguments = ["data/eval/baseline.json", "--queries", pinned, "--json"]
    assert guard(*arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n_pinned"] == 30
    assert document["rows"][0]["n_queries"] <= 30

    lines = (demo / "data/eval/gold-set.jsonl").read_text().splitlines()
    named = Path(pinned).read_text().splitlines()[1]
    changed = [line.replace("?", "!") + "\n" for line in lines if named not in line]
    other = tmp_path / "gold.jsonl"
    other.write_text("".join(changed))
    assert guard(*arguments, "--gold", str(other)) == 2
    assert "another gold set" in capsys.readouterr().out


def test_a_sample_can_be_pinned_from_the_beginning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_search_demo(tmp_path / "data/eval")
    begin = ["--init", *BM25]
    assert guard(*begin, "--pin", "40", "--accept-weak-baseline") == 0
    pinned = read_pinned(Path("data/eval/pinned.txt"))
    assert len(pinned.ids) == 40
    baseline = load_search_run(Path("data/eval/baseline.json"))
    assert {query.id for query in baseline.queries} == set(pinned.ids)
    assert "data/eval/pinned.txt" in capsys.readouterr().out.splitlines()[-1]
    assert guard(*begin, "--pin", "40") == 3
    assert "would be overwritten" in capsys.readouterr().err
    assert guard(*begin, "--pin", "40", "--queries", "data/eval/pinned.txt") == 64
    assert guard("--init", "data/eval/baseline.json", "--pin", "40") == 64
    assert guard("data/eval/baseline.json", "--pin", "40") == 64
