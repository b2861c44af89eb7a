"""Sentences that need more than one frame: pure, associational, and the same for the same numbers.

No sentence says that a config caused anything: the same tasks were run under both, and what is
reported is how their measurements differ. The verdict is that of the comparison; the report only
words it.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.compare import Comparison
from retrieval_eval.agents.study.frames import is_as_made, reason_label, rule_title
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.stated import ALPHA
from retrieval_eval.agents.study.threats import leading_threats, threat_title
from retrieval_eval.agents.study.verdict import (
    Headline,
    deciding_estimate,
    has_no_estimate,
    is_fragile,
    without_ratio,
)
from retrieval_eval.escape import visible
from retrieval_eval.model.design import PROJECT_FILE
from retrieval_eval.model.impact import (
    ArmLedger,
    ComparisonDocument,
    Discrimination,
    Flip,
    GateRule,
    PairedEstimate,
    PairedStatistics,
)
from retrieval_eval.report.columns import FRAMES
from retrieval_eval.report.headings import inside, percent
from retrieval_eval.report.names import (
    metric_name,
    of,
    rate,
    reason_sentence,
    side_of,
    times,
    unit_of,
)
from retrieval_eval.report.registered import listed
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

MAX_WORDS: Final = 90
CLEAR: Final = ("better", "worse", "fragile")
"""Verdicts of a difference that the measured tasks show."""
UNABLE: Final = ("constant", "saturated")
"""States of a metric in which no difference can show."""
PRICEY: Final = 1.5
"""A cost or time so many times as high is part of the title of a better result."""
MAX_RULE_DETAIL: Final = 160
"""Characters of a rule's detail in a sentence: two configs with their counts."""
MIN_UNITS: Final = 6
"""Associations of fewer observations are not interpreted."""
FEW_UNITS: Final = f"Associations of fewer than {MIN_UNITS} tasks are not interpreted."
PROBES: Final = (
    "util_read_overlap_with_relevant_files",
    "util_write_overlap_with_relevant_files_proxy",
    "util_write_overlap_with_expected_edit_files",
    "util_read_before_write_ratio",
    "chunk_recall",
)
LINES: Final = ("line_recall", "line_precision", "line_f1")


