"""Files that a call may have touched where its result does not prove which.

An opaque answer leaves the requested file open, or what lies below the folder that was searched; an
unknown tool the paths among its arguments and those that its answer names. The same holds for a
call whose result the trace lost or cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import (
    PATH_ARGUMENTS,
    Found,
    Seen,
    joined,
    repository_argument,
    strings,
    text_argument,
)
from retrieval_eval.agents.traces.results.decorations import is_saved_result
from retrieval_eval.agents.traces.results.listing import FOLDER_ARGUMENTS
from retrieval_eval.agents.traces.results.mentions import searched_repository
from retrieval_eval.agents.traces.results.prose import looks_like_file, mentions, path_texts
from retrieval_eval.records import Access, Doubt, RawTarget, ToolCategory

_SEARCHES: Final[Mapping[ToolCategory, Access]] = {
    "file_search": "listed",
    "code_search": "matched",
    "commit_search": "matched",
    "symbol_navigation": "matched",
}
_TYPED: Final = ("command", "cmd", "input", "keystrokes", "script", "code")
_MOST_LINES: Final = 5000
_LONGEST_LINE: Final = 2000
_MOST_NAMES: Final = 500
_DEEPEST: Final = 6


def possible(seen: Seen, doubt: Doubt, *, is_remote: bool = False) -> tuple[RawTarget, ...]:
    """Return what a call may have touched, from its arguments and the prose of its answer.

    Parameters
    ----------
    seen
        The call; where its result is not known, with an empty text.
    doubt
        Why nothing of it is certain.
    is_remote
        Whether a server answers, which searches a repository and not the working directory.

    Examples
    --------
    >>> call = Seen({"path": "src"}, "3 results in src/a.py and others", None, "code_search", "/w")
    >>> [(t.path, t.is_pattern) for t in possible(call, "opaque_call")]
    [('/w/src/*', True), ('/w/src/a.py', False)]
    """
    return tuple(dict.fromkeys((*_requested(seen, doubt, is_remote), *_named(seen, doubt))))


def with_possible(seen: Seen, found: Found, *, is_remote: bool) -> Found:
    """Return what a parser found with the files that remain possible."""
    is_bounded = any(target.doubt is not None for target in found.targets)
    if found.is_error or not found.is_opaque or is_bounded:
        return found
    if found.category is not None:
        seen = replace(seen, category=found.category)
    if not seen.is_truncated:
        further = possible(seen, "opaque_call", is_remote=is_remote)
    elif seen.category in _SEARCHES or not found.targets:
        further = tuple(_requested(seen, "cut_result", is_remote))
    else:
        further = ()
    return replace(found, targets=(*found.targets, *further))


def _requested(seen: Seen, doubt: Doubt, is_remote: bool) -> Iterator[RawTarget]:
    repository = repository_argument(seen.arguments)
    if seen.category == "deep_search" and doubt == "no_result":
        yield _below(seen, "matched", doubt, is_remote)
    elif seen.category in _SEARCHES:
        yield _below(seen, _SEARCHES[seen.category], doubt, is_remote)
    elif seen.category == "file_read":
        path = text_argument(seen.arguments, PATH_ARGUMENTS)
        paths = [path] if path is not None else strings(seen.arguments.get("paths"))
        if not paths and doubt == "opaque_call" and not is_remote:
            yield RawTarget("*", "opened", doubt=doubt, is_pattern=True)
        for name in paths[:_MOST_NAMES]:
            if not is_saved_result(name):
                yield _target(seen, name, "opened", repository, doubt)
    elif seen.category == "other":
        for name in path_texts((*_texts(seen.arguments), *_words(seen.arguments))):
            yield _target(seen, name, "opened", repository, doubt)


def _below(seen: Seen, access: Access, doubt: Doubt, is_remote: bool) -> RawTarget:
    """Return what a search may have named: what lies below its folder, else any file.

    What a symbol or a commit leads to need not lie in the file or folder that was named.
    """
    repository = searched_repository(seen.arguments) if is_remote else None
    is_confined = seen.category in ("file_search", "code_search")
    folder = text_argument(seen.arguments, FOLDER_ARGUMENTS) if is_confined else None
    folder = (folder or "").rstrip("/")
    if folder and looks_like_file(folder):
        return _target(seen, folder, access, repository, doubt)
    place = folder.strip("/") if repository is not None else folder
    if not is_remote:
        place = joined(seen.cwd, folder or ".")
    pattern = "*" if place in ("", ".") else f"{place.rstrip('/')}/*"
    return RawTarget(pattern, access, repository, doubt=doubt, is_pattern=True)


def _target(
    seen: Seen, path: str, access: Access, repository: str | None, doubt: Doubt
) -> RawTarget:
    place = path if repository is not None else joined(seen.cwd, path)
    return RawTarget(place, access, repository, doubt=doubt)


def _named(seen: Seen, doubt: Doubt) -> Iterator[RawTarget]:
    repository = repository_argument(seen.arguments)
    if seen.category in ("file_read", "file_write"):
        return
    places: dict[tuple[str, int | None], None] = {}
    for line in seen.text.split("\n", _MOST_LINES)[:_MOST_LINES]:
        places.update(dict.fromkeys(mentions(line[:_LONGEST_LINE])))
        if len(places) >= _MOST_NAMES:
            break
    for path, number in places:
        target = _target(seen, path, "matched", repository, doubt)
        yield replace(target, lines=((number, number),) if number else None)


def _words(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of what was typed into a program or a shell that is not known."""
    typed = text_argument(arguments, _TYPED) or ""
    for word in typed[:_LONGEST_LINE].split()[:_MOST_NAMES]:
        yield word.strip("'\"();|&<>`")


def _texts(arguments: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts among arguments, those inside lists and objects as well."""
    if isinstance(arguments, str):
        yield arguments
    elif depth < _DEEPEST and isinstance(arguments, Mapping | list):
        inner = arguments.values() if isinstance(arguments, Mapping) else arguments
        for value in list(inner)[:_MOST_NAMES]:
            yield from _texts(value, depth + 1)
