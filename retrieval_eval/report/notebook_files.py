"""Reading and writing notebook files; the library behind it publishes no types."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