def probes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the probes of a frame of trials, those of lines first where lines are known."""
    known = (name for name in LINES if name in frame and frame[name].notna().any())
    return (*known, *PROBES)


OPAQUE: Final = (
    "Opaque calls may have touched files that no rule could resolve. If their share differs "
    "between configurations, so does what is missed."
)
RANKED: Final = (
    "Files are ranked by first appearance (convention trec): P@k divides by k, nDCG is linear, a "
    "repeated file counts once. A trial without a value is counted as such, never scored 0."
)
MEANS: Final = tuple(
    name for name, m in BY_NAME.items() if m.is_of_view and (m.is_headline or "@" not in name)
)
"""The metrics whose means the report gives."""
NAME_LIMIT: Final = 36

VERDICTS: Final[dict[str, str]] = {
    "better": "better",
    "worse": "worse",
    "fragile": "fragile",
    "equivalent": "equivalent",
    "not_worse": "not worse",
    "no_detectable_difference": "no detectable difference",
    "too_few_pairs": "too few pairs",
    "no_verdict": "no verdict",
}
"""Verdict to its printed name."""

VIEWS: Final[dict[str, tuple[str, str]]] = {
    "accessed": ("every file read or returned", "every file read or returned counts"),
    "opened": ("only files whose content was read", "only opened files count"),
    "structured": (
        "without files known from shell commands only",
        "files known only from shell commands do not count",
    ),
    "listing_discounted": (
        "names only seen in listings come last",
        "names only seen in listings come last",
    ),
}
"""What counts as retrieved to its meaning, and to the clause after “if”."""

_THERE: Final[dict[str, str]] = {
    "better": "the difference is clear (better)",
    "worse": "the difference is clear (worse)",
    "fragile": "a threat could overturn the difference",
    "equivalent": "the two are equivalent",
    "not_worse": "the comparison is not worse by the margin",
    "no_detectable_difference": "the difference is no longer detectable",
    "too_few_pairs": "there are too few pairs for a verdict",
}


DOUBTS: Final[dict[str, str]] = {
    "answer_exposed": "exposed answers",
    "history_compacted": "compacted histories",
    "many_pairs": "the number of pairs",
    "one_task": "one task",
    "other_metrics": "another outcome",
}
"""What could overturn a result, where the title of the threat is no noun of a sentence."""
ON_VERDICT: Final[dict[str, str]] = {
    "withholds": "withholds it",
    "lowers": "makes it fragile",
    "none": "does not change it",
}
"""Effect of a threat on the verdict in words."""


def name(text: str, limit: int = NAME_LIMIT) -> str:
    """Return an untrusted name as it appears in a sentence."""
    return visible(text, limit)


# The answer


_FAULTS: Final = {"model": {"model_differs"}, "harness": {"harness_version_differs"}}
"""What fails where arms differ in what is compared, and the design does not say so."""


def statement_asked(record: ComparisonDocument) -> str | None:
    """Return how to state that what failed the gate is meant so, where it may be.

    The rule about harnesses sees no trial that the one about models removed: of arms that differ
    in both it fails only once the model is stated to be the question.
    """
    stated = record.design.treatment if record.design is not None else None
    failed = set(record.gate.failed) | _FAULTS.get(stated or "", set())
    every = _FAULTS | {"agent": set().union(*_FAULTS.values())}
    asked = next((name for name, faults in every.items() if failed == faults), None)
    place = f"[study] of {PROJECT_FILE}"
    if set(record.gate.failed) == {"missing_verifier_result"}:
        return f'If no trial of the study was scored, state rewards = "none" in {place}.'
    return asked and f'If that is the question, state treatment = "{asked}" in {place}.'


def sentence(text: str, limit: int = 400) -> str:
    """Return a clause of the analysis as a full sentence; names in it are untrusted.

    A name before a colon, such as that of a configuration, keeps its letters.

    Examples
    --------
    >>> sentence("values are missing"), sentence("mcp: named for MCP")
    ('Values are missing.', 'mcp: named for MCP.')
    """
    text = name(text, limit).rstrip(".")
    first = text.partition(" ")[0]
    return f"{text}." if first.endswith(":") else f"{text[:1].upper()}{text[1:]}."


def alpha_of(record: ComparisonDocument) -> float:
    """Return the level of the tests of a comparison."""
    return ALPHA if record.design is None else record.design.alpha


def interval_name(record: ComparisonDocument) -> str:
    """Return how the intervals of a comparison are called, with the share they cover."""
    at = ", every look" if record.design is not None and record.design.is_sequential else ""
    return f"{percent(round(1 - alpha_of(record), 4))} interval{at}"


def _lead(result: PairedEstimate) -> Headline:
    return deciding_estimate(result)


def verdict_title(record: ComparisonDocument) -> str:
    """Return the verdict on the metric it is about, as the title of a page or section."""
    metric = metric_name(record.verdict_metric)
    result = record.metrics.get(record.verdict_metric)
    n = max(result.n_pairs, _lead(result).n) if result else 0
    if result is None or n < MIN_PAIRS:
        tasks = counted(n, "matched task")
        return f"Only {tasks}: too few for a statistic"
    lead = _lead(result)
    if record.verdict == "too_few_pairs" and not has_no_estimate(result):
        tasks = counted(min(lead.n, result.n_pairs), "matched task")
        return f"{tasks}: enough to show the differences, too few for a verdict"
    if lead.estimate is None:
        return f"No paired statistic: {reason_sentence(lead.reason)}"
    found = discrimination_of(record, record.verdict_metric)
    label = inside(metric.label)
    if found is not None and found.status in UNABLE and record.verdict not in CLEAR:
        return f"{metric.label} cannot tell the two configurations apart: {found.status}"
    if record.verdict == "no_detectable_difference":
        text = f"No detectable difference in {label} over {counted(lead.n, 'matched task')}"
        return text + _contrary(record)
    if record.verdict == "equivalent":
        margin = record.design.margin if record.design is not None else None
        within = "the stated margin" if margin is None else metric.value(margin)
        other = name(record.comparison_config)
        return f"Equivalent: {label} with {other} differs by less than {within}"
    if record.verdict == "not_worse":
        margin = record.design.margin if record.design is not None else None
        by = "the stated margin" if margin is None else metric.value(margin)
        return f"Not worse: {label} with {name(record.comparison_config)} is not worse by {by}"
    word = VERDICTS.get(record.verdict, record.verdict).capitalize()
    text = f"{word}: {label} is {_by_how_much(record.verdict_metric, result)}"
    text += f" with {name(record.comparison_config)}"
    if without_ratio(result):
        text += f", on the {lead.n} of {result.n_pairs} tasks that have a ratio"
    if contrary := _contrary(record):
        return text + contrary
    if record.verdict == "fragile":
        return f"{text}, but {_doubt(record)} could overturn this"
    if depends_on_view(record):
        return f"{text}, but this depends on what counts as retrieved"
    return text + _price(record)


def _by_how_much(metric: str, result: PairedEstimate) -> str:
    """Return the leading estimate as ``0.05 higher``, or as ``1.27 times as high``."""
    lead = _lead(result)
    if lead.quantity == "ratio":
        return f"{times(lead.estimate)[1:]} times as high"
    known, unit = metric_name(metric), unit_of(metric)
    amount = f"{known.value(abs(lead.estimate or 0.0))} {unit}".strip()
    return f"{amount} {'higher' if lead.is_larger else 'lower'}"


def _contrary(record: ComparisonDocument) -> str:
    reward = contrary_reward(record)
    return "" if reward is None else f", while reward is {'higher' if is_gain(reward) else 'lower'}"


def _doubt(record: ComparisonDocument) -> str:
    """Return the names of the gravest threats that lower the verdict."""
    lowering = [t for t in leading_threats(record, len(record.threats)) if t.effect == "lowers"]
    named = list(
        dict.fromkeys(DOUBTS.get(t.name) or inside(threat_title(t.name)) for t in lowering)
    )
    return " and ".join(named[:2]) or "a threat"


def _price(record: ComparisonDocument) -> str:
    """Return what a better result costs, where that is clearly and much more."""
    if record.verdict != "better":
        return ""
    for metric in ("cost_usd", "total_tokens", "elapsed_seconds"):
        block = record.metrics.get(metric)
        if block is None or side_of(block, alpha_of(record)) != "worse":
            continue
        lead = _lead(block)
        if lead.quantity == "ratio" and lead.estimate is not None and lead.estimate >= PRICEY:
            label = inside(metric_name(metric).label)
            return f", at {lead.estimate:.1f} times the {label}"
    return ""


def caution(record: ComparisonDocument, n_named: int = 1) -> str:
    """Return what changes with the definition of what is retrieved, or nothing.

    Changes of the verdict's metric are named, at most ``n_named``; the rest is counted.
    """
    own = [f for f in record.flips if f.metric == record.verdict_metric][:n_named]
    parts = [flip_clause(flip, record) for flip in own]
    if rest := len(record.flips) - len(own):
        further = "more result" if own else "result"
        verb = "changes" if rest == 1 else "change"
        parts.append(f"{counted(rest, further)} {verb} with what counts as retrieved")
    return sentence("; ".join(parts)) if parts else ""


def flip_clause(flip: Flip, record: ComparisonDocument) -> str:
    """Return what changes, as ``if only opened files count, the difference changes sign (−0.03)``.

    Only the verdict's metric has a conclusion of its own under a view.
    """
    difference = metric_name(flip.metric).difference(flip.there)
    text = f"if {VIEWS[flip.view][1] if flip.view in VIEWS else name(flip.view)}"
    if flip.kind == "sign":
        return f"{text}, the difference changes sign ({difference})"
    there = str(record.views.get(flip.view, {}).get("verdict", ""))
    if flip.metric != record.verdict_metric or there not in _THERE:
        return f"{text}, the result changes ({difference})"
    return f"{text}, {_THERE[there]}"


def depends_on_view(record: ComparisonDocument) -> bool:
    """Return whether another view changes the sign or the verdict of the verdict's metric."""
    return any(flip.metric == record.verdict_metric for flip in record.flips)


