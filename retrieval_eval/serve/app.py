"""The HTTP server: a read-only ASGI application for runs, backlog and rendered reports."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.escape import html_text, visible
from retrieval_eval.io.files import json_bytes, read_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.dashboard import Backlog, Dashboard, ShownRun, SkippedFile
from retrieval_eval.model.search_run import MetricChange, MetricMean
from retrieval_eval.report.index import DETAILS, PAGE, RUN_NOTEBOOK
from retrieval_eval.report.names import MISSING, rate, signed
from retrieval_eval.report.simulated import TITLE, notice
from retrieval_eval.search.run import HEADLINE
from retrieval_eval.serve.dashboard import Sources, dashboard, diagnostics, served
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import uvicorn
    from starlette.requests import Request
    from starlette.responses import Response
    from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

# --------------------------------------------------------------------------------------------------
# Rules for every request: accepted host names and methods, and headers that restrict browsers.

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS: Final = ("GET", "HEAD")

# RFC 9112: a host and perhaps a port. An address of version 6 is in brackets, and only it.
_HOST: Final = re.compile(
    r"(?:(?P<name>[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?)|\[(?P<bracketed>[0-9A-Fa-f:.]+)\])"
    r"(?::(?P<port>[0-9]{1,5})?)?"
)
_HIGHEST_PORT: Final = 65_535

HEADERS: Final[dict[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer."""

_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


@dataclass(frozen=True, slots=True)
class HostRule:
    """Which ``Host`` a request may name: allowed names, and addresses written as numbers.

    Numbers cannot be rebound. Bound to loopback, only loopback addresses are allowed; bound
    elsewhere, any address is.
    """

    names: frozenset[str]
    is_loopback: bool

    @classmethod
    def of(cls, host: str, allowed: Iterable[str] = ()) -> HostRule:
        """Return the rule of a server bound to ``host`` that also answers to ``allowed`` names."""
        names = {"localhost", host, *allowed}
        return cls(frozenset(name.lower().removesuffix(".") for name in names), is_loopback(host))

    def allows(self, header: str) -> bool:
        """Return whether a ``Host`` header is allowed: a name or an address, and perhaps a port.

        Any port is allowed, because a tunnel may use another one; anything else beside a name, such
        as what precedes an ``@``, is rejected.

        Examples
        --------
        >>> rule = HostRule.of("127.0.0.1")
        >>> rule.allows("localhost:8765"), rule.allows("[::1]"), rule.allows("evil.example")
        (True, True, False)
        """
        found = _HOST.fullmatch(header)
        if found is None or int(found["port"] or 0) > _HIGHEST_PORT:
            return False
        if ":" not in (found["bracketed"] or ":"):
            return False
        name = (found["name"] or found["bracketed"]).lower().removesuffix(".")
        if name in self.names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.is_loopback


def is_loopback(host: str) -> bool:
    """Return whether a server bound to ``host`` can only be reached from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def guarded(app: Asgi, rule: HostRule) -> Asgi:
    """Return ``app`` behind the rules: GET and HEAD only, known hosts only, safe headers always."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if _is_free(pair[0])]
                message = {**message, "headers": [*kept, *_RAW_HEADERS]}
            await send(message)

        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or not rule.allows(hosts[0].decode("latin-1")):
            return await _refuse(
                send_safely, 421, "this server does not answer to that host name", []
            )
        if scope["method"] not in METHODS:
            allow = [(b"allow", ", ".join(METHODS).encode())]
            return await _refuse(send_safely, 405, "this server is read-only: GET or HEAD", allow)
        return await app(scope, receive, send_safely)

    return guard


def error_body(status: int, message: str) -> bytes:
    """Return the JSON body of an error."""
    return json_bytes({"error": {"status": status, "message": message}})


