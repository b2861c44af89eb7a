"""Unpacking of untrusted files: archives, gzip and zstd, never more than a stated size.

zstd is read by Python itself from 3.14 on, before that by the package ``zstandard``.
"""

from __future__ import annotations

import gzip
import struct
import sys
import zipfile
import zlib
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from retrieval_eval.io.files import is_inside, opened

LARGEST: Final = 512 << 20
"""Bytes that one packed file, or one member of an archive, may have when it is unpacked."""

_GZIP: Final = b"\x1f\x8b"
_ZSTD_MEMBER: Final = 93
_HEAD: Final = 30
"""Bytes before the name in a member's own header."""


class PackedError(Exception):
    """What is packed cannot be read; the message is a part of a sentence."""


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def unpacked(path: Path, root: Path) -> bytes:
    """Return the content of a gzip or zstd file below ``root``.

    Raises :class:`PackedError` where it cannot be read, or is larger than any trace.
    """
    if not is_inside(path, root):
        raise PackedError("a link that leads out of the tree is not followed")
    try:
        with opened(path) as stream:
            is_gzip = stream.read(len(_GZIP)) == _GZIP
            stream.seek(0)
            return _bounded(gzip.GzipFile(fileobj=stream) if is_gzip else _zstd(stream))
    except PackedError:
        raise
    except OSError as error:
        raise PackedError(f"cannot be read ({error.strerror or error})") from None
    except Exception as error:  # noqa: BLE001  any library may be the one that unpacks
        raise PackedError(f"cannot be unpacked ({str(error)[:200]})") from None


def members(path: Path) -> list[str]:
    """Return the names of the files in a zip archive; raises :class:`PackedError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [member.filename for member in archive.infolist()]
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise PackedError(f"the archive cannot be read ({error})") from None


def member(path: Path, name: str) -> bytes:
    """Return the content of a file in a zip archive; raises :class:`PackedError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(name)
            try:
                with archive.open(info) as stream:
                    return _bounded(stream)
            except NotImplementedError:
                if info.compress_type != _ZSTD_MEMBER:
                    raise
                return _zstd_member(path, info)
    except PackedError:
        raise
    except Exception as error:  # noqa: BLE001  any library may be the one that unpacks
        raise PackedError(f"cannot be read ({str(error)[:200]})") from None


def _bounded(stream: _Reader) -> bytes:
    """Return the rest of a stream; raises ``PackedError`` where it is larger than any trace."""
    parts: list[bytes] = []
    room = LARGEST
    while part := stream.read(min(room + 1, 1 << 20)):
        parts.append(part)
        room -= len(part)
        if room < 0:
            raise PackedError(f"larger than {LARGEST >> 20} MiB")
    return b"".join(parts)


def _zstd(stream: BinaryIO) -> _Reader:
    reader: _Reader
    if sys.version_info >= (3, 14):
        reader = import_module("compression.zstd").ZstdFile(stream)
    else:
        decompressor = import_module("zstandard").ZstdDecompressor()
        reader = decompressor.stream_reader(stream, read_across_frames=True)
    return reader


def _zstd_member(path: Path, info: zipfile.ZipInfo) -> bytes:
    """Return a member that the module for archives cannot unpack."""
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        n_name, n_extra = struct.unpack("<HH", stream.read(_HEAD)[-4:])
        stream.seek(info.header_offset + _HEAD + n_name + n_extra)
        packed = stream.read(min(info.compress_size, LARGEST))
    data = _bounded(_zstd(BytesIO(packed)))
    if zlib.crc32(data) != info.CRC:
        raise PackedError("cannot be read (the checksum does not fit)")
    return data