def contrary_reward(record: ComparisonDocument) -> PairedStatistics | None:
    """Return the reward's statistics when they differ clearly, but not the way the verdict says.

    A reader who sees that more was found must not take for granted that more was solved.
    """
    reward = record.metrics.get("reward")
    if reward is None or record.verdict_metric == "reward":
        return None
    is_sure = side_of(reward, alpha_of(record)) != "unclear"
    found = record.metrics.get(record.verdict_metric)
    agrees = record.verdict in CLEAR and found is not None and is_gain(found) == is_gain(reward)
    return reward if is_sure and not agrees else None


def adjusted(record: ComparisonDocument) -> list[str]:
    """Return which differences are significant when all are looked at together."""
    family = {m: r for m, r in record.metrics.items() if r.p_holm is not None}
    if not family:
        return []
    alpha = alpha_of(record)
    clear = {metric: block for metric, block in family.items() if (block.p_holm or 0) < alpha}
    sides = []
    for side in ("better", "worse"):
        own = [
            f"{inside(metric_name(metric).label)}{' (fragile)' if is_fragile(block) else ''}"
            for metric, block in clear.items()
            if is_gain(block) == (side == "better")
        ]
        if own:
            sides.append(f"{side} {listed(own, 6)}")
    found = "; ".join(sides) or "no difference is significant"
    text = f"After correcting for {counted(len(family), 'metric')} (Holm): {found}"
    lead = record.verdict_metric
    if record.verdict in CLEAR and lead in family and lead not in clear:
        text += f"; {inside(metric_name(lead).label)} was chosen in advance and needs none"
    return [f"{text}."]


