"""The one way to another machine: HTTP requests, tried again where that can help, within bounds.

Retrievers and judges ask through `HttpClient`. It bounds the time and size of an answer also after
decompression, waits as long as a server asks, and keeps secrets out of every message.
"""

from __future__ import annotations

import json
import re
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from retrieval_eval.distribution import install_hint
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode
from retrieval_eval.search.ask.options import without_secrets

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

Answer = TypeVar("Answer")

BUSY: Final = frozenset({429, 502, 503, 504})
"""Answers of a server that may have another one soon."""

ACCEPTED: Final = "gzip"
"""What a request may accept; every other compression could expand before it is measured."""

HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""What can name a header (RFC 9110, section 5.6.2)."""

_MAX_REDIRECTS: Final = 5
_LONGEST_WAIT: Final = 10.0
_LONGEST_QUOTE: Final = 200
_PIECE: Final = 1 << 16
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_READ: Final = frozenset({"gzip", "x-gzip", "deflate"})


class HttpError(Exception):
    """No usable answer; ``n_tries`` is None where another try could not have helped.

    ``status`` is that of an answer which was refused at once.
    """

    def __init__(
        self, message: str, n_tries: int | None = None, *, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.n_tries = n_tries
        self.status = status


class TransientError(Exception):
    """A failure that may be gone at the next try; ``retry_after`` is what the server asks for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class HttpPolicy:
    """How an address is asked, for how long, and which failures are tried again.

    Times are in seconds. ``where`` names the address in messages, in which each of ``secrets`` is
    replaced. ``total_timeout`` bounds all tries together, with ``is_timeout_per_try`` each of them.
    ``is_transient`` says of which status another try may help; with ``retries_answers`` an answer
    that is too large, too late or damaged is tried again, too. Redirects are followed on the same
    host only, and only where they keep the method; without ``follows_redirects`` never.
    """

    where: str
    headers: Mapping[str, str] = field(repr=False)
    tries: int
    backoff: float
    connect_timeout: float
    read_timeout: float
    total_timeout: float
    max_bytes: int
    concurrency: int
    max_retry_after: float = 30.0
    secrets: tuple[str, ...] = field(default=(), repr=False)
    is_transient: Callable[[int], bool] = BUSY.__contains__
    is_timeout_per_try: bool = False
    retries_answers: bool = False
    follows_redirects: bool = True


def require_http(what: str) -> None:
    """Raise `BadInputError` with the command that installs the HTTP client where it is missing."""
    try:
        import httpx  # noqa: F401
        import tenacity  # noqa: F401
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"{what} needs httpx and tenacity: {install_hint('search')} ({error})"
        ) from error


