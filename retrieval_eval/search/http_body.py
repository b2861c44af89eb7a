"""The body of an HTTP answer in pieces of bounded size, however far its compression expands."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx

ACCEPTED: Final = "gzip"
"""What a request may accept; every other compression could expand before it is measured."""

_PIECE: Final = 1 << 16
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
_READ: Final = frozenset({"gzip", "x-gzip", "deflate"})


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
