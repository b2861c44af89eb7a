"""Threats of how trials ran and of what else was compared: tools, errors, order, other pairs."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.arms import Arm, tool_label
from retrieval_eval.agents.study.estimates import observed_times
from retrieval_eval.agents.study.gate import by_task
from retrieval_eval.agents.study.threats import SIDES, THREATS, Study, by_arm, kind, only_arm
from retrieval_eval.agents.study.trials import MCP, Trial
from retrieval_eval.agents.study.verdict import OUTCOMES, Headline, apparent, headline_estimate
from retrieval_eval.model.design import ArmDesign
from retrieval_eval.model.impact import Threat
from retrieval_eval.stats.proportions import mcnemar_p
from retrieval_eval.values import counted, signed


@THREATS.register("mcp_role")
@kind(
    title="Use of MCP",
    meaning="name, stated role and use of MCP of an arm disagree, or only some trials used it",
    gravity=34,
)
def _mcp_role(study: Study) -> Iterator[Threat]:
    """Yield a threat for each arm in doubt, and for each of which only some trials called a server.

    Control trials that did so are left to the gate.
    """
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
    known = [roles.control, *(arm for arm, _ in roles.doubt)]
    for arm in study.arms:
        if any(arm is other for other in known) or not 0 < arm.n_callers < arm.n_ran:
            continue

        def is_without(trial: Trial, config: str = arm.config) -> bool:
            return trial.config_name == config and not trial.has_called_mcp

        said, _, estimate = _rest(study, is_without)
        yield Threat(
            name="mcp_role",
            value=arm.n_callers,
            unit="trials",
            effect="none",
            sentence=f"only {arm.use} called an MCP server; without the others{said}",
            arm=arm.config,
            estimate=estimate,
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
        for arm, design in zip(study.arms, study.valid.roles.designs, strict=True):
            n = sum(trial.config_name == arm.config for trial in finding.removed)
            if not n or finding.name not in _USE_RULES:
                continue
            text = f"{n} of {counted(len(arm.trials), 'trial')} of {arm.config} "
            yield Threat(
                name="tool_use",
                value=n / len(arm.trials),
                unit="share of the trials",
                effect="withholds" if finding.is_failed else "none",
                sentence=f"{text}{_USE_RULES[finding.name](design)}: they are left out",
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
        "the reference change was shown",
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
        "the history was summarised",
    )


def _without(
    study: Study, name: str, is_doubtful: Callable[[Trial], bool], what: str
) -> Iterator[Threat]:
    """Yield a threat where trials are doubtful, with the difference of the others."""
    used = study.used
    n_doubtful = tuple(sum(map(is_doubtful, trials)) for trials in used)
    if not any(n_doubtful):
        return
    said, is_overturned, estimate = _rest(study, is_doubtful)
    counts = by_arm(study, n_doubtful, tuple(map(len, used)), "trial", has_all=True)
    yield Threat(
        name=name,
        value=sum(n_doubtful) / sum(map(len, used)),
        unit="share of the trials",
        effect="lowers" if is_overturned else "none",
        sentence=f"{what} in {counts}; without them{said}",
        arm=only_arm(study, n_doubtful),
        estimate=estimate,
        overturn=f"without the trials in which {what}" if is_overturned else None,
    )


def _rest(study: Study, is_doubtful: Callable[[Trial], bool]) -> tuple[str, bool, float | None]:
    """Return the difference without some trials in words, whether it overturns that of all, and it.

    That of all is overturned where the others contradict it, or where they show less than half of
    it, not clearly, or are too few to show anything.
    """
    sample, rest = study.sample, study.sample_of(lambda trial: not is_doubtful(trial))
    test, whole = rest.test(), sample.test()
    n = counted(len(rest.values), "matched task")
    if test is None:
        return f" {n} {'is' if len(rest.values) == 1 else 'are'} left", study.is_clear, None
    is_less = whole is not None and 2 * abs(test.mean) < abs(whole.mean)
    is_lost = is_less and not test.is_clear(study.design.alpha)
    is_overturned = study.overturns(test.mean) or (study.is_clear and is_lost)
    return f", over {n}, {sample.said(test.mean)}", is_overturned, sample.on_scale(test.mean)


# Trials that did not end by themselves

MIN_ERROR_GAP: Final = 0.1
"""Shares of trials ended by an error that differ by more than this are named."""

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
    said, is_overturned, estimate = _rest(study, lambda trial: trial.has_exception)
    is_better = study.found == ("better" if more else "worse") and (
        study.primary.direction == "higher_is_better"
    )
    has_effect = is_one_sided and (is_overturned or not is_better)
    yield Threat(
        name="errors",
        value=shares[more],
        unit="share of the trials",
        effect="lowers" if has_effect else "none",
        sentence=f"a timeout or another error ended {' and '.join(parts)} "
        f"(exact {_p_said(p_value)}); without them{said}",
        arm=study.arms[more].config,
        estimate=estimate,
        overturn=f"if the errors of {study.arms[more].config} made it" if has_effect else None,
    )


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
    before, after = (
        {
            task: sum(trial.has_exception for trial in trials) / len(trials)
            for task, trials in by_task(arm.trials).items()
        }
        for arm in arms
    )
    changes = [after[task] - share for task, share in before.items() if task in after]
    return mcnemar_p(sum(c > 0 for c in changes), sum(c < 0 for c in changes))


def _p_said(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


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
    trials = [[t for pair in study.pairs for t in getattr(pair, side)] for side in SIDES]
    known: tuple[Callable[[Trial], Any], ...] = (
        lambda trial: trial.numbers.get("started_at"),
        lambda trial: trial.batch_timestamp,
    )
    every = ([[start_of(trial) for trial in own] for own in trials] for start_of in known)
    starts = next((s for s in every if all(s) and not any(None in own for own in s)), None)
    if starts is None:
        return
    chance = _chance_before(starts[0], starts[1])
    if APART >= chance >= 1 - APART:
        return
    first = int(chance < 0.5)
    one, other, share = study.arms[first], study.arms[1 - first], max(chance, 1 - chance)
    yield Threat(
        name="run_order",
        value=share,
        unit="chance that one arm's trial came first",
        effect="none",
        sentence=f"trials of {one.config} were run before those of {other.config}: of one each, "
        f"drawn at random, that of {one.config} came first in {100 * share:.0f} % of cases: what "
        "changed in between is part of the difference",
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
    later = sum(n - (bisect_left(ordered, v) + bisect_right(ordered, v)) / 2 for v in first)
    return later / (n * len(first))


_OPENED: Final = "opened"
"""The view that decides with the stated one: a name in a listing is no file that was found."""

MAX_P_OF_REPEATS: Final = 0.01
"""Below this the last repeats are taken to differ from those before them."""


@THREATS.register("repeats_depend")
@kind(
    title="Repeats that depend",
    meaning="the last repeat of a task differs from those before it, as where repeats go on until "
    "one succeeds",
    gravity=65,
)
def _repeats_depend(study: Study) -> Iterator[Threat]:
    found = [_changes_of_last(getattr(pair, side) for pair in study.pairs) for side in SIDES]
    for arm, (up, down) in zip(study.arms, found, strict=True):
        p_value = mcnemar_p(up, down)
        if p_value >= MAX_P_OF_REPEATS or up < down:
            continue
        yield Threat(
            name="repeats_depend",
            value=p_value,
            unit="exact p of a sign test",
            effect="lowers" if study.primary.path[:1] == ("outcome",) else "none",
            sentence=f"the last repeat of {arm.config} has a higher reward than the ones before it "
            f"on {up} of {counted(up + down, 'task')} where they differ ({_p_said(p_value)}): "
            "repeats that go on until one succeeds are no fair sample; compare the first ones",
            arm=arm.config,
            overturn="if only the first repeat of each task counts",
        )


def _changes_of_last(groups: Iterable[Sequence[Trial]]) -> tuple[int, int]:
    """Return on how many tasks the last reward lies above the mean of those before, and below."""
    up = down = 0
    for trials in groups:
        rewards = [
            trial.numbers["reward"]
            for trial in sorted(trials, key=_when)
            if "reward" in trial.numbers
        ]
        if len(rewards) > 1:
            change = rewards[-1] - statistics.fmean(rewards[:-1])
            up, down = up + (change > 1e-9), down + (change < -1e-9)
    return up, down


def _when(trial: Trial) -> tuple[float, str, str]:
    """Return a key by which repeats are in the order in which they ran, as far as is known."""
    start = trial.numbers.get("started_at")
    return (0.0 if start is None else start, trial.batch_timestamp or "", trial.trial_name)


@THREATS.register("view")
@kind(
    title="What counts as retrieved",
    meaning="under another definition of what is retrieved the result is another",
    gravity=60,
)
def _view(study: Study) -> Iterator[Threat]:
    for view in VIEWS if study.is_clear else ():
        block = study.views.get(view)
        if block is None or block.mean_difference is None:
            continue
        there = apparent(block, study.design.alpha)
        if there == study.found:
            continue
        is_lost = view == _OPENED and study.view != _OPENED
        yield Threat(
            name="view",
            value=block.mean_difference,
            unit="mean difference",
            effect="lowers" if is_lost else "none",
            sentence=f"under the view {view} the mean difference is "
            f"{signed(block.mean_difference, 3)} ({there.replace('_', ' ')})",
            estimate=block.mean_difference,
            overturn="if only opened files count as found" if is_lost else None,
        )


# --------------------------------------------------------------------------------------------------
# Threats beside the metric of the verdict: other metrics that pay for it, and other pairs.

PRICES: Final = {"cost_usd": "cost", "elapsed_seconds": "time", "total_tokens": "tokens"}
"""Metrics of what a trial costs, as a sentence names them."""

_RESULTS: Final = {
    "better": "{} is better",
    "worse": "{} is worse",
    "equivalent": "{} is equivalent",
    "not_worse": "{} is not worse",
}


@THREATS.register("other_metrics")
@kind(
    title="Other metrics pay",
    meaning="reward, cost, time or tokens move the other way",
    gravity=10,
)
def _other_metrics(study: Study) -> Iterator[Threat]:
    shown = {
        name: apparent(block, study.design.alpha)
        for name, block in study.blocks.items()
        if name in PRICES.keys() | OUTCOMES and name != study.primary.name
    }
    against = {
        name: headline_estimate(study.blocks[name])
        for name, there in shown.items()
        if there in ("better", "worse") and there != study.found
    }
    label = study.primary.label
    result = _RESULTS.get(study.found, "no detectable difference in {}")
    result = (result if study.headline.p is not None else "{} is undecided").format(label)
    for name in OUTCOMES & against.keys():
        metric, lead = BY_NAME[name], against[name]
        yield Threat(
            name="other_metrics",
            value=lead.estimate,
            unit=metric.unit,
            effect="lowers" if study.is_clear else "none",
            sentence=f"{result}, but {metric.label} is {shown[name]} "
            f"({signed(lead.estimate or 0.0)} over {counted(lead.n, 'task')})",
            estimate=study.headline.estimate,
            overturn=f"if {metric.label} counts, not {label}" if study.is_clear else None,
        )
    prices = {name: lead for name, lead in against.items() if name in PRICES}
    if prices:
        # Of a ratio and its inverse the one that is farther from 1 is the larger.
        largest = max(prices.values(), key=lambda lead: abs(_log(lead)))
        parts = [f"{_amount(name, lead)} the {PRICES[name]}" for name, lead in prices.items()]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        yield Threat(
            name="other_metrics",
            value=largest.estimate,
            unit="times that of the baseline",
            effect="none",
            sentence=f"{result} at {listed} of {study.arms[0].config}",
            estimate=study.headline.estimate,
        )


def _log(lead: Headline) -> float:
    return math.log(lead.estimate) if lead.quantity == "ratio" and lead.estimate else 0.0


def _amount(name: str, lead: Headline) -> str:
    value = lead.estimate or 0.0
    return f"{value:.2f} times" if lead.quantity == "ratio" else f"{signed(value)} {name}"


@THREATS.register("many_pairs")
@kind(
    title="One of many pairs",
    meaning="the pair was not stated in advance, and one of so many is clear by chance",
    gravity=15,
)
def _many_pairs(study: Study) -> Iterator[Threat]:
    over, p_value = study.over, study.headline.p
    if over is None or over.n < 2 or p_value is None or not study.is_clear:
        return
    # The p of a view is not among those that were adjusted; every pair counts against it.
    adjusted = over.p_value if study.view is None else min(1.0, p_value * over.n)
    has_effect = adjusted is None or adjusted >= study.design.alpha
    text = f"one of {over.n} pairs of configurations, and none was stated in advance"
    if adjusted is not None:
        text += f": p is {adjusted:.3f} where all are looked at, and {p_value:.3f} by itself"
    yield Threat(
        name="many_pairs",
        value=adjusted,
        unit="p over pairs",
        effect="lowers" if has_effect else "none",
        sentence=text,
        estimate=study.headline.estimate,
        overturn=f"if all {over.n} pairs are looked at" if has_effect else None,
    )


@THREATS.register("never_hit")
@kind(
    title="Files never found",
    meaning="the faster arm more often never found a file, which leaves open which is faster",
    gravity=70,
)
def _never_hit(study: Study) -> Iterator[Threat]:
    block, primary = study.block, study.primary
    test = study.sample.test() if primary.kind == "time" and study.is_clear else None
    if test is None or block.until is None:
        return
    shares = (
        sum(time is None for time in after) / len(after)
        - sum(time is None for time in before) / len(before)
        for _, before, after in observed_times(study.pairs, primary)
    )
    slope = math.fsum(w * share for w, share in zip(test.weights.tolist(), shares, strict=True))
    if slope * test.mean >= 0:
        return
    later = block.until - test.mean / slope
    never = (block.n_never_baseline or 0, block.n_never_comparison or 0)
    counts = by_arm(study, never, (block.n_pairs,) * 2, "task", has_all=True)
    yield Threat(
        name="never_hit",
        value=later,
        unit=primary.unit,
        effect="lowers",
        sentence=f"no relevant file was found on {counts}: counted up to {later:.0f} in place of "
        f"{block.until:.0f} {primary.unit}, the mean times would be the same",
        estimate=block.estimate,
        overturn=f"if a task without a file counts as {later:.0f} {primary.unit} or more",
    )
