"""Files under another name: what ``cp``, ``mv`` and ``ln`` made, and whose content it is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.shell.plan import Operand, operands_of
from retrieval_eval.agents.traces.shell.programs.readers import WITH_VALUE
from retrieval_eval.agents.traces.shell.steps import Invocation, Options, is_absolute, scan, words
from retrieval_eval.paths import TEMPORARY
from retrieval_eval.records import RawTarget

MAX_COPIES: Final = 1000
"""Copies that are remembered."""

MAX_WRITTEN: Final = 10_000
"""Written files that are remembered."""

MAX_TEXTS: Final = 200
"""Texts of files that are remembered."""

_LONGEST_TEXT: Final = 50_000

_COPIERS: Final = words("cp mv install ln rsync scp")
_FROM_CONTAINERS: Final = words("docker podman nerdctl kubectl oc docker-compose")
EDITORS: Final = words("sed gsed perl ruby patch apply_patch applypatch git ed ex")
"""Programs that change a part of a file."""

_ELSEWHERE: Final = re.compile(r"[^/:\\]{2,200}:(?=[/~])")
_MOST_ORIGINS: Final = 4
_LONGEST: Final = 4096
_DEEPEST: Final = 100


class Copy(Struct, frozen=True, gc=False):
    """Where the content of a path came from.

    ``name`` is a pattern that the names of the copied files fit, where they were not all copied.
    """

    source: str
    is_certain: bool
    name: str | None = None


class Copies:
    """The copies that the commands of a trial made.

    ``recorded`` are the verbs by which git recorded files of the agent as its own, and ``texts``
    what it wrote into files.

    Examples
    --------
    >>> from retrieval_eval.agents.traces.shell.steps import literal
    >>> copies = Copies()
    >>> copies.note(Invocation("cp", (literal("a.py"), literal("/tmp/x")), cwd="/w"), True)
    >>> copies.origins("/tmp/x")
    (('/w/a.py', True),)
    """

    def __init__(self) -> None:
        self._copies: dict[str, Copy] = {}
        self._written: set[str] = set()
        self.recorded: set[str] = set()
        self.texts: dict[str, str] = {}

    def note(self, stage: Invocation, is_certain: bool) -> None:
        """Remember what a command copied; ``is_certain`` says that it surely succeeded."""
        if len(self._copies) >= MAX_COPIES:
            return
        is_moved = "mv" in (stage.program, *stage.texts()[: stage.program == "git"])
        for path, copy in copied(stage):
            if is_moved and self._is_own(copy.source):
                self._move(copy.source, path, is_certain)
                continue
            copy = replace(copy, is_certain=is_certain and copy.is_certain)
            found = self.origins(copy.source)
            if copy.name is None and len(found) == 1:
                copy = replace(copy, source=found[0][0], is_certain=copy.is_certain and found[0][1])
            if copy.source == path:
                self._copies.pop(path, None)
            elif len(path) < _LONGEST and len(copy.source) < _LONGEST:
                self._copies[path] = copy

    def _is_own(self, path: str) -> bool:
        """Return whether the agent made a file, or it lies where temporary files do."""
        return path in self._written or path.startswith(TEMPORARY)

    def _move(self, source: str, path: str, is_certain: bool) -> None:
        """Give a file of the agent's its new name; it is a copy of what it was a copy of."""
        copy = self._copies.pop(source, None)
        self._copies.pop(path, None)
        if copy is not None and copy.source != path:
            self._copies[path] = replace(copy, is_certain=copy.is_certain and is_certain)

    def overwrite(self, path: str, *, is_edit: bool) -> None:
        """Forget a copy that was overwritten; one that was edited may still hold the content."""
        if not is_edit and len(self._written) < MAX_WRITTEN:
            self._written.add(path)
        copy = self._copies.get(path)
        if copy is None:
            return
        if is_edit:
            self._copies[path] = replace(copy, is_certain=False)
        else:
            del self._copies[path]

    def keep_text(self, path: str, text: str, *, is_added: bool = False) -> None:
        """Remember the text that the agent wrote into a file, or added to it.

        An empty text is one that is not known.
        """
        before = self.texts.get(path, "") if is_added else ""
        is_short = len(before) + len(text) <= _LONGEST_TEXT
        if len(self.texts) < MAX_TEXTS or path in self.texts:
            self.texts[path] = before + text if is_short else ""

    def text_of(self, path: str) -> str | None:
        """Return the text of a file that the agent wrote, by its path or by its name alone."""
        if "/" in path:
            return self.texts.get(path)
        found = [text for known, text in self.texts.items() if f"/{known}".endswith(f"/{path}")]
        return found[0] if len(found) == 1 else None

    def origins(self, path: str) -> tuple[tuple[str, bool], ...]:
        """Return the files whose content a path may show, and whether that is certain."""
        if not self._copies or len(path) > _LONGEST:
            return ()
        place, rest = path, ""
        for _ in range(_DEEPEST):
            copy = self._copies.get(place)
            if copy is not None:
                found = _below(copy, rest)
                is_certain = copy.is_certain and len(found) == 1
                return tuple((origin, is_certain) for origin in found if origin != path)
            above, slash, name = place.rpartition("/")
            if not slash or not above:
                return ()
            place, rest = above, f"{name}/{rest}" if rest else name
        return ()

    def with_origins(self, targets: Iterable[RawTarget]) -> tuple[RawTarget, ...]:
        """Return targets and behind each that shows a copy the file it was made of."""
        if not self._copies:
            return tuple(targets)
        found: list[RawTarget] = []
        for target in targets:
            found.append(target)
            is_shown = target.access in ("opened", "matched") and target.repository is None
            for origin, is_certain in self.origins(target.path) if is_shown else ():
                doubt = target.doubt if is_certain else target.doubt or "opaque_call"
                found.append(replace(target, path=origin, doubt=doubt))
        return tuple(found)