def pairs_formed(record: ComparisonDocument) -> str:
    """Return how many matched tasks the trials form, and a warning where counts do not add up."""
    if not record.comparison_config:
        return "They form no pairs, because there is no second configuration."
    text = f"They form {counted(record.n_pairs, 'matched task')}; repeats are averaged."
    if all(map(is_balanced, ledgers(record))):
        return text
    return f"{text} These counts do not add up: the analysis is at fault, so do not rely on it."


# What a comparison holds


def is_balanced(arm: ArmLedger) -> bool:
    """Return whether every trial of an arm is removed, unmatched or used."""
    left = sum(arm.removed.values()) + sum(arm.unmatched.values())
    return arm.trials == left + arm.used and sum(arm.outcomes_only.values()) <= arm.used


def arms(record: ComparisonDocument) -> tuple[str, str]:
    """Return the names of the two configs compared."""
    return (record.baseline_config, record.comparison_config)


def ledgers(record: ComparisonDocument) -> tuple[ArmLedger, ArmLedger]:
    """Return the ledgers of the two arms, the baseline first."""
    return (record.ledger.baseline, record.ledger.comparison)


def discrimination_of(record: ComparisonDocument, metric: str) -> Discrimination | None:
    """Return what is known about a metric's power to tell the arms apart."""
    return next((d for d in record.discrimination if d.metric == metric), None)


def is_gain(result: PairedEstimate) -> bool:
    """Return whether the leading estimate points to the better side."""
    return _lead(result).is_larger == (result.direction == "higher_is_better")


# Why trials are not compared


def rule_clause(rule: GateRule, record: ComparisonDocument) -> str:
    """Return what a rule found as a clause with its count of all trials of the arm."""
    if rule.name not in RULES:
        label = reason_label(rule_title(rule.name))
        return f"{_who(rule, record)} fall under the rule “{label}”"
    words = RULES[rule.name]
    if words.subject == "tasks":
        tasks = counted(len({t.task_name for t in rule.trials}) or rule.count, "task")
        return words.clause.format(tasks=tasks)
    if words.subject == "arms":
        detail = f" ({name(rule.detail, MAX_RULE_DETAIL)})" if rule.detail else ""
        return f"{words.clause}{detail}"
    return f"{_who(rule, record)} {words.clause}"


def _who(rule: GateRule, record: ComparisonDocument) -> str:
    by_arm = Counter(trial.config_name for trial in rule.trials)
    if by_arm.total() != rule.count:
        return counted(rule.count, "trial")
    parts = [
        f"{of(by_arm[config], arm.trials)} trials of {name(config)}"
        for config, arm in zip(arms(record), ledgers(record), strict=True)
        if by_arm[config]
    ]
    return " and ".join(parts) or counted(rule.count, "trial")


def failed_sentence(record: ComparisonDocument, limit: int = 2) -> str:
    """Return the failed rules in one sentence, the gravest first."""
    gravity = {rule: words.gravity for rule, words in RULES.items()}
    failed = [rule for rule in record.gate.rules if rule.failed]
    ordered = sorted(failed, key=lambda rule: gravity.get(rule.name, math.inf))
    clauses = [rule_clause(rule, record) for rule in ordered[:limit]]
    if rest := len(ordered) - len(clauses):
        clauses.append(f"{counted(rest, 'further rule')} failed")
    text = "; ".join(clauses)
    return f"{text[:1].upper()}{text[1:]}."


# Findings: a sentence without a full stop from a study, or from a frame of it


