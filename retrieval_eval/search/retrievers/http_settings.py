"""How an HTTP endpoint is asked and where its answer holds the documents."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.retrievers.options import Options
from retrieval_eval.search.secrets import shown_options

_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NAMES: Final = (
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
    options.only(_NAMES, prefixes=(_PLAIN, _SECRET))
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
