"""The pages that several tests look at, by name; the fixture ``page`` makes each of them once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from retrieval_eval.io.files import write_text
from retrieval_eval.report import SearchDiff, SearchRun, loading, notebook_files, render
from retrieval_eval.report.exhibits import Block, Link, Table
from retrieval_eval.report.index import Listed, enter
from retrieval_eval.report.notebook_files import read_notebook
from retrieval_eval.report.show import to_html
from tests.report.conftest import HOSTILE, run_cells
from tests.report.search_made import (
    BACKLOG,
    artefact,
    compared,
    delta,
    failed,
    gold_of,
    hostile,
    ordinary,
    query,
    searched,
    unanswerable,
)
from tests.report.search_practice import CLAIMS, noise_of, run, whole, with_drafts
from tests.searches import abstention_block

Get = Callable[[str], Any]
"""Returns a fixture of the tests by its name."""


def _of_run(run: str, notebook: str = "run_report") -> Callable[[Get], str]:
    def made(get: Get) -> str:
        html: str = get("page_of")(get(run), notebook)
        return html

    return made


def search_notebook(found: SearchRun | SearchDiff) -> Any:
    """Return the executed notebook of a search run, or of the difference of two."""
    is_run = isinstance(found, SearchRun)
    notebook = read_notebook(notebook_files.notebook("search_report" if is_run else "search_diff"))
    loader = (loading, "load_search" if is_run else "load_diff")
    return run_cells(notebook, loader, found, privacy=found.privacy)


def search_page(found: SearchRun | SearchDiff) -> str:
    return render.to_html(search_notebook(found), title="Search: made", footer="made")


def ordinary_run() -> dict[str, Any]:
    asked = [*ordinary(), query("lost", [], value=0.0), unanswerable("u", [("x", None)])]
    block = abstention_block(asked, threshold=2.5)
    return artefact(asked, delta=delta(top1=["q01"]), backlog=BACKLOG, abstention=block)


def two_runs(a: Any = None, b: Any = None, **options: Any) -> SearchDiff:
    """The difference of two runs; by default q1 lost its first document, q2 changed its own."""
    before = with_drafts(run(label="before"), CLAIMS) if a is None else a
    after = with_drafts(run({"q1": "x", "q2": "b"}, label="after"), CLAIMS) if b is None else b
    return compared(before, after, **options)


def hostile_diff() -> SearchDiff:
    """Two hostile runs of which the second ranks the other way round."""
    before, after = hostile(), hostile() | {"label": HOSTILE[1]}
    for asked in after["queries"]:
        if asked["status"] == "ok" and asked["ranking"]:
            asked["ranking"] = list(reversed(asked["ranking"]))
            asked["metrics"] = dict.fromkeys(asked["metrics"], 0.5)
    return two_runs(before, after)


def _search(_: Get) -> str:
    made = ordinary_run()
    return search_page(searched(made, gold=gold_of(made, {"missed": 1})))


def _everything(_: Get) -> str:
    moved = {"delta": delta(contributions={"q1": {"RR": -5.0}}, top1=["q1"])}
    return search_page(whole(changes=moved))


def _failed(_: Get) -> str:
    asked = [*ordinary(), failed("f")]
    return search_page(searched(artefact(asked, delta=delta(), backlog=BACKLOG)))


def put(root: Path, name: str, finding: str = "It helped", **given: Any) -> Path:
    """Write a page with its entry in the index, as publishing does; return its folder."""
    folder = root / name
    write_text(folder / "index.html", page(finding))
    title = given.pop("title", f"Report {name}")
    enter(folder / "index.html", "run_report", title, Listed(root, **given), simulated=False)
    return folder


def page(finding: str = "It helped", *, tone: str = "better", guard: str = "") -> str:
    """Return a page as short as one can be."""
    blocks = [
        Block("header", "Simulated data", badges=(("Guard", guard),) if guard else ()),
        Block("answer", finding, ("A sentence.",), badges=(("Complete", "all"),), tone=tone),
        Block("section", "Another finding"),
    ]
    body = "<h1>Report</h1>" + "".join(map(to_html, blocks))
    return render.page_of_body(body, title="t", footer="f")


def _index(_: Get) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for n in range(12):
            moment = f"2026-01-{n + 1:02}T10:00:00Z"
            put(Path(folder), f"run-{n}", f"Recall rose by {n}", measured_at=moment)
        return (Path(folder) / "index.html").read_text(encoding="utf-8")


CELLS = {
    "number": ["0.12", "+0.30", "−0.10", "—", "1,234", "45 %", "[−0.20, 0.10]"],
    "share": ["12 of 30", "5 of 6", "0 of 0", "1 of 1,200", "—", "3 of 4 (0.75)", "0 of 9"],
    "time": ["1 min 20 s", "45.5 s", "—", "2 h", "300 ms", "−3 s", "79 s"],
    "text": ["b10", "b9", "—", "a", "Ä", "", "c"],
    "day": ["2026-02-01", "2025-12-31", "—", "2026-01-31", "2026-10-01", "2024-01-01", "—"],
}
"""Cells of a column each, of every kind that the script of a page sorts."""


def tables_of_every_kind() -> str:
    rows = tuple(
        (f"row {place}", *cells) for place, cells in enumerate(zip(*CELLS.values(), strict=True))
    )
    names = [Link(f"task-{n:02}", f"trials/task-{n:02}/index.html") for n in range(40)]
    body = tuple((name, f"{n % 7 / 10:.2f}", f"suite {n % 3}") for n, name in enumerate(names))
    attacks = tuple((name, "0.50", "<b>suite</b>") for name in HOSTILE)
    wide = tuple(tuple(f"{r}{c}" for c in "ABCDEFGH") for r in range(3))
    tables = (
        Table("short", "Cells of every kind", ("Name", *CELLS), rows),
        Table("long", "Every task", ("Task", "Recall", "Suite"), body + attacks),
        Table("wide", "Many columns", tuple("ABCDEFGH"), wide),
    )
    answer = Table("headline", "The answer", ("Metric", "Value"), (("A", "1"), ("B", "2")))
    shown = [
        Block("answer", "It helped", exhibits=(answer,), tone="better"),
        Block("section", "Tables", exhibits=tables),
    ]
    html = '<h1>Report</h1>\n<h2 id="tables">Tables</h2>' + "".join(map(to_html, shown))
    back = (("All reports", "../index.html"),)
    return render.page_of_body(html, title="Report", footer="made", back=back)


PAGES: dict[str, Callable[[Get], str]] = {
    "demo": lambda get: get("demo_page").read_text(encoding="utf-8"),
    "hostile": _of_run("hostile_run"),
    "withheld": _of_run("withheld_run"),
    "details": _of_run("made_run", "run_details"),
    "trial": _of_run("made_run", "trial_report"),
    "search": _search,
    "search-hostile": lambda _: search_page(searched(hostile(), baseline=hostile())),
    "search-failed": _failed,
    "search-everything": _everything,
    "diff": lambda _: search_page(two_runs(noise=noise_of(run(), run({"q2": "b"})))),
    "diff-hostile": lambda _: search_page(hostile_diff()),
    "tables": lambda _: tables_of_every_kind(),
    "index": _index,
}
