"""The lines each step may have printed, and how sure it is that they are its own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.traces.shell.output import Output
from retrieval_eval.traces.shell.pipeline import Plans
from retrieval_eval.traces.shell.plan import Plan
from retrieval_eval.traces.shell.segments import Segment
from retrieval_eval.traces.shell.steps import Step

MAX_COMPARISONS: Final = 1_000_000
"""Lines times commands that are compared in one segment; lines beyond it are left out."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The lines a plan may have printed.

    ``is_sole`` is true when no other command printed into them, ``is_certain`` when the command
    is known to have run, ``n_lines`` the exact number of lines when that can be told, and
    ``rivals`` tell what the other commands print that may have printed among them: the style
    of their names, or their kind of evidence. ``contested`` lines can come from the searches of
    more than one file.
    """

    lines: Sequence[str]
    is_sole: bool
    is_certain: bool
    n_lines: int | None = None
    rivals: frozenset[str] = frozenset()
    contested: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was printed."""
        return not any(line.strip() for line in self.lines)


def shared_evidence(
    steps: Sequence[Step],
    plans: Sequence[Plans | None],
    segments: Sequence[Segment],
    output: Output,
    is_error: bool,
) -> list[Evidence]:
    """Return the evidence of each step.

    A step is the sole printer of its lines when every other step of its segment is silent, or
    when all that can print show one and the same file.
    """
    printers: dict[int, list[Plans]] = defaultdict(list)
    lines_of: dict[int, list[str]] = {}
    for planned, segment in zip(plans, segments, strict=True):
        if id(segment) not in lines_of:
            kept = [line for line in segment.lines if line.rstrip() not in segment.noise]
            lines_of[id(segment)] = kept[: MAX_COMPARISONS // max(len(segment.members), 1)]
        if planned is not None and planned.prints and not _has_failed(planned, output):
            printers[id(segment)].append(planned)
    kinds = {key: Counter(_kind(planned) for planned in group) for key, group in printers.items()}
    one_file = {key: _show_one_file(group) for key, group in printers.items()}
    contested = {key: _contested(group, lines_of[key]) for key, group in printers.items()}
    found = []
    for step, planned, segment in zip(steps, plans, segments, strict=True):
        group = printers.get(id(segment), [])
        lines = lines_of[id(segment)]
        is_alone = len(group) == 1
        is_exact = is_alone and not segment.is_cut and not segment.noise
        found.append(
            Evidence(
                lines,
                is_alone or one_file.get(id(segment), False),
                not step.is_conditional and not (is_error and segment.is_cut),
                len(lines) if is_exact else None,
                _rivals(kinds.get(id(segment), Counter()), planned),
                contested.get(id(segment), frozenset()),
            )
        )
    return found


def could_print(plan: Plan, line: str) -> bool:
    """Return whether ``line`` can come from the search that ``plan`` is."""
    if plan.has_numbers and not re.match(r"\d{1,9}:", line):
        return False
    text = line.lower() if plan.ignores_case else line
    words = [w.lower() for w in plan.words] if plan.ignores_case else plan.words
    return not words or any(word in text for word in words)


def _contested(group: Sequence[Plans], lines: Sequence[str]) -> frozenset[str]:
    by_file: dict[str, list[Plan]] = defaultdict(list)
    for planned in group:
        plan = planned.shown
        if plan is not None and plan.evidence == "numbers" and len(plan.files) == 1:
            by_file[plan.path(plan.files[0].written)].append(plan)
    if len(by_file) < 2:
        return frozenset()
    searches = list(by_file.values())
    return frozenset(
        line
        for line in set(lines)
        if sum(any(could_print(plan, line) for plan in plans) for plans in searches) > 1
    )


def _has_failed(planned: Plans, output: Output) -> bool:
    plan = planned.shown
    if plan is None or not plan.operands or len(plan.files) < len(plan.operands):
        return False
    return all(output.failed(operand.written, plan.cwd) for operand in plan.files)


def _rivals(kinds: Counter[str], planned: Plans | None) -> frozenset[str]:
    own = _kind(planned) if planned is not None and planned.prints else None
    return frozenset(kind for kind, count in kinds.items() if count > (kind == own))


def _kind(planned: Plans) -> str:
    plan = planned.shown
    if plan is None:
        return "unknown"
    return plan.style if plan.evidence == "names" else plan.evidence


def _show_one_file(group: Sequence[Plans]) -> bool:
    names = set()
    for planned in group:
        plan = planned.shown
        if plan is None or plan.evidence not in ("text", "numbers") or plan.style == "count":
            return False
        if len(plan.operands) != 1 or plan.operands[0].kind != "file" or plan.access == "listed":
            return False
        names.add((plan.repository, plan.path(plan.operands[0].written)))
    return len(names) == 1
