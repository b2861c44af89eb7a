"""A language model behind an OpenAI-compatible endpoint as a judge: a verdict, or no run."""

from __future__ import annotations

import weakref
from time import monotonic
from typing import TYPE_CHECKING, Final

from retrieval_eval.search.claims.http_messages import (
    INSTRUCTION_ID,
    AnswerError,
    read_answer,
    request_body,
)
from retrieval_eval.search.claims.http_settings import TRIES, HttpJudgeSettings
from retrieval_eval.search.claims.judge import JudgeError, JudgeFacts, Judgement
from retrieval_eval.search.http_body import body_pieces
from retrieval_eval.search.returned import clean_text

if TYPE_CHECKING:
    import httpx

_LONGEST_ANSWER: Final = 1_000_000
_LONGEST_QUOTE: Final = 200
_LONGEST_WAIT: Final = 10.0
# Another try cannot help: what is asked, or who asks, is refused.
_FINAL: Final = frozenset({400, 401, 403, 404, 405, 413, 422})


class HttpJudge:
    """Asks a chat completion endpoint once per claim and block, and again up to three times.

    Lost connections, time-outs, errors of the server, refusals of the model and answers that are
    no verdict are tried again after an exponential wait with full jitter; after the third failure
    the judge raises, and the run fails. There is no substitute for a verdict. Redirects are not
    followed, for the key must not go elsewhere. Threads may share a judge.
    """

    def __init__(self, settings: HttpJudgeSettings) -> None:
        import httpx

        self._settings = settings
        self._url = f"{settings.base_url}/chat/completions"
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        if settings.api_key is not None:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        self._client = httpx.Client(
            headers=headers,
            timeout=settings.timeout,
            limits=httpx.Limits(max_connections=settings.concurrency),
        )
        self.close = weakref.finalize(self, self._client.close)

    @property
    def facts(self) -> JudgeFacts:
        """Its model, address and instruction; never the key."""
        settings = {
            "base_url": self._settings.base_url,
            "model": self._settings.model,
            "temperature": 0,
            "instruction": INSTRUCTION_ID,
        }
        return JudgeFacts("http", "1", settings)

    @property
    def concurrency(self) -> int:
        """How many requests may be under way."""
        return self._settings.concurrency

    def judge(self, claim: str, block_text: str) -> Judgement:
        """Return the model's judgement; the span is that of the words it quotes.

        Raises
        ------
        JudgeError
            After three tries, or at once where the endpoint will never answer (400, 401, 403,
            404, ...). The message has no header and no key.
        """
        import tenacity

        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            stop=tenacity.stop_after_attempt(TRIES),
            wait=tenacity.wait_random_exponential(self._settings.backoff, max=_LONGEST_WAIT),
            reraise=True,
        )
        body = request_body(self._settings.model, claim, block_text)
        try:
            return attempts(self._ask, body, block_text)
        except _TransientError as error:
            raise JudgeError(
                f"{error} ({TRIES} tries); the run fails, because a missing verdict has no score"
            ) from None

    def _ask(self, body: bytes, block_text: str) -> Judgement:
        answer = self._exchange(body)
        try:
            return read_answer(answer, block_text)
        except AnswerError as error:
            raise _TransientError(self._said(str(error))) from None

    def _exchange(self, body: bytes) -> bytes:
        import httpx

        deadline = monotonic() + self._settings.timeout
        try:
            with self._client.stream("POST", self._url, content=body) as response:
                answer = self._read(response, deadline)
        except httpx.TimeoutException as error:
            raise _TransientError(self._said(f"time-out ({type(error).__name__})")) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _TransientError(self._said(f"{type(error).__name__}: {error}")) from None
        if response.is_success:
            return answer
        quote = " ".join(answer.decode("utf-8", "replace").split())
        said = self._said(f"answered {response.status_code}: {quote}".rstrip(": "))
        if response.status_code in _FINAL or response.is_redirect:
            raise JudgeError(said)
        raise _TransientError(said)

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        body = bytearray()
        for chunk in body_pieces(response):
            body += chunk
            if len(body) > _LONGEST_ANSWER:
                raise _TransientError(self._said(f"answered more than {_LONGEST_ANSWER} bytes"))
            if monotonic() > deadline:
                raise _TransientError(
                    self._said(f"no whole answer within {self._settings.timeout:g} seconds")
                )
        return bytes(body)

    def _said(self, what: str) -> str:
        # A server may repeat what it was sent, the key included.
        if self._settings.api_key is not None:
            what = what.replace(self._settings.api_key, "***")
        return clean_text(f"the judge {self._url}: {what[:_LONGEST_QUOTE]}")


class _TransientError(Exception):
    """A failure that may be gone at the next try."""
