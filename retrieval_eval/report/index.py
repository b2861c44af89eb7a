"""The index of all reports: one page that lists every report below a folder.

Beside each page lies a ``report.json`` with its entry. Titles and findings in it are untrusted
text, as are the names of folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from retrieval_eval import __version__
from retrieval_eval.distribution import NAME
from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.escape import visible
from retrieval_eval.io.artefacts import read_record, write_artefact
from retrieval_eval.io.files import is_there, probe, read_text, write_text
from retrieval_eval.io.locks import alone
from retrieval_eval.model.dashboard import ReportEntry
from retrieval_eval.report import quarto, render
from retrieval_eval.report.exhibits import Link, Table
from retrieval_eval.report.names import MISSING
from retrieval_eval.report.show import table_html
from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.values import counted

ENTRY: Final = "report.json"
PAGE: Final = "index.html"
DOCUMENT: Final = "index.qmd"
"""The same index, which ``quarto render`` makes a page of."""

TRIALS: Final = "trials"
DETAILS: Final = "details"
"""Folders of the pages of trials and of details beside the page of a run, which leads to them."""
RUN_NOTEBOOK: Final = "run_report.ipynb"
"""The executed notebook that lies beside the page of a run."""

TITLE: Final = "All reports"
KINDS: Final = {
    "run_report": "run",
    "trial_report": "trial",
    "search_report": "search",
    "search_diff": "search difference",
    "history": "history",
}
"""Notebooks and what the index calls a report made with them."""

TONES: Final = ("better", "worse")
"""Tones of an answer that are a verdict; a page gives its answer none where there are doubts."""

_PATIENCE: Final = 30.0
_MARK: Final = 'id="tbl-reports"'


@dataclass(frozen=True, slots=True)
class Listed:
    """What a report's entry says of the documents it shows, and the folder of all reports."""

    reports_dir: Path
    measured_at: str | None = None
    verdict: str = ""
    n_trials: int | None = None
    n_queries: int | None = None
    n_queries_moved: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """The written index: its path, how many reports it lists, and what was left out and why."""

    path: Path
    n_reports: int
    problems: tuple[str, ...] = ()


def newest(moments: Iterable[str]) -> str | None:
    """Return the newest of the times at which documents were written, in UTC.

    What is no time is left out.

    Examples
    --------
    >>> newest(["2026-01-02T10:00:00Z", "2026-01-02T12:30:00+01:00", "yesterday"])
    '2026-01-02T11:30:00Z'
    """
    known = []
    for moment in moments:
        with suppress(ValueError, OverflowError):
            found = datetime.fromisoformat(moment)
            known.append(found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC))
    if not known:
        return None
    return max(known).isoformat(timespec="seconds").replace("+00:00", "Z")


def entry_of(
    page: str, notebook: str, title: str, listed: Listed, *, simulated: bool
) -> ReportEntry:
    """Return the entry of a rendered page; the finding is that of its answer."""
    said = render.headline(page)
    verdict = listed.verdict or said.badges.get("Guard", "").split(" (")[0].lower()
    if said.tone in TONES and not verdict:
        verdict = said.tone
    elif verdict in TONES and said.finding and said.tone != verdict:
        verdict += ", with cautions"
    return ReportEntry(
        schema_version=SCHEMA_VERSION,
        notebook=notebook,
        title=title,
        finding=said.finding,
        verdict=verdict,
        measured_at=listed.measured_at,
        n_trials=listed.n_trials,
        n_queries=listed.n_queries,
        n_queries_moved=listed.n_queries_moved,
        is_simulated=simulated,
    )


def way_back(folder: Path, reports_dir: Path) -> list[tuple[str, str]]:
    """Return the link from a report to the index, if there is or will be one."""
    if not is_ours(reports_dir / PAGE):
        return []
    place = quote(Path(os.path.relpath(reports_dir / PAGE, folder)).as_posix())
    return [(TITLE, place)]


