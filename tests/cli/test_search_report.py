from __future__ import annotations

import json
import shlex

import pytest

from retrieval_eval.cli.main import run
from retrieval_eval.schema import faults
from tests.report.conftest import without_kernel  # noqa: F401 - a fixture
from tests.report.search_made import BACKLOG, artefact, delta, shortened, write

pytestmark = pytest.mark.slow


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "eval").mkdir(parents=True)
    return tmp_path


@pytest.mark.usefixtures("without_kernel")
def test_a_search_run_is_reported_by_its_label(place, capsys):
    newest = artefact(label="newest", delta=delta(), backlog=BACKLOG)
    write(place / "data" / "eval", newest, "eval-report-20260106T100000Z.json")
    assert run(["report", "newest", "--renderer", "embedded"]) == 0
    assert capsys.readouterr().out == "reports/search/newest/index.html\n"
    html = (place / "reports/search/newest/index.html").read_text(encoding="utf-8")
    assert "3 of 11 pending" in html


@pytest.mark.usefixtures("without_kernel")
def test_two_search_runs_make_the_page_of_their_difference(place, capsys):
    path = write(place, shortened(artefact(label="now")))
    before = write(place, shortened(artefact(label="before")), "before.json")
    assert run(["report", str(before), str(path), "--renderer", "embedded"]) == 0
    assert capsys.readouterr().out == "reports/search/diff/before-now/index.html\n"
    assert run(["report", str(before), str(path), str(path)]) == 64
    assert run(["report", str(path), "--trials"]) == 64
    assert "--trials does not go with a search run" in capsys.readouterr().err


@pytest.mark.usefixtures("without_kernel")
def test_files_can_be_named_and_the_answer_is_json(place, capsys):
    path = write(place, shortened(artefact(generated_at="2026-01-07T10:00:00Z")))
    before = write(place, shortened(artefact(label="before")), "before.json")
    queue = write(place, BACKLOG, "queue.json")
    words = ["--baseline", str(before), "--backlog", str(queue), "--reports-dir", "out"]
    assert run(["report", str(path), *words, "--privacy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "report": "out/search/changed/index.html",
        "status": "made",
    }
    html = (place / "out/search/changed/index.html").read_text(encoding="utf-8")
    assert "No metric of the rankings changed against the baseline." in html


@pytest.mark.usefixtures("without_kernel")
def test_a_report_of_an_unchanged_run_is_not_made_again(place, capsys):
    path = write(place, artefact(label="same"))
    asked = ["report", str(path), "--renderer", "embedded"]
    assert run(asked) == 0
    page = place / "reports/search/same/index.html"
    first = page.stat().st_mtime_ns
    capsys.readouterr()

    def is_made(*options):
        nonlocal first
        before, first = first, 0
        assert run([*asked, *options, "--json"]) == 0
        first = page.stat().st_mtime_ns
        status = json.loads(capsys.readouterr().out)["status"]
        assert (status == "made") == (first != before)
        return status == "made"

    assert not is_made()
    assert run(asked) == 0
    said = capsys.readouterr()
    assert said.out == "reports/search/same/index.html\n"
    assert said.err.startswith("unchanged")
    assert is_made("--force")
    assert is_made("--privacy")
    assert not is_made("--privacy")
    assert is_made()
    write(place, artefact(label="same", generated_at="2026-01-09T10:00:00Z"), path.name)
    assert is_made()
    page.unlink()
    assert run(asked) == 0
    assert page.is_file()


def test_exit_codes(place):
    assert run(["report", "absent.json"]) == 3
    path = str(write(place, artefact()))
    assert run(["report", path, "--backlog", "sqlite:///absent.db"]) == 3
    assert not (place / "reports").exists()


@pytest.mark.usefixtures("without_kernel")
def test_the_demo_writes_what_its_commands_do_by_hand(place, capsys):
    assert run(["demo", "search", "--renderer", "embedded", "--json"]) == 0
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
    for words in ("BREACH", "Always refuse", "Claim coverage 50 %", "Cohen", "deterministic"):
        assert words in html
    assert "No label is stale" in html
    *measured, guard, diff, report, history = (shlex.split(c)[1:] for c in listed["commands"])
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
    assert (place / "reports/search/diff/baseline-changed/index.html").is_file()
    assert run([*report, "--renderer", "embedded"]) == 0
    assert (place / "reports/search/changed/index.html").is_file()
    assert run(history) == 0


@pytest.mark.usefixtures("without_kernel")
def test_what_lies_beside_the_gold_set_is_found_without_being_named(place, capsys):
    from retrieval_eval.demo import write_search_demo

    made = write_search_demo(place / "data" / "eval")
    retriever = ["--retriever", f"bm25:{made.corpus}", "--label", "a"]
    assert run(["search", "run", *retriever, "--corpus-file", str(made.corpus)]) == 0
    assert run(["search", "noise", *retriever[:2], "--repeats", "2"]) == 0
    capsys.readouterr()
    assert run(["report", "a", "--renderer", "embedded"]) == 0
    html = (place / "reports/search/a/index.html").read_text(encoding="utf-8")
    assert "No label is stale" in html
    assert "2 runs of the same system gave the same documents" in html


def test_options_of_the_page_need_the_page(place, capsys):
    path = str(write(place, artefact()))
    assert run(["search", "diff", path, path, "--privacy"]) == 64
    assert "add --report" in capsys.readouterr().err
