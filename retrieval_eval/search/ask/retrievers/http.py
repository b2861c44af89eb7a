"""An HTTP endpoint that answers in JSON as a retriever: how it is asked, and what it answers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, urlsplit

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.search.ask import (
    RetrieverError,
    ScoredDoc,
    clean_text,
    nothing,
    read_answer,
)
from retrieval_eval.search.ask.http import (
    ACCEPTED,
    HEADER_NAME,
    Conditions,
    HttpClient,
    HttpError,
    HttpPolicy,
    Path,
    Template,
    require_http,
)
from retrieval_eval.search.ask.options import Options, shown_options, without_secrets
from retrieval_eval.search.ask.query_vectors import OPTIONS as VECTOR_OPTIONS
from retrieval_eval.search.ask.query_vectors import QueryVectors, open_query_vectors
from retrieval_eval.search.ask.retrievers import RETRIEVERS, RetrieverKind

_LONGEST_QUOTE: Final = 200
OPTIONS: Final = (
    "shape",
    "method",
    "body",
    "query",
    "corpus",
    "k",
    "results",
    "doc",
    "score",
    "best",
    "require",
    "empty_if",
    "batch",
    "batch_header",
    "batch_body",
    "batch_results",
    "batch_require",
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
_CONFLICTS: Final = ("method", "query", "corpus", "k")
"""Options of a request without a template."""

_REQUESTS: Final = "requests"

_HITS: Final = {
    "body": '{"query": {"match": {"text": "$query"}}, "size": "$k", "_source": false}',
    "results": "hits.hits",
    "doc": "_id",
    "score": "_score",
    "require": (
        '{"error": null, "timed_out": false, "_shards.failed": 0,'
        ' "terminated_early": [null, false], "_clusters.skipped": [null, 0],'
        ' "_clusters.partial": [null, 0], "_clusters.failed": [null, 0]}'
    ),
}
_MULTIPLE_HITS: Final = {
    **_HITS,
    "batch": "20",
    "batch_header": "{}",
    "batch_results": "responses",
}
_POINTS: Final = {
    "body": '{"query": "$vector", "limit": "$k"}',
    "doc": "id",
    "score": "score",
}

SHAPES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "elasticsearch": _HITS,
        "elasticsearch_batch": _MULTIPLE_HITS,
        "opensearch": _HITS,
        "opensearch_batch": _MULTIPLE_HITS,
        "qdrant": {**_POINTS, "results": "result.points", "require": '{"status": "ok"}'},
        "qdrant_batch": {
            **_POINTS,
            "results": "points",
            "batch": "20",
            "batch_body": '{"searches": "$requests"}',
            "batch_results": "result",
            "batch_require": '{"status": "ok"}',
        },
        "vespa": {
            "body": (
                '{"yql": "select * from sources * where userQuery()", "query": "$query",'
                ' "hits": "$k"}'
            ),
            "results": "root.children",
            "doc": "fields.id",
            "score": "relevance",
            "require": '{"root.errors": null, "root.coverage.full": true}',
            "empty_if": '{"root.fields.totalCount": 0}',
        },
    }
)
"""Options of servers with a documented form, by name. Any of them can be given another value.

