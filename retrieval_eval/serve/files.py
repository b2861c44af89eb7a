"""Rendered reports below one folder: which may be served, and where they lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

CONTENT_TYPES: Final[dict[str, str]] = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""Suffixes that are served, with their content types; everything else does not exist."""


def find_report(root: Path, path: str) -> Path | None:
    """Return the file that ``path`` names below ``root``, or None when it may not be served.

    Parameters
    ----------
    root
        Folder of the reports.
    path
        The part of a request after ``/reports/``, percent-decoded once.

    Returns
    -------
    Path or None
        The resolved path of a regular file with a known suffix. None for everything that is not
        there, is hidden (a part that starts with a dot), or lies outside once links are followed.
        Why it is None is not told: an answer that differs would say what lies outside.

    Examples
    --------
    >>> find_report(Path("reports"), "../pyproject.toml") is None
    True
    """
    parts = path.split("/")
    if not all(_is_plain(part) for part in parts):
        return None
    try:
        base = root.resolve(strict=True)
        found = base.joinpath(*parts).resolve(strict=True)
        is_file = found.is_file()
    except (OSError, ValueError, RuntimeError):  # absent, a name no file can have, a loop of links
        return None
    if not is_file or not found.is_relative_to(base):
        return None
    # A link may point at a hidden file of the same tree.
    inside = found.relative_to(base).parts
    if not all(_is_plain(part) for part in inside) or content_type(found) is None:
        return None
    return found


def content_type(path: Path) -> str | None:
    """Return the content type of a file by its suffix, or None for one that is not served."""
    return CONTENT_TYPES.get(path.suffix.lower())


def list_pages(root: Path) -> list[str]:
    """Return the address below ``/reports/`` of every HTML page that is served, sorted.

    Addresses are percent-encoded. Links to folders are not followed.
    """
    found = []
    for folder, names, files in os.walk(root, followlinks=False):
        names[:] = [name for name in names if _is_plain(name)]
        for name in files:
            path = (Path(folder) / name).relative_to(root).as_posix()
            if Path(name).suffix.lower() == ".html" and find_report(root, path) is not None:
                found.append(quote(path))
    return sorted(found)


def _is_plain(part: str) -> bool:
    """Return whether a part of a path is the visible name of one file or folder.

    A name that is not UTF-8 has no address.
    """
    is_text = not any("\ud800" <= c <= "\udfff" for c in part)
    return bool(part) and not part.startswith(".") and "\\" not in part and is_text