class HttpClient:
    """Sends requests under a policy. Threads may share a client; ``close`` ends its connections."""

    def __init__(self, policy: HttpPolicy) -> None:
        import httpx

        self._policy = policy
        self._client = httpx.Client(
            headers=dict(policy.headers),
            timeout=httpx.Timeout(
                policy.read_timeout, connect=policy.connect_timeout, pool=policy.total_timeout
            ),
            limits=httpx.Limits(max_connections=policy.concurrency),
        )
        self.close = weakref.finalize(self, self._client.close)

    def get(self, url: str, values: Mapping[str, Any]) -> httpx.Request:
        """Return a GET request with further values in the query string of the address."""
        import httpx

        # Given alone, `params` would replace the query string of the address.
        params = httpx.URL(url).params.merge(dict(values))
        return self._client.build_request("GET", url, params=params)

    def post(self, url: str, value: Any) -> httpx.Request:
        """Return a POST request with a value as JSON."""
        return self._client.build_request(
            "POST",
            url,
            content=json.dumps(value).encode(),
            headers={"Content-Type": "application/json"},
        )

    def post_lines(self, url: str, values: Iterable[Any]) -> httpx.Request:
        """Return a POST request with one JSON value a line (NDJSON)."""
        return self._client.build_request(
            "POST",
            url,
            content=b"".join(json.dumps(value).encode() + b"\n" for value in values),
            headers={"Content-Type": "application/x-ndjson"},
        )

    def ask(self, request: httpx.Request, read: Callable[[Any], Answer]) -> Answer:
        """Return what ``read`` makes of the JSON of the answer.

        Lost connections, time-outs, transient statuses and a `TransientError` of ``read`` are
        tried again after an exponential wait with full jitter, or after the ``Retry-After`` of the
        server, up to the policy's cap.

        Raises
        ------
        HttpError
            When there is no usable answer within the tries and the time; the message has the
            address of the policy and the beginning of the answer, and no secret.
        """
        import tenacity

        policy = self._policy
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(TransientError),
            stop=tenacity.stop_after_attempt(policy.tries)
            if policy.is_timeout_per_try
            else tenacity.stop_after_attempt(policy.tries)
            | tenacity.stop_before_delay(policy.total_timeout),
            wait=_Wait(policy),
            reraise=True,
        )
        end = None if policy.is_timeout_per_try else monotonic() + policy.total_timeout
        try:
            answer: Answer = attempts(self._try, request, read, end)
            return answer
        except TransientError as error:
            n_tries = attempts.statistics.get("attempt_number", 1)
            raise HttpError(f"{policy.where}: {error}", n_tries) from error

    def _try(
        self, request: httpx.Request, read: Callable[[Any], Answer], end: float | None
    ) -> Answer:
        deadline = monotonic() + self._policy.total_timeout if end is None else end
        answer, problem = _decoded(self._exchange(request, deadline))
        if problem is not None:
            raise self._failure(f"the answer is {problem}", is_answer=True)
        return read(answer)

    def _exchange(self, request: httpx.Request, deadline: float) -> bytes:
        import httpx

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
            raise TransientError(f"{kind} ({type(error).__name__}: {error})") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._failure(f"{type(error).__name__}: {error}", is_answer=True) from error
        if response.is_success:
            return body
        text = " ".join(body.decode("utf-8", "replace").split())
        text = without_secrets(text, self._policy.secrets)
        said = f"answered {response.status_code} {response.reason_phrase}".rstrip()
        said += f": {text[:_LONGEST_QUOTE]}" if text else ""
        if self._policy.is_transient(response.status_code) and not response.is_redirect:
            raise TransientError(said, retry_after(response.headers.get("Retry-After")))
        raise HttpError(f"{self._policy.where}: {said}", status=response.status_code)

    def _send(self, request: httpx.Request) -> httpx.Response:
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._client.send(request, stream=True)
            following = response.next_request
            if following is None or not self._policy.follows_redirects:
                return response
            response.close()
            status = response.status_code
            if not _is_same_host(request.url, following.url):
                raise self._failure(
                    f"answered {status}, a redirect to another host ({following.url.host}), which"
                    " is not followed"
                )
            if following.method != request.method:
                raise self._failure(
                    f"answered {status}, a redirect that turns {request.method} into"
                    f" {following.method}; name the address it leads to"
                )
            request = following
        raise self._failure(f"more than {_MAX_REDIRECTS} redirects")

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        policy, body = self._policy, bytearray()
        for chunk in body_pieces(response):
            body += chunk
            if len(body) > policy.max_bytes:
                said = f"the answer is larger than {policy.max_bytes} bytes"
                raise self._failure(said, is_answer=True)
            if monotonic() > deadline:
                said = f"no whole answer within {policy.total_timeout:g} seconds"
                raise self._failure(said, is_answer=True)
        return bytes(body)

    def _failure(self, said: str, *, is_answer: bool = False) -> Exception:
        if is_answer and self._policy.retries_answers:
            return TransientError(said)
        return HttpError(f"{self._policy.where}: {said}")


