"""From search runs to report folders: the page, its queries and documents, notebook and tables."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.escape import slug, visible
from retrieval_eval.io.files import remove, write_json
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report.columns import DIFF_FRAMES, SEARCH_FRAMES
from retrieval_eval.report.index import Listed, newest
from retrieval_eval.report.publishing import Files, Keep, digest_of, publish, write_frames
from retrieval_eval.report.search.demo import (
    DEMO_FOLDER,
    MeasuredDemo,
    Sources,
    is_demo,
    measured_demo,
)
from retrieval_eval.report.search.diff import SearchDiff
from retrieval_eval.report.search.loading import (
    DiffSources,
    as_text,
    load_search,
    read_diff,
)
from retrieval_eval.report.search.pages import write_pages
from retrieval_eval.report.search.run import SearchRun
from retrieval_eval.report.search.searched import Searched

FOLDER: Final = Path("search")
WHOLE: Final = "diff.json"
PRIVATE_COLUMNS: Final = ("query", "error", "claim", "reasons", "labeller_a", "labeller_b")


def build_search(
    run: str | Path,
    *,
    reports_dir: Path,
    where: str = "",
    privacy: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
    **files: str | Path,
) -> Path:
    """Write the report of a search run and return the path of its page.

    Parameters
    ----------
    run, where, files
        As for :func:`retrieval_eval.report.load_search`: ``files`` are its other sources by name.
    reports_dir
        The report goes to ``<reports_dir>/search/<label>/index.html``, named after the file where
        the run has no label, with pages of every query and document, the executed notebook and the
        CSV of every frame beside it; the demonstration's to
        ``<reports_dir>/search-demo/index.html``. A backlog is counted once and kept beside the page
        as ``backlog.json``, so that no address of a database is in it.
    privacy
        Leave out texts of queries and drafts, messages of the retriever, how it was opened, and
        the names of labellers.
    renderer, pdf, progress, keep
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    if is_demo(str(run)):
        return build_demo(reports_dir=reports_dir, privacy=privacy, **page)[0]
    given = {name: as_text(value) for name, value in files.items()}
    sources = Sources(as_text(run), **given)
    loaded = load_search(**asdict(sources), where=where, privacy=privacy, pages=True)
    folder = reports_dir / FOLDER / slug(loaded.name)
    return _publish(loaded, sources, folder, reports_dir, where, keep=keep, **page)


def build_demo(
    *,
    reports_dir: Path,
    privacy: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
) -> tuple[Path, MeasuredDemo]:
    """Measure the demonstration, write its report, and return its page and what was measured."""
    folder = reports_dir / DEMO_FOLDER
    made = measured_demo(folder / "data", progress=progress)
    loaded = load_search(**asdict(made.sources), privacy=privacy, pages=True)
    page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    return _publish(loaded, made.sources, folder, reports_dir, "", **page), made


def build_diff(
    sources: DiffSources,
    *,
    reports_dir: Path,
    where: str = "",
    privacy: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Path:
    """Write the report of what changed from one search run to another; return its page.

    Parameters
    ----------
    sources
        What is compared; see :func:`retrieval_eval.report.load_diff`.
    reports_dir
        The report goes to ``<reports_dir>/search/diff/<A>-<B>/index.html``, by the labels, with
        pages of every query and document, the executed notebook, the CSV of every frame and
        ``diff.json`` beside it; the demonstration's to
        ``<reports_dir>/search-demo/diff/index.html``.
    where
        Only the queries that pass a condition; see :meth:`SearchDiff.filter`.
    privacy
        Leave out texts of queries, messages of the retriever, how it was opened, and
        ``diff.json``.
    renderer, pdf, progress, keep
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        When a run does not exist or is of the wrong kind.
    NothingToEvaluateError
        When the runs did not measure the same thing, and that was not accepted.
    RenderError
        When a cell fails or the page cannot be rendered.
    """
    is_made, made = sources.is_demo, reports_dir / DEMO_FOLDER
    if is_made:
        sources = sources.with_demo(measured_demo(made / "data", progress=progress))
    loaded = read_diff(sources, where=where, privacy=privacy, pages=True)
    own = reports_dir / FOLDER / "diff" / slug("-".join(loaded.labels))
    folder = made / "diff" if is_made else own
    page: dict[str, Any] = {"renderer": renderer, "pdf": pdf, "progress": progress}
    return _publish(loaded, sources, folder, reports_dir, where, keep=keep, **page)


def _publish(
    loaded: SearchRun | SearchDiff,
    sources: Sources | DiffSources,
    folder: Path,
    reports_dir: Path,
    where: str,
    **page: Any,
) -> Path:
    """Write the report of what was loaded, with its pages of queries and documents."""
    values = asdict(sources) | {"where": where, "privacy": loaded.privacy, "pages": True}
    if isinstance(loaded, SearchRun):
        notebook, title = "search_report", f"Search report: {loaded.name}"
        counted = folder / "backlog.json"
        remove(counted, folder)
        if values["backlog"] and loaded.backlog is not None:
            write_json(counted, dict(loaded.backlog), indent=1)
            values["backlog"] = str(counted)
    else:
        notebook, title = "search_diff", f"Search difference: {' to '.join(loaded.labels)}"
        values["flag_points"] = float(values["flag_points"])
    title = visible(title, 120)

    def tables(place: Path) -> Files:
        return [*write_pages(loaded, place, title=title), *write_tables(loaded, place)]

    return publish(
        notebook,
        values,
        folder,
        title=title,
        is_simulated=loaded.n_simulated > 0,
        tables=tables,
        inputs=_inputs(loaded, sources),
        listed=Listed(
            reports_dir,
            newest(run.generated_at for run in loaded.runs),
            n_queries=loaded.n_compared,
        ),
        **page,
    )


def _inputs(loaded: SearchRun | SearchDiff, sources: Sources | DiffSources) -> str:
    """Return the digest of all that a page is made from."""
    runs = [to_builtins(run) for run in (loaded.before, *loaded.runs) if run is not None]
    if isinstance(sources, Sources):
        files = [Path(text) for text in asdict(replace(sources, backlog="")).values() if text]
    else:
        files = [Path(text) for text in (sources.queries, sources.noise) if text]
    if isinstance(loaded, SearchRun):
        return digest_of(*runs, loaded.backlog, *files)
    ruling = loaded.guard if isinstance(loaded.guard, str) else to_builtins(loaded.guard)
    return digest_of(to_builtins(loaded.document), *runs, ruling, *files)


def write_tables(loaded: Searched, folder: Path) -> Files:
    """Write every frame as CSV, of a difference also it itself; return files and meanings."""
    without = PRIVATE_COLUMNS if loaded.privacy else ()
    if not isinstance(loaded, SearchDiff):
        return write_frames(loaded, SEARCH_FRAMES, folder, without=without)
    found = list(write_frames(loaded, DIFF_FRAMES, folder, without=without))
    # What an earlier report left there has the texts of queries.
    remove(folder / WHOLE, folder)
    if not loaded.privacy:
        write_json(folder / WHOLE, to_builtins(loaded.document), indent=1)
        found.append((WHOLE, "the whole difference"))
    return found
