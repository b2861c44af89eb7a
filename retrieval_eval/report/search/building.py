"""From a search run to a report folder."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from retrieval_eval.escape import slug, visible
from retrieval_eval.io.files import remove, write_json
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report.columns import SEARCH_FRAMES
from retrieval_eval.report.index import Listed, newest
from retrieval_eval.report.publishing import Files, Keep, digest_of, publish, write_frames
from retrieval_eval.report.search.demo import DEMO_FOLDER, MeasuredDemo, is_demo, measured_demo
from retrieval_eval.report.search.loading import Sources, load_search, sources_of
from retrieval_eval.report.search.run import SearchRun

NOTEBOOK: Final = "search_report"
FOLDER: Final = "search"
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
    privacy: bool = False,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Path:
    """Write the report of a search run and return the path of its page.

    Parameters
    ----------
    run, baseline, backlog, gold, corpus, noise, thresholds, justification, mapping, old_gold
        As for :func:`retrieval_eval.report.load_search`.
    reports_dir
        The report goes to ``<reports_dir>/search/<label>/index.html``, named after the file where
        the run has no label, with the executed notebook and the CSV of every frame beside it; the
        demonstration's to ``<reports_dir>/search-demo/index.html``. A backlog is counted once and
        kept beside the page as ``backlog.json``, so that no address of a database is in it.
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
    loaded = load_search(**asdict(sources))
    folder = reports_dir / FOLDER / slug(loaded.name)
    listed = _listed(loaded, reports_dir)
    return _report(loaded, sources, folder, listed, privacy, renderer, pdf, progress, keep)


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
    loaded = load_search(**asdict(sources))
    listed = _listed(loaded, reports_dir)
    return _report(loaded, sources, folder, listed, privacy, renderer, pdf, progress), made


def _listed(loaded: SearchRun, reports_dir: Path) -> Listed:
    document = loaded.document
    n_queries = len(document["queries"])
    return Listed(reports_dir, newest([document["generated_at"]]), n_queries=n_queries)


def _report(
    loaded: SearchRun,
    sources: Sources,
    folder: Path,
    listed: Listed,
    privacy: bool,
    renderer: Renderer,
    pdf: bool,
    progress: Progress | None,
    keep: Keep | None = None,
) -> Path:
    values: dict[str, Any] = {**asdict(sources), "privacy": privacy}
    counted = folder / "backlog.json"
    remove(counted, folder)
    if sources.backlog:
        write_json(counted, dict(loaded.backlog or {}), indent=1)
        values["backlog"] = str(counted)
    return publish(
        NOTEBOOK,
        values,
        folder,
        title=visible(f"Search report: {loaded.name}", 120),
        is_simulated=loaded.n_simulated > 0,
        tables=lambda place: write_search_tables(loaded, place, privacy=privacy),
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=_inputs(loaded, sources),
        keep=keep,
        listed=listed,
    )


def _inputs(loaded: SearchRun, sources: Sources) -> str:
    files = [Path(text) for text in asdict(replace(sources, backlog="")).values() if text]
    return digest_of(loaded.document, loaded.baseline, loaded.backlog, *files)


def write_search_tables(run: SearchRun, folder: Path, *, privacy: bool) -> Files:
    """Write every frame as CSV; return file names and meanings."""
    return write_frames(run, SEARCH_FRAMES, folder, without=PRIVATE_COLUMNS if privacy else ())
