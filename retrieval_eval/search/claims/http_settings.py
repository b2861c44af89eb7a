"""Which model judges over HTTP, where it is asked, and how long that may take."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.retrievers.options import Options

DEFAULT_KEY: Final = "OPENAI_API_KEY"
TRIES: Final = 3

_NAMES: Final = ("base_url", "model", "api_key_env", "timeout", "concurrency", "backoff")
_KEY: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class HttpJudgeSettings:
    """Each field is an option of the same name, but ``api_key``, which ``api_key_env`` names.

    ``base_url`` is the address before ``/chat/completions``. ``timeout`` is in seconds, for one
    try as a whole; ``backoff`` is the longest first wait between two tries. Without a key nothing
    is sent in its place, as local servers want it.
    """

    base_url: str
    model: str
    timeout: float = 30.0
    concurrency: int = 4
    backoff: float = 0.5
    api_key: str | None = field(default=None, repr=False)


def http_judge_settings(given: Mapping[str, str]) -> HttpJudgeSettings:
    """Return the settings of textual options.

    The key is read from the environment variable that ``api_key_env`` names; without the option
    from ``OPENAI_API_KEY``, if it is set.

    Raises
    ------
    BadInputError
        When an option is missing, unknown or out of range, the address cannot be used, or the
        variable is not set or holds no key; the message never holds the key.
    """
    options = Options("http judge", given)
    options.only(_NAMES)
    for name in ("base_url", "model"):
        if not given.get(name, "").strip():
            raise BadInputError(f"http judge: option {name} is missing")
    default = HttpJudgeSettings("", "")
    return HttpJudgeSettings(
        base_url=_base_url(given["base_url"].strip()),
        model=given["model"].strip(),
        timeout=options.number("timeout", default.timeout, 0.01, 3600),
        concurrency=options.whole("concurrency", default.concurrency, 1, 256),
        backoff=options.number("backoff", default.backoff, 0, 600),
        api_key=_api_key(given.get("api_key_env")),
    )


def _base_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = None, None
    if parts is None or not host or parts.scheme not in {"http", "https"}:
        raise BadInputError("http judge: base_url must be like https://host/v1")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise BadInputError(
            "http judge: base_url may hold no credentials and no query, which a report would show;"
            " put the key into an environment variable and name it with api_key_env"
        )
    return url.rstrip("/")


def _api_key(variable: str | None) -> str | None:
    key = os.environ.get(variable or DEFAULT_KEY, "").strip()
    if not key:
        if variable is None:
            return None
        raise BadInputError(f"http judge: the environment variable {variable} is not set")
    if not _KEY.fullmatch(key):
        raise BadInputError(f"http judge: {variable or DEFAULT_KEY} holds no usable key")
    return key
