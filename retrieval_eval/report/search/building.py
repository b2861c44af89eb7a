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
from retrieval_eval.report.search.demo import DEMO_FOLDER, MeasuredDemo, is_demo, measured_demo
from retrieval_eval.report.search.diff import SearchDiff
from retrieval_eval.report.search.loading import (
    DiffSources,
    Sources,
    load_search,
    read_diff,
    sources_of,
)
from retrieval_eval.report.search.pages import write_pages
from retrieval_eval.report.search.run import SearchRun

NOTEBOOK: Final = "search_report"
FOLDER: Final = "search"
DIFF_NOTEBOOK: Final = "search_diff"
DIFF_FOLDER: Final = Path("search") / "diff"
WHOLE: Final = "diff.json"
PRIVATE_COLUMNS: Final = ("query", "error", "claim", "reasons", "labeller_a", "labeller_b")


def build_search(
    run: str | Path,
    *,
    reports_dir: Path,
    baseline: str | Path = "",
    backlog: str = "",
    gold: str | Path = "",
    corpus: str | Path = "",
    noise: str | Path = "",
    thresholds: str | Path = "",
    justification: str | Path = "",
    mapping: str | Path = "",
    old_gold: str | Path = "",
    where: str = "",
    privacy: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Path:
    """Write the report of a search run and return the path of its page.

    Parameters
    ----------
    run, baseline, backlog, gold, corpus, noise, thresholds, justification, mapping, old_gold, where
        As for :func:`retrieval_eval.report.load_search`.
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
    if is_demo(str(run)):
        return build_demo(
            reports_dir=reports_dir, privacy=privacy, renderer=renderer, pdf=pdf, progress=progress
        )[0]
    files = (gold, corpus, noise, thresholds, justification, mapping, old_gold)
    sources = Sources(str(run), str(baseline), backlog, *map(str, files))
    loaded = load_search(**asdict(sources), where=where, privacy=privacy, pages=True)
    folder = reports_dir / FOLDER / slug(loaded.name)
    listed = _listed(loaded, reports_dir)
    return _report(loaded, sources, folder, listed, where, renderer, pdf, progress, keep)


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
    sources = sources_of(made)
    loaded = load_search(**asdict(sources), privacy=privacy, pages=True)
    listed = _listed(loaded, reports_dir)
    return _report(loaded, sources, folder, listed, "", renderer, pdf, progress), made


def _listed(loaded: SearchRun, reports_dir: Path) -> Listed:
    measured = newest([loaded.stored.generated_at])
    return Listed(reports_dir, measured, n_queries=len(loaded.stored.queries))


def _report(
    loaded: SearchRun,
    sources: Sources,
    folder: Path,
    listed: Listed,
    where: str,
    renderer: Renderer,
    pdf: bool,
    progress: Progress | None,
    keep: Keep | None = None,
) -> Path:
    chosen = {"where": where, "privacy": loaded.privacy, "pages": True}
    values: dict[str, Any] = {**asdict(sources), **chosen}
    counted = folder / "backlog.json"
    remove(counted, folder)
    if sources.backlog and loaded.backlog is not None:
        write_json(counted, dict(loaded.backlog), indent=1)
        values["backlog"] = str(counted)
    title = visible(f"Search report: {loaded.name}", 120)

    def tables(place: Path) -> Files:
        names = (loaded.baseline_name, visible(loaded.name, 36))
        shown = write_pages(
            loaded, loaded.baseline, place, title=title, names=names, moved=loaded.moved
        )
        return [*shown, *write_search_tables(loaded, place)]

    return publish(
        NOTEBOOK,
        values,
        folder,
        title=title,
        is_simulated=loaded.n_simulated > 0,
        tables=tables,
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=_inputs(loaded, sources),
        keep=keep,
        listed=listed,
    )


def _inputs(loaded: SearchRun, sources: Sources) -> str:
    files = [Path(text) for text in asdict(replace(sources, backlog="")).values() if text]
    before = None if loaded.baseline is None else to_builtins(loaded.baseline)
    return digest_of(to_builtins(loaded.stored), before, loaded.backlog, *files)


def write_search_tables(run: SearchRun, folder: Path) -> Files:
    """Write every frame as CSV; return file names and meanings."""
    without = PRIVATE_COLUMNS if run.privacy else ()
    return write_frames(run, SEARCH_FRAMES, folder, without=without)


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
    shown: dict[str, Any] = {"where": where, "privacy": privacy, "pages": True}
    if sources.is_demo:
        folder = reports_dir / DEMO_FOLDER
        sources = sources.with_demo(measured_demo(folder / "data", progress=progress))
        folder /= "diff"
        loaded = read_diff(sources, **shown)
    else:
        loaded = read_diff(sources, **shown)
        folder = reports_dir / DIFF_FOLDER / slug("-".join(loaded.labels))
    title = visible(f"Search difference: {' to '.join(loaded.labels)}", 120)

    def tables(place: Path) -> Files:
        run = SearchRun(loaded.runs[1], privacy=privacy, places=loaded.places)
        beside = write_pages(
            run, loaded.runs[0], place, title=title, names=loaded.names, moved=loaded.moved
        )
        return [*beside, *write_diff_tables(loaded, place)]

    return publish(
        DIFF_NOTEBOOK,
        {**asdict(replace(sources, flag_points=float(sources.flag_points))), **shown},
        folder,
        title=title,
        is_simulated=loaded.n_simulated > 0,
        tables=tables,
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=_inputs_of_diff(loaded, sources),
        keep=keep,
        listed=Listed(
            reports_dir,
            newest(side.generated_at for side in (loaded.document.a, loaded.document.b)),
            n_queries=loaded.document.n_queries_in_both,
        ),
    )


def _inputs_of_diff(loaded: SearchDiff, sources: DiffSources) -> str:
    files = [Path(text) for text in (sources.queries, sources.noise) if text]
    ruling = loaded.guard if isinstance(loaded.guard, str) else to_builtins(loaded.guard)
    runs = map(to_builtins, loaded.runs)
    return digest_of(to_builtins(loaded.document), *runs, ruling, *files)


def write_diff_tables(diff: SearchDiff, folder: Path) -> Files:
    """Write every frame as CSV, and the difference itself; return file names and meanings."""
    if diff.privacy:
        # What an earlier report left there has the texts of queries.
        remove(folder / WHOLE, folder)
        return write_frames(diff, DIFF_FRAMES, folder, without=("query",))
    write_json(folder / WHOLE, to_builtins(diff.document), indent=1)
    return [*write_frames(diff, DIFF_FRAMES, folder), (WHOLE, "the whole difference")]
