"""The frames of the demo hold what the simulator planted, trial by trial."""

from __future__ import annotations

from collections import Counter

import pytest

from retrieval_eval.report.names import finite


@pytest.fixture(scope="module")
def planted(demo_plan):
    return {(t.config, t.trial_name): t for t in demo_plan.trials if t.expected is not None}


def test_every_scored_trial_has_its_planted_numbers(demo_run, planted):
    columns = {
        "file_recall": lambda e: e.file_recall,
        "mrr": lambda e: e.mrr,
        "map_score": lambda e: e.map_score,
        "context_efficiency": lambda e: e.context_efficiency,
        "precision@5": lambda e: e.precision["5"],
        "ndcg@10": lambda e: e.ndcg["10"],
        "ttfr_tokens": lambda e: e.first_hit_tokens,
        "util_read_overlap_with_relevant_files": lambda e: e.util_read_overlap,
        "missed_key_evidence:count": lambda e: (e.taxonomy or {}).get("missed_key_evidence"),
    }
    compared = 0
    for _, row in demo_run.trials.iterrows():
        trial = planted.get((row["config_name"], row["trial_name"]))
        if trial is None or trial.expected.file_recall is None:
            continue
        compared += 1
        for column, read in columns.items():
            value = read(trial.expected)
            found = finite(None if row[column] is None else _plain(row[column]))
            if column == "missed_key_evidence:count" and found is not None:
                # What the trace leaves open is not counted as missed.
                found += round(row["recall_width"] * row["n_ground_truth"])
            assert found == (None if value is None else pytest.approx(value)), column
    assert compared == 45


def test_ground_truth_rows_agree_with_planted_recall(demo_run, planted):
    found: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    opened: Counter[tuple[str, str]] = Counter()
    for _, row in demo_run.ground_truth.iterrows():
        key = (row["config_name"], row["trial_name"])
        total[key] += 1
        found[key] += bool(row["is_retrieved"])
        opened[key] += bool(row["is_opened"])
    checked = 0
    for key, trial in planted.items():
        if trial.expected.file_recall is None or not total[key]:
            continue
        checked += 1
        assert found[key] / total[key] == pytest.approx(trial.expected.file_recall), key
        assert opened[key] / total[key] == pytest.approx(trial.expected.util_read_overlap), key
    assert checked == 45


def test_pairs_and_statuses_are_those_planted(demo_run, demo_plan):
    study = demo_run.study
    found = study.estimates.set_index("metric")["n_pairs"].to_dict()
    # A trial without a trace is in no pair, whatever its reward.
    blind = [t for t in demo_plan.trials if t.fate == "degraded" and t.result.reward]
    # A task on which a trial found no file is in the pairs of times, too.
    n_timed = demo_plan.n_pairs["file_recall"]
    planned = demo_plan.n_pairs | {"ttfr_seconds": n_timed, "ttfr_tokens": n_timed}
    assert found == {
        name: n - len(blind) * (name in ("reward", "cost_usd", "elapsed_seconds"))
        for name, n in planned.items()
        if name in found
    }
    statuses = study.tasks["status"].value_counts().to_dict()
    assert statuses["matched and scored"] == demo_plan.n_pairs["file_recall"]
    assert sum(statuses.values()) == 24
    assert statuses["no ground truth"] == 1


def _plain(value):
    import pandas as pd

    return None if pd.isna(value) else value.item() if hasattr(value, "item") else value
