"""The folders a script shows: where it ran, what it cloned, where git says a checkout begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from retrieval_eval.agents.traces.shell.output import Output
from retrieval_eval.agents.traces.shell.steps import Invocation, Step, words

PlaceKind = Literal["start", "visited", "top", "git", "clone", "worktree"]
"""What is known of a folder.

``start``: the shell was there before any command. ``visited``: a command ran in it. ``top``: git
named it as the top of a checkout. ``git``: a listing shows ``.git`` in it. ``clone``: a repository
was cloned into it. ``worktree``: it is a further checkout of the one in ``source``.
"""


class Place(Struct, frozen=True, gc=False):
    """One folder with what a command shows about it.

    ``source`` is the address of the repository that was cloned, or the folder whose checkout a
    worktree or a local clone repeats.
    """

    kind: PlaceKind
    folder: str
    source: str | None = None


_MOST: Final = 200
_ABSOLUTE: Final = re.compile(r"(?:[A-Za-z]:|~)?[/\\]|~$")
_FOLDER_LINE: Final = re.compile(r"(?:[A-Za-z]:)?[/\\][^\s:*?\"<>|]{0,1000}")
_WORKTREE_LINE: Final = re.compile(
    r"((?:[A-Za-z]:)?[/\\]\S{0,1000}) +(?:[0-9a-f]{7,40} +[\[(]|\(bare\))"
)
_GIT_VALUES: Final = words("-C -c --git-dir --work-tree --namespace")
_CLONE_VALUES: Final = words(
    "-b --branch -o --origin -u --upload-pack -c --config -j --jobs --depth --reference --filter"
    " --reference-if-able --separate-git-dir --shallow-since --shallow-exclude --template"
    " --revision"
)
_WORKTREE_VALUES: Final = words("-b -B --reason")


def places(steps: Sequence[Step], output: Output, after: str | None = None) -> tuple[Place, ...]:
    """Return each folder that the steps show, once, in order; ``after`` is where they end.

    Examples
    --------
    >>> from retrieval_eval.agents.traces.shell.steps import literal
    >>> clone = tuple(map(literal, ["clone", "https://host/acme/widgets.git"]))
    >>> places([Step((Invocation("git", clone, cwd="/home/dev"),))], Output(()))[1]
    Place(kind='clone', folder='/home/dev/widgets', source='https://host/acme/widgets.git')
    """
    found: dict[Place, None] = {}
    known: str | None = None
    for step in steps:
        for stage in step.stages:
            if stage.cwd != known and _is_absolute(stage.cwd):
                known = stage.cwd
                found[Place("visited", str(stage.cwd))] = None
            if stage.program in {"gh", "git"} and not (output.errors or _has_failed(output)):
                found.update(dict.fromkeys(_checked_out(stage)))
        if len(found) > _MOST:
            break
    found.update(dict.fromkeys(_printed(steps, output)))
    found.update(dict.fromkeys(_with_git(steps, output)))
    if _is_absolute(after):
        found[Place("visited", str(after))] = None
    return tuple(found)[:_MOST]


def _has_failed(output: Output) -> bool:
    return any(line.startswith(("fatal: ", "error: ")) for line in output.lines)


def _is_absolute(folder: str | None) -> bool:
    return folder is not None and _ABSOLUTE.match(folder) is not None


def _checked_out(stage: Invocation) -> Iterator[Place]:
    """Yield the folder that git had to run in, and that a clone or a worktree makes."""
    texts = [arg.text for arg in stage.args]
    if None in texts:
        return
    args = [text for text in texts if text is not None]
    at = stage.cwd
    if stage.program == "gh" and args[:2] == ["repo", "clone"]:
        args = args[1 : args.index("--")] if "--" in args else args[1:]
    elif stage.program == "git":
        while args and args[0].startswith("-"):
            if args[0] == "-C" and len(args) > 1:
                at = stage.resolve(args[1])
            args = args[2 if args[0] in _GIT_VALUES else 1 :]
        if at != stage.cwd:
            yield from _placed("visited", stage.cwd, at or "", None)
    else:
        return
    if args[:1] == ["clone"]:
        named = _operands(args[1:], _CLONE_VALUES)
        if named:
            name = named[0].rstrip("/\\").removesuffix(".git").replace("\\", "/")
            folder = named[1] if len(named) > 1 else re.split(r"[/:]", name)[-1]
            is_local = named[0].startswith((".", "/", "~"))
            source = _joined(at, named[0]) if is_local else named[0]
            yield from _placed("worktree" if is_local else "clone", at, folder, source)
    elif args[:2] == ["worktree", "add"]:
        named = _operands(args[2:], _WORKTREE_VALUES)
        if named:
            yield from _placed("worktree", at, named[0], at)


def _operands(args: Sequence[str], with_value: frozenset[str]) -> list[str]:
    kept: list[str] = []
    is_value = False
    for arg in args:
        if is_value:
            is_value = False
        elif arg.startswith("-"):
            is_value = arg in with_value
        else:
            kept.append(arg)
    return kept


def _joined(at: str | None, folder: str) -> str | None:
    if _is_absolute(folder):
        return folder
    return f"{at}/{folder}" if _is_absolute(at) else None


def _placed(kind: PlaceKind, at: str | None, folder: str, source: str | None) -> Iterator[Place]:
    path = _joined(at, folder)
    if path is not None:
        yield Place(kind, path, source)


_GIT_ENTRY: Final = re.compile(r"(?:d[-rwxsStT]{9}\S?\s[^\n]{0,200}\s)?\.git/?")
_GIT_PATH: Final = re.compile(r"([./~A-Za-z][^\n]{0,1000}?)/\.git/?")


def _with_git(steps: Sequence[Step], output: Output) -> Iterator[Place]:
    """Yield the folders in which a listing shows ``.git``, where it lists but one folder."""
    stages = [step.stages[0] for step in steps if step.stages and step.stages[-1].is_shown]
    listing = [stage for stage in stages if stage.program in {"ls", "find"}]
    if len(listing) != 1 or not any(".git" in line for line in output.lines):
        return
    stage = listing[0]
    named = [text for text in stage.texts() if not text.startswith("-")]
    for line in output.lines if stage.program == "ls" and len(named) < 2 else ():
        if _GIT_ENTRY.fullmatch(line.strip()):
            yield from _placed("git", stage.cwd, named[0] if named else ".", None)
    for line in output.lines:
        path = _GIT_PATH.fullmatch(line.strip())
        if path is not None:
            yield from _placed("git", stage.cwd, path[1], None)


def _printed(steps: Sequence[Step], output: Output) -> Iterator[Place]:
    """Yield the folders that ``pwd`` and git print, where each line's command is certain."""
    printing: list[tuple[PlaceKind, int]] = []
    for number, step in enumerate(steps):
        if len(step.stages) != 1 or not step.stages[0].is_shown:
            continue
        stage = step.stages[0]
        asked = stage.texts()[-2:] if stage.program == "git" else []
        if stage.program == "pwd":
            printing.append(("start" if stage.cwd == "" else "visited", number))
        elif asked == ["rev-parse", "--show-toplevel"]:
            printing.append(("top", number))
        elif asked == ["worktree", "list"]:
            lines = [m for line in output.lines if (m := _WORKTREE_LINE.match(line))]
            yield from (Place("worktree", line[1], lines[0][1]) for line in lines[1:])
            yield from (Place("top", line[1]) for line in lines[:1])
    if not printing:
        return
    lines_of = [line for line in output.lines if _FOLDER_LINE.fullmatch(line.rstrip())]
    if len(lines_of) == len(printing):
        pairs = zip(printing, lines_of, strict=True)
        yield from (Place(kind, line.rstrip()) for (kind, _), line in pairs)
    elif printing[0][1] == 0 and output.lines and output.lines[0] in lines_of:
        yield Place(printing[0][0], output.lines[0].rstrip())
