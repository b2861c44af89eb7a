"""Commands that run others: in a container, a pod, on another machine, or once for each name."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.programs.listing import find_roots
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, literal, resolve, words


class _Away(Struct, frozen=True, gc=False):
    """How a program names the place and the command.

    ``verbs`` come first, ``with_value`` are options that take a value, ``folders`` those of them
    that set the working directory, ``n_places`` is the number of words that name the place.
    ``is_text``: the command is a text for the shell there; ``has_dashes``: it comes after ``--``.
    """

    verbs: tuple[frozenset[str], ...] = ()
    with_value: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    n_places: int = 1
    is_text: bool = False
    has_dashes: bool = False


_CONTAINER: Final = words(
    "-e --env --env-file -u --user -w --workdir --detach-keys --index -f --file -p --project-name "
    "-v --volume --name --network --net --entrypoint --mount --platform -m --memory --cpus "
    "--publish --label -l --hostname -h --add-host --gpus --shm-size --ipc --pull -H --context "
    "--profile --cidfile --restart --ulimit --security-opt --cap-add --cap-drop --device"
)
_DOCKER: Final = _Away((words("exec run"),), _CONTAINER, words("-w --workdir"))
_COMPOSE: Final = _Away((words("compose"), words("exec run")), _CONTAINER, words("-w --workdir"))
_POD: Final = _Away(
    (words("exec"),),
    words(
        "-n --namespace -c --container --context --kubeconfig -f --filename --pod-running-timeout"
    ),
    has_dashes=True,
)
_AWAY: Final[dict[str, tuple[_Away, ...]]] = {
    **dict.fromkeys(("docker", "podman", "nerdctl"), (_COMPOSE, _DOCKER)),
    **dict.fromkeys(("docker-compose", "podman-compose"), (_DOCKER,)),
    **dict.fromkeys(("kubectl", "oc"), (_POD,)),
    "ssh": (
        _Away(
            with_value=words("-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w -B"),
            is_text=True,
        ),
    ),
}
_DETACHED: Final = words("-d --detach -dit -itd -di -id -N -f")


def away_command(stage: Invocation) -> Invocation | None:
    """Return the command that ``stage`` runs in another place, or None when it runs none.

    A relative path there starts in a folder that is not known, unless an option names it.

    Examples
    --------
    >>> found = away_command(Invocation("docker", tuple(map(literal, ["exec", "c", "cat", "/a"]))))
    >>> found.program, found.texts(), found.cwd
    ('cat', ['/a'], None)
    """
    for row in _AWAY.get(stage.program, ()):
        found = _command(stage, row)
        if found is not None:
            return found
    return None


def _command(stage: Invocation, row: _Away) -> Invocation | None:
    verbs, n_places, folder = list(row.verbs), row.n_places, None
    args = list(stage.args)
    texts = stage.texts()
    if row.has_dashes and "--" in texts:
        at = texts.index("--") + 1
        is_meant = at < len(args) and any(text in verbs[0] for text in texts[:at])
        return _inside(stage, args[at:], row, None) if is_meant else None
    while args:
        arg = args.pop(0)
        text = arg.raw
        name, has_value, value = text.partition("=")
        if text in _DETACHED and text not in row.with_value:
            return None
        if text.startswith("-") and (verbs or n_places > 0):
            if has_value and name in row.folders:
                folder = value
            elif name in row.with_value and not has_value and args:
                given = args.pop(0)
                folder = given.text if name in row.folders else folder
        elif verbs:
            if text not in verbs.pop(0):
                return None
        elif n_places > 0:
            n_places -= 1
        else:
            return _inside(stage, [arg, *args], row, folder)
    return None


def _inside(
    stage: Invocation, args: list[Arg], row: _Away, folder: str | None
) -> Invocation | None:
    cwd = folder if folder is not None and folder.startswith("/") else None
    writes = tuple(
        arg if arg.text is None else literal(resolve(stage.cwd, arg.text)) for arg in stage.writes
    )
    there = replace(stage, cwd=cwd, writes=writes, is_away=True)
    if row.is_text:
        texts = [arg.text for arg in args]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        return replace(there, program="bash", args=(literal("-c"), literal(" ".join(known))))
    name = args[0].text
    if name is None:
        return None
    return replace(there, program=posixpath.basename(name), args=tuple(args[1:]))


# --------------------------------------------------------------------------------------------------
# Commands that run another command once for each name: ``xargs`` and ``find -exec``.


def exec_command(stage: Invocation) -> Invocation | None:
    """Return the command that ``find -exec`` runs, with a feed for its files."""
    texts = stage.texts()
    at = next((i for i, t in enumerate(texts) if t in ("-exec", "-execdir", "-ok")), None)
    if at is None:
        return None
    roots = tuple(arg.raw for arg in find_roots(stage)) or (".",)
    feed = Arg((None,), is_feed=True, roots=roots)
    args: list[Arg] = []
    for arg in stage.args[at + 1 :]:
        if arg.raw in (";", "\\;", "+"):
            break
        args.append(feed if arg.raw == "{}" else arg)
    if args and args[-1].is_feed and "+" in texts[at:]:
        args.append(feed)
    return replace(stage, args=tuple(args)).rest(0) if args else None


def xargs_command(stage: Invocation) -> tuple[Invocation, str | None]:
    """Return the command that ``xargs`` runs and the text it replaces by a name (``-I``)."""
    holes: str | None = None
    texts = stage.texts()
    i = 0
    while i < len(texts) and texts[i].startswith("-"):
        match = re.fullmatch(r"-I(.*)", texts[i])
        if match:
            holes = match[1] or (texts[i + 1] if i + 1 < len(texts) else "{}")
        elif texts[i] == "-i":
            holes = "{}"
        needs_value = texts[i] in ("-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a")
        i += 2 if needs_value else 1
    return (replace(stage, program="", args=()) if i >= len(texts) else stage.rest(i)), holes


def each_command(stage: Invocation) -> tuple[Invocation | None, str]:
    """Return the command that ``stage`` runs for each name, and the text that is the name."""
    if stage.program == "xargs":
        command, hole = xargs_command(stage)
        if hole is None:
            command = replace(command, args=(*command.args, Arg((None,), is_feed=True)))
        return command, hole or "{}"
    return (exec_command(stage) if stage.program == "find" else None), "{}"
