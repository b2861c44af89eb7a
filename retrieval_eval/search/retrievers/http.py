"""An HTTP endpoint that answers in JSON as a retriever: how it is asked, and what it answers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.http import (
    ACCEPTED,
    HttpClient,
    HttpError,
    HttpPolicy,
    require_http,
)
from retrieval_eval.search.options import Options
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers import RETRIEVERS, RetrieverKind
from retrieval_eval.search.returned import clean_text, read_documents
from retrieval_eval.search.secrets import shown_options

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OPTIONS: Final = (
    "method",
    "query",
    "corpus",
    "k",
    "results",
    "doc",
    "score",
    "connect_timeout",
    "read_timeout",
    "total_timeout",
    "tries",
    "backoff",
    "max_retry_after",
    "concurrency",
    "max_bytes",
    "bearer_env",
)
_PLAIN, _SECRET = "header.", "header_env."


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Each field is an option of the same name, but ``url`` and ``headers``.

    Times are in seconds. ``query``, ``corpus`` and ``k`` name the fields of the request; an empty
    name leaves the field out. ``results``, ``doc`` and ``score`` are paths into the answer, their
    parts joined by dots; an empty ``results`` is the answer itself. ``headers`` come from the
    options ``header.NAME=VALUE``, ``header_env.NAME=VARIABLE`` and ``bearer_env=VARIABLE``; the
    last two read the environment, so that no secret stands in an option. ``secrets`` are the
    values that no message may hold, the longest first.
    """

    url: str
    method: str = "POST"
    query: str = "query"
    corpus: str = "corpus"
    k: str = "k"
    results: str = "results"
    doc: str = "doc"
    score: str = "score"
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    total_timeout: float = 60.0
    tries: int = 4
    backoff: float = 0.5
    max_retry_after: float = 30.0
    concurrency: int = 4
    max_bytes: int = 10_000_000
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def shown_url(self) -> str:
        """The address without its query string, which may hold a secret."""
        return self.url.partition("?")[0].partition("#")[0]


def http_settings(url: str, given: Mapping[str, str]) -> HttpSettings:
    """Return the settings of a URL and textual options.

    Raises
    ------
    BadInputError
        When the URL has no host or holds credentials, an option is unknown or out of range, or an
        environment variable is not set; the message never holds a secret.

    Examples
    --------
    >>> http_settings("https://kb.example/search", {"results": "data.hits", "doc": "id"}).doc
    'id'
    """
    options = Options("http", given)
    options.only(OPTIONS, prefixes=(_PLAIN, _SECRET))
    _check_url(url)
    default = HttpSettings(url)
    query = given.get("query", default.query)
    doc = given.get("doc", default.doc)
    if not query or not doc:
        raise BadInputError("http: options query and doc cannot be empty")
    return HttpSettings(
        url=url,
        method=options.choice("method", default.method, ("POST", "GET")),
        query=query,
        corpus=given.get("corpus", default.corpus),
        k=given.get("k", default.k),
        results=given.get("results", default.results),
        doc=doc,
        score=given.get("score", default.score),
        connect_timeout=options.number("connect_timeout", default.connect_timeout, 0.01, 3600),
        read_timeout=options.number("read_timeout", default.read_timeout, 0.01, 3600),
        total_timeout=options.number("total_timeout", default.total_timeout, 0.01, 86_400),
        tries=options.whole("tries", default.tries, 1, 100),
        backoff=options.number("backoff", default.backoff, 0, 3600),
        max_retry_after=options.number("max_retry_after", default.max_retry_after, 0, 3600),
        concurrency=options.whole("concurrency", default.concurrency, 1, 1000),
        max_bytes=options.whole("max_bytes", default.max_bytes, 1, 10**10),
        headers=_headers(given),
        secrets=_secrets(given),
    )


