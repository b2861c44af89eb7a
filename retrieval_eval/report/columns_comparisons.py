"""The columns of the frames about comparisons: statistics, gate, ledger, views and slices."""

from __future__ import annotations

from typing import Final

from retrieval_eval.report.columns_base import Column, rows

ARMS: Final = rows(
    "text",
    "",
    ("baseline_config", "comparisons[].baseline_config", "first arm"),
    ("comparison_config", "comparisons[].comparison_config", "second arm"),
)

_STATISTICS: Final = (
    Column("n_pairs", "n_pairs", "integer", "tasks", "matched tasks with a value in both arms"),
    *rows(
        "number",
        "of the metric",
        ("mean_baseline", "mean_baseline", "mean of the first arm"),
        ("mean_comparison", "mean_comparison", "mean of the second arm"),
        ("mean_difference", "mean_difference", "comparison − baseline"),
        ("median_difference", "median_difference", "median over tasks"),
        ("ci_low", "ci_low", "lower end of the interval of the mean"),
        ("ci_high", "ci_high", "upper end of the interval of the mean"),
    ),
    *rows(
        "number",
        "0–1",
        ("p_value", "p_value", "two-sided sign-flip p"),
        ("p_holm", "p_holm", "p adjusted over the family of metrics"),
    ),
    Column("rank_biserial", "rank_biserial", "number", "−1–1", "effect of the signed ranks"),
    Column("n_clusters", "n_clusters", "integer", "clusters", "groups resampled together"),
    Column("cluster_by", "cluster_by", "text", "", "what the tasks of a cluster share"),
    *rows(
        "integer",
        "tasks",
        ("wins", "wins", "tasks on which the second arm did better"),
        ("ties", "ties", "tasks without a difference"),
        ("losses", "losses", "tasks on which it did worse"),
    ),
    Column(
        "smallest_detectable_difference",
        "smallest_detectable_difference",
        "number",
        "of the metric",
        "smallest mean difference this n could have shown",
    ),
    Column("reason", "reason", "text", "", "reason code when not computable"),
)

STATISTICS: Final = (
    *ARMS,
    Column("metric", "comparisons[].metrics key", "text", "", "metric"),
    Column("verdict", "comparisons[].verdict", "text", "", "verdict on the pair of configs"),
    Column("is_verdict_metric", "=comparisons[].verdict_metric", "boolean", "", "decides it"),
    Column("direction", "direction", "text", "", "higher_is_better or lower_is_better"),
    *_STATISTICS,
)

VIEW_RESULTS: Final = (
    *ARMS,
    Column("view", "comparisons[].views key", "text", "", "what counts as retrieved"),
    Column("metric", "comparisons[].views/* key", "text", "", "metric"),
    Column("verdict", "comparisons[].views/*/verdict", "text", "", "conclusion under the view"),
    Column("flip", "=comparisons[].flips", "text", "", "`sign` or `verdict` where it turns"),
    *_STATISTICS,
)

GATE: Final = (
    *ARMS,
    Column("rule", "comparisons[].gate/rules[].name", "text", "", "rule of the validity gate"),
    Column("meaning", "meaning", "text", "", "what it finds"),
    Column("failed", "failed", "boolean", "", "whether it withholds the verdict"),
    Column("count", "count", "integer", "trials", "trials it found"),
    Column("n_removed", "n_removed", "integer", "trials", "trials it removed"),
    Column("share_removed", "share_removed", "number", "0–1", "largest share of an arm"),
    Column("detail", "detail", "text", "", "what it rests on"),
    Column("trials", "=trials", "list", "trials", "config, task and trial of every one found"),
)

PAIR_LEDGER: Final = (
    *ARMS,
    Column("arm", "comparisons[].ledger key", "text", "", "config the trials belong to"),
    Column("fate", "=ledger", "text", "", "all, removed, unmatched, used; outcomes_only of used"),
    Column("reason", "=ledger", "text", "", "rule or reason of the fate"),
    Column("n", "=ledger", "integer", "trials", "trials; all = removed + unmatched + used"),
)

SLICES: Final = (
    *ARMS,
    *rows(
        "text",
        "",
        ("dimension", "dimension", "what the tasks are split by"),
        ("level", "level", "part of the split"),
    ),
    Column("n_pairs", "n_pairs", "integer", "tasks", "matched tasks"),
    Column("interpretable", "interpretable", "boolean", "", "at least five tasks"),
    *rows(
        "number",
        "0–1",
        ("mean_baseline", "mean_baseline", "mean file recall of the first arm"),
        ("mean_comparison", "mean_comparison", "mean file recall of the second arm"),
        ("mean_difference", "mean_difference", "comparison − baseline"),
        ("ci_low", "ci_low", "lower end of its interval"),
        ("ci_high", "ci_high", "upper end of its interval"),
    ),
)

FIRST_HITS: Final = (
    Column("config_name", "config_name", "text", "", "config"),
    Column("unit", "unit", "text", "", "seconds, tokens or calls"),
    *rows(
        "integer",
        "trials",
        ("n", "n", "trials watched"),
        ("n_hit", "n_hit", "found a relevant file"),
        ("n_never", "n_never", "never found one: right-censored"),
    ),
    *(
        Column(f"{name}{end}", f"{name}{end}", "number", unit, f"{meaning}{part}")
        for name, unit, meaning in (
            ("share_never", "0–1", "share that never hit"),
            ("median", "of the unit", "by then half had hit"),
            ("restricted_mean", "of the unit", "mean time without a hit within `until`"),
        )
        for end, part in (("", ""), ("_low", ", lower end"), ("_high", ", upper end"))
    ),
    Column("until", "until", "number", "of the unit", "end of the restricted mean"),
)
