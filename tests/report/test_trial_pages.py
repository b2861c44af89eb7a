"""The pages of all trials of a run: linked, kept, and none lost."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from retrieval_eval.errors import RenderError
from retrieval_eval.report import build, build_trial, building
from tests.runs import write_task, write_trial

pytestmark = pytest.mark.slow

BATCHES = ("2026-01-05__10-00-00", "2026-01-06__10-00-00")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A run of two tasks, one of which has two trials of one name, and a broken folder."""
    root = tmp_path_factory.mktemp("trials")
    for task in ("task-one", "task-two"):
        write_task(root / "benchmarks", task, ["src/a.py", "src/b.py"])
    run = root / "runs" / "run-1"
    for config in ("base", "mcp"):
        write_trial(run, config, "task-one", ["src/a.py", "docs/x.md"], batch=BATCHES[0])
    write_trial(run, "base", "task-two", ["src/b.py"], batch=BATCHES[0])
    write_trial(run, "base", "task-one", ["src/b.py"], batch=BATCHES[1])
    return root


@pytest.fixture(scope="module")
def given(tree):
    return {
        "reports_dir": tree / "reports",
        "runs_root": tree / "runs",
        "benchmarks_root": tree / "benchmarks",
        "output_dir": tree / "out",
        "renderer": "embedded",
    }


@pytest.fixture(scope="module")
def report(given) -> Path:
    """The report with the pages of its trials."""
    return build("run-1", trials=True, **given)


class Links(HTMLParser):
    """The places that a page links, and those it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(found["id"])
        if tag == "a" and found.get("href"):
            self.hrefs.append(found["href"])


def check_links(folder: Path) -> dict[Path, set[Path]]:
    """Fail where a link of a page below a folder leads nowhere; return where each page leads."""
    pages = {path: Links(path) for path in folder.rglob("*.html")}
    leads: dict[Path, set[Path]] = {path: set() for path in pages}
    for path, page in pages.items():
        for href in page.hrefs:
            place, part = urldefrag(href)
            target = Path(os.path.normpath(path.parent / unquote(place))) if place else path
            assert target.is_relative_to(folder), href
            assert target.is_file(), f"{path}: {href}"
            assert not part or target not in pages or unquote(part) in pages[target].ids, href
            leads[path].add(target)
    return leads


def pages_of(report: Path) -> list[Path]:
    return sorted(report.parent.glob("trials/*/index.html"))


def test_every_trial_has_a_page_and_no_link_leads_nowhere(report):
    pages = pages_of(report)
    assert len(pages) == 4
    assert sum(page.parent.name.startswith("task-one__aaaaaaa@base-") for page in pages) == 2
    leads = check_links(report.parents[1])
    for page in pages:
        assert report in leads[page]
    reached, to_open = set(), {report}
    while to_open:
        page = to_open.pop()
        reached.add(page)
        to_open |= leads.get(page, set()) - reached
    assert reached >= set(pages)
    assert leads[report] & set(pages)


def test_a_comparison_leads_to_the_pages_of_trials(report, given):
    page = build("run-1", is_compared=True, **given)
    assert check_links(report.parents[1])[page] & set(pages_of(report))


def test_pages_that_nothing_has_changed_for_are_kept(report, given, tree):
    def times():
        return {page: page.stat().st_mtime_ns for page in pages_of(report)}

    before = times()
    build("run-1", trials=True, **given)
    assert times() == before
    config = tree / "runs/run-1/base" / BATCHES[0]
    result = config / "task-two__aaaaaaa" / "result.json"
    changed = json.loads(result.read_text()) | {"verifier_result": {"rewards": {"reward": 0.25}}}
    result.write_text(json.dumps(changed))
    build("run-1", trials=True, **given)
    made = [page.parent.name for page, time in times().items() if before[page] != time]
    assert made == ["task-two__aaaaaaa@base"]


def test_a_page_by_name_goes_where_that_of_all_trials_goes(report, given):
    before = {page: page.stat().st_mtime_ns for page in pages_of(report)}
    page = build_trial("run-1", "task-one", config="mcp", **given)
    assert page.parent.name == "task-one__aaaaaaa@mcp"
    assert {page: page.stat().st_mtime_ns for page in pages_of(report)} == before


def test_a_trial_whose_page_fails_stops_no_other_and_is_named(given, tmp_path, monkeypatch):
    publish = building.publish

    def fails(notebook, values, *arguments, **options):
        if values.get("trial") == "task-two__aaaaaaa":
            raise RenderError("a <cell> failed")
        return publish(notebook, values, *arguments, **options)

    monkeypatch.setattr(building, "publish", fails)
    for task in ("task-one", "task-two"):
        write_trial(tmp_path / "runs/few", "base", task, ["src/a.py"])
    roots = {"runs_root": tmp_path / "runs", "output_dir": tmp_path / "out"}
    given = given | roots | {"reports_dir": tmp_path / "reports"}
    with pytest.raises(RenderError, match=r"1 of 2 pages .*task-two__aaaaaaa: a <cell> failed"):
        build("few", trials=True, **given)
    report = tmp_path / "reports/few/index.html"
    assert report.is_file()
    assert len(pages_of(report)) == 2
    (failed,) = [p for p in pages_of(report) if p.parent.name.startswith("task-two")]
    text = failed.read_text(encoding="utf-8")
    assert "This page could not be made: a &lt;cell&gt; failed." in text
    check_links(tmp_path / "reports")