class HttpRetriever:
    """Asks an endpoint once per query, and again when that can help; see `HttpClient`.

    Lost connections, time-outs and the answers 429, 502, 503 and 504 are tried again. Any other
    status outside 200-299 fails at once. Redirects are followed on the same host only, and only
    where they keep the method. Threads may share a retriever.
    """

    is_thread_safe = True

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._client = HttpClient(
            HttpPolicy(
                where=settings.shown_url,
                headers={
                    "Accept": "application/json",
                    "Accept-Encoding": ACCEPTED,
                    **settings.headers,
                },
                tries=settings.tries,
                backoff=settings.backoff,
                connect_timeout=settings.connect_timeout,
                read_timeout=settings.read_timeout,
                total_timeout=settings.total_timeout,
                max_bytes=settings.max_bytes,
                concurrency=settings.concurrency,
                max_retry_after=settings.max_retry_after,
                secrets=settings.secrets,
            )
        )
        self.close = self._client.close

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the documents of the answer, in its order.

        Raises
        ------
        RetrieverError
            When there is no usable answer within the tries and the time; the message has the
            address without its query string, and no header.
        """
        settings = self._settings
        fields = ((settings.query, clean_text(query)), (settings.corpus, corpus), (settings.k, k))
        values = {name: value for name, value in fields if name}
        send = self._client.get if settings.method == "GET" else self._client.post
        try:
            return self._client.ask(send(settings.url, values), self._documents)
        except HttpError as error:
            tries = "" if error.n_tries is None else f" (tries: {error.n_tries})"
            raise RetrieverError(f"{error}{tries}") from error

    def describe(self) -> dict[str, Any]:
        """Return the address and the method."""
        settings = self._settings
        return {"name": settings.shown_url, "reranker": None, "method": settings.method}

    def _documents(self, answer: Any) -> list[ScoredDoc]:
        settings = self._settings
        results = _at(answer, settings.results)
        if not isinstance(results, list):
            raise RetrieverError(
                f"{settings.shown_url}: the answer has no list at {settings.results!r}"
                f" ({_fields(answer)}); name its place with the option results"
            )
        return read_documents([self._pair(item, place) for place, item in enumerate(results, 1)])

    def _pair(self, item: Any, place: int) -> tuple[Any, Any]:
        if isinstance(item, str | int) and not isinstance(item, bool):
            return item, None
        doc = _at(item, self._settings.doc)
        if doc is None:
            raise RetrieverError(
                f"{self._settings.shown_url}: result {place} has no {self._settings.doc!r}"
                f" ({_fields(item)}); name the field of the document id with the option doc"
            )
        return doc, _at(item, self._settings.score) if self._settings.score else None


def open_http(url: str, options: Mapping[str, str]) -> HttpRetriever:
    """Return a retriever that asks ``url``.

    Raises
    ------
    BadInputError
        When an option is of no use, or httpx or tenacity is missing; the message then has the
        command that installs them.
    """
    settings = http_settings(url, options)
    require_http("a retriever behind HTTP")
    return HttpRetriever(settings)


RETRIEVERS.add(
    "http",
    RetrieverKind(
        "http(s)://…",
        open_http,
        options=(*OPTIONS, f"{_PLAIN}NAME", f"{_SECRET}NAME"),
        schemes=("http", "https"),
    ),
)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        # Before an @ the part that cannot be read may be of a password.
        why = "" if "@" in url else f": {error}"
        raise BadInputError(f"http: the address cannot be read{why}") from error
    if not host:
        raise BadInputError("http: the address names no host; expected https://host/path")
    if parts.username is not None or parts.password is not None:
        raise BadInputError(
            "http: the address holds credentials, which a report would show; put them into an"
            " environment variable and name it with bearer_env or header_env.NAME"
        )


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    headers = {}
    for option, value in given.items():
        if option.startswith(_PLAIN):
            name = option.removeprefix(_PLAIN)
        elif option.startswith(_SECRET):
            name, value = option.removeprefix(_SECRET), _from_environment(option, value)
        elif option == "bearer_env":
            name, value = "Authorization", f"Bearer {_from_environment(option, value)}"
        else:
            continue
        if not _HEADER.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise BadInputError(
                f"http: option {option} makes no header; expected a name of letters, digits and"
                " hyphens, and a value of printable ASCII"
            )
        headers[name] = value
    return headers


def _secrets(given: Mapping[str, str]) -> tuple[str, ...]:
    shown, found = shown_options(given), set[str]()
    for option, value in given.items():
        if option == "bearer_env" or option.startswith(_SECRET):
            found.add(_from_environment(option, value))
        elif shown[option] != value:
            # Of "Bearer abc" the second word alone is the secret, too.
            found |= {value, value.split()[-1]} if value.split() else set()
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def _from_environment(option: str, variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise BadInputError(f"http: option {option}: environment variable {variable!r} is not set")
    return value


def _at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _fields(value: Any) -> str:
    if not isinstance(value, dict):
        return f"it is of type {type(value).__name__}"
    return f"it has {', '.join(map(repr, list(value)[:10])) or 'no fields'}"
