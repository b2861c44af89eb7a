"""The page of a notebook that a user has copied, changed and executed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.files import decode, read_text
from retrieval_eval.records import Renderer
from retrieval_eval.report import quarto, simulated
from retrieval_eval.report.provenance import package_version
from retrieval_eval.report.publishing import chosen_renderer, render_document

_USES_PACKAGE: Final = re.compile(r"^[ \t]*(?:import|from)[ \t]+retrieval_eval\b", re.MULTILINE)
_UNFORESEEN: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What nbformat raises for values of other types: it completes a notebook before it checks it."""
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


def render_notebook(notebook: Path, target: Path, *, renderer: Renderer = "auto") -> Path:
    """Render an executed notebook to a page or a PDF and return its path.

    The page shows Markdown, figures, tables and pictures in the look of a report, without code
    and without printed text. Its title is the first heading of the notebook. Where an output is
    about simulated data, the title says it too.

    Parameters
    ----------
    notebook
        An executed notebook that uses this package. It is neither executed nor changed.
    target
        Where the page (``.html``) or the PDF (``.pdf``) goes.
    renderer
        As for :func:`retrieval_eval.report.build`.

    Raises
    ------
    BadInputError
        When it is no notebook, was not executed to its end, or does not use this package.
    RenderError
        When the renderer is missing or fails, or the page would load something from outside.
    """
    suffix = target.suffix.lower().removeprefix(".")
    if suffix not in quarto.FORMATS:
        raise BadInputError(f"{target}: a page ends in .html, a PDF in .pdf")
    chosen = chosen_renderer(renderer)
    document = read_executed(notebook)
    titles = (_TITLE.search(c.source) for c in document.cells if c.cell_type == "markdown")
    title = visible(next((found[1] for found in titles if found), notebook.stem), 120)
    if _is_simulated(document) and not title.startswith(simulated.TITLE):
        simulated.mark_title(document)
        title = f"{simulated.TITLE}{title}"
    footer = f"{title} · {package_version()}"
    quarto.with_front_matter(document, title=title, footer=footer)
    render_document(document, {suffix: target}, chosen, title, footer, ())
    return target


def read_executed(path: Path) -> Any:
    """Return a notebook that was executed to its end; errors are those of `render_notebook`."""
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(f"{path.parent}: {text.problem}")
    notebook = _parsed(text.value, path)
    cells = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    if not any(_USES_PACKAGE.search(cell.source) for cell in cells):
        raise BadInputError(
            f"{path}: no cell imports retrieval_eval; other notebooks are rendered by Quarto, or "
            "by `jupyter nbconvert --to html`"
        )
    remedy = f"execute it first: papermill {path.name} OUT.ipynb"
    for cell in cells:
        first = visible(cell.source.strip().splitlines()[0], 60)
        for output in cell.outputs:
            if output.output_type == "error":
                said = visible(f"{output.ename}: {output.evalue}", 300)
                raise BadInputError(f"{path}: the cell '{first}' ended with {said}")
        if cell.execution_count is None and not cell.outputs:
            raise BadInputError(f"{path}: the cell '{first}' was not executed; {remedy}")
    return notebook


def _parsed(text: str, path: Path) -> Any:
    import nbformat

    library: Any = nbformat
    value, problem = decode(text)
    if problem is None and not (isinstance(value, dict) and value.get("nbformat") == 4):
        problem = "it has not the format of a notebook, nbformat 4"
    if problem is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ids of cells are younger than the format
            try:
                try:
                    library.validate(value)
                    return library.v4.reads_json(text)
                except (library.ValidationError, *_UNFORESEEN) as error:
                    problem = visible(error, 200)
            except RecursionError:
                problem = "nested too deeply"
    raise BadInputError(f"{path}: is no notebook: {problem}")


def _is_simulated(notebook: Any) -> bool:
    shown = (o.get("data", {}) for cell in notebook.cells for o in cell.get("outputs", ()))
    return any(simulated.TITLE in str(text) for data in shown for text in data.values())
