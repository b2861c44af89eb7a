"""Programs that find: they name files, or the lines of files that match."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.shell.plan import (
    Operand,
    Plan,
    Style,
    opaque,
    operand_of,
    operands_of,
)
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, Options, scan, split

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


# --------------------------------------------------------------------------------------------------
# The grep family: what a content search can show and how its lines name files.

SEARCHERS: Final = frozenset(["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ack-grep"])

_SHORT = {"grep": "efmABCdD", "rg": "efmABCgtTjMrEd", "ag": "mABCGgp", "ack": "mABC"}
_LONG = (
    "include exclude exclude-dir context after-context before-context max-count regexp file glob "
    "iglob type type-not max-depth sort sortr replace colors threads ignore"
)
_CONTEXT: Final = ("A", "B", "C", "#", "context", "after-context", "before-context")


def plan_search(stage: Invocation, is_git: bool = False) -> Plan:
    """Return the plan of a content search.

    Its pattern is never a file. Where one file is searched the lines carry no name and the file
    comes from the command; everywhere else the lines name the files.
    """
    family = "grep" if is_git or "grep" in stage.program else stage.program
    args, after = split(stage.args) if is_git else (stage.args, [])
    options = scan(args, _SHORT.get(family, "efmABC"), _LONG)
    operands = list(options.operands)
    if family == "rg" and options.has("files"):
        plan = Plan(stage.program, "file_search", "listed", "names", cwd=stage.cwd, is_loose=True)
        return replace(plan, operands=operands_of(operands, stage) or (Operand("."),))
    patterns = [a for name in ("e", "regexp") for a in options.values.get(name, [])]
    if not patterns and not options.has("f", "file") and operands:
        patterns = [operands.pop(0)]
    revisions = _revisions(operands) if is_git else []
    if revisions and not after and all(arg in revisions for arg in operands):
        operands = []
    files = operands_of([*(arg for arg in operands if arg not in revisions), *after], stage)
    plan = Plan(
        stage.program,
        "code_search",
        "matched",
        operands=files,
        cwd=stage.cwd,
        has_numbers=options.has("n", "line-number", "vimgrep") or family in ("ag", "ack"),
        hides_errors=stage.hides_errors or options.has("s", "no-messages"),
        ignores_case=options.has("i", "ignore-case", "smart-case", "S"),
        words=() if options.has("v", "invert-match") else required_words(patterns, options),
        is_selective=True,
        revisions=tuple(arg.raw for arg in revisions),
        has_context=options.has(*_CONTEXT),
    )
    is_recursive = options.has("r", "R", "recursive", "dereference-recursive")
    return _evidence(plan, options, is_recursive or is_git or family in ("rg", "ag", "ack"))


def _revisions(operands: list[Arg]) -> list[Arg]:
    """Return those words before ``--`` that may be revisions, or folders."""
    return [arg for arg in operands if not looks_like_file(arg.raw)]


def _evidence(plan: Plan, options: Options, is_recursive: bool) -> Plan:
    if options.has("q", "quiet", "silent"):
        return replace(plan, evidence="nothing")
    if not plan.operands:
        if not is_recursive:
            return replace(plan, evidence="nothing", is_loose=True)
        plan = replace(plan, operands=(Operand("."),), is_loose=True)
    if options.has("l", "files-with-matches"):
        return replace(plan, evidence="names", style="path")
    if options.has("L", "files-without-match"):
        return replace(plan, evidence="names", style="path", access="listed")
    if options.has("json") and plan.program == "rg":
        return replace(plan, evidence="names", style="records")
    is_count = options.has("c", "count", "count-matches")
    is_pretty = plan.program == "rg" and options.has("pretty", "p")
    has_headings = is_pretty or options.has("heading", "group")
    if has_headings and not (is_count or options.has("no-heading", "nogroup")):
        plan = replace(plan, has_numbers=plan.has_numbers or is_pretty)
        style = replace(plan, style="heading", evidence="names")
    else:
        style = replace(plan, style="count" if is_count else "match", evidence="names")
    one = len(plan.operands) == 1 and plan.operands[0].kind == "file"
    if options.has("h", "no-filename", "I" if plan.program == "rg" else "no-filename"):
        if one and (not is_recursive or looks_like_file(plan.operands[0].written)):
            return replace(style, evidence="numbers")
        reason = f"{plan.program}: -h hides the file names"
        return replace(style, evidence="opaque", reason=reason, is_open=True)
    if options.has("H", "with-filename") or not one or plan.program == "git":
        return style
    if is_recursive and not looks_like_file(plan.operands[0].written):
        return style
    return replace(style, evidence="numbers")


_LITERAL: Final = re.compile(r"[\w \-/:=,;<>\"'@#%&!~]*")


def required_words(patterns: list[Arg], options: Options) -> tuple[str, ...]:
    """Return texts of which every matching line contains one; empty when that is unknown."""
    is_fixed = options.has("F", "fixed-strings")
    found: list[str] = []
    for pattern in patterns:
        if pattern.text is None or len(pattern.text) > 2000:
            return ()
        for part in [pattern.text] if is_fixed else re.split(r"\\?\||\n", pattern.text):
            word = part if is_fixed else _longest_literal(part)
            if len(word) < 2:
                return ()
            found.append(word)
    return tuple(found)


def _longest_literal(part: str) -> str:
    """Return the longest literal stretch of a pattern."""
    if _LITERAL.fullmatch(part):
        return part
    if re.search(r"[()\[\]{}]", part):
        return ""
    plain = re.sub(r".\\?[*?+]|\\[^.\-/\"' ]|[.^$]", "\0", re.sub(r"\\([.\-/])", "\1", part))
    runs = [run for run in re.split("[\0\1\\\\]", plain) if run]
    return max(runs, key=len, default="")