def enter(page: Path, notebook: str, title: str, listed: Listed, *, simulated: bool) -> None:
    """Write the entry beside a page, and the index anew."""
    text = read_text(page, page.parent).value or ""
    entry = entry_of(text, notebook, title, listed, simulated=simulated)
    index = listed.reports_dir / PAGE
    # One after the other, or the index would lack a report that was entered at the same time.
    with alone(index, "lists the reports", patience=_PATIENCE):
        write_artefact(page.parent / ENTRY, entry, indent=1)
        if is_ours(index):
            write_index(listed.reports_dir)


def is_ours(page: Path) -> bool:
    """Return whether a page is an index written here, or absent: another one is never replaced."""
    return not is_there(page) or _MARK in (read_text(page, page.parent).value or "")


def write_index(reports_dir: Path) -> Index:
    """List every report below a folder in its ``index.html``, the newest first.

    A report without a readable entry is listed by the name of its folder alone.

    Raises
    ------
    BadInputError
        When there is no such folder, or its ``index.html`` is another page.
    """
    page = reports_dir / PAGE
    if not probe(reports_dir.is_dir):
        raise BadInputError(f"{reports_dir}: no such folder")
    if not is_ours(page):
        raise BadInputError(f"{page}: is another page, which the index would replace")
    found: list[tuple[str, ReportEntry | None]] = []
    problems = []
    for folder in report_folders(reports_dir):
        name = folder.relative_to(reports_dir).as_posix()
        try:
            found.append((name, read_record(folder / ENTRY, reports_dir, ReportEntry)))
        except SchemaError as error:
            found.append((name, None))
            if is_there(folder / ENTRY):
                problems.append(str(error))
    body = "<h1>All reports</h1>\n" + table_html(_table(found), labelled=True)
    footer = f"{TITLE} · {NAME} {__version__}"
    write_text(page, render.page_of_body(body, title=TITLE, footer=footer))
    if is_ours(reports_dir / DOCUMENT):
        write_text(reports_dir / DOCUMENT, quarto.document(body, title=TITLE, footer=footer))
    return Index(page, len(found), tuple(problems))


def report_folders(reports_dir: Path) -> Iterator[Path]:
    """Yield every folder below ``reports_dir`` with a page; links are not followed.

    Pages of trials and of details are left out where that of their run is there to lead to them.
    """
    for place, names, files in os.walk(reports_dir):
        folder = Path(place)
        names[:] = sorted(n for n in names if not n.startswith("."))
        if folder == reports_dir or PAGE not in files:
            continue
        names[:] = [name for name in names if name not in (TRIALS, DETAILS)]
        yield folder


def _table(found: list[tuple[str, ReportEntry | None]]) -> Table:
    """Return the list of reports, given by the paths of their folders and their entries."""
    ordered = sorted(found, key=lambda item: item[0])
    ordered.sort(key=lambda item: (item[1] and item[1].measured_at) or "", reverse=True)
    without = sum(entry is None for _, entry in ordered)
    notes = ["The date is that of the newest measurement in a report."]
    if not ordered:
        notes = ["There is no report in this folder yet."]
    if without:
        notes.append(
            f"{counted(without, 'report')} without a readable {ENTRY}: only the name of the folder "
            "is known."
        )
    return Table(
        "reports",
        f"{counted(len(ordered), 'report')}, the newest first",
        ("Report", "Date", "Kind", "Finding", "Verdict", "Measured on"),
        tuple(_row(name, entry) for name, entry in ordered),
        ("left",) * 6,
        tuple(notes),
    )


def _row(name: str, entry: ReportEntry | None) -> tuple[str, ...]:
    place = quote(f"{name}/{PAGE}")
    if entry is None:
        return (Link(visible(name, 120), place), *(MISSING,) * 5)
    counts = [
        counted(n, noun)
        for n, noun in ((entry.n_trials, "trial"), (entry.n_queries, "query"))
        if n is not None
    ]
    counts += [f"{entry.n_queries_moved:,} moved"] if entry.n_queries_moved is not None else []
    return (
        Link(visible(entry.title, 120) or visible(name, 120), place),
        (entry.measured_at or MISSING)[:16].replace("T", " "),
        KINDS.get(entry.notebook, visible(entry.notebook, 40)),
        visible(entry.finding, 300) or MISSING,
        visible(entry.verdict, 80) or MISSING,
        ", ".join(counts) or MISSING,
    )
