"""``run_impact_analysis.json``: comparisons and associations, with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrieval_eval.schema import SCHEMA_VERSION
from retrieval_eval.study.arms import config_pairs, order_of
from retrieval_eval.study.associations import associations
from retrieval_eval.study.compare import compare
from retrieval_eval.study.let_through import let_through
from retrieval_eval.study.rewards import calibration, on_one_scale, tiers
from retrieval_eval.study.settings import Settings
from retrieval_eval.study.timing import time_to_first_relevant


def impact_analysis(
    documents: Sequence[Mapping[str, Any]],
    *,
    seed: int,
    pairs: Sequence[tuple[str, str]] | None = None,
    mcp_configs: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the impact document over the trials' metric documents, without ``generated_at``.

    Associations, tiers, calibration and time to first relevant use the trials that the validity
    gate let through (:func:`~retrieval_eval.study.let_through.let_through`), and say how many.

    The result does not depend on the order of ``documents``. Language and statistics are
    associational: nothing here says that retrieval caused an outcome.

    Parameters
    ----------
    documents
        Metric documents of one or several runs.
    seed
        Seed of every resampling.
    pairs
        The (baseline, comparison) pairs of configurations to compare; by default every pair.
    mcp_configs
        The configurations that are meant to use MCP; by default what their trials used says it.
    """
    stated = None if mcp_configs is None else tuple(mcp_configs)
    settings = Settings(seed, mcp_configs=stated)
    ordered = on_one_scale(sorted(documents, key=order_of))
    chosen = pairs if pairs is not None else tuple(config_pairs(ordered))
    valid = let_through(ordered, chosen, settings.mcp_configs)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_ids": sorted({d["provenance"]["run_id"] for d in ordered}),
        "association_only": True,
        "comparisons": [compare(ordered, *pair, settings) for pair in chosen],
        "let_through": list(valid.rows),
        **associations(valid.documents, settings, among=ordered),
        "tiers": tiers(valid.documents, settings),
        "calibration": calibration(valid.documents, settings),
        "time_to_first_relevant": time_to_first_relevant(valid.documents, settings),
        "parameters": settings.to_json(),
    }
