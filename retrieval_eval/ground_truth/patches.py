"""Reference patches: the files a known-good change touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from retrieval_eval.ground_truth.source import Entry, Source, load_text
from retrieval_eval.paths import diff_path

FILE_NAMES = ("reference_fix.patch", "expected.diff", "expected.patch")


def read(task_dir: Path) -> Source | None:
    """Return the files of the first reference patch that names any, or None without a patch."""
    problems: tuple[str, ...] = ()
    seen: list[str] = []
    for file_name in FILE_NAMES:
        loaded = load_text(task_dir, "tests", file_name)
        if loaded is None:
            continue
        name, text, found = loaded
        seen.append(name)
        entries = patch_entries(text)
        if entries:
            return Source(name, "high", entries, edit_entries=entries, problems=problems + found)
        problems += found or (f"{name}: names no file",)
    return Source(seen[0], "high", problems=problems) if seen else None


def patch_entries(text: str) -> tuple[Entry, ...]:
    r"""Return the files a unified diff touches, in its order, each once.

    Deleted files count, of a renamed file both names count, ``/dev/null`` never does.

    Examples
    --------
    >>> patch_entries("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n")
    (Entry(path='src/a.py', repository=None),)
    """
    paths = (diff_path(name) for name in _header_names(text))
    return tuple(Entry(path) for path in dict.fromkeys(paths) if path)


def _header_names(text: str) -> Iterable[str]:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        return [name for file in PatchSet(text) for name in (file.source_file, file.target_file)]
    except (UnidiffParseError, ValueError, AttributeError, IndexError, TypeError):
        return list(_scan(text.splitlines()))


def _scan(lines: list[str]) -> Iterator[str]:
    """Yield the names in the headers of a diff whose hunks do not add up.

    A header is a ``---`` line directly followed by ``+++``, or a rename or copy line.
    """
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            yield line[4:]
            yield following[4:]
        for prefix in ("rename from ", "rename to ", "copy from ", "copy to "):
            if line.startswith(prefix):
                # These lines carry no a/ or b/, so one is added for the reader to strip.
                yield "a/" + line.removeprefix(prefix)
