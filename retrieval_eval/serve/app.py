"""The HTTP face: a read-only ASGI application over runs, backlog and rendered reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes, read_bytes
from retrieval_eval.serve.files import content_type, find_report, list_pages
from retrieval_eval.serve.guard import Asgi, HostRule, error_body, guarded
from retrieval_eval.serve.page import index_page
from retrieval_eval.serve.sources import Sources

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

INSTALL: Final = install_hint("serve")


def create_app(
    sources: Sources, *, host: str = "127.0.0.1", allowed_hosts: Iterable[str] = ()
) -> Asgi:
    """Return the application; it reads on every request and writes nothing.

    Parameters
    ----------
    sources
        What it shows.
    host
        The address it is bound to, which says under which names it may be asked.
    allowed_hosts
        Further names, for a server that others reach by name.

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

    faces = _Faces(sources)
    app = Starlette(
        routes=[
            Route("/", faces.index),
            Route("/api/metrics", faces.metrics),
            Route("/api/system/diagnostics", faces.health),
            Route("/reports/{path:path}", faces.report),
        ],
        exception_handlers={
            HTTPException: lambda _, error: _error(error.status_code, error.detail),
            Exception: lambda _, __: _error(500, "the server failed; its log says more"),
        },
    )
    app.router.redirect_slashes = False
    return guarded(app, HostRule.of(host, allowed_hosts))


@dataclass(frozen=True, slots=True)
class _Faces:
    """The endpoints: plain functions, which Starlette runs beside its event loop."""

    sources: Sources

    def index(self, _: Request) -> Response:
        from starlette.responses import HTMLResponse

        pages = list_pages(self.sources.reports)
        shown = self.sources.dashboard()
        return HTMLResponse(index_page(shown, pages, self.sources.backlog_name))

    def metrics(self, request: Request) -> Response:
        try:
            asked = {name: _single(request, name) for name in ("run", "corpus")}
            return _json(self.sources.dashboard(**asked))
        except BadInputError as error:
            return _error(404, str(error))

    def health(self, _: Request) -> Response:
        return _json(self.sources.diagnostics())

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
