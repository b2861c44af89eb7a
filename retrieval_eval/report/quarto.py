"""Rendering by Quarto where it is installed; it only renders, it never executes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import RenderError
from retrieval_eval.escape import slug
from retrieval_eval.io.files import write_bytes, write_text
from retrieval_eval.report import assets
from retrieval_eval.report.notebook_files import notebook_text
from retrieval_eval.report.render import select_outputs

INSTALL: Final = install_hint("quarto")
TIMEOUT_SECONDS: Final = 300
STYLE: Final = "retrieval_eval/report/templates/report.css"
"""Where the project file looks for the style sheet: its place in a checkout."""

FORMATS: Final = {"html": "html", "pdf": "typst"}


def executable() -> str | None:
    """Return the path of the quarto program, or None when it is not on PATH."""
    return shutil.which("quarto")


def command(program: str, notebook: str, suffix: str, output: str) -> list[str]:
    """Return the command line that renders ``notebook`` to ``output`` without executing it.

    Examples
    --------
    >>> command("quarto", "report.ipynb", "html", "index.html")[:5]
    ['quarto', 'render', 'report.ipynb', '--to', 'html']
    """
    return [
        program,
        "render",
        notebook,
        "--to",
        FORMATS[suffix],
        "--no-execute",
        "--output",
        output,
        "--quiet",
    ]


def render(notebook: Any, target: Path, *, title: str) -> None:
    """Render an executed notebook to ``target`` (``.html`` or ``.pdf``) with Quarto.

    The notebook is rendered in a folder of its own with our project file and style sheet, as two
    renderings in one folder would overwrite each other's figures. Outputs are Markdown only:
    HTML outputs make Quarto add scripts from outside.

    Raises
    ------
    RenderError
        When Quarto is missing, fails, or writes nothing.
    """
    program = executable()
    if program is None:
        raise RenderError(f"Quarto is not on PATH; install it with: {INSTALL}")
    suffix = target.suffix.removeprefix(".")
    with tempfile.TemporaryDirectory(prefix="retrieval-eval-") as name:
        folder = Path(name)
        write_bytes(folder / "_quarto.yml", assets.quarto_project().read_bytes())
        write_bytes(folder / STYLE, assets.style_sheet().read_bytes())
        chosen = _without_code(select_outputs(notebook, "markdown"))
        write_text(folder / "report.ipynb", notebook_text(chosen))
        line = command(program, "report.ipynb", suffix, target.name)
        _run([*line, "--metadata", f"pagetitle:{slug(title)}"], folder)
        write_bytes(target, _written(folder, target.name))


def _without_code(notebook: Any) -> Any:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = f"#| echo: false\n{cell.source}"
    return notebook


def _run(line: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - the program found on PATH, no shell, fixed arguments
            line,
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RenderError(f"Quarto could not be run: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-2000:]
        raise RenderError(f"Quarto failed with exit code {done.returncode}: {said}")


def _written(folder: Path, name: str) -> bytes:
    found = next((p for p in sorted(folder.rglob(name)) if p.is_file()), None)
    data = found.read_bytes() if found else b""
    if not data:
        raise RenderError(f"Quarto ended without an error but wrote no {name}")
    return data
