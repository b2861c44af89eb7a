"""A compressed answer is read whole, and what is no answer is refused within its bounds."""

from __future__ import annotations

import gzip
import zlib
from itertools import islice, repeat

import httpx
import pytest

from retrieval_eval.search.http_body import body_pieces

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


def test_no_body_is_an_empty_one():
    assert read([]) == b""


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
