"""The grep family: what a content search can show and how its lines name files."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.prose import looks_like_file
from retrieval_eval.agents.traces.shell.options import Options, scan, split
from retrieval_eval.agents.traces.shell.plan import Operand, Plan, operands_of
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation

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
