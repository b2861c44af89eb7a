"""Where notebooks and what pages are made with lie, and reading and writing notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval_eval.errors import RenderError

# --------------------------------------------------------------------------------------------------
# Where notebooks and the Quarto extension lie: in a wheel or in a checkout.

_PACKAGE = Path(__file__).resolve().parent.parent


def notebook(name: str) -> Path:
    """Return the path of a shipped notebook such as ``run_report``.

    Raises ``RenderError`` when it is neither in the wheel nor in the checkout.
    """
    return _find(f"notebooks/{name}.ipynb")


def extension() -> Path:
    """Return the folder of the Quarto extension with our formats.

    Page, style sheet and script of the embedded renderer are those in it.
    """
    return _find("_extensions/retrieval-eval/_extension.yml").parent


def style_sheet() -> Path:
    """Return the path of the style sheet that both renderers use."""
    return extension() / "report.css"


def script() -> Path:
    """Return the path of the script that both renderers use."""
    return extension() / "report.js"


def page_frame() -> Path:
    """Return the path of the page around a report: a template of Pandoc without conditions.

    ``$css$`` and ``$script$`` are the texts of the two files without white space around them; its
    Content-Security-Policy holds the hash of the script.
    """
    return extension() / "page.html"


def _find(relative: str) -> Path:
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = root / relative
        if path.is_file():
            return path
    raise RenderError(f"{relative} is missing from this installation; install the package again")


# --------------------------------------------------------------------------------------------------
# Reading and writing notebook files; the library behind it publishes no types.


def read_notebook(path: Path) -> Any:
    """Return a notebook in the current format."""
    import nbformat

    library: Any = nbformat
    return library.read(path, as_version=4)


def notebook_text(notebook: Any) -> str:
    """Return a notebook as the text of its file."""
    import nbformat

    library: Any = nbformat
    return str(library.writes(notebook))


def markdown_cell(source: str, cell_id: str) -> Any:
    """Return a new Markdown cell."""
    import nbformat

    library: Any = nbformat.v4
    return library.new_markdown_cell(source, id=cell_id)


def notebook_of(title: str, shown: Any) -> Any:
    """Return a notebook of a title and one cell that has shown ``shown``, such as a block."""
    import nbformat

    library: Any = nbformat.v4
    output = library.new_output("execute_result", data=shown._repr_mimebundle_(), execution_count=1)
    cell = library.new_code_cell(outputs=[output], execution_count=1)
    return library.new_notebook(cells=[markdown_cell(title, "title"), cell])


def raw_cell(source: str, cell_id: str) -> Any:
    """Return a new raw cell."""
    import nbformat

    library: Any = nbformat.v4
    return library.new_raw_cell(source, id=cell_id)
