"""Programs that name files without showing their content."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.options import scan
from retrieval_eval.agents.traces.shell.plan import (
    Operand,
    Plan,
    Style,
    opaque,
    operand_of,
    operands_of,
)
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation

DESCRIBERS: Final[dict[str, str]] = {
    "wc": "",
    "stat": "cf",
    "file": "fm",
    "md5sum": "",
    "sha1sum": "",
    "sha256sum": "",
    "cksum": "",
    "du": "dt",
    "cmp": "n",
    "realpath": "",
    "readlink": "",
}
"""Program → short options with values; each prints facts about files, never their content."""


def plan_describer(stage: Invocation) -> Plan:
    """Return the plan of ``wc``, ``stat`` …: the files are named, not read."""
    options = scan(stage.args, DESCRIBERS[stage.program], "format files0-from max-depth")
    operands = operands_of(options.operands, stage)
    plan = Plan(
        stage.program,
        "file_search",
        "listed",
        "text",
        operands,
        stage.cwd,
        hides_errors=stage.hides_errors,
        is_joint=stage.program == "cmp",
    )
    if stage.program == "du" or any(operand.kind != "file" for operand in operands):
        return replace(plan, evidence="names", style="columns")
    return plan


def plan_ls(stage: Invocation) -> Plan:
    """Return the plan of ``ls``: entries are named relative to the directory given."""
    options = scan(stage.args, "IwT", "ignore width sort time color")
    operands = operands_of(options.operands, stage) or (Operand("."),)
    plan = Plan(stage.program, "file_search", "listed", "names", operands, stage.cwd)
    has_numbers = options.has("s", "size", "i", "inode")
    return replace(
        plan,
        style="listing",
        hides_errors=stage.hides_errors,
        has_numbers=has_numbers,
        is_recursive=options.has("R", "recursive"),
    )


def plan_echo(stage: Invocation) -> Plan:
    """Return the plan of ``echo``: the names that a pattern among its arguments fits."""
    patterns = tuple(operand_of(arg) for arg in stage.args if arg.pattern is not None)
    if not patterns:
        return Plan(stage.program)
    known = tuple(word for arg in stage.args for word in (arg.text or "").split())
    plan = Plan(stage.program, "file_search", "listed", "names", patterns, stage.cwd)
    return replace(plan, style="words", words=known)


def plan_tree(stage: Invocation) -> Plan:
    """Return the plan of ``tree``."""
    options = scan(stage.args, "LPIo", "filelimit charset")
    operands = operands_of(options.operands, stage) or (Operand("."),)
    style: Style = "path" if options.has("i") and options.has("f") else "tree"
    return Plan(stage.program, "file_search", "listed", "names", operands, stage.cwd, style=style)


def plan_eza(stage: Invocation) -> Plan:
    """Return the plan of ``eza`` and its relatives: a listing, or with ``--tree`` a tree."""
    options = scan(stage.args, "IsLt", "ignore-glob sort level time color icons")
    return plan_tree(stage) if options.has("T", "tree") else plan_ls(stage)


_EXPRESSION = ("-", "(", "!", "\\(")


def find_roots(stage: Invocation) -> list[Arg]:
    """Return the directories that ``find`` starts from."""
    roots: list[Arg] = []
    for arg in stage.args:
        if arg.raw in ("-L", "-H", "-P", "-O3"):
            continue
        if arg.raw.startswith(_EXPRESSION):
            break
        roots.append(arg)
    return roots


def plan_find(stage: Invocation) -> Plan:
    """Return the plan of ``find`` without ``-exec``: a listing below its starting points."""
    texts = stage.texts()
    operands = tuple(operand_of(arg) for arg in find_roots(stage)) or (Operand("."),)
    if "-delete" in texts:
        return opaque(stage, "-delete removes files that are not named", "file_write")
    if "-printf" in texts:
        reason = "-printf prints in a format of its own"
        return opaque(stage, reason, "file_search", operands, is_open=True)
    plan = Plan(stage.program, "file_search", "listed", "names", operands, stage.cwd)
    kinds = [kind for flag, kind in pairwise(texts) if flag == "-type"]
    if kinds and set(kinds) <= {"d"}:
        return replace(plan, evidence="nothing")
    style: Style = "columns" if "-ls" in texts else "path"
    return replace(plan, style=style, has_only_files=bool(kinds) and set(kinds) <= {"f", "l"})


def plan_fd(stage: Invocation) -> Plan:
    """Return the plan of ``fd``: names below the directories given, else below this one."""
    options = scan(stage.args, "eEtdxXcjS", "extension exclude type max-depth exec color")
    operands = tuple(operand_of(arg) for arg in options.operands[1:]) or (Operand("."),)
    if options.has("x", "X", "exec"):
        reason = "runs a command over files that are not named"
        return opaque(stage, reason, operands=operands, is_open=True)
    return Plan(stage.program, "file_search", "listed", "names", operands, stage.cwd, is_loose=True)
