"""From two search runs to a report folder on what lies between them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from retrieval_eval.escape import slug, visible
from retrieval_eval.io.files import remove, write_json
from retrieval_eval.model import to_builtins
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report.columns import DIFF_FRAMES
from retrieval_eval.report.index import Listed, newest
from retrieval_eval.report.publishing import Files, Keep, digest_of, publish, write_frames
from retrieval_eval.report.search.demo import DEMO_FOLDER, measured_demo
from retrieval_eval.report.search.diffs.loading import DiffSources, read_diff
from retrieval_eval.report.search.diffs.run import SearchDiff

NOTEBOOK: Final = "search_diff"
FOLDER: Final = Path("search") / "diff"
WHOLE: Final = "diff.json"


def build_diff(
    sources: DiffSources,
    *,
    reports_dir: Path,
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
        the executed notebook, the CSV of every frame and ``diff.json`` beside it; the
        demonstration's to ``<reports_dir>/search-demo/diff/index.html``.
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
    if sources.is_demo:
        folder = reports_dir / DEMO_FOLDER
        sources = sources.with_demo(measured_demo(folder / "data", progress=progress))
        folder /= "diff"
        loaded = read_diff(sources)
    else:
        loaded = read_diff(sources)
        folder = reports_dir / FOLDER / slug("-".join(loaded.names))
    return publish(
        NOTEBOOK,
        {**asdict(replace(sources, flag_points=float(sources.flag_points))), "privacy": privacy},
        folder,
        title=visible(f"Search diff: {' to '.join(loaded.names)}", 120),
        is_simulated=loaded.n_simulated > 0,
        tables=lambda place: write_diff_tables(loaded, place, privacy=privacy),
        renderer=renderer,
        pdf=pdf,
        progress=progress,
        inputs=_inputs(loaded, sources),
        keep=keep,
        listed=Listed(
            reports_dir,
            newest(loaded.document[side]["generated_at"] for side in ("a", "b")),
            n_queries=loaded.document["n_queries_in_both"],
        ),
    )


def _inputs(loaded: SearchDiff, sources: DiffSources) -> str:
    files = [Path(text) for text in (sources.queries, sources.noise) if text]
    ruling = loaded.guard if isinstance(loaded.guard, str) else to_builtins(loaded.guard)
    return digest_of(loaded.document, *loaded.runs, ruling, *files)


def write_diff_tables(diff: SearchDiff, folder: Path, *, privacy: bool) -> Files:
    """Write every frame as CSV, and the difference itself; return file names and meanings."""
    if privacy:
        # What an earlier report left there has the texts of queries.
        remove(folder / WHOLE, folder)
        return write_frames(diff, DIFF_FRAMES, folder, without=("query",))
    write_json(folder / WHOLE, dict(diff.document), indent=1)
    return [*write_frames(diff, DIFF_FRAMES, folder), (WHOLE, "the whole difference")]
