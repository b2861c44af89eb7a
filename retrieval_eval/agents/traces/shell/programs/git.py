"""Git: content of revisions, history, and the working-tree commands that write."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.plan import Operand, Plan, opaque, operands_of, reader
from retrieval_eval.agents.traces.shell.programs.listing import plan_search
from retrieval_eval.agents.traces.shell.programs.readers import destinations, patched_files, written
from retrieval_eval.agents.traces.shell.steps import (
    Arg,
    Invocation,
    literal,
    resolve,
    scan,
    split,
    words,
)

_HISTORY: Final = words("log diff show blame annotate whatchanged shortlog diff-tree")
_SHORT = "SGnLCMUO"
_SUMMARIES: Final = words("stat name-only name-status numstat compact-summary patch-with-stat")
_LONG = "author since until grep after before format max-count"


def plan_git(stage: Invocation) -> Plan:
    """Return the plan of a git command; ``-C dir`` moves it to another directory."""
    stage, verb = _verb(stage)
    if verb == "grep":
        return plan_search(stage, is_git=True)
    if verb == "stash" and stage.texts()[:1] == ["show"]:
        return _history(replace(stage, args=stage.args[1:]), "diff")
    if verb == "format-patch" and "--stdout" in stage.texts():
        return _history(stage, "diff")
    if verb == "archive":
        args, after = split(stage.args)
        files = operands_of([*scan(args, "o", "output format prefix").operands[1:], *after], stage)
        return opaque(stage, "packs files", operands=files, is_open=True)
    if verb in _HISTORY:
        return _history(stage, verb)
    if verb in ("ls-files", "ls-tree"):
        plan = Plan("git", "file_search", "listed", "names", cwd=stage.cwd, is_loose=True)
        is_bare = verb == "ls-files" or "--name-only" in stage.texts()
        return replace(plan, operands=(Operand("."),), style="path" if is_bare else "columns")
    if verb == "status":
        around = (Operand("."), Operand(".."))
        plan = Plan("git", "file_search", "listed", "names", around, stage.cwd)
        return replace(plan, style="status", is_loose=True)
    if verb == "cat-file":
        return _blob(stage, [a for a in stage.args if ":" in a.raw])
    if verb in ("checkout", "restore"):
        return _restored(stage, verb)
    if verb in ("rm", "mv"):
        files = operands_of(scan(stage.args).operands, stage)
        if verb == "rm":
            return written(stage, files, "removed")
        return written(stage, destinations(files), "created")
    if verb == "apply":
        if stage.script is not None:
            return written(stage, patched_files(stage.script))
        return opaque(stage, "apply changes files that are not named", "file_write")
    return Plan("git")


def _verb(stage: Invocation) -> tuple[Invocation, str]:
    cwd = stage.cwd
    args = list(stage.args)
    while args:
        text = args.pop(0).raw
        if text in ("-C", "--work-tree") and args:
            folder = args.pop(0).text
            cwd = resolve(cwd, folder) if folder is not None else None
        elif text in ("-c", "--git-dir") and args:
            args.pop(0)
        elif not text.startswith("-"):
            return replace(stage, cwd=cwd, args=tuple(args)), text
    return stage, ""


def _blob(stage: Invocation, args: list[Arg]) -> Plan:
    names = [a.text.partition(":")[2] if a.text is not None else None for a in args]
    operands = tuple(Operand("*", "unknown") if n is None else Operand(n) for n in names if n != "")
    return reader(stage, operands)


def _history(stage: Invocation, verb: str) -> Plan:
    args, after = split(stage.args)
    options = scan(args, _SHORT + ("s" if verb == "blame" else ""), _LONG)
    blobs = [a for a in options.operands if re.match(r"[^\s:]+:[^:]", a.raw)]
    if verb == "show" and blobs:
        return _blob(stage, blobs)
    if verb in ("blame", "annotate"):
        return _blame(stage, operands_of([*options.operands, *after], stage), options.text("L"))
    shows = verb in ("diff", "show", "diff-tree") or options.has("p", "patch", "u", "L")
    names = options.has(*_SUMMARIES)
    plan = Plan("git", "commit_search", "matched", "nothing", cwd=stage.cwd, is_selective=True)
    if verb == "shortlog" or options.has("s", "no-patch"):
        return plan
    if shows or names:
        style = replace(plan, evidence="names", style="diff", has_numbers=names)
        return replace(style, operands=(Operand("."),), is_loose=True)
    paths = [*after, *(a for a in options.operands if "/" in a.raw and ".." not in a.raw)]
    files = operands_of(paths, stage) if paths else ()
    return replace(plan, evidence="text", operands=files) if files else plan


def _blame(stage: Invocation, operands: tuple[Operand, ...], span: str | None) -> Plan:
    match = re.fullmatch(r"(\d{1,9}),(\+?)(\d{1,9})", span or "")
    spans = None
    if match:
        first, last = int(match[1]), int(match[3])
        spans = ((first, first + last - 1 if match[2] else last),)
    plan = reader(stage, operands[-1:], spans)
    return replace(plan, category="commit_search", access="matched")


def _restored(stage: Invocation, verb: str) -> Plan:
    args, after = split(stage.args)
    if verb == "restore" and not after:
        after = scan(args, "s", "source").operands
    if not after:
        return Plan("git")
    files = operands_of([a if a.text != "." else literal("-") for a in after], stage)
    return written(stage, files, "existed")