async def _refuse(
    send: Send, status: int, message: str, headers: list[tuple[bytes, bytes]]
) -> None:
    body = error_body(status, message)
    length = (b"content-length", str(len(body)).encode())
    kind = (b"content-type", b"application/json")
    start = {"type": "http.response.start", "status": status, "headers": [kind, length, *headers]}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _is_free(name: bytes) -> bool:
    return name.lower().decode("latin-1") not in HEADERS


# --------------------------------------------------------------------------------------------------
# The index page: the latest run in a table, the backlog in a line, and links to the reports.

_STYLE: Final = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1a1a1a;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse}caption{text-align:left;padding-bottom:.4rem}
th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid #ccc}
th:first-child{text-align:left}th[scope=row]{font-weight:normal}
td{font-variant-numeric:tabular-nums}a{color:#0b5394}
@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}a{color:#8ab4f8}}
"""

_API_LINKS: Final = (
    '<p><a href="/api/metrics">/api/metrics</a> · '
    '<a href="/api/system/diagnostics">/api/system/diagnostics</a></p>'
)


def index_page(shown: Dashboard, pages: Mapping[str, bool]) -> str:
    """Return the HTML of ``/`` for a dashboard and report pages, as :func:`list_pages` gives them.

    Text from runs, labels and file names is escaped; the page has no script and loads nothing.
    """
    title = f"{TITLE if _simulated(shown.latest_run) else ''}Retrieval evaluation"
    body = [
        f"<h1>{title}</h1>",
        *_latest(shown.latest_run, shown.latest_run_reason),
        "<h2>Review backlog</h2>",
        f"<p>{_backlog(shown.backlog, shown.backlog_reason)}</p>",
        "<h2>Reports</h2>",
        *_links(pages),
        *_skipped(shown.skipped),
        _API_LINKS,
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _latest(run: ShownRun | None, reason: str | None) -> list[str]:
    head = "<h2>Latest search run</h2>"
    if run is None:
        return [head, f"<p>{html_text(reason)}</p>"]
    status = run.status
    caption = (
        f"{html_text(run.label or run.name)}, {html_text(run.generated_at)}: "
        f"{counted(status.n_queries, 'query')}, {status.n_failed} failed"
    )
    lines = [head]
    if simulated := _simulated(run):
        lines.append(f"<p>{html_text(simulated)}</p>")
    if run.run.gold_set.is_provisional:
        lines.append("<p>Provisional: no person has reviewed the gold set (bootstrap only).</p>")
    if not status.has_verdict:
        lines.append(f"<p>No verdict: {html_text('; '.join(status.reasons))}</p>")
    points: Mapping[str, MetricChange] = {}
    if run.delta is None:
        lines.append(f"<p>No difference: {html_text(run.delta_reason)}.</p>")
    elif not run.delta.is_comparable:
        why = html_text("; ".join(run.delta.reasons))
        lines.append(f"<p>Not comparable with the baseline: {why}</p>")
    else:
        points = run.delta.metrics
    metrics = run.metrics
    confidence = f"{rate(100 * run.run.settings.confidence, 0)} % interval"
    named = ("measure", "value", confidence, "queries", "points against the baseline")
    return [
        *lines,
        f"<table><caption>{caption}</caption>",
        "<tr>",
        *(f'<th scope="col">{name}</th>' for name in (*named, confidence, "pairs")),
        "</tr>",
        *(_row(name, metrics[name], points.get(name)) for name in _headline_first(metrics)),
        "</table>",
    ]


def _simulated(run: ShownRun | None) -> str:
    if run is None:
        return ""
    gold = run.run.gold_set
    return notice(gold.n_simulated or 0, gold.n_queries, "query", "search")


def _headline_first(metrics: Mapping[str, MetricMean]) -> list[str]:
    return sorted(metrics, key=lambda name: name not in HEADLINE)


def _row(name: str, metric: MetricMean, change: MetricChange | None) -> str:
    value = rate(metric.value, 3)
    if metric.value is None:
        value = f"{MISSING} ({html_text(metric.reason)})"
    interval = _interval(rate(metric.ci_low, 3), rate(metric.ci_high, 3))
    cells = [value, interval, str(metric.n), MISSING, MISSING, MISSING]
    if change is not None:
        low, high = signed(change.ci_low_points), signed(change.ci_high_points)
        cells[3:] = signed(change.delta_points), _interval(low, high), str(change.n_pairs)
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{html_text(name)}</th>{row}</tr>'


def _interval(low: str, high: str) -> str:
    return MISSING if MISSING in (low, high) else f"{low} to {high}"


def _backlog(block: Backlog | None, reason: str | None) -> str:
    if block is None:
        return f"Unknown: {html_text(reason)}"
    counts = ", ".join(
        f"{getattr(block, key)} {key.replace('_', ' ')}"
        for key in ("pending_review", "approved", "rejected", "published", "other")
    )
    oldest = to_builtins(block)["oldest_pending_at"]
    since = f"; the oldest pending since {html_text(oldest)}" if oldest else ""
    return f"{counts} ({block.total} in total){since}"


def _links(pages: Mapping[str, bool]) -> list[str]:
    if not pages:
        return ["<p>No report was rendered yet.</p>"]
    links = []
    for page, lacks_details in pages.items():
        link = f'<a href="/reports/{html_text(page)}">{html_text(unquote(page))}</a>'
        if lacks_details:
            details = html_text(page.removesuffix(PAGE) + f"{DETAILS}/{PAGE}")
            link += f' (<a href="/reports/{details}">details</a>, made when first opened)'
        links.append(f"<li>{link}</li>")
    return ["<ul>", *links, "</ul>"]


def _skipped(skipped: Sequence[SkippedFile]) -> list[str]:
    if not skipped:
        return []
    items = (f"<li>{html_text(each.name)}: {html_text(each.reason)}</li>" for each in skipped)
    return ["<h2>Files that are no valid search run</h2>", "<ul>", *items, "</ul>"]


# --------------------------------------------------------------------------------------------------
# The HTTP server: a read-only ASGI application for runs, backlog and rendered reports.

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
    """Return the application; every request reads the files anew.

    Nothing is written but the page of details of a report of a run, when it is first opened.

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

        reports, path = self.sources.reports, request.path_params["path"]
        found = find_report(reports, path)
        if found is None and (of := run_without_details(reports, path)) is not None:
            if (problem := why_without_details(of)) is not None:
                return _error(503, f"the details could not be made: {problem}")
            found = find_report(reports, path)
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


def run_without_details(root: Path, path: str) -> Path | None:
    """Return the folder of the report of a run whose page of details ``path`` names and lacks."""
    folder, _, page = path.removesuffix(f"/{PAGE}").rpartition("/")
    if page != DETAILS or not path.endswith(f"/{PAGE}"):
        return None
    found = find_report(root, f"{folder}/{RUN_NOTEBOOK}")
    if found is None or find_report(root, f"{folder}/{PAGE}") is None:
        return None
    # A link could lead to another folder than the address says.
    is_same = found.parent == root.resolve().joinpath(*folder.split("/"))
    return found.parent if is_same and find_report(root, path) is None else None


def why_without_details(folder: Path) -> str | None:
    """Make the page of details of a report; return why that could not be done.

    In a process of its own, which ends with all that drawing a page loads and starts.
    """
    from retrieval_eval.agents.runs.away import Processes, WorkerEndedError

    with Processes(1) as processes:
        try:
            processes.submit(_make_details, folder).result()
        except (RetrievalEvalError, WorkerEndedError) as error:
            return visible(str(error), 500)
    return None


def _make_details(folder: Path) -> None:
    from retrieval_eval.report import build_details

    build_details(folder)


def content_type(path: Path) -> str | None:
    """Return the content type of a file by its suffix, or None for one that is not served."""
    return CONTENT_TYPES.get(path.suffix.lower())


def list_pages(root: Path) -> dict[str, bool]:
    """Return the address below ``/reports/`` of every HTML page that is served, sorted.

    Addresses are percent-encoded. Links to folders are not followed. True is the page of a run
    whose details were not made yet.
    """
    found = {}
    for folder, names, files in os.walk(root, followlinks=False):
        names[:] = [name for name in names if _is_plain(name)]
        for name in files:
            path = (Path(folder) / name).relative_to(root).as_posix()
            if Path(name).suffix.lower() == ".html" and find_report(root, path) is not None:
                details = path.removesuffix(PAGE) + f"{DETAILS}/{PAGE}"
                found[quote(path)] = name == PAGE and run_without_details(root, details) is not None
    return dict(sorted(found.items()))


def _is_plain(part: str) -> bool:
    """Return whether a part of a path is the visible name of one file or folder.

    A name that is not UTF-8 has no address.
    """
    is_text = not any("\ud800" <= c <= "\udfff" for c in part)
    return bool(part) and not part.startswith(".") and "\\" not in part and is_text


# --------------------------------------------------------------------------------------------------
# Bind a socket and run Uvicorn, with a deadline for every request.

_SECONDS_TO_FINISH = 5  # for requests in flight when the server is stopped

SECONDS_TO_ASK: Final = 10.0
"""Seconds in which a connection must have sent the head of a request."""

MOST_WAITING: Final = 64
"""Most connections that may be open without a complete request; beyond it the oldest is closed."""

MOST: Final = 256
"""Connections above this number get status 503 (come back later)."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on ``host`` and ``port``; port 0 picks a free one.

    Raises ``BadInputError`` when the host is unknown, or the port is in use or not allowed.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address[:2], family=family)
    except (socket.gaierror, UnicodeError) as error:
        raise BadInputError(f"--host {host!r} is no address of this machine ({error})") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "is in use; stop the other program or choose another with --port"
        else:
            why = f"cannot be used ({error.strerror or error})"
        raise BadInputError(f"port {port} of {host} {why}") from error


def url_of(listening: socket.socket) -> str:
    """Return the address of a listening socket as a browser wants it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def create_server(app: Asgi, *, seconds_to_ask: float = SECONDS_TO_ASK) -> uvicorn.Server:
    """Return a server whose ``run(sockets=[...])`` answers until SIGINT or SIGTERM.

    A connection is closed that has sent no whole request after ``seconds_to_ask``. Requests in
    flight are finished first; ``run`` raises ``KeyboardInterrupt`` after SIGINT.
    Raises ``BadInputError`` when Uvicorn is missing.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise BadInputError(f"serving needs Starlette and Uvicorn: {INSTALL} ({error})") from error
    config = uvicorn.Config(
        app,
        # One parser everywhere, whatever else is installed: the same request, the same answer.
        http=_bounded_protocol(seconds_to_ask),
        limit_concurrency=MOST,
        loop="asyncio",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def _bounded_protocol(seconds: float = SECONDS_TO_ASK) -> type[H11Protocol]:
    """Return Uvicorn's protocol with a deadline for the head of each request.

    Uvicorn closes connections that are idle between two requests; one that never
    sends a request, or sends one without end, it keeps open for ever.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedProtocol(H11Protocol):
        _waiting: dict[BoundedProtocol, asyncio.TimerHandle] = {}  # noqa: RUF012  all share it

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _watch(self) -> None:
            cycle: RequestResponseCycle | None = self.cycle
            is_answering = cycle is not None and not cycle.response_complete
            if is_answering or self.transport.is_closing():
                self._forget()
            elif self not in self._waiting:
                self._waiting[self] = self.loop.call_later(seconds, self.give_up)
                if len(self._waiting) > MOST_WAITING:
                    next(iter(self._waiting)).give_up()

        def _forget(self) -> None:
            timer = self._waiting.pop(self, None)
            if timer is not None:
                timer.cancel()

        def give_up(self) -> None:
            """Close the connection; data already sent still arrives."""
            self._forget()
            self.transport.close()

    return BoundedProtocol
