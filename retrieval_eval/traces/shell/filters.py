"""What the later stages of a pipeline do to what the first one shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from retrieval_eval.traces.shell.options import scan
from retrieval_eval.traces.shell.plan import Plan
from retrieval_eval.traces.shell.programs.readers import head_spans, plan_awk, plan_sed, tail_spans
from retrieval_eval.traces.shell.programs.search import SEARCHERS, plan_search, required_words
from retrieval_eval.traces.shell.spans import WHOLE, take
from retrieval_eval.traces.shell.steps import Invocation

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
        return replace(plan, spans=take(plan.spans, wanted) if len(plan.operands) == 1 else None)
    if program in _REORDERS:
        counts = program == "uniq" and scan(stage.args, "fsw").has("c", "count")
        return _transformed(plan) if counts else replace(plan, spans=None)
    if program in _KEEPS:
        return plan
    if program in ("sed", "gsed", "awk", "gawk") and plan.evidence == "text":
        inner = plan_sed(stage) if "sed" in program else plan_awk(stage)
        spans = take(plan.spans, inner.spans)
        return replace(plan, spans=spans, is_selective=plan.is_selective or inner.is_selective)
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
    if plan.style in ("match", "count"):
        return replace(plan, style="path", has_numbers=False)
    return plan
