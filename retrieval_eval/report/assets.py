"""Where notebooks and the Quarto extension lie: in a wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

from retrieval_eval.errors import RenderError

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
