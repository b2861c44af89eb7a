"""Agreement, settling and re-labelling, run as commands on the search demo."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from retrieval_eval.cli.gold_labelling import (
    agreement_command,
    relabel_command,
    settle_command,
)
from retrieval_eval.cli.search_diff import diff
from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold import gold_faults, load_gold_set
from retrieval_eval.search.gold.agreement import WEIGHTS
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.relabel import read_mapping
from tests.rechunking import recut, same
from tests.searches import measure


@pytest.fixture
def demo(tmp_path):
    return write_search_demo(tmp_path / "demo")


def _run(command, *arguments, code=0):
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def _json(command, *arguments):
    return json.loads(_run(command, *arguments, "--json"))


def test_agreement_as_json(demo):
    found = _json(agreement_command, "--gold", demo.gold, "--pair", "b,a")
    (pair,) = found["pairs"]
    assert (pair["first"], pair["second"], list(pair["kappa"])) == ("b", "a", list(WEIGHTS))
    kappa = pair["kappa"]["linear"]
    assert kappa["ci_low"] < kappa["value"] < kappa["ci_high"]
    assert kappa["n"] == pair["n"] == sum(map(sum, pair["table"]))
    assert sum(part["n"] for part in pair["corpora"].values()) == pair["n"]
    assert len(found["disagreements"]) == pair["n"] - sum(
        pair["table"][grade][grade] for grade in range(3)
    )
    swapped = _json(agreement_command, "--gold", demo.gold)["pairs"][0]
    assert swapped["kappa"] == pair["kappa"]


def test_disagreements_go_to_a_third_reviewer_and_come_back(demo, tmp_path):
    sheet = tmp_path / "open.csv"
    options = ["--adjudicate", sheet, "--adjudicator", "cleo", "--corpus-file", demo.corpus]
    found = _json(agreement_command, "--gold", demo.gold, *options)
    key = tmp_path / "open.key.json"
    assert found["files"] == [str(sheet), str(key)]
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(found["disagreements"])
    for row in rows[:30]:
        row["grade"] = "0"
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    done = _json(settle_command, sheet, "--key", key, "--gold", demo.gold)
    assert (done["n_settled"], done["n_apart"], done["purpose"]) == (30, 0, "adjudication")
    assert done["n_waiting"] == len(rows) - 30
    gold = load_gold_set(demo.gold)
    assert gold_faults(demo.gold, corpus=read_corpus(demo.corpus)) == []
    decided = [one for query in gold.queries for one in query.extra.get("decisions", [])]
    assert len(decided) == 30
    assert {tuple(one["by"]) for one in decided} == {("cleo",)}
    assert {frozenset(one["over"]) for one in decided} == {frozenset({"a", "b"})}
    text = _run(settle_command, sheet, "--key", key, "--gold", demo.gold)
    assert "30 grades settled, 0 of them new" in text
    after = _json(agreement_command, "--gold", demo.gold, *options)
    assert [one["n"] for one in after["pairs"]] == [one["n"] for one in found["pairs"]]
    assert sum(not one["decided_by"] for one in after["disagreements"]) == len(rows) - 30


@pytest.mark.parametrize(
    "options",
    [["--adjudicate", "x.csv"], ["--adjudicator", "cleo"], ["--pair", "a"], ["--pair", "a,b,c"],
     ["--adjudicate", "x.txt", "--adjudicator", "cleo", "--corpus-file", "corpus"]],
)  # fmt: skip
def test_wrong_use_is_explained_and_writes_nothing(demo, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    assert "Error: " in _run(agreement_command, "--gold", demo.gold, *options, code=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo"]


def test_relabelling_and_the_split_of_the_change(demo, tmp_path):
    before = measure(demo.gold, f"bm25:{demo.corpus}", out=tmp_path / "before")
    new = recut(demo, tmp_path / "new", same, head="New first line.\n\n")
    arguments = ["--gold", demo.gold, "--old-corpus", demo.corpus, "--new-corpus", new.corpus]
    text = _run(relabel_command, *arguments, "--sources", new.sources)
    assert "0 pairs of the new corpus to grade" in text
    assert "note: 111 reviewed rows: grades that hold are kept; 0 of these rows" in text
    out = demo.root / "relabel"
    assert sorted(path.name for path in out.iterdir()) == [
        "gold-set.jsonl", "queue.jsonl", "relabel.json",
    ]  # fmt: skip
    assert (out / "queue.jsonl").read_bytes() == b""

    measure(out / "gold-set.jsonl", f"bm25:{new.corpus}", out=tmp_path / "after")
    runs = [next((tmp_path / name).glob("eval-report-*.json")) for name in ("before", "after")]
    golds = ["--old-gold", demo.gold, "--gold", out / "gold-set.jsonl"]
    mapping = ["--mapping", out / "relabel.json"]
    accepted = ["--accept", "gold_set", "--accept", "corpus"]
    found = _json(diff, *runs, *golds, *mapping, *accepted)["label_split"]
    assert {block["retrieval"] for block in found["metrics"].values()} == {0.0}
    assert list(found["metrics"]) == before["run"]["settings"]["measures"]

    # A mapping of other labels would tell the old rankings in the wrong documents.
    other = json.loads((out / "relabel.json").read_text())
    other["gold"]["old"] = "0" * 64
    (out / "relabel.json").write_text(json.dumps(other))
    with pytest.raises(BadInputError, match="/gold/old: the labels of another gold set were moved"):
        read_mapping(out / "relabel.json", load_gold_set(demo.gold))
