"""File-name patterns of the shell, where ``*`` does not cross a slash."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(pattern: str, path: str) -> bool:
    """Return whether ``path`` is one of the names ``pattern`` could expand to.

    Examples
    --------
    >>> (
    ...     fits("src/*.py", "src/a.py"),
    ...     fits("src/*.py", "src/x/a.py"),
    ...     fits("src/**/a.py", "src/a.py"),
    ... )
    (True, False, True)
    """
    if len(pattern) > 1000 or len(path) > 4000:
        return False
    return _fits(pattern.split("/"), path.split("/"))


def _fits(patterns: list[str], names: list[str]) -> bool:
    if "**" not in patterns:
        return len(patterns) == len(names) and all(map(_segment, names, patterns))
    at = patterns.index("**")
    head, tail = patterns[:at], [p for p in patterns[at + 1 :] if p != "**"]
    if len(names) < len(head) + len(tail):
        return False
    rest = names[len(names) - len(tail) :] if tail else []
    return all(map(_segment, names, head)) and all(map(_segment, rest, tail))


def _segment(name: str, pattern: str) -> bool:
    return bool(name or not pattern) and fnmatchcase(name, pattern)
