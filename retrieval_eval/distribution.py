"""The distribution of this package: its name, its extras, and the check that it is the only one.

The package ``retrieval_eval`` and the command ``retrieval-eval`` come in a distribution of another
name, because an unrelated product has theirs on the package index, with a package of the same name.
Where both are installed, files of one lie among those of the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Final

NAME: Final = "retrieval-evidence"
PACKAGE: Final = "retrieval_eval"
COMMAND: Final = "retrieval-eval"


def install_hint(extra: str) -> str:
    """Return how to install an extra; there is no index to install it from.

    Examples
    --------
    >>> install_hint("pdf").partition(" in ")[0]
    "pip install '.[pdf]'"
    """
    return (
        f"pip install '.[{extra}]' in a checkout of the project, "
        f"or pip install 'WHEEL[{extra}]' with the path of its wheel"
    )


def refuse_conflict() -> None:
    """Raise ``ImportError`` where other distributions lie in the same folder as this package.

    Only there do files of several lie among each other; the record of every distribution of a large
    environment takes milliseconds to read, which a package imported from a checkout need not wait
    for. The command looks everywhere, and reports it itself, without a traceback and with its own
    exit code.
    """
    home = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    problem = None if _is_command() else conflict([home])
    if problem is not None:
        raise ImportError(problem)


def conflict(places: Iterable[str] | None = None) -> str | None:
    """Return the error message about several installed distributions of this package, or None.

    Parameters
    ----------
    places
        Folders that hold installed distributions; by default those of ``sys.path``.
    """
    found = sorted(dict.fromkeys(providers(sys.path if places is None else places)))
    if len(found) < 2:
        return None
    return (
        f"{len(found)} installed distributions provide the package {PACKAGE}, so that parts of "
        f"each would run: {', '.join(found)}; remove them all (pip uninstall {' '.join(found)}), "
        "then install the one you want again"
    )


def providers(places: Iterable[str]) -> Iterator[str]:
    """Yield the name of every distribution in some folders that provides this package.

    A checkout on the path is no distribution. ``importlib.metadata`` would answer the same in half
    a second; this takes some milliseconds, which every import can afford.
    """
    for place in (place or os.curdir for place in places):
        try:
            entries = os.listdir(place)  # noqa: PTH208 - pathlib costs more than the answer
        except OSError:
            continue
        marks = [name.encode() for name in _marks(place, entries)]
        for entry in entries:
            stem, _, suffix = entry.rpartition(".")
            # pip renames what it is about to remove, and a failure leaves that behind.
            is_installed = suffix in ("dist-info", "egg-info") and not stem.startswith("~")
            if is_installed and _provides(f"{place}/{entry}", marks):
                yield stem.partition("-")[0].lower().replace("_", "-").replace(".", "-")


def _marks(place: str, entries: list[str]) -> Iterator[str]:
    """Yield the starts of RECORD lines that show which distribution owns this package here."""
    if PACKAGE in entries:
        yield f"{PACKAGE}/"
    if f"{PACKAGE}.py" in entries:
        yield f"{PACKAGE}.py,"
    # An editable installation has a file that names the folder of the package, or a finder of it.
    for name in (entry for entry in entries if entry.endswith(".pth")):
        lines = _read(f"{place}/{name}").decode(errors="replace").splitlines()
        folders = [line.strip() for line in lines if not line.startswith(("#", "import"))]
        if any(os.path.isdir(os.path.join(place, f, PACKAGE)) for f in folders if f):  # noqa: PTH112, PTH118
            yield f"{name},"
    for name in (entry for entry in entries if entry.startswith("__editable__")):
        if name.endswith("_finder.py") and f"'{PACKAGE}'".encode() in _read(f"{place}/{name}"):
            yield f"{name},"


def _provides(metadata: str, marks: list[bytes]) -> bool:
    record = _read(f"{metadata}/RECORD")
    if record:
        return any(record.startswith(mark) or b"\n" + mark in record for mark in marks)
    return PACKAGE.encode() in _read(f"{metadata}/top_level.txt").split()


def _read(path: str) -> bytes:
    """Return a whole file, empty when unreadable; unbuffered, because many files are read."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def _is_command() -> bool:
    """Whether this import belongs to the start of the command."""
    started = sys.argv[0] if getattr(sys, "argv", None) else ""
    if started == "-m":  # so it is while Python looks for the module
        return PACKAGE in sys.orig_argv
    return os.path.basename(started).partition(".")[0].removesuffix("-script") == COMMAND  # noqa: PTH119
