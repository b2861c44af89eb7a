"""PDF from the HTML page, by the optional WeasyPrint."""

from __future__ import annotations

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import RenderError


def to_pdf(html: str) -> bytes:
    """Return a page as PDF; nothing outside the page is fetched.

    Raises ``RenderError`` that names the command to run when WeasyPrint or Pango is missing.
    """
    try:
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher
    except (ImportError, OSError) as error:
        raise RenderError(
            f"PDF needs WeasyPrint and the system library Pango: {install_hint('pdf')} ({error})"
        ) from error
    fetcher = URLFetcher(allowed_protocols=("data",))
    page: bytes = HTML(string=html, base_url="data:,", url_fetcher=fetcher).write_pdf()
    return page
