"""Plans of what a pipeline of commands shows and writes."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.interpreter import PRINT_NAMES
from retrieval_eval.agents.traces.shell.plan import WHOLE, Plan, opaque, operand_of, take
from retrieval_eval.agents.traces.shell.programs import plans_of
from retrieval_eval.agents.traces.shell.programs.elsewhere import exec_command, xargs_command
from retrieval_eval.agents.traces.shell.programs.filters import Effect, effect_of
from retrieval_eval.agents.traces.shell.programs.listing import (
    SEARCHERS,
    plan_search,
    required_words,
)
from retrieval_eval.agents.traces.shell.programs.readers import (
    AWKS,
    counts_lines,
    head_spans,
    limited,
    plan_awk,
    plan_sed,
    tail_spans,
    written,
)
from retrieval_eval.agents.traces.shell.programs.scripts import INTERPRETERS
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, literal, printed, scan, words
from retrieval_eval.records import Access

SILENT: Final = words(
    "true false : test [ [[ set unset export local mkdir rmdir chmod chown kill sleep exit "
    "return break continue read trap wait shopt cp mv install rm touch ln tee redirect source . "
    "alias"
)
"""Programs that print nothing of their own."""

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
    if len(stages) > 1 or first.source is not None:
        return False
    if first.program in SILENT:
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
    is_line_each = stage.texts()[:1] in (["-n1"], ["-L1"]) or stage.texts()[:2] in _ONE_EACH
    stage, holes = xargs_command(stage)
    if stage.program in ("", *PRINT_NAMES):
        if shown is None or shown.evidence != "names":
            return shown if not stage.program else _inner(stage)
        is_each = holes is not None or is_line_each
        keeps = shown.style == "path" and is_each and stage.program in ("", "echo")
        return shown if keeps else replace(shown, is_changed=True)
    names = _literal_names(before)
    args = [literal(name) for name in names] if names is not None else _fed(shown)
    if holes is None:
        return _inner(replace(stage, args=(*stage.args, *args)))
    filled = tuple(_fill(arg, holes, args[0]) for arg in stage.args)
    return _inner(replace(stage, args=filled))


_ONE_EACH: Final = (["-n", "1"], ["-L", "1"])


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


def reshape(plan: Plan, stage: Invocation) -> Plan:
    """Return ``plan`` as it looks behind one more filter."""
    if plan.evidence in ("nothing", "write"):
        return plan
    if stage.program in _COUNTERS:
        return _counted(plan)
    if plan.evidence == "opaque":
        return plan
    if stage.program in SEARCHERS and _searches(plan, stage):
        return _searched(plan, stage)
    effect = effect_of(stage)
    if effect is None:
        return replace(_transformed(plan), is_changed=True)
    if plan.evidence == "text":
        return _text_behind(plan, stage, effect)
    return _lines_behind(plan, stage, effect)


def _text_behind(plan: Plan, stage: Invocation, effect: Effect) -> Plan:
    """Return a plan of content behind a filter: which lines of its files still pass."""
    program = stage.program
    if program in ("head", "tail"):
        options = scan(stage.args, "nc", "lines bytes")
        wanted = head_spans(options) if program == "head" else tail_spans(options)
        if len(plan.operands) == 1:
            return replace(plan, spans=take(plan.spans, wanted))
        return limited(plan, "first" if program == "head" else "last", wanted)
    if program in ("sed", "gsed", *AWKS):
        inner = plan_sed(stage) if "sed" in program else plan_awk(stage)
        if effect.kind == "summarises" and inner.access == "listed":
            return _counted(plan)
        numbers = plan.has_numbers if effect.kind in ("selects", "begins") else inner.has_numbers
        is_selective = plan.is_selective or inner.is_selective
        plan = replace(plan, is_selective=is_selective, has_numbers=numbers)
        if len(plan.operands) == 1 or inner.spans == WHOLE or inner.is_selective:
            return replace(plan, spans=take(plan.spans, inner.spans))
        return limited(plan, "first", inner.spans)
    if program in _IN_ORDER:
        return replace(plan, has_numbers=plan.has_numbers or counts_lines(stage))
    if effect.kind == "selects":
        return replace(plan, spans=None)
    keeps_numbers = plan.has_numbers and effect.kind == "begins"
    return replace(_transformed(plan), has_numbers=keeps_numbers)


_IN_ORDER: Final = frozenset(
    ["cat", "less", "more", "bat", "batcat", "tee", "nl", "expand", "fold"]
)
"""Filters that let all of a content through in its order."""

_BEGINNING_IS_ENOUGH: Final = ("match", "count")
"""Styles whose lines say behind the name of the file that it ends there."""


def _lines_behind(plan: Plan, stage: Invocation, effect: Effect) -> Plan:
    """Return a plan of a search or a listing behind a filter: what its lines still tell."""
    kind = effect.kind
    if plan.style == "heading" and not _keeps_blocks(plan, stage):
        return replace(plan, is_changed=True)
    if plan.style == "headers":
        plan = replace(plan, spans=None)
    if kind == "selects":
        return plan
    if kind == "ends":
        return replace(plan, half="last" if stage.program == "head" else "first")
    if kind == "begins" and not plan.is_counted:
        width = effect.width or 0
        if plan.width is not None:
            # Of two filters one may leave off what the other lets through.
            width = min(plan.width, width) or int(max(plan.width, width) > 0)
        return replace(plan, width=width)
    if kind == "numbers" and not plan.is_counted and plan.width is None:
        return replace(plan, is_counted=True)
    if kind == "names" and not plan.is_counted and plan.evidence == "names":
        if plan.style == "path":
            return plan
        if plan.style == "records":
            return replace(plan, style="path", has_numbers=False)
        if plan.style in _BEGINNING_IS_ENOUGH and not plan.has_context:
            access: Access = "listed" if plan.style == "count" else plan.access
            return replace(plan, style="path", has_numbers=False, access=access, width=None)
    is_changed = plan.evidence == "names" or kind == "summarises"
    return replace(_transformed(plan), is_changed=is_changed)


def _keeps_blocks(plan: Plan, stage: Invocation) -> bool:
    """Return whether lines behind a filter still stand below the name of their file.

    Without the blank lines between them a line of content is one with a number.
    """
    if stage.program in ("head", "tail", "cat", "less", "more", "tee"):
        return True
    return plan.has_numbers and stage.program not in ("sort", "shuf", "tac")


def _counted(plan: Plan) -> Plan:
    if plan.evidence == "text":
        return replace(plan, access="listed", category="file_search", spans=None)
    if plan.evidence == "numbers":
        return replace(plan, style="count", has_numbers=False)
    return replace(plan, evidence="nothing")


def _searches(plan: Plan, stage: Invocation) -> bool:
    """Return whether a search in what a plan prints makes another kind of access of it."""
    options = scan(stage.args, "efmABCdD")
    return plan.evidence == "text" or options.has("q", "quiet", "c", "count")


def _searched(plan: Plan, stage: Invocation) -> Plan:
    options = scan(stage.args, "efmABCdD")
    is_inverted = options.has("v", "invert-match")
    inner = plan_search(stage)
    if options.has("q", "quiet"):
        return replace(plan, evidence="nothing")
    if options.has("c", "count"):
        return _counted(plan) if not is_inverted else replace(plan, evidence="nothing")
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
        return replace(plan, spans=None, is_selective=True, has_numbers=False)
    if plan.evidence == "numbers":
        return replace(plan, has_numbers=False, words=())
    return plan