class _Wait:
    """How long to wait before the next try."""

    def __init__(self, policy: HttpPolicy) -> None:
        import tenacity

        self._cap = policy.max_retry_after
        self._jitter = tenacity.wait_random_exponential(policy.backoff, max=_LONGEST_WAIT)

    def __call__(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        wanted = error.retry_after if isinstance(error, TransientError) else None
        return self._jitter(state) if wanted is None else min(wanted, self._cap)


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for; it holds seconds or a date."""
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


def _decoded(body: bytes) -> tuple[Any, str | None]:
    try:
        return decode(body.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return None, "not UTF-8 text"


def _is_same_host(old: httpx.URL, new: httpx.URL) -> bool:
    # On another port another service may listen, which must see no credentials.
    is_upgrade = (old.scheme, new.scheme) == ("http", "https") and old.port is new.port is None
    return old.host == new.host and (is_upgrade or (old.scheme, old.port) == (new.scheme, new.port))


def body_pieces(response: httpx.Response) -> Iterator[bytes]:
    """Yield the decompressed body of a streamed answer; no piece is larger than what is received.

    The caller counts and stops, and watches the clock, for a piece may be empty. httpx itself
    decompresses all it has received at once, and several compressions one in the other, which a
    few bytes can turn into gigabytes.

    Raises
    ------
    httpx.DecodingError
        When the body is compressed in another way, more than once, or not as it says.
    """
    import httpx

    stated = response.headers.get("Content-Encoding", "").strip().lower()
    if stated in ("", "identity"):
        yield from response.iter_raw()
        return
    if stated not in _READ:
        raise httpx.DecodingError(f"an answer compressed as {stated[:40]!r} is not read")
    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
    is_empty = True
    try:
        for data in response.iter_raw():
            while data:
                is_empty = False
                # A body may have several members (RFC 1952); nothing else may follow one.
                if decoder.eof:
                    decoder = zlib.decompressobj(_GZIP_OR_ZLIB)
                yield decoder.decompress(data, _PIECE)
                data = decoder.unconsumed_tail or decoder.unused_data
        yield decoder.flush()
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from error
    if not (decoder.eof or is_empty):
        raise httpx.DecodingError("the compressed answer is cut")


# --------------------------------------------------------------------------------------------------
# JSON that is sent to a server and comes back from it: templates, paths and conditions.

PLACEHOLDERS: Final = ("query", "corpus", "k", "vector")
"""What a template can hold, each written as the JSON text ``"$name"``."""

_PART: Final = re.compile(r'\.?(?:\[(?:(\d{1,9})|(\*)|("(?:[^"\\]|\\.)*"))\]|([^.\[\]]+))')
_LONGEST_SHOWN: Final = 120


@dataclass(frozen=True, slots=True)
class Template:
    """A JSON value in which ``"$query"``, ``"$corpus"``, ``"$k"`` and ``"$vector"`` are replaced.

    A placeholder is a whole JSON text and is replaced by a whole JSON value, so that nothing in a
    query can change the structure around it. ``"$$query"`` is the text ``$query``. Names of fields
    are never replaced.

    Examples
    --------
    >>> template = Template.of('{"match": {"text": "$query"}, "size": "$k"}', "body")
    >>> template.filled({"query": 'a"}, {"match_all": {', "k": 5})
    {'match': {'text': 'a"}, {"match_all": {'}, 'size': 5}
    """

    value: Any
    names: frozenset[str]

    @classmethod
    def of(cls, text: str, what: str, known: tuple[str, ...] = PLACEHOLDERS) -> Template:
        """Return the template of JSON text; ``what`` names it in messages.

        Raises
        ------
        BadInputError
            When the text is not JSON, or holds a placeholder that is not one of ``known``.
        """
        value, problem = decode(text)
        if problem is not None:
            raise BadInputError(f"http: option {what} is {problem}")
        found = _names(value)
        for name in sorted(found.difference(known)):
            listed = ", ".join(f'"${each}"' for each in known)
            raise BadInputError(
                f'http: option {what} has the placeholder "${name}"; there are {listed}'
                f' (the text itself is written "$${name}")'
            )
        return cls(value, found)

    def filled(self, values: Mapping[str, Any]) -> Any:
        """Return the value with every placeholder replaced."""
        return _filled(self.value, values)


def _names(value: Any) -> frozenset[str]:
    if isinstance(value, str):
        is_one = value.startswith("$") and not value.startswith("$$")
        return frozenset([value[1:]]) if is_one else frozenset()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return frozenset[str]().union(*map(_names, items))


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return value[1:] if value.startswith("$$") else values[value[1:]]
    if isinstance(value, dict):
        return {name: _filled(each, values) for name, each in value.items()}
    return [_filled(each, values) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Path:
    """Where something is in a JSON value, such as ``hits.hits``, ``result[0].points``, ``a[*].b``.

    Parts are names of fields joined by dots, ``[0]`` an item of a list, ``[*]`` every item, and
    ``["a.b"]`` a name with a dot. A whole number as a name also finds an item of a list. The empty
    path is the value itself.

    Examples
    --------
    >>> Path.of("groups[*].hits", "results").at({"groups": [{"hits": [1]}, {"hits": [2, 3]}]})
    [1, 2, 3]
    """

    text: str
    parts: tuple[str | int | None, ...]

    @classmethod
    def of(cls, text: str, what: str, *, is_single: bool = False) -> Path:
        """Return the path that a text describes; ``what`` names it in messages.

        Raises
        ------
        BadInputError
            When the text is no path, or has ``[*]`` although it must lead to a single value.
        """
        parts: list[str | int | None] = []
        place = 0
        while place < len(text):
            found = _PART.match(text, place)
            if found is None or (place == 0 and text.startswith(".")):
                raise BadInputError(
                    f"http: option {what} is {text!r}; expected a path such as hits.hits,"
                    ' result[0].points or ["a.b"].c'
                )
            number, every, quoted, name = found.groups()
            known = int(number) if number else decode(quoted)[0] if quoted else name
            if every and is_single:
                raise BadInputError(f"http: option {what} is {text!r}; [*] leads to several values")
            parts.append(None if every else known)
            place = found.end()
        return cls(text, tuple(parts))

    def at(self, value: Any) -> Any:
        """Return what is there, None where there is nothing.

        After ``[*]`` the items found are one list, and an item that lacks the rest of the path
        makes the whole answer nothing.
        """
        return at(value, *self.parts)


def at(value: Any, *parts: str | int | None) -> Any:
    """Return what stands at the parts of a path; see `Path.at`, where None is ``[*]``."""
    for place, part in enumerate(parts):
        if part is None:
            rest = parts[place + 1 :]
            found: list[Any] = (
                [at(item, *rest) for item in value] if isinstance(value, list) else [None]
            )
            if any(each is None for each in found):
                return None
            if not rest or not all(isinstance(each, list) for each in found):
                return found
            return list(chain.from_iterable(found))
        value = _item(value, part)
    return value


def _item(value: Any, part: str | int) -> Any:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    is_index = isinstance(part, int) or (part.isdecimal() and len(part) < 10)
    if isinstance(value, list) and is_index and int(part) < len(value):
        return value[int(part)]
    return None


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must stand in an answer: for each path a value, or a list of the values allowed.

    ``null`` also allows that nothing is there. Numbers equal numbers; ``false`` is not 0.

    Examples
    --------
    >>> whole = Conditions.of('{"timed_out": false, "_shards.failed": 0}', "require")
    >>> whole.breach({"timed_out": False, "_shards": {"failed": 2}})
    "'_shards.failed' is 2 and must be 0"
    """

    allowed: tuple[tuple[Path, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, text: str, what: str) -> Conditions:
        """Return the conditions of a JSON object; raises BadInputError when it is none."""
        value, problem = decode(text or "{}")
        if problem is not None or not isinstance(value, dict):
            raise BadInputError(
                f"http: option {what} is {problem or 'no JSON object'}; expected"
                ' {"path": value, …}, a list for several allowed values'
            )
        return cls(
            tuple(
                (Path.of(path, what, is_single=True), tuple(v) if isinstance(v, list) else (v,))
                for path, v in value.items()
            )
        )

    def breach(self, answer: Any) -> str | None:
        """Return in which way an answer does not meet the conditions, None where it does."""
        for path, allowed in self.allowed:
            found = path.at(answer)
            if not any(_is_equal(found, each) for each in allowed):
                is_ = "is missing" if found is None else f"is {_shown(found)}"
                return f"{path.text!r} {is_} and must be {' or '.join(map(_shown, allowed))}"
        return None


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_LONGEST_SHOWN]
