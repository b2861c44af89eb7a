"""The HTTP server: a read-only ASGI application for runs, backlog and rendered reports."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes, read_bytes
from retrieval_eval.serve.dashboard import Sources, dashboard, diagnostics, served
from retrieval_eval.serve.guard import Asgi, HostRule, error_body, guarded
from retrieval_eval.serve.page import index_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

INSTALL: Final = install_hint("serve")

CONTENT_TYPES: Final[dict[str, str]] = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""Suffixes that are served, with their content types; everything else does not exist."""


def create_app(
    sources: Sources, *, host: str = "127.0.0.1", allowed_hosts: Iterable[str] = ()
) -> Asgi:
    """Return the application; every request reads the files anew, and nothing is written.

    Parameters
    ----------
    sources
        Where the runs, reports and backlog are.
    host
        The address it is bound to, which decides which ``Host`` names are accepted.
    allowed_hosts
        Further accepted names, for a server that others reach by name.

    Raises
    ------
    BadInputError
        When Starlette is missing; the message has the command that installs it.
    """
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route
    except ImportError as error:
        raise BadInputError(f"serving needs Starlette and Uvicorn: {INSTALL} ({error})") from error

    endpoints = _Endpoints(sources)
    app = Starlette(
        routes=[
            Route("/", endpoints.index),
            Route("/api/metrics", endpoints.metrics),
            Route("/api/system/diagnostics", endpoints.health),
            Route("/reports/{path:path}", endpoints.report),
        ],
        exception_handlers={
            HTTPException: lambda _, error: _error(error.status_code, error.detail),
            Exception: lambda _, __: _error(500, "the server failed; see its log"),
        },
    )
    app.router.redirect_slashes = False
    return guarded(app, HostRule.of(host, allowed_hosts))


@dataclass(frozen=True, slots=True)
class _Endpoints:
    """The endpoints: plain functions, which Starlette runs beside its event loop."""

    sources: Sources

    def index(self, _: Request) -> Response:
        from starlette.responses import HTMLResponse

        pages = list_pages(self.sources.reports)
        shown = dashboard(self.sources)
        return HTMLResponse(index_page(shown, pages))

    def metrics(self, request: Request) -> Response:
        try:
            requested = {name: _single(request, name) for name in ("run", "corpus")}
            return _json(served(dashboard(self.sources, **requested), self.sources))
        except BadInputError as error:
            return _error(404, str(error))

    def health(self, _: Request) -> Response:
        return _json(served(diagnostics(self.sources), self.sources))

    def report(self, request: Request) -> Response:
        from starlette.responses import Response

        found = find_report(self.sources.reports, request.path_params["path"])
        if found is None:
            return _error(404, "no such report")
        data, problem = read_bytes(found, self.sources.reports)
        if problem is not None:
            return _error(404, "no such report")
        return Response(data, headers={"content-type": content_type(found) or ""})


def _single(request: Request, name: str) -> str | None:
    values = request.query_params.getlist(name)
    if len(values) > 1:
        raise BadInputError(f"{name!r} was given {len(values)} times; give it once")
    return values[0] if values else None


def _json(value: Any) -> Response:
    from starlette.responses import Response

    return Response(json_bytes(value), media_type="application/json")


def _error(status: int, message: str) -> Response:
    from starlette.responses import Response

    return Response(error_body(status, message), status, media_type="application/json")


# --- rendered reports: which files are served ---


def find_report(root: Path, path: str) -> Path | None:
    """Return the file that ``path`` names below ``root``, or None when it may not be served.

    Parameters
    ----------
    root
        Folder of the reports.
    path
        The part of a request after ``/reports/``, percent-decoded once.

    Returns
    -------
    Path or None
        The resolved path of a regular file with a known suffix. None for everything that is not
        there, is hidden (a part that starts with a dot), or lies outside once links are followed.
        The reason for None is not given: different answers would reveal what lies outside.

    Examples
    --------
    >>> find_report(Path("reports"), "../pyproject.toml") is None
    True
    """
    parts = path.split("/")
    if not all(_is_plain(part) for part in parts):
        return None
    try:
        base = root.resolve(strict=True)
        found = base.joinpath(*parts).resolve(strict=True)
        is_file = found.is_file()
    except (OSError, ValueError, RuntimeError):  # absent, a name no file can have, a loop of links
        return None
    if not is_file or not found.is_relative_to(base):
        return None
    # A link may point at a hidden file of the same tree.
    inside = found.relative_to(base).parts
    if not all(_is_plain(part) for part in inside) or content_type(found) is None:
        return None
    return found


def content_type(path: Path) -> str | None:
    """Return the content type of a file by its suffix, or None for one that is not served."""
    return CONTENT_TYPES.get(path.suffix.lower())


def list_pages(root: Path) -> list[str]:
    """Return the address below ``/reports/`` of every HTML page that is served, sorted.

    Addresses are percent-encoded. Links to folders are not followed.
    """
    found = []
    for folder, names, files in os.walk(root, followlinks=False):
        names[:] = [name for name in names if _is_plain(name)]
        for name in files:
            path = (Path(folder) / name).relative_to(root).as_posix()
            if Path(name).suffix.lower() == ".html" and find_report(root, path) is not None:
                found.append(quote(path))
    return sorted(found)


def _is_plain(part: str) -> bool:
    """Return whether a part of a path is the visible name of one file or folder.

    A name that is not UTF-8 has no address.
    """
    is_text = not any("\ud800" <= c <= "\udfff" for c in part)
    return bool(part) and not part.startswith(".") and "\\" not in part and is_text
