"""Commands that run another command once for each name: ``xargs`` and ``find -exec``."""

from __future__ import annotations

import re

from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.programs.listing import find_roots
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation


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
