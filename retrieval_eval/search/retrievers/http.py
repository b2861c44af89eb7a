"""An HTTP endpoint that answers in JSON as a retriever."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode
from retrieval_eval.search.http_body import ACCEPTED, body_pieces
from retrieval_eval.search.protocol import ScoredDoc
from retrieval_eval.search.results import RetrieverError
from retrieval_eval.search.retrievers.http_settings import HttpSettings, http_settings
from retrieval_eval.search.returned import clean_text, read_documents

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

_RETRIED: Final = (429, 502, 503, 504)
_MAX_REDIRECTS: Final = 5
_LONGEST_WAIT: Final = 10.0
_LONGEST_QUOTE: Final = 200


def open_http(url: str, options: Mapping[str, str]) -> HttpRetriever:
    """Return a retriever that asks ``url``.

    Raises
    ------
    BadInputError
        When an option is of no use, or httpx or tenacity is missing; the message then has the
        command that installs them.
    """
    settings = http_settings(url, options)
    try:
        import httpx  # noqa: F401
        import tenacity  # noqa: F401
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"a retriever behind HTTP needs httpx and tenacity: {install_hint('search')} ({error})"
        ) from error
    return HttpRetriever(settings)


class HttpRetriever:
    """Asks an endpoint once per query, and again when that can help.

    Lost connections, time-outs and the answers 429, 502, 503 and 504 are tried again after an
    exponential wait with full jitter, or after the ``Retry-After`` the server asks for, up to
    a cap. Any other status outside 200-299 fails at once. Redirects are followed on the same
    host only, and only where they keep the method. Threads may share a retriever.
    """

    is_thread_safe = True

    def __init__(self, settings: HttpSettings) -> None:
        import httpx

        self._settings = settings
        timeout = httpx.Timeout(
            settings.read_timeout, connect=settings.connect_timeout, pool=settings.total_timeout
        )
        self._client = httpx.Client(
            headers={
                "Accept": "application/json",
                "Accept-Encoding": ACCEPTED,
                **settings.headers,
            },
            timeout=timeout,
            limits=httpx.Limits(max_connections=settings.concurrency),
        )
        self.close = weakref.finalize(self, self._client.close)

    def search(self, query: str, *, corpus: str, k: int) -> list[ScoredDoc]:
        """Return the documents of the answer, in its order.

        Raises
        ------
        RetrieverError
            When there is no usable answer within the tries and the time; the message has the
            address without its query string, and no header.
        """
        import tenacity

        settings = self._settings
        deadline = monotonic() + settings.total_timeout
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            stop=tenacity.stop_after_attempt(settings.tries)
            | tenacity.stop_before_delay(settings.total_timeout),
            wait=_Wait(settings),
            reraise=True,
        )
        try:
            body = attempts(self._exchange, self._request(query, corpus, k), deadline)
        except _TransientError as error:
            n_tries = attempts.statistics.get("attempt_number", 1)
            raise RetrieverError(f"{error} (tries: {n_tries})") from error
        return self._documents(body)

    def describe(self) -> dict[str, Any]:
        """Return the address and the method."""
        settings = self._settings
        return {"name": settings.shown_url, "reranker": None, "method": settings.method}

    def _request(self, query: str, corpus: str, k: int) -> httpx.Request:
        settings = self._settings
        fields = ((settings.query, clean_text(query)), (settings.corpus, corpus), (settings.k, k))
        values = {name: value for name, value in fields if name}
        if settings.method == "GET":
            return self._client.build_request("GET", settings.url, params=_merged(settings, values))
        return self._client.build_request(
            "POST",
            settings.url,
            content=json.dumps(values).encode(),
            headers={"Content-Type": "application/json"},
        )

    def _exchange(self, request: httpx.Request, deadline: float) -> bytes:
        import httpx

        where = self._settings.shown_url
        left = max(deadline - monotonic(), 0.001)
        limits = request.extensions["timeout"]
        request.extensions["timeout"] = {name: min(limits[name], left) for name in limits}
        try:
            response = self._send(request)
            try:
                body = self._read(response, deadline)
            finally:
                response.close()
        except (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError) as error:
            kind = "time-out" if isinstance(error, httpx.TimeoutException) else "no connection"
            raise _TransientError(f"{where}: {kind} ({type(error).__name__}: {error})") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RetrieverError(f"{where}: {type(error).__name__}: {error}") from error
        if response.is_success:
            return body
        text = " ".join(body.decode("utf-8", "replace").split())
        # A server may send back what it was sent; a secret of the environment stays there.
        for secret in self._settings.secrets:
            text = text.replace(secret, "***")
        quote = text[:_LONGEST_QUOTE]
        said = f"{where}: answered {response.status_code} {response.reason_phrase}".rstrip()
        said += f": {quote}" if quote else ""
        if response.status_code in _RETRIED:
            raise _TransientError(said, _retry_after(response.headers.get("Retry-After")))
        raise RetrieverError(said)

    def _send(self, request: httpx.Request) -> httpx.Response:
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._client.send(request, stream=True)
            following = response.next_request
            if following is None:
                return response
            response.close()
            status, where = response.status_code, self._settings.shown_url
            if not _is_same_host(request.url, following.url):
                raise RetrieverError(
                    f"{where}: answered {status}, a redirect to another host"
                    f" ({following.url.host}), which is not followed"
                )
            if following.method != request.method:
                raise RetrieverError(
                    f"{where}: answered {status}, a redirect that turns {request.method} into"
                    f" {following.method}; name the address it leads to"
                )
            request = following
        raise RetrieverError(f"{where}: more than {_MAX_REDIRECTS} redirects")

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        limit, body = self._settings.max_bytes, bytearray()
        for chunk in body_pieces(response):
            body += chunk
            if len(body) > limit:
                raise RetrieverError(
                    f"{self._settings.shown_url}: the answer is larger than {limit} bytes"
                )
            if monotonic() > deadline:
                raise RetrieverError(
                    f"{self._settings.shown_url}: no whole answer within"
                    f" {self._settings.total_timeout:g} seconds"
                )
        return bytes(body)

    def _documents(self, body: bytes) -> list[ScoredDoc]:
        settings = self._settings
        where = settings.shown_url
        try:
            answer, problem = decode(body.decode("utf-8-sig"))
        except UnicodeDecodeError:
            answer, problem = None, "not UTF-8 text"
        if problem is not None:
            raise RetrieverError(f"{where}: the answer is {problem}")
        results = _at(answer, settings.results)
        if not isinstance(results, list):
            raise RetrieverError(
                f"{where}: the answer has no list at {settings.results!r} ({_fields(answer)});"
                " name its place with the option results"
            )
        pairs = [self._pair(item, place) for place, item in enumerate(results, 1)]
        return read_documents(pairs)

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


class _TransientError(RetrieverError):
    """A failure that may be gone at the next try."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class _Wait:
    """How long to wait before the next try."""

    def __init__(self, settings: HttpSettings) -> None:
        import tenacity

        self._cap = settings.max_retry_after
        self._jitter = tenacity.wait_random_exponential(settings.backoff, max=_LONGEST_WAIT)

    def __call__(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, _TransientError) else None
        return self._jitter(state) if asked is None else min(asked, self._cap)


def _retry_after(value: str | None) -> float | None:
    """Return the seconds a ``Retry-After`` header asks for; it holds seconds or a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _merged(settings: HttpSettings, values: Mapping[str, Any]) -> httpx.QueryParams:
    import httpx

    # Given alone, `params` would replace the query string of the address.
    return httpx.URL(settings.url).params.merge(dict(values))


def _is_same_host(old: httpx.URL, new: httpx.URL) -> bool:
    is_upgrade = old.scheme == "http" and new.scheme == "https"
    return old.host == new.host and (is_upgrade or (old.scheme, old.port) == (new.scheme, new.port))


def _at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _fields(value: Any) -> str:
    if not isinstance(value, dict):
        return f"it is of type {type(value).__name__}"
    return f"it has {', '.join(map(repr, list(value)[:10])) or 'no fields'}"