NO_VERDICT: Final = "No verdict: the configurations cannot be compared"
FILE_STATUSES: Final = (
    *("edited", "read", "seen", "possible", "missed", "not in the trace", "not known"),
)
"""What may have become of a ground-truth file."""


def withheld(study: Comparison) -> str:
    """Return the finding of a section on differences that are withheld, or the empty text."""
    return NO_VERDICT if study.withheld else ""


DESCRIBES: Final = (
    "The configurations cannot be compared: what follows describes each by itself and is no "
    "comparison."
)


def described(study: Comparison) -> str:
    """Return which trials a description of each configuration is of, as a full sentence."""
    if study.withheld:
        return DESCRIBES
    return f"All {counted(len(study.trials), 'trial')} count here, matched or not."


def admitted(study: Comparison) -> str:
    """Return which trials passed the validity rules and are described, as full sentences."""
    found = study.admitted
    total, used = sum(p.n_trials for p in found), sum(p.n_used for p in found)
    start = f"{DESCRIBES} " if study.withheld else ""
    if used == total:
        return f"{start}Counted here: all {counted(total, 'trial')}; none broke a validity rule."
    removed: Counter[str] = Counter()
    for passed in found:
        removed.update(passed.removed)
    ordered = sorted(removed.items(), key=lambda item: (-item[1], item[0]))
    out = ", ".join(f"{name(reason_label(rule))} ({n:,})" for rule, n in ordered)
    text = f"{start}Counted here: {of(used, total)} trials, those that broke no validity rule"
    text += f"; left out: {out}." if out else "."
    none = [name(p.config_name) for p in found if not p.n_used]
    return f"{text} No trial is left of {listed(none)}." if none else text


def gate(study: Comparison) -> str:
    """Return whether the configurations may be compared, and what the rules removed."""
    record = study.record
    if not study.comparison:
        return "There is only one configuration, so there is nothing to compare"
    n_removed = sum(rule.n_removed for rule in record.gate.rules)
    n_alone = sum(n for arm in ledgers(record) for n in arm.unmatched.values())
    removed = f"{counted(n_removed, 'trial')} removed" if n_removed else "no trial removed"
    removed += f", {n_alone:,} without a partner" if n_alone else ""
    rules = counted(len(record.gate.rules), "rule")
    if not record.gate.failed:
        return f"The configurations may be compared: {rules} passed, {removed}"
    sentence = failed_sentence(record, len(record.gate.failed))
    return (
        f"The configurations cannot be compared: {len(record.gate.failed)} of {rules} failed, "
        f"{removed}. {sentence.rstrip('.')}"
    )


def threats(found: pd.DataFrame) -> str:
    """Return how many threats there are, and which of them change the verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> threats(pd.DataFrame({"title": ["Missing values", "Views"], "effect": ["lowers", "none"]}))
    'Of 2 threats, 1 changes the verdict: missing values'
    """
    strong = found[found["effect"] != "none"]["title"]
    text = f"Of {counted(len(found), 'threat')}, {len(strong) or 'none'} "
    text += "changes the verdict" if len(strong) < 2 else "change the verdict"
    named = dict.fromkeys(inside(str(title)) for title in strong)
    return f"{text}: {listed(list(named))}" if named else text


def designed(found: pd.DataFrame) -> str:
    """Return how many parts of a design were stated, and how many inferred.

    Examples
    --------
    >>> import pandas as pd
    >>> designed(pd.DataFrame({"source": ["inferred: 3 tasks", "default", "study.toml"]}))
    'Of 3 parts of the design, 1 was stated, 1 inferred from the trials, 1 left at its default'
    """
    sources = found["source"].fillna("").astype(str)
    is_inferred = sources.str.startswith(("inferred", "unclear"))
    is_default = sources.str.startswith("default")
    n, n_default = int(is_inferred.sum()), int(is_default.sum())
    stated = len(found) - n - n_default
    return (
        f"Of {counted(len(found), 'part')} of the design, {stated or 'none'} "
        f"{'was' if stated < 2 else 'were'} stated, {n} inferred from the trials, {n_default} left "
        f"at {'its default' if n_default == 1 else 'their defaults'}"
    )


def ledger(study: Comparison) -> str:
    """Return how many trials of each configuration form how many matched tasks."""
    if not study.comparison:
        return "There is no second configuration to pair with"
    used = " and ".join(
        f"{of(arm.used, arm.trials)} trials of {name(config)}"
        for config, arm in zip(arms(study.record), ledgers(study.record), strict=True)
    )
    return f"{used} form {counted(study.record.n_pairs, 'matched task')}"


