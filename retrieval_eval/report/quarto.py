"""Rendering by Quarto where it is requested; it only renders, it never executes."""

from __future__ import annotations

import copy
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import RenderError
from retrieval_eval.escape import raw_block, typst_string, visible
from retrieval_eval.io.files import write_bytes, write_text
from retrieval_eval.report import assets, render
from retrieval_eval.report.notebook_files import markdown_cell, notebook_text

INSTALL: Final = install_hint("quarto")
TIMEOUT_SECONDS: Final = 300
STYLE: Final = "retrieval_eval/report/templates/report.css"
"""Where the project file looks for the style sheet: its place in a checkout."""

FORMATS: Final = {"html": "html", "pdf": "typst"}
HTML: Final = render.HTML
PRINT: Final = "text/markdown"
"""What a block offers for the two: its HTML, and its typst as a raw block of Markdown."""

_NOTEBOOK: Final = "report.ipynb"
_PAGE: Final = "page.html"
_PRINT: Final = "print.typ"

_MOST_SAID: Final = 4000
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def executable() -> str | None:
    """Return the path of the quarto program, or None when it is not on PATH."""
    return shutil.which("quarto")


def command(program: str, suffix: str, output: str) -> list[str]:
    """Return the command line that renders the notebook to ``output`` without executing it.

    Examples
    --------
    >>> command("quarto", "html", "index.html")[:5]
    ['quarto', 'render', 'report.ipynb', '--to', 'html']
    """
    around = {"html": ["--template", _PAGE], "pdf": ["--include-in-header", _PRINT]}
    to = ["--to", FORMATS[suffix], "--no-execute", "--output", output]
    return [program, "render", _NOTEBOOK, *to, *around[suffix]]


def to_file(notebook: Any, suffix: str, *, title: str, footer: str) -> bytes:
    """Return an executed notebook as a page (``html``) or in print (``pdf``), made by Quarto.

    The notebook is rendered in a folder of its own with our project file, as two renderings in one
    folder would overwrite each other's figures. Quarto gets no code and no HTML outputs, for which
    it would add scripts from outside: every block is a raw one in Markdown, of the HTML that is in
    the page of the embedded renderer, or of typst.

    Raises
    ------
    RenderError
        When Quarto is missing, fails, takes too long, or writes nothing or a page with resources
        outside it.
    """
    program = executable()
    if program is None:
        raise RenderError(f"Quarto is not on PATH; install it with: {INSTALL}")
    with tempfile.TemporaryDirectory(prefix="retrieval-eval-") as name:
        folder = Path(name)
        write_bytes(folder / "_quarto.yml", assets.quarto_project().read_bytes())
        write_bytes(folder / STYLE, assets.style_sheet().read_bytes())
        write_text(folder / _PAGE, render.page_template(title=title, footer=footer))
        write_text(folder / _PRINT, _print_header(title))
        write_text(folder / _NOTEBOOK, notebook_text(_without_code(notebook, suffix)))
        output = f"report.{suffix}"
        _run(command(program, suffix, output), folder)
        data = _written(folder, output)
    if suffix == "html":
        render.check_page(data.decode("utf-8", "replace"))
    return data


def _without_code(notebook: Any, suffix: str) -> Any:
    """Return a copy whose code cells are what they show, as raw blocks in Markdown."""
    chosen = copy.deepcopy(notebook)
    chosen.cells = [
        markdown_cell(_shown(cell, suffix), cell.id) if cell.cell_type == "code" else cell
        for cell in chosen.cells
    ]
    return chosen


def _shown(cell: Any, suffix: str) -> str:
    found = [output.get("data", {}) for output in cell.outputs]
    if suffix == "html":
        return "\n\n".join(raw_block("html", data[HTML]) for data in found if HTML in data)
    return "\n\n".join(data[PRINT] for data in found if PRINT in data)


def _print_header(title: str) -> str:
    """Return the typst settings of a document: a page with title and number at its foot."""
    small = 'set text(size: 8pt, fill: rgb("#595959"))'
    name = typst_string(visible(title))
    number = 'context counter(page).display("1 / 1", both: true)'
    return (
        "#set document(date: none)\n"
        "#set page(numbering: none, footer: "
        f"{{ {small}; grid(columns: (1fr, auto), {name}, {number}) }})\n"
    )


def _run(line: list[str], folder: Path) -> None:
    """Run Quarto and, when it must end early, all that it started."""
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(  # noqa: S603 - the program found on PATH, no shell
                line,
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise RenderError(f"Quarto could not be run: {error}") from error
        try:
            code = process.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise RenderError(
                f"Quarto did not end within {TIMEOUT_SECONDS} seconds{_said(log)}"
            ) from None
        finally:
            if process.poll() is None:
                # Quarto starts Pandoc and typst: all of its group ends, or they would go on alone.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            raise RenderError(f"Quarto failed with exit code {code}{_said(log)}")


def _said(log: IO[bytes]) -> str:
    """Return the end of what Quarto said, free of what a terminal would obey."""
    log.seek(0)
    text = _COLOUR.sub("", log.read().decode("utf-8", "replace"))
    lines = [visible(line) for line in text.splitlines() if line.strip()]
    return ":\n" + shortened if (shortened := "\n".join(lines)[-_MOST_SAID:]) else ""


def _written(folder: Path, name: str) -> bytes:
    found = next((p for p in sorted(folder.rglob(name)) if p.is_file()), None)
    data = found.read_bytes() if found else b""
    if not data:
        raise RenderError(f"Quarto ended without an error but wrote no {name}")
    return data
