"""From a notebook and its parameters to a report folder: page, executed notebook and tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from retrieval_eval.errors import FallbackWarning, RenderError
from retrieval_eval.io.csv_cells import csv_text
from retrieval_eval.io.files import remove, write_bytes, write_text
from retrieval_eval.records import Progress, Renderer
from retrieval_eval.report import assets, quarto, render, simulated
from retrieval_eval.report.columns import Frames
from retrieval_eval.report.execute import execute
from retrieval_eval.report.notebook_files import notebook_text, read_notebook
from retrieval_eval.report.render import to_pdf
from retrieval_eval.report.sections.closing import package_version

if TYPE_CHECKING:
    import pandas as pd

Files = list[tuple[str, str]]
"""Names of files beside the page, and what they hold."""


def publish(
    notebook: str,
    values: Mapping[str, Any],
    folder: Path,
    *,
    title: str,
    is_simulated: bool = False,
    tables: Callable[[Path], Files] | None = None,
    renderer: Renderer = "auto",
    pdf: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Execute a shipped notebook, render it into ``folder`` and return the path of the page.

    Parameters
    ----------
    notebook
        Its name, such as ``run_report``.
    values
        Parameters of the notebook.
    title
        Title of the page; also in its footer.
    is_simulated
        Whether simulated data is in it, which the titles of page and notebook then say.
    tables
        Writes files into the folder and says which; they are linked at the end of the page.
    renderer, pdf, progress
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    RenderError
        When the renderer is unknown or missing, a cell fails or the page cannot be rendered.
    """
    chosen = _renderer(renderer)
    executed = folder / f"{notebook}.ipynb"
    page, printed = folder / "index.html", folder / "report.pdf"
    execute(assets.notebook(notebook), executed, values, progress=progress)
    # The tables are about to change: no former page may lie beside them, whatever fails below.
    for former in (page, printed):
        remove(former, folder)
    done = read_notebook(executed)
    if is_simulated:
        title = f"{simulated.TITLE}{title}"
        simulated.mark_title(done)
    files = [(executed.name, "the executed notebook"), *(tables(folder) if tables else [])]
    footer = f"{title} · {package_version()}"
    document = quarto.with_front_matter(render.with_files(done, files), title=title, footer=footer)
    write_text(executed, notebook_text(document))
    if chosen != "embedded":
        try:
            # The page first: what the PDF lacks must not take it away.
            write_bytes(page, quarto.to_file(document, "html"))
            if pdf:
                write_bytes(printed, quarto.to_file(document, "pdf"))
            return page
        except RenderError as error:
            if chosen == "quarto":
                raise
            said = f"Quarto could not render {executed.name}, so the embedded renderer did: {error}"
            warnings.warn(said, FallbackWarning, stacklevel=2)
    html = render.to_html(
        document, title=title, footer=f"{footer} · rendered by the embedded renderer"
    )
    write_text(page, html)
    if pdf:
        write_bytes(printed, to_pdf(html))
    return page


def _renderer(renderer: Renderer) -> Renderer:
    renderers = get_args(Renderer)
    if renderer not in renderers:
        raise RenderError(f"there is no renderer '{renderer}'; choose {', '.join(renderers)}")
    if renderer != "embedded" and quarto.executable() is None:
        if renderer == "quarto":
            raise RenderError(f"Quarto is not on PATH; install it with: {quarto.INSTALL}")
        return "embedded"
    return renderer


def write_frames(run: Any, declared: Frames, folder: Path, *, without: Sequence[str] = ()) -> Files:
    """Write the frames of a run but for the columns ``without``; return files and meanings."""
    return [
        write_frame(
            name,
            meaning,
            run.frame(name).drop(columns=list(without), errors="ignore"),
            folder,
            is_simulated=run.n_simulated > 0,
        )
        for name, (meaning, _) in declared.items()
    ]


def write_frame(
    name: str, meaning: str, frame: pd.DataFrame, folder: Path, *, is_simulated: bool = False
) -> tuple[str, str]:
    """Write a frame as CSV; lists become text separated by semicolons.

    One made from simulated data has a column of its own that marks every row.
    """
    if is_simulated:
        frame = simulated.mark_rows(frame)
    cells = frame.astype(object).where(frame.notna(), None)
    rows = (
        ["; ".join(value) if isinstance(value, list) else value for value in row]
        for row in cells.itertuples(index=False, name=None)
    )
    text = csv_text(map(str, frame.columns), rows)
    write_text(folder / f"{name}.csv", text)
    return f"{name}.csv", meaning
