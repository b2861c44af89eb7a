"""Plans of what a pipeline of commands shows and writes."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.traces.shell.options import scan, words
from retrieval_eval.traces.shell.plan import Plan, opaque, operand_of
from retrieval_eval.traces.shell.programs import plans_of
from retrieval_eval.traces.shell.programs.feeds import exec_command, xargs_command
from retrieval_eval.traces.shell.programs.readers import (
    head_spans,
    limited,
    plan_awk,
    plan_sed,
    tail_spans,
)
from retrieval_eval.traces.shell.programs.scripts import INTERPRETERS
from retrieval_eval.traces.shell.programs.search import SEARCHERS, plan_search, required_words
from retrieval_eval.traces.shell.programs.writers import written
from retrieval_eval.traces.shell.spans import WHOLE, take
from retrieval_eval.traces.shell.steps import Arg, Invocation, literal, printed

_SILENT: Final = words(
    "true false : test [ [[ set unset export local mkdir rmdir chmod chown kill sleep exit "
    "return break continue read trap wait shopt cp mv rm touch ln tee redirect source . "
    "alias"
)
_SHELLS: Final = frozenset(["bash", "sh", "zsh", "while", "for", "{", "("])


class Plans(Struct, frozen=True, gc=False):
    """``shown`` is what the pipeline prints; ``writes`` happen whatever it prints.

    ``prints`` is false when nothing of it can be in the output.
    """

    shown: Plan | None
    writes: tuple[Plan, ...]
    prints: bool


def plan_pipeline(stages: tuple[Invocation, ...]) -> Plans:
    """Return the plans of ``stages``, each reading what the one before it prints."""
    writes: list[Plan] = []
    shown: Plan | None = None
    for i, stage in enumerate(stages):
        shown = _next(shown, stage, stages[i - 1] if i else None, writes)
        if stage.program != "tee":
            writes += _redirects(stage)
        if not stage.is_shown:
            shown = None if shown is None else replace(shown, evidence="nothing")
    last = stages[-1]
    if shown is not None and shown.evidence in ("nothing", "write"):
        if shown.evidence == "write":
            writes.append(shown)
        shown = None
    return Plans(shown, tuple(writes), last.is_shown and not _is_silent(stages))


def _is_silent(stages: tuple[Invocation, ...]) -> bool:
    first = stages[0]
    if len(stages) > 1:
        return False
    if first.program in _SILENT:
        return True
    if first.program in ("grep", "egrep", "fgrep", "rg"):
        return scan(first.args, "efmABCdD").has("q", "quiet")
    if first.program in ("sed", "gsed"):
        return scan(first.args, "efl").has("i", "in-place")
    return _is_quiet_download(first)


def _is_quiet_download(stage: Invocation) -> bool:
    if stage.program not in ("curl", "wget"):
        return False
    flags = scan(stage.args, "oHXdAuebmwT")
    if stage.program == "curl":
        return flags.has("s", "silent") and flags.has("o", "O", "output", "remote-name")
    return flags.has("q", "quiet") and not flags.has("O")


def _next(
    shown: Plan | None, stage: Invocation, before: Invocation | None, writes: list[Plan]
) -> Plan | None:
    if stage.program == "xargs":
        return _through_xargs(shown, stage, before)
    if stage.program == "find":
        inner = exec_command(stage)
        if inner is not None:
            return _inner(inner)
    if before is not None and stage.program == "tee":
        writes += [p for p in plans_of(stage) if p.operands]
        return shown
    if before is not None and stage.program in _SHELLS and shown is not None:
        reason = "a compound command reads the output of another"
        return opaque(stage, reason, operands=shown.operands, is_open=True)
    if before is not None and _runs_its_input(stage):
        if before.script is None or before.program != "cat":
            return opaque(stage, "runs a program that another command prints", is_open=True)
        stage = replace(stage, script=before.script)
    plans = plans_of(stage)
    last = plans[-1]
    has_own = bool(last.operands) and not last.is_loose and last.evidence in _SHOWS
    if has_own and shown is not None and last.evidence == "opaque" and shown.evidence != "nothing":
        return replace(last, operands=(*shown.operands, *last.operands))
    if before is None or shown is None or (plans[0].files and has_own):
        if before is not None and shown is None and not plans[-1].operands:
            return None
        writes += plans[:-1]
        return plans[-1]
    return reshape(shown, stage)


_SHOWS: Final = ("text", "numbers", "names", "opaque")


def _runs_its_input(stage: Invocation) -> bool:
    is_interpreter = stage.program in ("bash", "sh", "zsh") or INTERPRETERS.fullmatch(stage.program)
    return bool(is_interpreter) and set(stage.texts()) <= {"-", "-s"}


def _redirects(stage: Invocation) -> list[Plan]:
    found: list[Plan] = []
    for arg in stage.writes:
        operand = operand_of(arg)
        if operand.kind != "file":
            reason = "writes to a file whose name is not known"
            found.append(opaque(stage, reason, "file_write", (operand,)))
        elif operand.written and not operand.written.startswith(("/dev/", "&")):
            found.append(written(stage, (replace(operand, is_new=not stage.is_appending),)))
    return found


def _through_xargs(shown: Plan | None, stage: Invocation, before: Invocation | None) -> Plan | None:
    stage, holes = xargs_command(stage)
    if not stage.program:
        return shown
    names = _literal_names(before)
    args = [literal(name) for name in names] if names is not None else _fed(shown)
    if holes is None:
        return _inner(replace(stage, args=(*stage.args, *args)))
    filled = tuple(_fill(arg, holes, args[0]) for arg in stage.args)
    return _inner(replace(stage, args=filled))


def _fed(shown: Plan | None) -> list[Arg]:
    """Return the names that a pipeline hands on: those below its folders, or that fit patterns."""
    operands = shown.operands if shown is not None and shown.evidence == "names" else ()
    if operands and all(o.kind == "pattern" for o in operands):
        return [Arg((None,), pattern=o.written) for o in operands]
    is_known = all(o.kind == "file" for o in operands)
    roots = tuple(o.written for o in operands) if is_known else ()
    return [Arg((None,), is_feed=True, roots=roots)]


def _fill(arg: Arg, holes: str, value: Arg) -> Arg:
    text = arg.text
    if text is None or holes not in text:
        return arg
    if text == holes:
        return value
    if value.text is not None:
        return literal(text.replace(holes, value.text))
    return Arg((None,), pattern=text.replace(holes, "*"))


def _literal_names(before: Invocation | None) -> list[str] | None:
    if before is None or before.program not in ("echo", "printf"):
        return None
    texts = [marker.text for marker in printed(before.program, before.args)]
    known = [text for text in texts if text is not None]
    return " ".join(known).split() if len(known) == len(texts) else None


def _inner(stage: Invocation) -> Plan | None:
    if stage.program in _SHELLS:
        feeds = tuple(operand_of(arg) for arg in stage.args if arg.is_feed)
        reason = "runs a script over files that are not named"
        return opaque(stage, reason, operands=feeds, is_open=True)
    return plans_of(stage)[-1]


# --------------------------------------------------------------------------------------------------
# What the later stages of a pipeline do to what the first one shows.

_COUNTERS: Final = frozenset(["wc", "md5sum", "sha1sum", "sha256sum", "cksum"])
_REORDERS: Final = frozenset(["sort", "uniq", "tac", "shuf", "rev"])
_KEEPS: Final = frozenset(["cat", "less", "more", "bat", "tee", "nl", "column", "expand", "fold"])


def reshape(plan: Plan, stage: Invocation) -> Plan:
    """Return ``plan`` as it looks behind one more filter."""
    if plan.evidence in ("nothing", "write"):
        return plan
    program = stage.program
    if program in _COUNTERS:
        return _counted(plan)
    if plan.evidence == "opaque":
        return plan
    if program in SEARCHERS:
        return _searched(plan, stage)
    if program in ("head", "tail"):
        options = scan(stage.args, "nc", "lines bytes")
        wanted = head_spans(options) if program == "head" else tail_spans(options)
        if len(plan.operands) == 1 or plan.evidence != "text":
            return replace(plan, spans=take(plan.spans, wanted))
        return limited(plan, "first" if program == "head" else "last", wanted)
    if program in _REORDERS:
        counts = program == "uniq" and scan(stage.args, "fsw").has("c", "count")
        return _transformed(plan) if counts else replace(plan, spans=None)
    if program in _KEEPS:
        return plan
    if program in ("sed", "gsed", "awk", "gawk") and plan.evidence == "text":
        inner = plan_sed(stage) if "sed" in program else plan_awk(stage)
        plan = replace(plan, is_selective=plan.is_selective or inner.is_selective)
        if len(plan.operands) == 1 or inner.spans == WHOLE or inner.is_selective:
            return replace(plan, spans=take(plan.spans, inner.spans))
        return limited(plan, "first", inner.spans)
    return _transformed(plan)


def _counted(plan: Plan) -> Plan:
    if plan.evidence == "text":
        return replace(plan, access="listed", category="file_search", spans=None)
    if plan.evidence == "numbers":
        return replace(plan, style="count", has_numbers=False)
    return replace(plan, evidence="nothing")


def _searched(plan: Plan, stage: Invocation) -> Plan:
    options = scan(stage.args, "efmABCdD")
    is_inverted = options.has("v", "invert-match")
    inner = plan_search(stage)
    if options.has("q", "quiet"):
        return replace(plan, evidence="nothing")
    if options.has("c", "count"):
        return _counted(plan) if not is_inverted else replace(plan, evidence="nothing")
    if plan.evidence != "text":
        return _transformed(plan) if options.has("o", "n", "only-matching") else plan
    if is_inverted:
        return replace(plan, spans=None, is_selective=True)
    patterns = options.values.get("e") or options.operands[:1]
    return replace(
        plan,
        category="code_search",
        access="matched",
        evidence="numbers",
        spans=None,
        style="match",
        has_numbers=options.has("n", "line-number") and plan.spans == WHOLE,
        ignores_case=inner.ignores_case,
        words=required_words(patterns, options),
        is_selective=True,
    )


def _transformed(plan: Plan) -> Plan:
    """Return the plan behind a filter that rewrites lines: names may survive, numbers do not."""
    if plan.evidence == "text":
        return replace(plan, spans=None, is_selective=True)
    if plan.evidence == "numbers":
        return replace(plan, has_numbers=False, words=())
    if plan.style in ("match", "heading", "records", "count"):
        return replace(plan, style="path", has_numbers=False)
    return plan
