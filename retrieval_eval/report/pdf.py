"""PDF from the HTML page, by the optional WeasyPrint."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from retrieval_eval.errors import RenderError

INSTALL: Final = "pip install 'retrieval-eval[pdf]'"


def to_pdf(html: str) -> bytes:
    """Return a page as PDF; nothing outside the page is fetched.

    Raises ``RenderError`` that names the command to run when WeasyPrint or Pango is missing.
    """
    try:
        from weasyprint import HTML
    except (ImportError, OSError) as error:
        raise RenderError(
            f"PDF needs WeasyPrint and the system library Pango: {INSTALL} ({error})"
        ) from error
    page: bytes = HTML(string=html, base_url=str(Path.cwd()), url_fetcher=_only_data).write_pdf()
    return page


def _only_data(url: str, *args: object, **options: object) -> object:
    from weasyprint import default_url_fetcher

    if not url.startswith("data:"):
        raise RenderError(f"the page asks for an outside resource: {url[:80]}")
    return default_url_fetcher(url, *args, **options)
