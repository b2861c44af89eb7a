"""Answers over HTTP: compressed ones are read whole within bounds, waits are bounded."""

from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import islice, repeat

import httpx
import pytest

from retrieval_eval.search.ask.http import (
    _is_same_host,
    body_pieces,
    retry_after,
)

PACKED = gzip.compress(b'{"a": 1}')


def read(chunks, encoding="gzip"):
    headers = {"Content-Encoding": encoding}
    return b"".join(body_pieces(httpx.Response(200, headers=headers, content=iter(chunks))))


def test_a_body_in_several_members_is_one_body():
    """RFC 1952, section 2.2."""
    assert read([PACKED + PACKED]) == b'{"a": 1}' * 2
    assert read([PACKED[:5], PACKED[5:] + PACKED[:9], PACKED[9:]]) == b'{"a": 1}' * 2


@pytest.mark.parametrize("size", [1, 65_535, 65_536, 65_537, 131_072, 400_001])
@pytest.mark.parametrize("step", [1_000, 1_000_000])
def test_a_body_of_any_size_is_whole(size, step):
    text = bytes(index * index % 251 for index in range(1_000)) * (size // 1_000 + 1)
    for data in (gzip.compress(text[:size]), zlib.compress(bytes(size))):
        chunks = [data[start : start + step] for start in range(0, len(data), step)]
        assert len(read(chunks)) == size


@pytest.mark.parametrize("n_cut", [1, 4, 8, 12, len(PACKED) - 1])
def test_a_compressed_body_that_is_cut_is_refused(n_cut):
    with pytest.raises(httpx.DecodingError, match="cut"):
        read([PACKED[:-n_cut]])


def test_what_follows_a_compressed_body_is_refused():
    with pytest.raises(httpx.DecodingError):
        read([PACKED + b"<html>"])


@pytest.mark.parametrize(
    "chunk",
    [bytes(65_536), gzip.compress(b"") * 3_000, b"\0\0\0\xff\xff" * 13_000],
    ids=["zeros", "empty members", "empty blocks"],
)
def test_input_without_end_and_without_output_gives_control_back(chunk):
    """So the caller, who watches the clock, can stop; nothing is gathered in between."""
    start = PACKED[:10] if chunk.startswith(b"\0\0\0\xff") else PACKED
    response = httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=iter([]))
    response.iter_raw = lambda: (start if n == 0 else chunk for n, _ in enumerate(repeat(None)))
    try:
        assert len(b"".join(islice(body_pieces(response), 500))) <= 8
    except httpx.DecodingError:
        assert chunk == bytes(65_536)


def test_retry_after_is_seconds_or_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    assert 3500 < retry_after(later) <= 3600
    assert retry_after("120") == 120.0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert [retry_after(text) for text in (None, "", "soon", "-1", "1.5")] == [None] * 5
    assert retry_after("Wed, 21 Oct 2015 07:28:00 +999999999999999999") is None


@pytest.mark.parametrize(
    ("target", "is_same"),
    [
        ("http://kb.example/v2", True),
        ("http://kb.example:80/v2", True),
        ("https://kb.example/v2", True),
        ("https://kb.example:8443/v2", False),
        ("http://kb.example:8080/v2", False),
        ("http://other.example/v2", False),
        ("http://kb.example.other.example/", False),
        ("http://other.example@kb.example/v2", True),
        ("http://kb.example@other.example/v2", False),
        ("ftp://kb.example/v2", False),
        ("file://kb.example/etc/passwd", False),
        ("file:///etc/passwd", False),
        ("data:application/json,[]", False),
    ],
)
def test_credentials_go_to_the_same_service_only(target, is_same):
    assert _is_same_host(httpx.URL("http://kb.example/search"), httpx.URL(target)) is is_same
    down = _is_same_host(httpx.URL("https://kb.example/search"), httpx.URL("http://kb.example/"))
    assert not down
