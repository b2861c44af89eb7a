"""Pooling, reading back and pseudonymising, run as commands on the search demo."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from retrieval_eval.cli.gold import pseudonymize
from retrieval_eval.cli.gold_labelling import pool, settle_command
from retrieval_eval.demo import write_search_demo
from retrieval_eval.search.gold import gold_faults, load_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from tests.searches import measure


def _run(command, *arguments):
    result = CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def demo(tmp_path):
    found = write_search_demo(tmp_path / "demo")
    rows = found.gold.read_text("utf-8").splitlines(keepends=True)
    found.gold.write_text("".join(rows[:40]), "utf-8")
    return found


@pytest.fixture
def run(demo, tmp_path):
    """Return the file of a search run of the demo, with BM25."""
    measure(demo.gold, f"bm25:{demo.corpus}", out=tmp_path / "eval")
    (path,) = (tmp_path / "eval").glob("eval-report-*.json")
    return path


def test_sheets_go_out_and_come_back(demo, run, tmp_path):
    out = tmp_path / "sheets"
    arguments = ["--gold", demo.gold, "--run", run, "--corpus-file", demo.corpus]
    text = _run(pool, *arguments, "--labellers", "a,c", "--depth", 5, "--out", out)
    assert "sheet-c.csv" in text

    with (out / "sheet-c.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows[:40]:
        row["grade"] = "1"
    with (out / "sheet-c.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    before = load_gold_set(demo.gold)
    found = json.loads(
        _run(settle_command, out / "sheet-c.csv", "--key", out / "key.json", "--gold", demo.gold,
             "--json")
    )  # fmt: skip
    after = load_gold_set(demo.gold)
    assert (found["n_items"], found["n_graded"], found["n_added"]) == (len(rows), 40, 40)
    assert found["n_absent"] == len(rows)
    n_labels = [sum(len(query.labels) for query in gold.queries) for gold in (before, after)]
    assert n_labels[1] - n_labels[0] == 40
    assert gold_faults(demo.gold, corpus=read_corpus(demo.corpus)) == []


def test_a_pseudonymised_demo_measures_the_same(demo, run, tmp_path):
    entities = tmp_path / "entities.toml"
    entities.write_text(
        '[[entity]]\nkind = "product"\nname = "Thornkeep"\n'
        '[[entity]]\nkind = "organisation"\nname = "Lindquay Desk"\naliases = ["Lindquay"]\n'
        '[[entity]]\nkind = "organisation"\nname = "Never Seen"\n',
        encoding="utf-8",
    )
    out = tmp_path / "out"
    text = _run(
        pseudonymize, "--gold", demo.gold, "--corpus-file", demo.corpus, "--entities", entities,
        "--mapping", tmp_path / "mapping.json", "--out", out,
    )  # fmt: skip
    assert "1 of 3 listed entities not found" in text
    assert "Lindquay" not in text
    for name in ("gold-set.jsonl", "corpus.jsonl"):
        written = (out / name).read_text("utf-8").casefold()
        assert "thornkeep" not in written
        assert "lindquay" not in written
    assert gold_faults(out / "gold-set.jsonl", corpus=read_corpus(out / "corpus.jsonl")) == []

    hidden = measure(out / "gold-set.jsonl", f"bm25:{out / 'corpus.jsonl'}", out=tmp_path / "e2")
    shown = json.loads(run.read_text("utf-8"))
    # Words were exchanged one for one, so recall can only move where ties are broken by id.
    for name in ("P@5", "Recall@20"):
        assert hidden["metrics"][name]["n"] == shown["metrics"][name]["n"]
        assert hidden["metrics"][name]["value"] == pytest.approx(
            shown["metrics"][name]["value"], abs=0.02
        )
