"""Threats of how the trials ran: use of tools, exposed answers, lost history, order, views."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from retrieval_eval.agents.events.retrieved import VIEWS
from retrieval_eval.agents.study.arms import Arm, tool_label
from retrieval_eval.agents.study.gate import MAX_OPAQUE_GAP, by_task, opaque_calls
from retrieval_eval.agents.study.threats import THREATS, Study, kind
from retrieval_eval.agents.study.trials import MCP, Trial
from retrieval_eval.agents.study.verdict import apparent
from retrieval_eval.model.design import ArmDesign
from retrieval_eval.model.impact import Threat
from retrieval_eval.values import counted, signed


@THREATS.register("mcp_role")
@kind(
    title="Use of MCP",
    meaning="name, stated role and use of MCP of an arm disagree, or only some trials used it",
    gravity=34,
)
def _mcp_role(study: Study) -> Iterator[Threat]:
    roles = study.valid.roles
    for arm, why in roles.doubt:
        yield Threat(
            name="mcp_role",
            value=arm.n_callers,
            unit="trials",
            effect="withholds",
            sentence=f"{arm.config}: {why}",
            arm=arm.config,
        )
    for note in roles.notes:
        text = f"{note}; it is taken as an arm that is meant to"
        yield Threat(name="mcp_role", value=None, unit="trials", effect="none", sentence=text)
    yield from _partial_use(study)


def _partial_use(study: Study) -> Iterator[Threat]:
    """Yield a threat for each arm of which only some trials called an MCP server.

    Control trials that did so, and arms whose role is in doubt, are left to the gate.
    """
    roles = study.valid.roles
    known = [roles.control, *(arm for arm, _ in roles.doubt)]
    for side, arm in zip(("baseline", "comparison"), study.arms, strict=True):
        if any(arm is other for other in known) or not 0 < arm.n_callers < arm.n_ran:
            continue
        own = [
            pair.values(study.column)
            for pair in study.pairs
            if all(trial.has_called_mcp for trial in getattr(pair, side))
        ]
        changes = [b - a for a, b in own if a is not None and b is not None]
        text = f"only {arm.use} called an MCP server"
        mean = math.fsum(changes) / len(changes) if changes else None
        if mean is not None:
            text += (
                f"; over {counted(len(changes), 'matched task')} on which all did, the mean "
                f"difference is {signed(mean, 3)}"
            )
        yield Threat(
            name="mcp_role",
            value=arm.n_callers,
            unit="trials",
            effect="none",
            sentence=text,
            arm=arm.config,
            estimate=mean,
        )


_USE_RULES: Final[Mapping[str, Callable[[ArmDesign], str]]] = {
    "mcp_in_baseline": lambda arm: f"used {_listed(arm.must_not_use)}, which it must not use",
    "dead_mcp_server": lambda arm: (
        f"made no successful call of {_listed((*arm.must_use, *arm.may_use))}"
    ),
}
"""Rules of the gate about what trials used, and what they find in an arm."""


def _listed(tools: Sequence[str]) -> str:
    return " or ".join(map(tool_label, tools)) or tool_label(MCP)


@THREATS.register("tool_use")
@kind(
    title="Arms not as designed",
    meaning="trials used a tool that their arm must not use, or did not use one that it must",
    gravity=5,
)
def _tool_use(study: Study) -> Iterator[Threat]:
    for finding in study.valid.findings:
        if finding.name not in _USE_RULES:
            continue
        for arm, design in zip(study.arms, study.valid.roles.designs, strict=True):
            n = sum(trial.config_name == arm.config for trial in finding.removed)
            if not n:
                continue
            what = _USE_RULES[finding.name](design)
            text = f"{n} of {counted(len(arm.trials), 'trial')} of {arm.config} {what}"
            yield Threat(
                name="tool_use",
                value=n / len(arm.trials),
                unit="share of the trials",
                effect="withholds" if finding.is_failed else "none",
                sentence=f"{text}: they are left out",
                arm=arm.config,
                estimate=study.headline.estimate,
            )


# Trials that may be no retrieval


@THREATS.register("answer_exposed")
@kind(
    title="Answer exposed",
    meaning="agents were shown the reference change, so that finding files was no retrieval",
    gravity=40,
)
def _answer_exposed(study: Study) -> Iterator[Threat]:
    yield from _without(
        study,
        "answer_exposed",
        lambda trial: "answer_exposed_at" in trial.numbers,
        "the reference change was shown in",
    )


@THREATS.register("history_compacted")
@kind(
    title="History compacted",
    meaning="traces begin with a summary of earlier steps, so that accesses may be lost",
    gravity=55,
)
def _history_compacted(study: Study) -> Iterator[Threat]:
    yield from _without(
        study,
        "history_compacted",
        lambda trial: any("compacted" in flag for flag in trial.quality_flags),
        "the history was summarised in",
    )


def _without(
    study: Study, name: str, is_doubtful: Callable[[Trial], bool], what: str
) -> Iterator[Threat]:
    """Yield a threat where trials are doubtful, with the difference of the others."""
    used = [
        [trial for pair in study.sample.pairs for trial in getattr(pair, side)]
        for side in ("baseline", "comparison")
    ]
    counts = [sum(map(is_doubtful, trials)) for trials in used]
    if not any(counts):
        return
    rest = _rest(study, is_doubtful)
    text = f"{what} " + " and ".join(
        f"{n} of {counted(len(trials), 'trial')} of {arm.config}"
        for n, trials, arm in zip(counts, used, study.arms, strict=True)
    )
    one = [arm.config for n, arm in zip(counts, study.arms, strict=True) if n]
    yield Threat(
        name=name,
        value=sum(counts) / sum(map(len, used)),
        unit="share of the trials",
        effect="lowers" if rest.is_overturned else "none",
        sentence=f"{text}; {rest.said}",
        arm=one[0] if len(one) == 1 else None,
        estimate=rest.estimate,
        overturn=f"without the trials in which {what[:-3]}" if rest.is_overturned else None,
    )


@dataclass(frozen=True, slots=True)
class _Rest:
    """The difference without some trials: in words, and whether it overturns that of all."""

    said: str
    is_overturned: bool
    estimate: float | None


def _rest(study: Study, is_doubtful: Callable[[Trial], bool]) -> _Rest:
    """Return the difference without the trials that are doubtful.

    That of all is overturned where the others contradict it, or where they show less than half of
    it, not clearly, or are too few to show anything.
    """
    sample, rest = study.sample, study.sample_of(lambda trial: not is_doubtful(trial))
    test, whole = rest.test(), sample.test()
    n = counted(len(rest.values), "matched task")
    if test is None:
        verb = "is" if len(rest.values) == 1 else "are"
        return _Rest(f"without them {n} {verb} left", study.is_clear, None)
    is_less = whole is not None and 2 * abs(test.mean) < abs(whole.mean)
    is_lost = is_less and not test.is_clear(study.design.alpha)
    return _Rest(
        f"without them, over {n}, {sample.said(test.mean)}",
        study.overturns(test.mean) or (study.is_clear and is_lost),
        sample.on_scale(test.mean),
    )


# Trials that did not end by themselves


_MOST_KINDS: Final = 2
_LONGEST_KIND: Final = 40


@THREATS.register("errors")
@kind(
    title="Timeouts and errors",
    meaning="the trials of one arm were more often ended by a timeout or another error",
    gravity=7,
)
def _errors(study: Study) -> Iterator[Threat]:
    """Yield a threat where errors ended more trials of one arm.

    All trials count, those too that the gate removed: what ended in an error often left no complete
    trace. It could be what makes the difference, or hides one, unless the arm that had the errors
    is the better one nevertheless.
    """
    ended = [[trial for trial in arm.trials if trial.has_exception] for arm in study.arms]
    shares = [len(own) / len(arm.trials) for own, arm in zip(ended, study.arms, strict=True)]
    p_value = _p_of_errors(study.arms)
    is_one_sided = p_value < study.design.alpha
    if not is_one_sided and abs(shares[1] - shares[0]) <= MIN_ERROR_GAP:
        return
    more = int(shares[1] > shares[0])
    parts = [
        f"{len(own)} of {counted(len(arm.trials), 'trial')} of {arm.config}{_kinds_of(own)}"
        for own, arm in zip(ended, study.arms, strict=True)
    ]
    rest = _rest(study, lambda trial: trial.has_exception)
    is_better = study.found == ("better" if more else "worse") and (
        study.primary.direction == "higher_is_better"
    )
    has_effect = is_one_sided and (rest.is_overturned or not is_better)
    p_said = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    yield Threat(
        name="errors",
        value=shares[more],
        unit="share of the trials",
        effect="lowers" if has_effect else "none",
        sentence=f"a timeout or another error ended {' and '.join(parts)} (exact {p_said}); "
        f"{rest.said}",
        arm=study.arms[more].config,
        estimate=rest.estimate,
        overturn=f"if the errors of {study.arms[more].config} made it" if has_effect else None,
    )


MIN_ERROR_GAP: Final = 0.1
"""Shares of trials ended by an error that differ by more than this are named."""


def _kinds_of(trials: Sequence[Trial]) -> str:
    """Return the commonest types of error, as ``: 8 AgentTimeoutError``."""
    types = Counter(trial.exception for trial in trials if trial.exception)
    named = types.most_common(_MOST_KINDS)
    return f" ({', '.join(f'{n} {kind[:_LONGEST_KIND]}' for kind, n in named)})" if named else ""


def _p_of_errors(arms: tuple[Arm, Arm]) -> float:
    """Return the exact two-sided p that errors are as likely in both arms, over shared tasks.

    A sign test of the tasks on which their shares of errors differ; of single trials it is
    McNemar's.
    """
    before, after = (by_task(arm.trials) for arm in arms)
    changes = [
        _error_share(after[task]) - _error_share(before[task]) for task in before if task in after
    ]
    up, down = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    n = up + down
    tail = sum(math.comb(n, k) for k in range(min(up, down) + 1))
    return float(min(1.0, 2 * tail / 2**n))


def _error_share(trials: Sequence[Trial]) -> float:
    return sum(trial.has_exception for trial in trials) / len(trials)


# How the arms ran


APART: Final = 0.9
"""Arms of which a random trial of one started before one of the other with this chance were run
one after the other."""


@THREATS.register("run_order")
@kind(
    title="Order in time",
    meaning="nearly all trials of one arm were run before those of the other",
    gravity=90,
)
def _run_order(study: Study) -> Iterator[Threat]:
    trials = [
        [trial for pair in study.pairs for trial in getattr(pair, side)]
        for side in ("baseline", "comparison")
    ]
    known: tuple[Callable[[Trial], Any], ...] = (
        lambda trial: trial.numbers.get("started_at"),
        lambda trial: trial.batch_timestamp,
    )
    for start_of in known:
        starts = [[start_of(trial) for trial in own] for own in trials]
        if all(starts) and not any(None in own for own in starts):
            break
    else:
        return
    chance = _chance_before(starts[0], starts[1])
    if APART >= chance >= 1 - APART:
        return
    first = int(chance < 0.5)
    one, other = study.arms[first].config, study.arms[1 - first].config
    share = max(chance, 1 - chance)
    if share == 1:
        until, since = max(starts[first]), min(starts[1 - first])
        when = f" (until {_moment(until)}, from {_moment(since)})"
        text = f"all trials of {one} were run before those of {other}{when}"
    else:
        text = (
            f"trials of {one} were run before those of {other}: of one each, drawn at random, that "
            f"of {one} came first in {100 * share:.0f} % of cases"
        )
    yield Threat(
        name="run_order",
        value=share,
        unit="chance that one arm's trial came first",
        effect="none",
        sentence=f"{text}: what changed in between is part of the difference",
    )


def _chance_before(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Return the chance that a random value of one row comes before one of the other.

    Equal values count half.

    Examples
    --------
    >>> _chance_before([1, 2, 3], [3, 4])
    0.9166666666666666
    """
    ordered = sorted(second)
    n = len(ordered)
    later = sum(
        n - (bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in first
    )
    return later / (n * len(first))


def _moment(value: float | str) -> str:
    if isinstance(value, str):
        return value
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(sep=" ", timespec="seconds")[:-6]
    except (ValueError, OverflowError, OSError):
        return f"{value:g} s"


MIN_OPAQUE_GAP: Final = MAX_OPAQUE_GAP / 3
"""Shares of opaque calls that differ by more than this are named."""


@THREATS.register("opaque_share")
@kind(
    title="Opaque calls",
    meaning="the arms differ in the share of their calls that could not be resolved",
    gravity=80,
)
def _opaque_share(study: Study) -> Iterator[Threat]:
    own = [
        opaque_calls(trial for trials in side.values() for trial in trials)
        for side in (study.valid.baseline, study.valid.comparison)
    ]
    gap = own[1].share - own[0].share
    if abs(gap) <= MIN_OPAQUE_GAP:
        return
    parts = [
        f"{calls.n} of {counted(calls.of, 'call')} of {arm.config}"
        for calls, arm in zip(own, study.arms, strict=True)
    ]
    more = study.arms[gap > 0]
    yield Threat(
        name="opaque_share",
        value=abs(gap),
        unit="difference of shares",
        effect="withholds" if "opaque_share_differs" in study.valid.failed else "none",
        sentence=f"{' and '.join(parts)} could not be resolved: more of {more.config} is unseen",
        arm=more.config,
    )


@THREATS.register("view")
@kind(
    title="What counts as retrieved",
    meaning="under another definition of what is retrieved the result is another",
    gravity=60,
)
def _view(study: Study) -> Iterator[Threat]:
    if not study.is_clear:
        return
    for view in VIEWS:
        block = study.views.get(view)
        if block is None or block.mean_difference is None:
            continue
        there = apparent(block, study.design.alpha)
        if there == study.found:
            continue
        yield Threat(
            name="view",
            value=block.mean_difference,
            unit="mean difference",
            effect="none",
            sentence=(
                f"under the view {view} the mean difference is "
                f"{signed(block.mean_difference, 3)} ({there.replace('_', ' ')})"
            ),
            estimate=block.mean_difference,
        )
