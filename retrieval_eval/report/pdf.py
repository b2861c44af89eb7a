"""PDF from the HTML page, by the optional WeasyPrint."""

from __future__ import annotations

from typing import Final

from retrieval_eval.errors import RenderError

INSTALL: Final = "pip install 'retrieval-eval[pdf]'"


def to_pdf(html: str) -> bytes:
    """Return a page as PDF; nothing outside the page is fetched.

    Raises ``RenderError`` that names the command to run when WeasyPrint or Pango is missing.
    """
    try:
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher
    except (ImportError, OSError) as error:
        raise RenderError(
            f"PDF needs WeasyPrint and the system library Pango: {INSTALL} ({error})"
        ) from error
    fetcher = URLFetcher(allowed_protocols=("data",))
    page: bytes = HTML(string=html, base_url="data:,", url_fetcher=fetcher).write_pdf()
    return page
