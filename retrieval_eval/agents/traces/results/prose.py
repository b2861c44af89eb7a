"""File paths in prose and among arguments: what looks like one, and the line it is named with.

Compilers, linters, tests and tracebacks name files and lines; so do answers of unknown tools.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final

_TRACEBACK: Final = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})')
_TOKEN: Final = re.compile(r"[^\s\"'`<>{}|;,=]{3,400}")
_PLACE: Final = re.compile(r"(?::|\(|\[|::|#L)(\d{1,9})\b")
_END: Final = re.compile(r"[:#]|[(\[](?=\d)")
NAME: Final = re.compile(r"(?:[A-Za-z]:[\\/])?[\w.@+~()\[\]\\/-]+")
"""A path of the characters that paths usually have."""

_LONGEST_NAME: Final = 1000

_EXTENSION = re.compile(r".+\.[A-Za-z][A-Za-z0-9_+-]{0,11}")
_BARE: Final = frozenset(
    {
        *("README", "LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "CONTRIBUTORS"),
        *("CHANGELOG", "CHANGES", "NEWS", "TODO", "INSTALL", "HISTORY", "VERSION", "OWNERS"),
        *("MAINTAINERS", "CODEOWNERS", "BUILD", "WORKSPACE", "MANIFEST", "Makefile", "GNUmakefile"),
        *("Dockerfile", "Containerfile", "Jenkinsfile", "Vagrantfile", "Gemfile", "Rakefile"),
        *(
            "Procfile",
            "Podfile",
            "Brewfile",
            "Kconfig",
            "Kbuild",
            "BUCK",
            "DEPS",
            "CODE_OF_CONDUCT",
        ),
        *("CODE_OF_CONDUCT", "CONTRIBUTING", "SECURITY", "gradlew", "mvnw", "configure"),
    }
)
"""Names that files customarily have without an extension."""

_DOTFILE: Final = re.compile(
    r"\.(?:[\w-]{0,100}(?:ignore|rc|attributes|config|keep|env|modules|versions?|format|tidy|lint"
    r"|mailmap|tags|profile|htaccess|ignore-revs)|flake8|rspec|npmrc)"
)


def looks_like_file(path: str) -> bool:
    """Return whether a name is one that files have: an extension, or a customary bare name.

    Examples
    --------
    >>> [looks_like_file(p) for p in ("a/b.py", "src", "LICENSE", "pkg--v1.2", "x/", ".gitignore")]
    [True, False, True, False, False, True]
    """
    if path.endswith("/"):
        return False
    name = path.rsplit("/", 1)[-1]
    if name.startswith("."):
        return bool(_DOTFILE.fullmatch(name) or _EXTENSION.fullmatch(name))
    return bool(_EXTENSION.fullmatch(name) or name in _BARE)


def path_texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield those texts that are paths of files: the arguments of a program that is not known.

    Examples
    --------
    >>> list(path_texts(["--config=etc/x.toml", "build", "src/a.py", "-v", "https://h.org/a.py"]))
    ['etc/x.toml', 'src/a.py']
    """
    for text in texts:
        if text.startswith("-"):
            text = text.partition("=")[2]
        path = text.partition("::")[0]
        is_path = 0 < len(path) <= _LONGEST_NAME and NAME.fullmatch(path) is not None
        if is_path and looks_like_file(path):
            yield path


def mentions(line: str) -> Iterator[tuple[str, int | None]]:
    r"""Yield the files that a line of prose names, with the line number where one is given.

    A name without a folder counts only with a line number.

    Examples
    --------
    >>> list(mentions("src/a.rs:3:9: error, see https://x.org/a.html"))
    [('src/a.rs', 3)]
    >>> list(mentions('  File "/w/a.py", line 7, in f')), list(mentions("e.g. README.md"))
    ([('/w/a.py', 7)], [])
    """
    traceback = _TRACEBACK.search(line)
    if traceback is not None:
        if not traceback[1].startswith("<"):
            yield traceback[1], int(traceback[2]) or None
        return
    for match in _TOKEN.finditer(line):
        token = match[0].lstrip("([").rstrip(".:)]")
        if "://" in token or "." not in token:
            continue
        drive = 2 if token[1:3] in (":\\", ":/") else 0
        end = _END.search(token, drive)
        path = token[: end.start()] if end is not None else token
        place = _PLACE.match(token, len(path))
        number = int(place[1]) if place is not None else None
        path = path.removeprefix("./")
        if not NAME.fullmatch(path) or not looks_like_file(posixpath.basename(path)):
            continue
        if number or "/" in path or "\\" in path:
            yield path, number or None