Sources: the search and multi-search APIs of Elasticsearch and OpenSearch, "Query points" and "Query
points in batch" of Qdrant, and Vespa's query API and its default JSON result format.
"""

_PLAIN, _SECRET = "header.", "header_env."


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Each field is an option of the same name, but ``url`` and ``headers``.

    Times are in seconds. ``shape`` names a set of options of :data:`SHAPES`. ``query``, ``corpus``
    and ``k`` name the fields of the request; an empty name leaves the field out. With a ``body``,
    a JSON template (or ``@FILE``), the request is what the template gives. ``results``, ``doc``
    and ``score`` are paths into the answer; an empty ``results`` is the answer itself; with
    ``best=low`` the score is a distance and is negated. An answer that does not meet ``require``
    is a failure; without results it is empty only if it meets ``empty_if``. ``batch`` queries are
    asked with one request: lines of ``batch_header`` and body, or ``batch_body``, in which
    ``"$requests"`` is the list of bodies; ``batch_results`` leads to the list of answers, in the
    order of the queries.

    ``headers`` come from the options ``header.NAME=VALUE``, ``header_env.NAME=VARIABLE`` and
    ``bearer_env=VARIABLE``; the last two read the environment, so that no secret stands in an
    option. ``secrets`` are the values that no message may hold, the longest first.
    """

    url: str
    shape: str = ""
    method: str = "POST"
    body: str = ""
    query: str = "query"
    corpus: str = "corpus"
    k: str = "k"
    results: str = "results"
    doc: str = "doc"
    score: str = "score"
    best: str = "high"
    require: str = ""
    empty_if: str = ""
    batch: int = 1
    batch_header: str = ""
    batch_body: str = ""
    batch_results: str = ""
    batch_require: str = ""
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
    >>> http_settings("http://127.0.0.1:8080/search/", {"shape": "vespa"}).results
    'root.children'
    """
    Options("http", given).only((*OPTIONS, *VECTOR_OPTIONS), prefixes=(_PLAIN, _SECRET))
    shape = ""
    if "shape" in given:
        shape = Options("http", given).choice("shape", "", tuple(SHAPES))
        given = {**SHAPES[shape], **given}
    options = Options("http", given)
    _check_url(url)
    default = HttpSettings(url)
    text = {
        name: given.get(name, getattr(default, name))
        for name in (
            *("query", "corpus", "k", "results", "doc", "score", "require", "empty_if"),
            *("batch_header", "batch_body", "batch_results", "batch_require"),
        )
    }
    if not text["query"] or not text["doc"]:
        raise BadInputError("http: options query and doc cannot be empty")
    body = _body_text(given)
    if body and (wrong := [name for name in _CONFLICTS if name in given]):
        raise BadInputError(
            f"http: option {wrong[0]} has no effect beside a body; write it into the template"
        )
    batch = options.whole("batch", default.batch, 1, 10_000)
    is_batch = bool(text["batch_header"] or text["batch_body"])
    if text["batch_header"] and text["batch_body"]:
        raise BadInputError("http: options batch_header and batch_body exclude each other")
    if batch > 1 and not (is_batch and body):
        raise BadInputError(
            "http: option batch needs a body, and either batch_header (a request of lines) or"
            " batch_body"
        )
    return HttpSettings(
        url=url,
        shape=shape,
        method=options.choice("method", default.method, ("POST", "GET")),
        body=body,
        **text,
        best=options.choice("best", default.best, ("high", "low")),
        batch=batch,
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


def _body_text(given: Mapping[str, str]) -> str:
    text = given.get("body", "")
    return read_user_text(FilePath(text[1:]).expanduser()) if text.startswith("@") else text


@dataclass(frozen=True, slots=True)
class _Form:
    """How requests are written and answers are read: the settings, parsed once."""

    body: Template | None
    header: Template | None
    whole: Template | None
    results: Path
    doc: Path
    score: Path | None
    require: Conditions
    empty_if: Conditions | None
    answers: Path
    batch_require: Conditions

    @classmethod
    def of(cls, settings: HttpSettings) -> _Form:
        body = Template.of(settings.body, "body") if settings.body else None
        if body is not None and not body.names & {"query", "vector"}:
            raise BadInputError('http: option body has neither "$query" nor "$vector"')
        header, text = settings.batch_header, settings.batch_body
        whole = Template.of(text, "batch_body", (_REQUESTS,)) if text else None
        if whole is not None and whole.names != {_REQUESTS}:
            raise BadInputError('http: option batch_body lacks "$requests"')
        return cls(
            body=body,
            header=Template.of(header, "batch_header", ("corpus",)) if header else None,
            whole=whole,
            results=Path.of(settings.results, "results"),
            doc=Path.of(settings.doc, "doc", is_single=True),
            score=Path.of(settings.score, "score", is_single=True) if settings.score else None,
            require=Conditions.of(settings.require, "require"),
            empty_if=Conditions.of(settings.empty_if, "empty_if") if settings.empty_if else None,
            answers=Path.of(settings.batch_results, "batch_results"),
            batch_require=Conditions.of(settings.batch_require, "batch_require"),
        )

    @property
    def is_batch(self) -> bool:
        return self.header is not None or self.whole is not None

    @property
    def needs_vectors(self) -> bool:
        return self.body is not None and "vector" in self.body.names


class HttpRetriever:
    """Asks an endpoint once per query, and again when that can help; see `HttpClient`.

    Lost connections, time-outs and the answers 429, 502, 503 and 504 are tried again. Any other
    status outside 200-299 fails at once. Redirects are followed on the same host only, and only
    where they keep the method. Threads may share a retriever. With ``states_best`` the setting
    ``best`` was given, so that an answer whose scores rise is only unsorted.
    """

    is_thread_safe = True

    def __init__(
        self,
        settings: HttpSettings,
        vectors: QueryVectors | None = None,
        *,
        states_best: bool = False,
    ) -> None:
        self._settings = settings
        self._states_best = states_best
        self._form = _Form.of(settings)
        self._vectors = vectors
        if self._form.needs_vectors != (vectors is not None):
            raise BadInputError(
                'http: "$vector" in the body and one of the options query_vectors and embedder'
                " belong together"
            )
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

    @property
    def batch_size(self) -> int:
        """How many queries one request asks."""
        return self._settings.batch

    @property
    def lower_is_better(self) -> bool | None:
        """False where the option ``best`` says which scores are, for distances are negated here."""
        return False if self._states_best else None

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the documents of the answer, in its order.

        Raises
        ------
        RetrieverError
            When there is no usable answer within the tries and the time, or the server says that
            it is not whole; the message has the address without its query string, and no header.
        """
        if self._form.is_batch:
            [answer] = self.search_many([query], corpus=corpus, k=k)
            if isinstance(answer, RetrieverError):
                raise answer
            return answer
        try:
            return self._client.ask(self._request(query, corpus, k), self._documents)
        except HttpError as error:
            raise _failed(error) from error

    def search_many(
        self, queries: Sequence[str], *, corpus: str, k: int
    ) -> list[list[ScoredDoc] | RetrieverError]:
        """Return for each query the documents of its answer, or why there are none.

        What is wrong with the answer to one query fails that query alone. If the server refuses
        the request, each of its queries is asked again alone, for one of them may be the cause. If
        there is no answer, or not one for each query, all of them fail.
        """
        found: list[list[ScoredDoc] | RetrieverError | None] = [None] * len(queries)
        bodies: dict[int, Any] = {}
        for place, query in enumerate(queries):
            try:
                bodies[place] = self._body(query, corpus, k)
            except RetrieverError as error:
                found[place] = error
        if bodies:
            for place, answer in zip(
                bodies, self._together(list(bodies.values()), corpus), strict=True
            ):
                found[place] = answer
        return [each for each in found if each is not None]

    def _together(self, bodies: list[Any], corpus: str) -> list[list[ScoredDoc] | RetrieverError]:
        form, url = self._form, self._url(corpus)
        if form.header is not None:
            header = form.header.filled({"corpus": corpus})
            lines = [line for body in bodies for line in (header, body)]
            request = self._client.post_lines(url, lines)
        else:
            assert form.whole is not None
            request = self._client.post(url, form.whole.filled({_REQUESTS: bodies}))
        try:
            answers = self._client.ask(request, lambda answer: self._answers(answer, len(bodies)))
        except HttpError as error:
            if error.n_tries is None and len(bodies) > 1:
                return [each for body in bodies for each in self._together([body], corpus)]
            return [_failed(error)] * len(bodies)
        except RetrieverError as error:
            return [error] * len(bodies)
        return [self._one(answer) for answer in answers]

    def _one(self, answer: Any) -> list[ScoredDoc] | RetrieverError:
        try:
            return self._documents(answer)
        except RetrieverError as error:
            return error

    def _answers(self, answer: Any, n: int) -> list[Any]:
        path = self._form.answers
        if (breach := self._form.batch_require.breach(answer)) is not None:
            raise self._untrusted(f"the answer is not whole: {breach}")
        answers = path.at(answer)
        if not isinstance(answers, list) or len(answers) != n:
            has = f"{len(answers)} items" if isinstance(answers, list) else "no list"
            raise self._untrusted(
                f"{n} queries were sent and the answer has {has} at {path.text!r}"
            )
        return answers

    def _request(self, query: str, corpus: str, k: int) -> Any:
        settings = self._settings
        if self._form.body is not None:
            return self._client.post(self._url(corpus), self._body(query, corpus, k))
        fields = ((settings.query, clean_text(query)), (settings.corpus, corpus), (settings.k, k))
        values = {name: value for name, value in fields if name}
        send = self._client.get if settings.method == "GET" else self._client.post
        return send(self._url(corpus), values)

    def _body(self, query: str, corpus: str, k: int) -> Any:
        assert self._form.body is not None
        values = {"query": clean_text(query), "corpus": corpus, "k": k}
        if self._vectors is not None:
            values["vector"] = self._vectors.get(query, corpus).tolist()
        return self._form.body.filled(values)

    def _url(self, corpus: str) -> str:
        url = self._settings.url
        if _CORPUS not in url:
            return url
        if corpus in ("", ".", ".."):
            raise RetrieverError(f"{corpus!r} cannot be a part of an address")
        return url.replace(_CORPUS, quote(corpus, safe=""))

    def describe(self) -> dict[str, Any]:
        """Return the address and method; of a template, its shape and a digest of its form.

        ``request`` is the SHA-256 of all options that decide what is sent and how it is read, the
        text of the template included.
        """
        settings = self._settings
        facts: dict[str, Any] = {
            "name": settings.shown_url,
            "reranker": None,
            "method": settings.method,
        }
        if not settings.body:
            return facts
        form = [getattr(settings, name) for name in _FORM]
        facts |= {"shape": settings.shape or None, "batch": settings.batch}
        facts["request"] = sha256(json.dumps(form).encode()).hexdigest()
        return {**facts, **(self._vectors.facts if self._vectors else {})}

    def _documents(self, answer: Any) -> list[ScoredDoc]:
        form = self._form
        if (breach := form.require.breach(answer)) is not None:
            raise self._untrusted(f"the answer is not whole: {breach}{_said(answer)}")
        results = form.results.at(answer)
        if results is None and form.empty_if is not None and form.empty_if.breach(answer) is None:
            return []
        if not isinstance(results, list):
            raise self._untrusted(
                f"the answer has no list at {form.results.text!r}"
                f" ({_fields(answer)}); name its place with the option results"
            )
        pairs = [self._pair(item, place) for place, item in enumerate(results, 1)]
        docs, n_nothing = read_answer(pairs)
        if self._settings.best == "low" and any(score is not None for _, score in pairs):
            docs = [ScoredDoc(each.doc, -each.score) for each in docs]
        return docs + nothing(n_nothing)

    def _untrusted(self, said: str) -> RetrieverError:
        said = without_secrets(said, self._settings.secrets)
        return RetrieverError(f"{self._settings.shown_url}: {said}")

    def _pair(self, item: Any, place: int) -> tuple[Any, Any]:
        if isinstance(item, str | int) and not isinstance(item, bool):
            return item, None
        doc = self._form.doc.at(item)
        if doc is None:
            raise self._untrusted(
                f"result {place} has no {self._settings.doc!r}"
                f" ({_fields(item)}); name the field of the document id with the option doc"
            )
        return doc, self._form.score.at(item) if self._form.score else None


_CORPUS: Final = "$corpus"
_FORM: Final = (
    *("body", "results", "doc", "score", "best", "require", "empty_if"),
    *("batch_header", "batch_body", "batch_results", "batch_require"),
)


def _failed(error: HttpError) -> RetrieverError:
    tries = "" if error.n_tries is None else f" (tries: {error.n_tries})"
    return RetrieverError(f"{error}{tries}")


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
    vectors = open_query_vectors("http", options)
    return HttpRetriever(settings, vectors, states_best="best" in options)


RETRIEVERS.add(
    "http",
    RetrieverKind(
        "http(s)://…",
        open_http,
        options=(*OPTIONS, *VECTOR_OPTIONS, f"{_PLAIN}NAME", f"{_SECRET}NAME"),
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
        if not HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
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


def _said(answer: Any) -> str:
    """Return the error that an answer states, quoted and bounded."""
    error = answer.get("error") if isinstance(answer, dict) else None
    return "" if error is None else f"; it says {json.dumps(error)[:_LONGEST_QUOTE]}"


def _fields(value: Any) -> str:
    if not isinstance(value, dict):
        return f"it is of type {type(value).__name__}"
    return f"it has {', '.join(map(repr, list(value)[:10])) or 'no fields'}"
