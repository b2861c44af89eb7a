"""Quarto, where it is installed: our formats for it, and rendering with them. It never executes.

The formats are a Quarto extension (``_extensions/retrieval-eval``). A notebook names them in its
first cell, so that ``quarto render`` alone makes the page and the PDF of an executed notebook in
every folder that has the extension.
"""

from __future__ import annotations

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
from retrieval_eval.escape import raw_block, visible
from retrieval_eval.io.files import write_bytes, write_text
from retrieval_eval.io.locks import private_folder
from retrieval_eval.report import notebook_files, render
from retrieval_eval.report.notebook_files import notebook_text, raw_cell

INSTALL: Final = install_hint("quarto")
TIMEOUT_SECONDS: Final = 300

FORMATS: Final = {"html": "retrieval-eval-html", "pdf": "retrieval-eval-typst"}
OUTPUTS: Final = {"html": "index.html", "pdf": "report.pdf"}
"""What a report folder calls the page and the PDF."""

_CELL: Final = "formats"
_NOTEBOOK: Final = "report.ipynb"
_MARKUP: Final = re.compile(r"(?<![^\W_])[-_.]|[-_.](?![^\W_])|[^\w :,·.-]")
_MOST_SAID: Final = 4000
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


def front_matter(title: str = "", footer: str = "", back: render.Back = ()) -> str:
    """Return the source of the first cell of a notebook, which is a raw one and names our formats.

    With a title it is that of an executed notebook in its report folder: the page and the PDF have
    this title, plain text at their foot, links back, and the names they have there.

    Examples
    --------
    >>> print(front_matter())
    ---
    format:
      retrieval-eval-html: default
      retrieval-eval-typst: default
    ---
    """
    if not title:
        formats = [f"  {name}: default" for name in FORMATS.values()]
        return "\n".join(["---", "format:", *formats, "---"])
    formats = [
        line
        for suffix, name in FORMATS.items()
        for line in (f"  {name}:", f"    output-file: {OUTPUTS[suffix]}")
    ]
    texts = [f"pagetitle: '{_encoded(title)}'", f"footer: '{_encoded(footer)}'"]
    links = [
        line
        for text, place in back
        for line in (f"  - text: '{_encoded(text)}'", f"    place: '{_encoded(place)}'")
    ]
    return "\n".join(
        ["---", *texts, *(["back:", *links] if links else []), "format:", *formats, "---"]
    )


def document(body: str, *, title: str, footer: str) -> str:
    """Return a Quarto document of HTML, which is rendered to a page of its own name."""
    head = front_matter(title, footer).split("format:")[0]
    return f"{head}format:\n  {FORMATS['html']}: default\n---\n\n{raw_block('html', body)}\n"


def _encoded(text: str) -> str:
    """Return text with %XX for all that is markup to YAML, Markdown or Quarto.

    Quarto finds its short codes in front matter whatever stands before their braces.
    """
    return _MARKUP.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), visible(text)
    )


def with_front_matter(notebook: Any, *, title: str, footer: str, back: render.Back = ()) -> Any:
    """Return the executed notebook with the :func:`front_matter` of its report in place."""
    cell = raw_cell(front_matter(title, footer, back), _CELL)
    has_one = notebook.cells and notebook.cells[0].cell_type == "raw"
    notebook.cells[: 1 if has_one else 0] = [cell]
    return notebook


def copy_extension(folder: Path) -> Path:
    """Copy the extension with our formats into a folder, and return where it is.

    It is then visible to notebooks in this folder, and below it where it is a Quarto project.
    """
    source = notebook_files.extension()
    target = folder / "_extensions" / source.name
    for path in sorted(source.iterdir()):
        if path.is_file():
            write_bytes(target / path.name, path.read_bytes())
    return target


def executable() -> str | None:
    """Return the path of the quarto program, or None when it is not on PATH."""
    return shutil.which("quarto")


def command(program: str, suffix: str) -> list[str]:
    """Return the command line that renders the notebook without executing it.

    Examples
    --------
    >>> command("quarto", "html")
    ['quarto', 'render', 'report.ipynb', '--no-execute', '--to', 'retrieval-eval-html']
    """
    return [program, "render", _NOTEBOOK, "--no-execute", "--to", FORMATS[suffix]]


def to_file(notebook: Any, suffix: str) -> bytes:
    """Return an executed notebook as a page (``html``) or in print (``pdf``), made by Quarto.

    It is rendered in a folder of its own, as two renderings in one folder would overwrite each
    other's files. Its first cell is that of :func:`with_front_matter`.

    Raises
    ------
    RenderError
        When Quarto is missing, fails, takes too long, or writes nothing or a page with resources
        outside it.
    """
    program = executable()
    if program is None:
        raise RenderError(f"Quarto is not on PATH; install it with: {INSTALL}")
    with private_folder() as folder:
        copy_extension(folder)
        write_text(folder / _NOTEBOOK, notebook_text(notebook))
        _run(command(program, suffix), folder)
        data = _written(folder, OUTPUTS[suffix])
    if suffix == "html":
        render.check_page(data.decode("utf-8", "replace"))
    return data


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
    path = folder / name
    data = path.read_bytes() if path.is_file() else b""
    if not data:
        raise RenderError(f"Quarto ended without an error but wrote no {name}")
    return data
