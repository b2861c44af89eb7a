"""Comparisons of configurations and associations of metrics with outcomes; nothing is causal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrieval_eval.agents.study.arms import ConfigPair, PairsCompared, pairs_to_compare
from retrieval_eval.agents.study.associations import (
    Associations,
    associate,
    calibration,
    tiers,
    time_to_first_relevant,
)
from retrieval_eval.agents.study.associations import (
    associations as associations_of,
)
from retrieval_eval.agents.study.compare import (
    FAMILY,
    PRIMARY,
    Comparison,
    compare,
    comparison_of,
    draft_of,
    family_with,
    finish,
    groups_of,
    over_pairs,
    p_of_lead,
)
from retrieval_eval.agents.study.gate import let_through
from retrieval_eval.agents.study.pilot import TasksNeeded, tasks_needed
from retrieval_eval.agents.study.stated import Given, Settings, checked, metrics_named, stated_from
from retrieval_eval.agents.study.trials import Trial, Trials, trials_of
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.schema import now, version_of

__all__ = [
    "Associations",
    "Comparison",
    "TasksNeeded",
    "associate",
    "compare",
    "impact_analysis",
    "tasks_needed",
]


# --------------------------------------------------------------------------------------------------
# ``run_impact_analysis.json``: every comparison, and descriptions of each configuration.


def impact_analysis(
    trials: Trials,
    *,
    seed: int,
    pairs: Sequence[tuple[str, str]] | None = None,
    design: Given = None,
    mcp_configs: Sequence[str] | None = None,
    generated_at: str | None = None,
) -> ImpactAnalysis:
    """Return the impact document over trials of one or several runs.

    It is the export of :func:`~retrieval_eval.compare` for every pair of configurations and of
    :func:`~retrieval_eval.associate`. Associations, tiers, calibration and time to first relevant
    use the trials that the validity gate let through
    (:func:`~retrieval_eval.agents.study.gate.let_through`); the document has their number.

    The result does not depend on the order of the trials. Language and statistics are
    associational: nothing here states that retrieval caused an outcome.

    Parameters
    ----------
    trials
        A frame of trials, or their metrics.
    seed
        Seed of every resampling.
    pairs
        The (baseline, comparison) pairs of configurations to compare, stated in advance; by
        default every pair (of many configurations those that
        :func:`~retrieval_eval.agents.study.arms.pairs_to_compare` chooses), and then the p of each
        is adjusted over all of them.
    design
        What was meant, as for :func:`~retrieval_eval.compare`; by default inferred.
    mcp_configs
        The configurations that must use MCP, the others being meant not to; by default inferred
        from their trials.
    generated_at
        The document's time stamp; by default the present.
    """
    stated = stated_from(design)
    ordered = trials_of(trials, scales=stated.reward_scale)
    configs = sorted({trial.config_name for trial in ordered})
    if ordered:
        stated = checked(stated, ordered).with_mcp(mcp_configs, configs)
    settings = Settings(seed, confidence=1 - stated.level, stated=stated)
    chosen = (
        pairs_to_compare(ordered, stated)
        if pairs is None
        else PairsCompared(tuple(pairs), len(pairs))
    )
    valid, counts = let_through(ordered, chosen.pairs, stated)
    associated = associations_of(valid, settings, among=ordered)
    compared = tuple(
        found.record
        for found in _comparisons(ordered, chosen.pairs, settings, is_stated=pairs is not None)
    )
    return ImpactAnalysis(
        schema_version=version_of("run_impact_analysis"),
        generated_at=generated_at or now(),
        run_ids=tuple(sorted({trial.run_id for trial in ordered})),
        association_only=True,
        comparisons=compared,
        pairs_left_out=chosen.left_out,
        groups=groups_of(compared),
        let_through=counts,
        associations=associated.records,
        family=associated.family,
        tiers=tuple(tiers(valid, settings)),
        calibration=tuple(calibration(valid, settings)),
        time_to_first_relevant=tuple(time_to_first_relevant(valid, settings)),
        parameters=settings.to_json(),
    )


def _comparisons(
    trials: Sequence[Trial],
    pairs: Sequence[ConfigPair],
    settings: Settings,
    *,
    is_stated: bool,
) -> Iterator[Comparison]:
    (primary,) = metrics_named([settings.stated.headline or PRIMARY])
    metrics = family_with(primary, FAMILY)
    if is_stated or settings.stated.family == "stated_pair":
        for pair in pairs:
            yield comparison_of(trials, *pair, settings, metrics=metrics, primary=primary)
        return
    drafts = [draft_of(trials, *pair, settings, metrics=metrics, primary=primary) for pair in pairs]
    over = over_pairs([p_of_lead(draft.study) for draft in drafts])
    yield from (finish(draft, family) for draft, family in zip(drafts, over, strict=True))
