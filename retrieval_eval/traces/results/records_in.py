"""File records in JSON results: search blocks, listings, trees, commits of several servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from retrieval_eval.records import Access, LineRange, RawTarget
from retrieval_eval.traces.results.base import integer, strings, text_argument

_PATHS: Final = (
    "file",
    "path",
    "file_path",
    "filePath",
    "filename",
    "relative_path",
    "relativePath",
    "relativeWorkspacePath",
    "newPath",
    "new_path",
    "newFile",
    "fileName",
)
_OLD_PATHS: Final = ("oldPath", "old_path", "oldFile", "previous_filename")
_NAME_LISTS: Final = ("files", "paths", "filenames", "file_paths")
_FOLDER_TYPES: Final = ("dir", "directory", "tree", "folder")
_Repository = str | None


def file_records(value: Any, access: Access, repository: str | None) -> Iterator[RawTarget]:
    """Yield the files that nested records name, in document order.

    A record is an object with a path; its repository is its own, else that of the object
    around it, else ``repository``. Folders are left out.
    """
    waiting: list[tuple[Any, _Repository]] = [(value, repository)]
    while waiting:
        item, around = waiting.pop()
        if isinstance(item, list):
            waiting.extend((child, around) for child in reversed(item))
        elif isinstance(item, dict):
            inside = _repository(item) or around
            yield from _record(item, access, inside)
            waiting.extend(
                (child, inside)
                for key, child in reversed(item.items())
                if isinstance(child, dict | list) and key not in {"repository", "chunks"}
            )


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of several lines or with addresses inside JSON, in document order."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and ("\n" in item or "://" in item):
            yield item
        elif isinstance(item, list | dict):
            children = item.values() if isinstance(item, dict) else item
            waiting.extend(reversed(list(children)))


def tree_names(tree: Any) -> Iterator[str]:
    """Yield the paths of the files in a tree of objects with ``name`` and ``children``."""
    waiting: list[tuple[Any, str]] = [(tree, "")]
    while waiting:
        item, folder = waiting.pop()
        if isinstance(item, list):
            waiting.extend((child, folder) for child in reversed(item))
            continue
        name = text_argument(item, ("name",)) if isinstance(item, dict) else None
        if name is None:
            continue
        below = item.get("children")
        if isinstance(below, list):
            waiting.append((below, f"{folder}{name}/"))
        elif item.get("type") not in _FOLDER_TYPES:
            yield f"{folder}{name}"


def _record(item: dict[str, Any], access: Access, repository: _Repository) -> Iterator[RawTarget]:
    is_folder = item.get("isDirectory") is True or item.get("type") in _FOLDER_TYPES
    if not is_folder:
        for names in (_PATHS, _OLD_PATHS):
            path = text_argument(item, names)
            if path is not None:
                yield RawTarget(path, access, repository, _lines(item))
    for key in _NAME_LISTS:
        yield from (RawTarget(n, access, repository) for n in strings(item.get(key)))


def _repository(item: dict[str, Any]) -> _Repository:
    value = item.get("repository")
    if isinstance(value, dict):
        return text_argument(value, ("full_name", "name"))
    return text_argument(item, ("repo", "repository", "repoName"))


def _lines(item: dict[str, Any]) -> tuple[LineRange, ...] | None:
    chunks = item.get("chunks")
    blocks = [item, *(chunks if isinstance(chunks, list) else [])]
    found: list[LineRange] = []
    for block in blocks:
        if isinstance(block, dict):
            start, end = integer(block.get("startLine")), integer(block.get("endLine"))
            if start is not None and end is not None and start <= end:
                found.append((start, end))
    return tuple(found) or None
