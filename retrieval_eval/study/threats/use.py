"""Threats of how the trials ran: use of tools, exposed answers, lost history, order, views."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from retrieval_eval.events.retrieved import VIEWS
from retrieval_eval.model.design import ArmDesign
from retrieval_eval.model.impact import Threat
from retrieval_eval.study.arms import tool_label
from retrieval_eval.study.gate import MAX_OPAQUE_GAP
from retrieval_eval.study.threats import THREATS, Study, kind
from retrieval_eval.study.trials import MCP, Trial
from retrieval_eval.study.verdict import apparent
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
    """Yield a threat where trials are doubtful, with the difference of the others.

    The difference is overturned where the others contradict it, or where they show less than half
    of it, not clearly, or are too few to show anything.
    """
    sample = study.sample
    used = [
        [trial for pair in sample.pairs for trial in getattr(pair, side)]
        for side in ("baseline", "comparison")
    ]
    counts = [sum(map(is_doubtful, trials)) for trials in used]
    if not any(counts):
        return
    rest = study.sample_of(lambda trial: not is_doubtful(trial))
    test, whole = rest.test(), sample.test()
    text = f"{what} " + " and ".join(
        f"{n} of {counted(len(trials), 'trial')} of {arm.config}"
        for n, trials, arm in zip(counts, used, study.arms, strict=True)
    )
    has_effect = False
    if test is None:
        text += f"; without them {counted(len(rest.values), 'matched task')} are left"
        has_effect = study.is_clear
    else:
        n = counted(len(rest.values), "matched task")
        text += f"; without them, over {n}, {sample.said(test.mean)}"
        is_less = whole is not None and 2 * abs(test.mean) < abs(whole.mean)
        is_lost = is_less and not test.is_clear(study.design.alpha)
        has_effect = study.overturns(test.mean) or (study.is_clear and is_lost)
    one = [arm.config for n, arm in zip(counts, study.arms, strict=True) if n]
    yield Threat(
        name=name,
        value=sum(counts) / sum(map(len, used)),
        unit="share of the trials",
        effect="lowers" if has_effect else "none",
        sentence=text,
        arm=one[0] if len(one) == 1 else None,
        estimate=None if test is None else sample.on_scale(test.mean),
        overturn=f"without the trials in which {what[:-3]}" if has_effect else None,
    )


# How the arms ran


@THREATS.register("run_order")
@kind(
    title="Order in time",
    meaning="all trials of one arm were run before those of the other",
    gravity=90,
)
def _run_order(study: Study) -> Iterator[Threat]:
    stamps = [
        {t.batch_timestamp for pair in study.pairs for t in getattr(pair, side)}
        for side in ("baseline", "comparison")
    ]
    known = [{stamp for stamp in own if stamp is not None} for own in stamps]
    if not all(known) or any(None in own for own in stamps):
        return
    for first, second in ((0, 1), (1, 0)):
        if max(known[first]) < min(known[second]):
            one, other = study.arms[first].config, study.arms[second].config
            text = (
                f"all trials of {one} were run before those of {other} (until "
                f"{max(known[first])}, from {min(known[second])}): what changed in between is "
                "part of the difference"
            )
            yield Threat(name="run_order", value=None, unit="trials", effect="none", sentence=text)


MIN_OPAQUE_GAP: Final = MAX_OPAQUE_GAP / 3
"""Shares of opaque shell calls that differ by more than this are named."""


@THREATS.register("opaque_share")
@kind(
    title="Opaque calls",
    meaning="the arms differ in the share of shell calls that could not be resolved",
    gravity=80,
)
def _opaque_share(study: Study) -> Iterator[Threat]:
    trials = [
        [t for own in side.values() for t in own]
        for side in (study.valid.baseline, study.valid.comparison)
    ]
    calls = [sum(t.shell_calls for t in own) for own in trials]
    opaque = [sum(t.shell_opaque for t in own) for own in trials]
    shares = [
        n / all_calls if all_calls else 0.0 for n, all_calls in zip(opaque, calls, strict=True)
    ]
    if abs(shares[0] - shares[1]) <= MIN_OPAQUE_GAP:
        return
    parts = [
        f"{n} of {counted(all_calls, 'shell call')} of {arm.config}"
        for n, all_calls, arm in zip(opaque, calls, study.arms, strict=True)
    ]
    more = study.arms[shares[1] > shares[0]]
    yield Threat(
        name="opaque_share",
        value=abs(shares[0] - shares[1]),
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
