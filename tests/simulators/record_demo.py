"""Makes the recorded demo data of the package: ``python -m tests.simulators.record_demo``.

An archive depends on nothing but the simulators: names in a fixed order, no times, no owners.
Other versions of zlib may compress the same content to other bytes, so an archive that has the
right content already is left alone.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from tests.simulators.plan import make_stage
from tests.simulators.search.tree import search_files
from tests.simulators.tree import SEED, files

FOLDER = Path(__file__).resolve().parents[2] / "retrieval_eval" / "demo"


def recordings() -> dict[str, list[tuple[str, bytes]]]:
    """Return the files of each archive, sorted by name."""
    return {
        "run.tar.gz": sorted(files(make_stage(SEED))),
        "search.tar.gz": sorted(search_files()),
    }


def packed(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar archive of regular files, all dated 1970 and owned by user 0."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def compressed(data: bytes) -> bytes:
    """Return data in gzip form without a name or a time."""
    stream = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as archive:
        archive.write(data)
    return stream.getvalue()


def record(folder: Path = FOLDER) -> None:
    """Write the archives whose content has changed, and name them."""
    for name, members in recordings().items():
        path, data = folder / name, packed(members)
        if path.is_file() and gzip.decompress(path.read_bytes()) == data:
            print(f"{path.name}: unchanged")
            continue
        path.write_bytes(compressed(data))
        print(f"{path.name}: written, {len(members)} files")


if __name__ == "__main__":
    record()