def _below(copy: Copy, rest: str) -> list[str]:
    """Return what may lie at ``rest`` below a copy."""
    if copy.name is not None:
        is_fit = "/" not in rest and fnmatchcase(rest, copy.name)
        return [posixpath.join(copy.source, rest)] if rest and is_fit else []
    if not rest:
        return [copy.source]
    name = posixpath.basename(copy.source)
    inside: list[str] = []
    if rest == name or rest.startswith(f"{name}/"):
        inside = [copy.source + rest[len(name) :]]
    if rest == name:
        return inside
    beside = [] if looks_like_file(copy.source) else [posixpath.join(copy.source, rest)]
    return [*inside, *beside][:_MOST_ORIGINS]


def copied(stage: Invocation) -> list[tuple[str, Copy]]:
    """Return the paths that a command makes out of others."""
    if stage.program == "git" and stage.texts()[:1] == ["mv"]:
        stage = stage.rest(0)
    if stage.program in _FROM_CONTAINERS and stage.texts()[:1] == ["cp"]:
        stage = stage.rest(0)
    if stage.program not in _COPIERS:
        return []
    options = scan(stage.args, *WITH_VALUE.get(stage.program, ()))
    *sources, last = (*operands_of(options.operands, stage), Operand(""))
    folder = options.text("t", "target-directory")
    if folder is None:
        if len(sources) < 2:
            return []
        last = sources.pop()
        folder = last.written if last.kind == "file" else None
    if folder is None or _ELSEWHERE.match(folder):
        return []
    is_inside = len(sources) > 1 or folder.endswith("/") or options.has("t", "target-directory")
    found: list[tuple[str, Copy]] = []
    for source in sources[:_MOST_SOURCES]:
        found += _copy(stage, options, source, folder, is_inside)
    return found


_MOST_SOURCES: Final = 100


def _copy(
    stage: Invocation, options: Options, source: Operand, folder: str, is_inside: bool
) -> list[tuple[str, Copy]]:
    target = stage.resolve(folder)
    written = _ELSEWHERE.sub("", source.written, count=1)
    if source.kind == "pattern":
        above, _, name = written.rpartition("/")
        is_plain = not set(above) & set("*?[")
        return [(target, Copy(stage.resolve(above), False, name))] if is_plain else []
    if source.kind != "file" or not written:
        return []
    if stage.program == "ln" and options.has("s", "symbolic") and not is_absolute(written):
        name = posixpath.basename(written)
        link = posixpath.join(target, name) if is_inside else target
        origin = posixpath.normpath(posixpath.join(posixpath.dirname(link), written))
        return [(link, Copy(origin, True))]
    origin = stage.resolve(written)
    is_content = written.endswith("/.") or (stage.program == "rsync" and written.endswith("/"))
    if is_content or not is_inside:
        return [(target, Copy(origin, True))]
    return [(posixpath.join(target, posixpath.basename(origin)), Copy(origin, True))]