def every_metric(study: Comparison) -> str:
    """Return which differences are significant when all are looked at together."""
    if not study.comparison:
        return "There is only one configuration, so no difference is tested"
    if study.withheld:
        return withheld(study)
    said = adjusted(study.record)
    return said[0].rstrip(".") if said else "Too few matched tasks for a test"


def every_pair(found: pd.DataFrame) -> str:
    """Return how many pairs of configurations have which verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> every_pair(pd.DataFrame({"verdict": ["better", "no_verdict", "better"]}))
    '3 pairs of configurations: 2 better, 1 no verdict'
    """
    if found.empty:
        return "There is no pair of configurations"
    counts = Counter(VERDICTS[verdict] for verdict in found["verdict"])
    parts = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    pairs = counted(len(found), "pair of configurations", "pairs of configurations")
    if (n_pairs := found.attrs.get("n_pairs")) and is_as_made(found):
        pairs = f"{len(found):,} of {n_pairs:,} pairs of configurations"
    return f"{pairs}: {parts}"


def discrimination(found: pd.DataFrame) -> str:
    """Return whether some metrics cannot tell the configurations apart."""
    status, metrics = found["status"], counted(len(found), "metric")
    if unable := int(status.isin((*UNABLE, "redundant")).sum()):
        return f"{unable} of {metrics} cannot tell the configurations apart"
    able = int((status == "discriminates").sum())
    if not able:
        return "Too few values to say which metrics can tell the configurations apart"
    known = "" if able == len(found) else f"; {len(found) - able} of {metrics} have too few values"
    return f"No metric is constant or repeats another{known}"


def shares(label: str, found: pd.DataFrame, part: str, whole: str) -> str:
    """Return a share for each configuration, the largest first, with its denominator.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"config_name": ["a", "b"], "n": [1, 3], "all": [4, 4]})
    >>> shares("Files missed", rows, "n", "all")
    'Files missed: 75 % with b (3 of 4), 25 % with a (1 of 4)'
    """
    sums = found.groupby("config_name", sort=False)[[part, whole]].sum()
    known = [(str(c), int(n), int(total)) for c, n, total in sums.itertuples() if total]
    ordered = sorted(known, key=lambda row: (-row[1] / row[2], row[0]))
    if not ordered:
        return f"{label}: not computable for any trial"
    parts = [f"{percent(n / total)} with {name(c)} ({of(n, total)})" for c, n, total in ordered]
    return f"{label}: {listed(parts)}"


def exposed(found: pd.DataFrame) -> str:
    """Return how many trials were shown the reference change before they wrote it."""
    if found.empty:
        return "No trial has a file recall"
    n, n_trials = int(found["n_exposed"].sum()), int(found["n_trials"].sum())
    if not n:
        return "No trial was shown the answer before it wrote it"
    were = "trial was" if n_trials == 1 else "trials were"
    return f"{n} of {n_trials} {were} shown the answer before writing it"


def left_open(causes: pd.DataFrame) -> str:
    """Return how many trials leave the recall open, and by how much at most."""
    if causes.empty:
        return "No trace leaves a ground-truth file open"
    trials = causes.drop_duplicates(["run_id", "config_name", "task_name", "trial_name"])
    widest = float(trials["recall_width"].max())
    return (
        f"{counted(len(trials), 'trial')} {'leaves' if len(trials) == 1 else 'leave'} "
        f"ground-truth files open, up to {rate(widest)} of the file recall"
    )


def recall_bounds(trials: pd.DataFrame) -> str:
    """Return how wide the mean recall of the configuration with the least evidence is."""
    if trials.empty:
        return ""
    bounds = ["file_recall_low", "file_recall_high"]
    means = trials.groupby("config_name", sort=False)[bounds].mean()
    width, config, low, high = max(
        (high - low, str(config), low, high)
        for config, low, high in means.itertuples(index=True, name=None)
    )
    if not width > 0:
        return "No mean file recall is left open"
    return f"Mean file recall lies between {rate(low)} and {rate(high)} with {name(config)}"


def most_missed(found: pd.DataFrame) -> str:
    """Return how many ground-truth files every trial missed."""
    if found.empty:
        return "No trial has ground truth"
    n = int((found["n_missed"] == found["n_trials"]).sum())
    return f"{n} of {counted(len(found), 'ground-truth file')} missed by every trial"


