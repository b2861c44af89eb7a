from __future__ import annotations

import json
import shlex

import pytest

from retrieval_eval.cli import run
from retrieval_eval.schema import faults
from tests.report.search_made import BACKLOG, artefact, delta, shortened, write

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "eval").mkdir(parents=True)
    return tmp_path


def test_a_search_run_is_reported_by_its_label(place, capsys):
    newest = artefact(label="newest", delta=delta(), backlog=BACKLOG)
    write(place / "data" / "eval", newest, "eval-report-20260106T100000Z.json")
    assert run(["report", "newest", "--renderer", "embedded"]) == 0
    assert capsys.readouterr().out == "reports/search/newest/index.html\n"
    html = (place / "reports/search/newest/index.html").read_text(encoding="utf-8")
    assert "3 of 11 pending" in html


def test_two_search_runs_make_the_page_of_their_difference(place, capsys):
    path = write(place, shortened(artefact(label="now")))
    before = write(place, shortened(artefact(label="before")), "before.json")
    assert run(["report", str(before), str(path), "--renderer", "embedded"]) == 0
    assert capsys.readouterr().out == "reports/search/diff/before-now/index.html\n"
    assert run(["report", str(before), str(path), str(path)]) == 64
    assert run(["report", str(path), "--trials"]) == 64
    assert "--trials does not go with a search run" in capsys.readouterr().err


def test_a_report_of_an_unchanged_run_is_not_made_again(place, capsys):
    asked = ["report", str(write(place, artefact(label="same"))), "--renderer", "embedded"]
    page = place / "reports/search/same/index.html"
    assert run(asked) == 0
    first = page.stat().st_mtime_ns
    capsys.readouterr()
    assert run(asked) == 0
    said = capsys.readouterr()
    assert said.out == "reports/search/same/index.html\n"
    assert said.err.startswith("unchanged")
    assert page.stat().st_mtime_ns == first
    assert run([*asked, "--privacy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "made"
    assert page.stat().st_mtime_ns != first


@pytest.mark.extra
def test_the_demo_writes_what_its_commands_do_by_hand(place, capsys):
    assert run(["demo", "search", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["report"] == "reports/search-demo/index.html"
    made = json.loads((place / listed["run"]).read_text(encoding="utf-8"))
    assert faults(made, "search_run") == []
    assert made["delta"]["is_comparable"]
    assert made["delta"]["queries"]
    html = (place / listed["report"]).read_text(encoding="utf-8")
    assert "Review backlog" in html
    assert "not counted" not in html
    assert "not retrieved" in html
    for words in ("BREACH", "always refuse", "Claim coverage 50 %", "Cohen", "deterministic"):
        assert words in html
    *measured, guard, diff, difference, report, history = (
        shlex.split(c)[1:] for c in listed["commands"]
    )
    again = None
    for words in measured:
        capsys.readouterr()
        assert run(words if words[1] != "run" else [*words, "--json"]) == 0
        out = capsys.readouterr().out
        again = json.loads(out) if words[1] == "run" else again
    assert again is not None
    assert again["metrics"] == made["metrics"]
    # Too few of the unanswerable queries are refused.
    assert run(guard) == 1
    assert run([*diff, "--out", "diff.md"]) == 0
    assert run([*difference, "--renderer", "embedded"]) == 0
    assert (place / "reports/search/diff/baseline-changed/index.html").is_file()
    assert run([*report, "--renderer", "embedded"]) == 0
    assert (place / "reports/search/changed/index.html").is_file()
    assert run(history) == 0
    assert run(["report", history[-1], "--renderer", "embedded"]) == 0
    assert (place / "reports/history/index.html").is_file()


def test_what_lies_beside_the_gold_set_is_found_without_being_named(place):
    from retrieval_eval.demo import write_search_demo

    made = write_search_demo(place / "data" / "eval")
    retriever = ["--retriever", f"bm25:{made.corpus}", "--label", "a"]
    assert run(["search", "run", *retriever, "--corpus-file", str(made.corpus)]) == 0
    assert run(["report", "a", "--renderer", "embedded"]) == 0
    html = (place / "reports/search/a/index.html").read_text(encoding="utf-8")
    assert "Cohen" in html
