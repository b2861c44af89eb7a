"""From a search run to a folder with page, notebook and tables."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report import build_search, building
from retrieval_eval.report.columns import SEARCH_FRAMES
from retrieval_eval.report.execute import check_outputs
from tests.report.search_made import artefact, delta, ordinary, unanswerable, write

pytestmark = pytest.mark.slow


def queue(folder: Path) -> str:
    path = folder / "secret-name.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("create table review_items (review_status text, created_at text)")
    rows = [("pending_review", "2025-12-01T08:00:00Z"), ("approved", "2025-12-02T08:00:00Z")]
    connection.executemany("insert into review_items values (?, ?)", rows)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    made = artefact(
        [*ordinary(), unanswerable("u", [("x", None)])], delta=delta(), label="after: rerank/7"
    )
    given = {"backlog": queue(folder), "renderer": "embedded"}
    return build_search(write(folder, made), reports_dir=folder / "reports", **given)


def test_the_report_is_a_folder_named_after_the_label(built):
    assert built.parts[-3:] == ("search", "after_rerank_7", "index.html")
    names = {p.name for p in built.parent.iterdir()}
    tables = {f"{name}.csv" for name in SEARCH_FRAMES}
    pages = {"index.html", "queries.html", "documents.html"}
    assert {"search_report.ipynb", "backlog.json", *pages, *tables} <= names
    beside = {"params.yml", "versions.csv", "report.json", "figures"}
    assert names <= {"search_report.ipynb", "backlog.json", *pages, *tables, *beside}
    check_outputs(built.parent / "search_report.ipynb")
    html = built.read_text(encoding="utf-8")
    assert "Guard not asked: no clear change in P@5 and Recall@20 against the baseline" in html
    assert "1 of 2 pending" in html


def test_tables_are_complete(built):
    def rows(name):
        with (built.parent / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    assert [r["id"] for r in rows("queries")] == [*(f"q{i:02}" for i in range(12)), "u"]
    assert len(rows("rankings")) == 12 * 3 + 1
    assert rows("queries")[12]["P@5"] == ""
    assert [r["points"] for r in rows("contributions")] == ["1.5", "-0.5"]


def test_the_address_of_a_database_is_kept_nowhere(built):
    counted = json.loads((built.parent / "backlog.json").read_text())
    assert (counted["pending_review"], counted["total"]) == (1, 2)
    for path in filter(Path.is_file, built.parent.rglob("*")):
        assert "secret-name" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"baseline": "absent.json"}, "absent.json: no such file"),
        ({"backlog": "absent.jsonl"}, r"absent\.jsonl"),
        ({"gold": "absent.jsonl"}, r"absent\.jsonl"),
    ],
)
def test_bad_input_starts_no_kernel_and_writes_nothing(given, message, tmp_path, monkeypatch):
    def no_kernel(*_, **__):
        raise AssertionError("a kernel was started")

    monkeypatch.setattr("retrieval_eval.report.publishing.execute", no_kernel)
    with pytest.raises(BadInputError, match=message):
        build_search(write(tmp_path, artefact()), reports_dir=tmp_path / "reports", **given)
    assert not (tmp_path / "reports").exists()


def test_a_report_without_a_backlog_has_none_of_an_earlier_one(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "publish", lambda notebook, values, folder, **_: folder)
    made = write(tmp_path, artefact())
    folder = build_search(made, reports_dir=tmp_path, backlog=queue(tmp_path))
    assert (folder / "backlog.json").is_file()
    build_search(made, reports_dir=tmp_path)
    assert not (folder / "backlog.json").exists()
