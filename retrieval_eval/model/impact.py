"""Impact analysis."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from retrieval_eval.model.common import (
    EMPTY_LIST,
    EMPTY_MAP,
    NULL,
    BodyDigest,
    Count,
    GeneratedAt,
    InputFingerprint,
    Positive,
    Record,
    SecondSchemaVersion,
    Share,
    about,
    null_called,
)
from retrieval_eval.model.design import Design


class UnpairedTask(Record, frozen=True, kw_only=True):
    """An unmatched task."""

    benchmark: str
    task_name: str
    reason: str


class PairedEstimate(Record, frozen=True, kw_only=True):
    """One metric compared pair by pair, outside the family of compared metrics.

    ``estimate`` with its interval and p is the one that is read: what ``headline`` names.
    """

    direction: Annotated[
        Literal["higher_is_better", "lower_is_better"],
        about("Which way is better: higher_is_better or lower_is_better"),
    ]
    kind: Annotated[
        Literal["bounded", "positive", "time", "unbounded"] | None,
        about(
            "What values the metric has: bounded (a share, a reward from 0 to 1), positive (cost, "
            "time, tokens), time (of an event that some trials never reach), unbounded"
        ),
    ] = None
    headline: Annotated[
        Literal["mean_difference", "ratio", "restricted_mean"] | None,
        about(
            "What the estimate is: the ratio of geometric means (comparison / baseline) for "
            "positive metrics, the difference of restricted means for times, else the mean "
            "difference"
        ),
    ] = None
    n_pairs: Annotated[
        Count,
        about(
            "Pairs with a value on both sides; of times, those without a hit included", unit="tasks"
        ),
    ]
    reason: Annotated[
        str | None,
        about("Reason code of a missing estimate, or of the missing interval that is read"),
    ]
    mean_baseline: Annotated[
        float | None,
        about(
            "Mean of the baseline; of times within until, where a trial without a hit counts as "
            "until",
            unit="of the metric",
        ),
    ] = NULL
    mean_comparison: Annotated[
        float | None, about("The same of the comparison", unit="of the metric")
    ] = NULL
    mean_difference: Annotated[
        float | None,
        about(
            "Mean of comparison minus baseline, over tasks, or over clusters where "
            "averaged_over names them",
            unit="of the metric",
        ),
    ] = NULL
    bill_low: Annotated[
        float | None,
        about(
            "For positive metrics: lower end of the interval of the mean difference",
            unit="of the metric",
        ),
    ] = None
    bill_high: Annotated[float | None, about("Upper end of it", unit="of the metric")] = None
    estimate: Annotated[float | None, about("What headline names", unit="of the headline")] = NULL
    ci_low: Annotated[
        float | None, about("Lower end of the interval of the estimate", unit="of the headline")
    ] = NULL
    ci_high: Annotated[float | None, about("Upper end of it", unit="of the headline")] = NULL
    p_value: Annotated[
        Share | None,
        about("Two-sided sign-flip permutation test, or t test of cluster means", unit="0–1"),
    ] = NULL
    smallest_detectable: Annotated[
        float | None,
        about(
            "Smallest difference, or ratio above 1, this n could show with 80 % power",
            unit="of the headline",
        ),
    ] = NULL
    wins: Annotated[
        Count | None,
        about(
            "Tasks on which the comparison did better; of times, never is the latest", unit="tasks"
        ),
    ] = None
    ties: Annotated[Count | None, about("Tasks without a difference", unit="tasks")] = None
    losses: Annotated[Count | None, about("Tasks on which it did worse", unit="tasks")] = None
    cluster_by: Annotated[str | None, about("What the tasks of a cluster share")] = NULL
    n_clusters: Annotated[
        Count | None,
        about("Clusters used; 1: all tasks are of one, and each counts by itself", unit="clusters"),
    ] = NULL
    averaged_over: Annotated[
        Literal["tasks", "clusters", "random_effects"] | None,
        about(
            "What the means, interval and p are of: tasks, or with two to five clusters the "
            "clusters' means, each counting the same. random_effects: the means are of tasks, "
            "estimate and interval of the effects of six or more clusters of uneven size"
        ),
    ] = None
    bound_low: Annotated[
        float | None,
        about(
            "Lower end of the mean difference over all planned tasks, with every lacking "
            "value at its worst; null for metrics without a largest value",
            unit="of the metric",
        ),
    ] = NULL
    bound_high: Annotated[
        float | None, about("The same with every lacking value at its best", unit="of the metric")
    ] = NULL
    n_never_baseline: Annotated[
        Count | None,
        about("For times: tasks of the baseline with a trial that never found one", unit="tasks"),
    ] = None
    n_never_comparison: Annotated[
        Count | None, about("The same of the comparison", unit="tasks")
    ] = None
    until: Annotated[
        float | None,
        about(
            "End of the restricted means: the latest time at which a trial of either arm found one",
            unit="of the metric",
        ),
    ] = None
    n_not_positive: Annotated[
        Count | None,
        about("For positive metrics: pairs with a value of 0 or below; they have no ratio"),
    ] = None
    variance_between: Annotated[
        float | None,
        about(
            "Variance of the estimate's differences between tasks (of log ratios where that is "
            "the ratio), without what repeats explain"
        ),
    ] = None
    variance_within: Annotated[
        float | None,
        about("Variance of those differences that comes from the spread of repeats"),
    ] = None
    always_low: Annotated[
        float | None,
        about(
            "Of a study that is read while trials are added: lower end of the interval of the "
            "headline that holds at every look together",
            unit="of the headline",
        ),
    ] = None
    always_high: Annotated[
        float | None, about("Upper end of that interval", unit="of the headline")
    ] = None
    always_p: Annotated[
        Share | None, about("Two-sided p-value that holds at every look together", unit="0–1")
    ] = None
    always_method: Annotated[
        Literal["betting", "mixture_t"] | None,
        about(
            "betting: exact for values within their range; mixture_t: exact for normal "
            "differences or log ratios, else approximate"
        ),
    ] = None
    n_effective: Annotated[
        float | None,
        about(
            "Equally large clusters that would leave the interval as many degrees of freedom, one "
            "more than it has; null where clusters are not resampled"
        ),
    ] = None
    largest_cluster_share: Annotated[
        Share | None, about("Share of the tasks in the largest of these clusters")
    ] = None


class PairedStatistics(PairedEstimate, frozen=True, kw_only=True):
    """One metric compared pair by pair."""

    p_holm: Annotated[
        Share | None,
        about("Holm's adjusted p of the headline over the compared metrics", unit="0–1"),
    ] = NULL


class PairValues(Record, frozen=True, kw_only=True, gc=False):
    """Both sides."""

    baseline: Annotated[
        float | None, about("Mean over the trials of the first arm", unit="of the metric")
    ]
    comparison: Annotated[
        float | None, about("Mean over the trials of the second arm", unit="of the metric")
    ]
    difference: Annotated[float | None, about("Comparison − baseline", unit="of the metric")]


class MatchedPair(Record, frozen=True, kw_only=True):
    """A matched task."""

    benchmark: Annotated[str, about("Suite")]
    task_name: Annotated[str, about("Task")]
    n_trials_baseline: Annotated[Count | None, about("Repeats averaged", unit="trials")] = None
    n_trials_comparison: Annotated[Count | None, about("Repeats averaged", unit="trials")] = None
    metrics: Annotated[dict[str, PairValues], about("Both sides by metric")]


class NamedTrial(Record, frozen=True, kw_only=True):
    """A trial."""

    config_name: str
    task_name: str
    trial_name: str | None


class GateRule(Record, frozen=True, kw_only=True):
    """A validity rule."""

    name: Annotated[str, about("Rule")]
    meaning: Annotated[str, about("The trials it finds")]
    count: Annotated[Count, about("Trials found", unit="trials")]
    n_removed: Annotated[Count, about("Trials it removed", unit="trials")]
    share_removed: Annotated[
        Share | None, about("Largest share of an arm it removed", unit="0–1")
    ] = NULL
    failed: Annotated[bool, about("Whether it fails the gate, so that there is no verdict")]
    detail: Annotated[str | None, about("The finding it rests on")] = NULL
    trials: Annotated[tuple[NamedTrial, ...], about("Trials found")] = EMPTY_LIST


class Gate(Record, frozen=True, kw_only=True):
    """Arm validity."""

    passed: Annotated[bool, about("No rule failed")]
    failed: Annotated[tuple[str, ...], about("Names of the rules that failed")]
    rules: Annotated[tuple[GateRule, ...], about("Every rule")]


class ArmLedger(Record, frozen=True, kw_only=True):
    """trials = sum of removed + sum of unmatched + used."""

    trials: Annotated[Count, about("Trials of the arm")]
    removed: Annotated[dict[str, Count], about("Trials removed, by rule")]
    unmatched: Annotated[dict[str, Count], about("Valid trials without a partner, by reason")]
    used: Annotated[Count, about("Trials in the pairs")]
    outcomes_only: Annotated[
        dict[str, Count],
        about("Trials in the pairs without recall, by rule, since 1.2; a part of used"),
    ] = EMPTY_MAP
    ran: Annotated[Count | None, about("Trials with any call")] = None
    mcp_called: Annotated[Count | None, about("Trials that called an MCP server")] = None
    mcp_answered: Annotated[Count | None, about("Trials in which an MCP server answered")] = None


class PairLedger(Record, frozen=True, kw_only=True):
    """From all trials to the pairs used."""

    baseline: Annotated[ArmLedger, about("trials = sum of removed + sum of unmatched + used")]
    comparison: Annotated[ArmLedger, about("trials = sum of removed + sum of unmatched + used")]
    n_pairs: Count


class Flip(Record, frozen=True, kw_only=True):
    """A headline that changes under another view."""

    metric: Annotated[str, about("Metric")]
    view: Annotated[str, about("What counts as retrieved there")]
    kind: Annotated[Literal["sign", "verdict"], about("What changes: the sign or the verdict")]
    default: Annotated[
        float | None, about("Mean difference in the default view", unit="of the metric")
    ] = NULL
    there: Annotated[float | None, about("Mean difference in this view", unit="of the metric")] = (
        NULL
    )
    sentence: Annotated[str, about("The change in a sentence")]


class Discrimination(Record, frozen=True, kw_only=True):
    """Whether a metric discriminates between units."""

    metric: Annotated[str, about("Metric")]
    status: Annotated[
        Literal["discriminates", "constant", "saturated", "redundant", "not_computable"],
        about("discriminates, constant, saturated, redundant or not_computable"),
    ]
    detail: Annotated[str | None, about("The numbers behind it")] = None
    with_: Annotated[str | None, about("The metric that a redundant one repeats")] = null_called(
        "with"
    )


class DifferenceAssociation(Record, frozen=True, kw_only=True):
    """Association of two changes."""

    retrieval_metric: Annotated[str, about("Retrieval side")]
    outcome_metric: Annotated[str, about("Outcome side")]
    n: Annotated[Count, about("Matched tasks")]
    computable: Annotated[bool | None, about("Whether there is a coefficient")] = None
    reason: Annotated[str | None, about("Reason code when not computable")] = NULL
    spearman_r: Annotated[
        Annotated[float, Meta(ge=-1, le=1)] | None,
        about("Spearman's rank correlation, ties sharing ranks"),
    ] = NULL
    ci_low: Annotated[float | None, about("Lower end of the interval", unit="−1–1")] = NULL
    ci_high: Annotated[float | None, about("Upper end of the interval", unit="−1–1")] = NULL
    p_value: Annotated[Share | None, about("Two-sided p", unit="0–1")] = NULL
    p_method: Annotated[str | None, about("How p was computed")] = NULL
    p_reason: Annotated[str | None, about("Why there is no p-value")] = NULL
    q_value: Annotated[
        Share | None,
        about("Benjamini-Hochberg over the associations of changes of this comparison"),
    ] = NULL
    interpretation: Annotated[str | None, about("An associational sentence")] = None
    clusters: Annotated[Count | None, about("Distinct tasks")] = None


class PairSlice(Record, frozen=True, kw_only=True):
    """One cell."""

    dimension: Annotated[str, about("what the tasks are split by")]
    level: Annotated[str, about("part of the split")]
    n_pairs: Annotated[Count, about("matched tasks", unit="tasks")]
    interpretable: Annotated[bool, about("at least five tasks")]
    mean_baseline: Annotated[
        float | None, about("mean file recall of the first arm", unit="0–1")
    ] = NULL
    mean_comparison: Annotated[
        float | None, about("mean file recall of the second arm", unit="0–1")
    ] = NULL
    mean_difference: Annotated[float | None, about("comparison − baseline", unit="0–1")] = NULL
    ci_low: Annotated[float | None, about("lower end of its interval", unit="0–1")] = NULL
    ci_high: Annotated[float | None, about("upper end of its interval", unit="0–1")] = NULL


Effect = Literal["none", "lowers", "withholds"]
"""What a threat does to the verdict."""


class Threat(Record, frozen=True, kw_only=True):
    """Something that could overturn the comparison, with its number."""

    name: Annotated[str, about("Which kind, such as few_clusters or lacking_values")]
    value: Annotated[float | None, about("Its number, where there is one")]
    unit: Annotated[str, about("What the number counts or measures")]
    effect: Annotated[Effect, about("What it does to the verdict")]
    sentence: Annotated[str, about("The threat in words")]
    arm: Annotated[
        str | None, about("The configuration it concerns, where it concerns one only")
    ] = None
    estimate: Annotated[
        float | None,
        about(
            "The difference of the verdict's metric without what threatens it, or at its worst",
            unit="of the metric",
        ),
    ] = None
    overturn: Annotated[str | None, about("What it would take to overturn the result")] = None


VerdictState = Literal[
    "better",
    "worse",
    "fragile",
    "equivalent",
    "not_worse",
    "no_detectable_difference",
    "too_few_pairs",
    "no_verdict",
]
"""What a comparison shows."""


class RewardBySuite(PairedEstimate, frozen=True, kw_only=True):
    """The reward of one suite, compared pair by pair."""

    benchmark: Annotated[str, about("Suite")]


class ResolvedArm(Record, frozen=True, kw_only=True):
    """Trials of one arm with a reward of 0 or 1, by whether all expected files were opened."""

    n_all_opened: Annotated[Count, about("Trials that opened every expected file")]
    n_all_opened_resolved: Annotated[Count, about("Those of them with a reward of 1")]
    n_not_all_opened: Annotated[Count, about("Trials that did not")]
    n_not_all_opened_resolved: Annotated[Count, about("Those of them with a reward of 1")]


class Resolved(Record, frozen=True, kw_only=True):
    """Matched tasks by which arm resolved them, where rewards are 0 or 1."""

    n_both: Annotated[Count, about("Resolved by both", unit="tasks")]
    n_only_baseline: Annotated[Count, about("By the baseline alone", unit="tasks")]
    n_only_comparison: Annotated[Count, about("By the comparison alone", unit="tasks")]
    n_neither: Annotated[Count, about("By none", unit="tasks")]
    difference: Annotated[float | None, about("Share of the comparison less the baseline's")]
    ci_low: Annotated[float | None, about("Lower end of Tango's interval of it")]
    ci_high: Annotated[float | None, about("Upper end of it")]
    p_value: Annotated[Share | None, about("McNemar's exact test", unit="0–1")]
    baseline: Annotated[ResolvedArm, about("Trials of the baseline")]
    comparison: Annotated[ResolvedArm, about("Trials of the comparison")]
    by_finding: Annotated[
        float | None,
        about(
            "Part of the difference that comes from how often all expected files were opened; null "
            "where an arm always or never opened them"
        ),
    ]
    by_using: Annotated[
        float | None, about("The rest: from how often trials were resolved when they had, or not")
    ]


class ComparisonDocument(Record, frozen=True, kw_only=True):
    """Two configurations on matched tasks."""

    baseline_config: Annotated[str, about("Reference")]
    comparison_config: Annotated[str, about("Compared with it")]
    computable: Annotated[bool, about("At least three pairs")]
    reason: Annotated[str | None, about("Reason code when not")]
    n_tasks_baseline: Annotated[Count | None, about("Tasks of the baseline")] = None
    n_tasks_comparison: Annotated[Count | None, about("Tasks of the comparison")] = None
    n_pairs: Annotated[Count, about("Matched tasks")]
    excluded: Annotated[
        tuple[UnpairedTask, ...], about("Every task of either config that is no pair")
    ]
    metrics: Annotated[dict[str, PairedStatistics], about("By metric")]
    pairs: Annotated[tuple[MatchedPair, ...], about("The pairs")]
    verdict: Annotated[
        VerdictState,
        about(
            "What the comparison shows; fragile is a clear difference that a threat could "
            "overturn, equivalent a difference that lies within the stated margin"
        ),
    ]
    verdict_metric: Annotated[str, about("The metric it is about")]
    verdict_reason: Annotated[str, about("Why, in a sentence")]
    gate: Annotated[Gate, about("Arm validity")]
    ledger: Annotated[PairLedger, about("From all trials to the pairs used")]
    views: Annotated[
        dict[
            str,
            dict[
                str,
                PairedEstimate | VerdictState,
            ],
        ],
        about("Sensitivity to what retrieved means"),
    ]
    flips: Annotated[tuple[Flip, ...], about("Headlines that depend on the view")]
    discrimination: Annotated[tuple[Discrimination, ...], about("Every compared metric")]
    difference_associations: Annotated[
        tuple[DifferenceAssociation, ...],
        about("Whether a larger change of retrieval goes with a larger change of an outcome"),
    ]
    slices: Annotated[
        tuple[PairSlice, ...],
        about("Paired difference by slice, tasks clustered as in metrics"),
    ]
    cautions: Annotated[
        tuple[str, ...], about("Outcomes that clearly move against the verdict")
    ] = EMPTY_LIST
    threats: Annotated[
        tuple[Threat, ...], about("Threats to the interpretation of the comparison")
    ] = EMPTY_LIST
    overturn: Annotated[str, about("What it would take to overturn the verdict, in a sentence")] = (
        ""
    )
    resolved: Annotated[
        Resolved | None, about("Resolved tasks of both arms; null where rewards are not 0 or 1")
    ] = None
    n_tasks_to_overturn: Annotated[
        Count | None,
        about(
            "Fewest matched tasks, the most influential first, without which the difference is "
            "no longer clear; null where it is not clear",
            unit="tasks",
        ),
    ] = None
    p_over_pairs: Annotated[
        Share | None,
        about(
            "Holm's adjusted p of the verdict's metric over n_family pairs of configurations; "
            "null where the pair was stated in advance",
            unit="0–1",
        ),
    ] = None
    n_family: Annotated[
        Count | None, about("Pairs of configurations that the verdict is adjusted for")
    ] = None
    reward_by_suite: Annotated[
        tuple[RewardBySuite, ...],
        about(
            "The reward of every suite where rewards of several cannot be averaged; empty otherwise"
        ),
    ] = EMPTY_LIST
    design: Annotated[
        Design | None, about("What was meant, stated or inferred, with the source of every part")
    ] = None


class Association(Record, frozen=True, kw_only=True):
    """One association."""

    retrieval_metric: Annotated[str, about("retrieval side")]
    outcome_metric: Annotated[str, about("outcome side")]
    scope: Annotated[Literal["pooled", "config", "suite"], about("pooled, config or suite")]
    group: Annotated[str | None, about("Config or suite of the scope")] = NULL
    n: Annotated[Count, about("Tasks under a config, repeats averaged", unit="observations")]
    computable: Annotated[bool, about("whether there is a coefficient")]
    reason: Annotated[str | None, about("reason code when not computable")]
    spearman_r: Annotated[
        Annotated[float, Meta(ge=-1, le=1)] | None,
        about("Spearman's rank correlation, ties sharing ranks", unit="−1–1"),
    ]
    ci_low: Annotated[float | None, about("lower end of the interval", unit="−1–1")] = NULL
    ci_high: Annotated[float | None, about("upper end of the interval", unit="−1–1")] = NULL
    p_value: Annotated[Share | None, about("two-sided p", unit="0–1")] = NULL
    p_method: Annotated[str | None, about("How p was computed")] = NULL
    p_reason: Annotated[str | None, about("Why there is no p-value")] = NULL
    q_value: Annotated[
        Share | None, about("Benjamini-Hochberg over the pooled family; null elsewhere", unit="0–1")
    ] = NULL
    interpretation: Annotated[str | None, about("An associational sentence")] = None
    clusters: Annotated[Count | None, about("Distinct tasks they come from", unit="tasks")] = None
    sign_change: Annotated[bool | None, about("Every large enough group has the other sign")] = None


class AssociationFamily(Record, frozen=True, kw_only=True):
    """The family the q-values control."""

    m: Annotated[Count, about("Tests with a p-value")]
    declared: Annotated[Count | None, about("Tests declared")] = None
    method: str


class RewardTier(Record, frozen=True, kw_only=True):
    """One tier."""

    config_name: Annotated[str, about("Config")]
    tier: Annotated[
        Literal["none", "below half", "half or more", "all"],
        about("Share of the ground truth that was found"),
    ]
    n: Annotated[Count, about("Tasks", unit="tasks")]
    interpretable: Annotated[bool, about("It rests on enough tasks to be read")]
    mean_reward: Annotated[float | None, about("Mean reward")] = NULL
    ci_low: Annotated[float | None, about("Lower end of its interval")] = NULL
    ci_high: Annotated[float | None, about("Upper end of its interval")] = NULL
    reason: Annotated[str | None, about("Why the configuration's rewards are not averaged")] = NULL


class CalibrationBin(Record, frozen=True, kw_only=True):
    """One cell: the reward of a configuration by how many of the expected files were opened."""

    config_name: Annotated[str, about("Config")]
    dimension: Annotated[
        Literal["all", "candidate_set_size", "evidence_type"], about("What the tasks are split by")
    ]
    level: Annotated[str, about("Part of the split")]
    opened: Annotated[
        Literal["none", "some", "all"], about("How many of the expected files were opened")
    ]
    n: Annotated[Count, about("Tasks", unit="tasks")]
    interpretable: Annotated[bool | None, about("It rests on enough tasks to be read")] = None
    mean_reward: Annotated[float | None, about("Mean reward")] = NULL
    ci_low: Annotated[float | None, about("Lower end of the interval of the reward")] = NULL
    ci_high: Annotated[float | None, about("Upper end of the interval of the reward")] = NULL
    reason: Annotated[str | None, about("Why the configuration's rewards are not averaged")] = NULL


class FirstHitCurve(Record, frozen=True, kw_only=True):
    """One configuration and unit: the share of all trials that found a file by a time."""

    config_name: Annotated[str, about("Config")]
    unit: Annotated[Literal["seconds", "tokens", "calls"], about("Seconds, tokens or calls")]
    n: Annotated[Count, about("Tasks; of repeats the first", unit="tasks")]
    n_hit: Annotated[Count, about("Found a relevant file", unit="tasks")]
    n_never: Annotated[Count, about("Never found one", unit="tasks")]
    curve: Annotated[
        tuple[tuple[float, float], ...], about("Time and share of all n that had hit by then")
    ]
    share_never: Annotated[float | None, about("Share that never hit", unit="0–1")] = NULL
    share_never_low: Annotated[
        float | None, about("Share that never hit, lower end", unit="0–1")
    ] = NULL
    share_never_high: Annotated[
        float | None, about("Share that never hit, upper end", unit="0–1")
    ] = NULL
    median: Annotated[
        float | None,
        about("By then half of all n had hit; null where fewer did", unit="of the unit"),
    ] = NULL
    median_low: Annotated[
        float | None, about("By then half had hit, lower end", unit="of the unit")
    ] = NULL
    median_high: Annotated[
        float | None,
        about("By then half had hit, upper end; null where it may be never", unit="of the unit"),
    ] = NULL


class LetThrough(Record, frozen=True, kw_only=True):
    """One configuration: n_trials is n_used and all removed."""

    config_name: str
    n_trials: Count
    n_used: Count
    removed: Annotated[
        dict[str, Positive], about("Trials by the rule of the gate that removed them")
    ]


class PairsLeftOut(Record, frozen=True, kw_only=True):
    """How many pairs of configurations were compared, where not all were."""

    n_compared: Annotated[int, about("Pairs that were compared")]
    n_pairs: Annotated[int, about("Pairs that there are")]
    most_configs: Annotated[int, about("Up to this many configurations every pair is compared")]
    sentence: Annotated[str, about("The same in words, with how to compare another pair")]


class ImpactAnalysis(Record, frozen=True, kw_only=True):
    """Impact analysis of a run.

    Matched comparisons and associations; nothing here is causal.
    """

    schema_version: SecondSchemaVersion
    generated_at: GeneratedAt
    run_ids: Annotated[tuple[str, ...], about("Runs analysed together")]
    association_only: Annotated[Literal[True], about("Always true: nothing here is causal")]
    comparisons: Annotated[
        tuple[ComparisonDocument, ...],
        about("Every pair of configurations, or those that were stated or chosen"),
    ]
    pairs_left_out: Annotated[
        PairsLeftOut | None,
        about("How many pairs were compared, where there are too many to compare all"),
    ] = None
    groups: Annotated[
        tuple[tuple[str, ...], ...],
        about(
            "Of three configurations or more, those of which no two could be distinguished: no "
            "pair of a group is better or worse. A configuration may be in several; the order "
            "means nothing"
        ),
    ] = EMPTY_LIST
    let_through: Annotated[
        tuple[LetThrough, ...],
        about(
            "Trials that associations, tiers, calibration and time to first relevant use: "
            "those that the gate of at least one comparison let through; one row a "
            "configuration"
        ),
    ] = EMPTY_LIST
    associations: Annotated[
        tuple[Association, ...],
        about("Every association of the declared family, pooled and within"),
    ]
    family: Annotated[AssociationFamily, about("The family the q-values control")]
    tiers: Annotated[
        tuple[RewardTier, ...],
        about("Reward by share of the ground truth found; intervals take tasks as independent"),
    ]
    calibration: Annotated[
        tuple[CalibrationBin, ...],
        about("Reward by expected files opened; intervals take tasks as independent"),
    ]
    time_to_first_relevant: Annotated[
        tuple[FirstHitCurve, ...], about("Share of trials that had found a relevant file by a time")
    ]
    parameters: Annotated[dict[str, Any], about("Seed, number of resamples, confidence")]
    input_fingerprint: InputFingerprint = None
    body_sha256: BodyDigest = None

    @classmethod
    def upgraded(cls, document: Any) -> Any:
        """Return a document of 1.x as one of 2.0.

        There each kind of estimate had fields of its own. Calibration and times to the first hit
        were other numbers, and are left out.
        """
        if not _is_first(document):
            return document
        compared = document.get("comparisons")
        found = {**document, "schema_version": "2.0"}
        found |= {"calibration": [], "time_to_first_relevant": []}
        if isinstance(compared, list):
            found["comparisons"] = [_upgraded_comparison(own) for own in compared]
        return found


def _is_first(document: Any) -> bool:
    version = document.get("schema_version") if isinstance(document, dict) else None
    return isinstance(version, str) and version.startswith("1.")


_ESTIMATE: Final = ("estimate", "ci_low", "ci_high", "p_value", "reason", "smallest_detectable")
_FORMER: Final = {
    "ratio": (
        *("ratio", "ratio_low", "ratio_high", "ratio_p", "ratio_ci_reason"),
        "smallest_detectable_ratio",
    ),
    "restricted_mean": (
        *("restricted_mean_difference", "restricted_mean_low", "restricted_mean_high"),
        *("restricted_mean_p", "restricted_mean_ci_reason", "restricted_mean_detectable"),
    ),
}
"""What the fields of an estimate were called in 1.x, by what leads."""

_OF_MEANS: Final = (
    *("mean_difference", "ci_low", "ci_high", "p_value", "ci_reason"),
    "smallest_detectable_difference",
)


def _upgraded_estimate(own: Any) -> Any:
    if not isinstance(own, dict):
        return own
    leads = own.get("headline")
    former = _FORMER.get(leads, _OF_MEANS) if isinstance(leads, str) else _OF_MEANS
    found = own | {now: own.get(then) for now, then in zip(_ESTIMATE, former, strict=True)}
    if own.get("kind") == "censored":
        found["kind"] = "time"
    if leads == "ratio":
        found |= {"bill_low": own.get("ci_low"), "bill_high": own.get("ci_high")}
        found["reason"] = found["reason"] or own.get("ratio_reason")
    elif leads == "restricted_mean":
        sides = ("mean_baseline", "mean_comparison", "mean_difference")
        found |= {side: own.get(f"restricted_{side}") for side in sides}
        found["n_pairs"] = own.get("n_restricted") or 0
        found["reason"] = own.get("restricted_mean_reason") or found["reason"]
    if found["estimate"] is None:
        found["reason"] = found["reason"] or own.get("reason")
    return found


def _upgraded_comparison(own: Any) -> Any:
    if not isinstance(own, dict):
        return own
    found = dict(own)
    metrics, suites, views = (own.get(n) for n in ("metrics", "reward_by_suite", "views"))
    if isinstance(metrics, dict):
        found["metrics"] = {name: _upgraded_estimate(one) for name, one in metrics.items()}
    if isinstance(suites, list):
        found["reward_by_suite"] = [_upgraded_estimate(one) for one in suites]
    if isinstance(views, dict):
        found["views"] = {
            name: {metric: _upgraded_estimate(one) for metric, one in view.items()}
            if isinstance(view, dict)
            else view
            for name, view in views.items()
        }
    return found