def files_read(found: pd.DataFrame) -> str:
    """Return how many files sessions opened, and how many they found but never opened."""
    n = int((found["n_opened"] > 0).sum())
    never = int(((found["n_opened"] == 0) & (found["n_found"] > 0)).sum())
    return f"{counted(n, 'file')} opened; {never} found by a search but never opened"


def reading_notes(found: pd.DataFrame) -> list[str]:
    """Return which files were read again and again, and which found but never opened."""
    again = found[found["n_reads"] > 2 * found["n_opened"].clip(lower=1)]
    again = again.sort_values("n_reads", ascending=False, kind="stable").head(3)
    never = found[(found["n_opened"] == 0) & (found["n_found"] > 0)]["file"].head(3)
    said = [
        f"{visible(file, 200)} {n} times in {opened} sessions"
        for file, n, opened in again[["file", "n_reads", "opened_in"]].itertuples(index=False)
    ]
    notes = [f"Read again and again: {'; '.join(said)}."] if said else []
    if len(never):
        notes.append(f"Found but never opened: {', '.join(visible(f, 200) for f in never)}.")
    return notes


def state(trials: pd.DataFrame) -> str:
    """Return how many trials could be scored."""
    n = int(trials["file_recall"].notna().sum())
    return f"{n} of {counted(len(trials), 'trial')} could be scored"


def truth_confidence(tasks: pd.DataFrame) -> str:
    """Return how many tasks have ground truth that can be trusted most."""
    n = int((tasks["ground_truth_confidence"] == "high").sum())
    return f"High-confidence ground truth: {n} of {counted(len(tasks), 'task')}"


def unread(n_cut: int, n_left_out: int) -> str:
    """Return how many trials and folders were left out or could not be read completely.

    Examples
    --------
    >>> unread(2, 1)
    '2 trials could not be read completely, 1 folder was left out'
    """
    trials = f"{counted(n_cut, 'trial')} could not be read completely"
    verb = "was" if n_left_out == 1 else "were"
    return f"{trials}, {counted(n_left_out, 'folder')} {verb} left out"


def call_label(column: str) -> str:
    """Return what a column of the ledger of tool calls counts."""
    known = {c.name: c.meaning for c in FRAMES["ledger"][1]}
    label = column.replace("_", " ")
    return f"{label}: {inside(known[column])}" if column in known else label


def amount(value: float) -> str:
    """Return a time or a number of tokens with the decimals that it needs.

    Examples
    --------
    >>> amount(3.14), amount(33027.0)
    ('3.1', '33,027')
    """
    return rate(value, 1) if value < 100 else rate(value, 0)


def difference_associations(found: pd.DataFrame) -> str:
    """Return how many associations of differences are significant."""
    known = found[(found["n"] >= MIN_UNITS) & found["spearman_r"].notna()]
    if known.empty:
        return "Too few matched tasks to compare differences with each other"
    n = int((known["q_value"] < ALPHA).sum())
    noun = counted(len(known), "association of differences", "associations of differences")
    return f"After correction (q < 0.05), {n} of {noun} {'is' if n == 1 else 'are'} significant"


# Findings about one trial


def file_statuses(found: pd.DataFrame) -> str:
    """Return what became of the ground-truth files of a trial."""
    counts = Counter(found["status"])
    parts = [f"{counts[status]} {status}" for status in FILE_STATUSES if counts[status]]
    return f"{counted(len(found), 'ground-truth file')}: {', '.join(parts)}"


def hitting_calls(found: pd.DataFrame) -> str:
    """Return how many calls touch an expected file."""
    return f"{of(int(found['hits'].notna().sum()), len(found))} calls touch an expected file"


def hitting_steps(found: pd.DataFrame) -> str:
    """Return how many steps touch a ground-truth file."""
    hits = int(found["hits_ground_truth"].fillna(value=False).sum())
    return f"{of(hits, len(found))} events touch a ground-truth file"


def left_out_items(found: pd.DataFrame) -> str:
    """Return how much a private page leaves out."""
    n = counted(int(found["n"].sum()), "item")
    return f"{n} left out; paths of files, tools, times and numbers are kept"


def regressions(found: pd.DataFrame) -> str:
    """Return how many changes the guard calls regressions."""
    n = int((found["verdict"] == "breach").sum())
    return f"{n} of {len(found)} changes of search are regressions"
