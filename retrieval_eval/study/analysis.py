"""``run_impact_analysis.json``: every comparison, and descriptions of each configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.schema import SCHEMA_VERSION, now
from retrieval_eval.study.arms import config_pairs
from retrieval_eval.study.associations import associations
from retrieval_eval.study.compare import (
    Comparison,
    comparison_of,
    draft_of,
    finish,
    over_pairs,
    tested,
)
from retrieval_eval.study.each_config import calibration, tiers, time_to_first_relevant
from retrieval_eval.study.gate import let_through
from retrieval_eval.study.settings import Settings
from retrieval_eval.study.trials import Trial, Trials, trials_of


def impact_analysis(
    trials: Trials,
    *,
    seed: int,
    pairs: Sequence[tuple[str, str]] | None = None,
    mcp_configs: Sequence[str] | None = None,
    generated_at: str | None = None,
) -> ImpactAnalysis:
    """Return the impact document over trials of one or several runs.

    It is the export of :func:`~retrieval_eval.compare` for every pair of configurations and of
    :func:`~retrieval_eval.associate`. Associations, tiers, calibration and time to first relevant
    use the trials that the validity gate let through
    (:func:`~retrieval_eval.study.gate.let_through`); the document has their number.

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
        default every pair, and then the p of each is adjusted over all of them.
    mcp_configs
        The configurations that are meant to use MCP; by default inferred from their trials.
    generated_at
        The document's time stamp; by default the present.
    """
    settings = Settings(seed).with_roles(mcp_configs)
    ordered = trials_of(trials)
    chosen = pairs if pairs is not None else tuple(config_pairs(ordered))
    valid, counts = let_through(ordered, chosen, settings.mcp_configs)
    associated = associations(valid, settings, among=ordered)
    return ImpactAnalysis(
        schema_version=SCHEMA_VERSION,
        generated_at=generated_at or now(),
        run_ids=tuple(sorted({trial.run_id for trial in ordered})),
        association_only=True,
        comparisons=tuple(found.record for found in _comparisons(ordered, pairs, settings)),
        let_through=counts,
        associations=associated.records,
        family=associated.family,
        tiers=tuple(tiers(valid, settings)),
        calibration=tuple(calibration(valid, settings)),
        time_to_first_relevant=tuple(time_to_first_relevant(valid, settings)),
        parameters=settings.to_json(),
    )


def _comparisons(
    trials: Sequence[Trial], stated: Sequence[tuple[str, str]] | None, settings: Settings
) -> Iterator[Comparison]:
    if stated is not None:
        yield from (comparison_of(trials, *pair, settings) for pair in stated)
        return
    drafts = [draft_of(trials, *pair, settings) for pair in config_pairs(trials)]
    over = over_pairs([tested(draft.study) for draft in drafts])
    yield from (finish(draft, family) for draft, family in zip(drafts, over, strict=True))
