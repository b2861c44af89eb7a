from __future__ import annotations

import math

import pytest

from retrieval_eval.agents.events.evidence import ranking
from retrieval_eval.agents.metrics import DEFAULT_K, measure
from retrieval_eval.agents.metrics.catalog import BY_NAME, FileView, read_metric
from retrieval_eval.model import to_builtins
from tests.trials import trial, truth


def file_metrics(made, k_values=DEFAULT_K, **options) -> dict:
    return to_builtins(measure(made, k_values, **options).file_level_metrics)


def names(files) -> list[str]:
    return [str(f) for f in files]


@pytest.fixture
def mixed():
    """Two expected files: one only listed first and opened late, one found by the shell."""
    return trial(
        truth("src/a.py", "src/b.py"),
        ("listed", "src/x.py src/a.py"),
        ("opened", "src/x.py"),
        ("matched", "src/b.py", {"via": "shell"}),
        ("opened", "src/a.py", {"is_subagent": True}),
        ("written", "src/c.py"),
    )


def test_views_order_the_same_events_differently(mixed):
    assert names(ranking(mixed, "accessed")) == ["src/x.py", "src/a.py", "src/b.py"]
    assert names(ranking(mixed, "opened")) == ["src/x.py", "src/a.py"]
    assert names(ranking(mixed, "structured")) == ["src/x.py", "src/a.py"]
    assert names(ranking(mixed, "listing_discounted")) == ["src/x.py", "src/b.py", "src/a.py"]
    with pytest.raises(ValueError, match="no such view"):
        ranking(mixed, "everything")


def test_hand_computed_metrics(mixed):
    block = file_metrics(mixed, (1, 3, 5))
    assert block["precision"] == {"1": 0.0, "3": 2 / 3, "5": 2 / 5}
    assert block["recall"] == {"1": 0.0, "3": 1.0, "5": 1.0}
    assert block["f1"] == {"1": 0.0, "3": 0.8, "5": pytest.approx(4 / 7)}
    assert block["mrr"] == 0.5
    assert block["map_score"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    ideal = 1 + 1 / math.log2(3)
    assert block["ndcg"]["3"] == pytest.approx((1 / math.log2(3) + 1 / 2) / ideal)
    assert block["file_recall"] == 1.0
    assert block["context_efficiency"] == pytest.approx(2 / 3)
    assert (block["n_retrieved"], block["n_ground_truth"], block["n_repeats"]) == (3, 2, 2)
    assert block["views"]["opened"]["file_recall"] == 0.5
    assert block["reasons"] == {}


def test_what_found_each_file_counts_it_once(mixed):
    assert file_metrics(mixed)["found_by"] == {
        "structured": 1,
        "shell_only": 1,
        "subagent_only": 0,
        "listed_only": 0,
    }


def test_each_agent_has_what_it_retrieved_itself():
    made = trial(
        truth("src/a.py", "src/b.py"),
        ("opened", "src/a.py"),
        ("opened", "src/b.py src/x.py", {"agent": "helper", "is_subagent": True}),
    )
    agents = file_metrics(made)["by_agent"]
    assert {name: (own["n_overlap"], own["n_retrieved"]) for name, own in agents.items()} == {
        "main": (1, 1),
        "helper": (1, 2),
    }


def test_a_view_has_the_files_found_at_their_ranks(mixed):
    view = FileView(mixed, "accessed", (1, 3))
    assert {path for _, path in view.found} == {"src/a.py", "src/b.py"}


def test_writing_is_not_retrieving():
    block = file_metrics(trial(truth("src/a.py"), ("written", "src/a.py")))
    assert (block["file_recall"], block["mrr"], block["n_retrieved"]) == (0.0, 0.0, 0)
    assert block["context_efficiency"] is None
    assert block["precision"]["1"] is None
    assert block["reasons"]["precision@1"] == "nothing_retrieved"
    assert block["never_hit"]


def test_without_ground_truth_there_are_no_numbers():
    block = file_metrics(trial(truth(), ("opened", "src/a.py")))
    assert block == {"computable": False, "reason": "no_ground_truth"}


def test_without_a_trace_there_are_no_numbers():
    block = file_metrics(trial(truth("src/a.py")), reason="no_trace")
    assert block == {"computable": False, "reason": "no_trace"}


def test_time_to_first_relevant():
    found = file_metrics(
        trial(
            truth("src/a.py"),
            ("opened", "src/x.py", {"seconds": 2.0, "tokens": 10}),
            ("matched", "src/y.py src/a.py", {"seconds": 7.5, "tokens": 40, "call_index": 6}),
        )
    )
    assert (found["ttfr_seconds"], found["ttfr_tokens"]) == (7.5, 40)
    assert (found["ttfr_step"], found["ttfr_calls"], found["ttfr_rank"]) == (1, 7, 3)
    assert not found["never_hit"]


def test_never_hit_is_censored_at_the_end_of_the_trial():
    block = file_metrics(trial(truth("src/a.py"), ("opened", "x.py", {"seconds": 9.0})))
    assert block["never_hit"]
    assert block["ttfr_seconds"] is None
    assert block["censored_at_seconds"] == 9.0


def test_own_output_is_not_retrieved():
    block = file_metrics(
        trial(truth("src/a.py"), ("written", "answer.json"), ("opened", "answer.json src/a.py"))
    )
    assert block["n_retrieved"] == 1
    assert block["context_efficiency"] == 1.0


@pytest.mark.parametrize(
    ("seconds", "lasted", "is_known"),
    [
        (7.5, None, True),
        (7.5, 10.0, True),
        (10.9, 10.0, True),
        (11.5, 10.0, False),
        (-2.0, 9, False),
    ],
)
def test_a_first_hit_outside_the_trial_has_no_time(seconds, lasted, is_known):
    made = trial(truth("a.py"), ("opened", "a.py", {"seconds": seconds, "tokens": 40}))
    found = file_metrics(made, lasted=lasted)
    assert found["ttfr_seconds"] == (seconds if is_known else None)
    assert found.get("ttfr_seconds_reason") == (None if is_known else "outside_trial")
    assert (found["never_hit"], found["ttfr_tokens"], found["file_recall"]) == (False, 40, 1.0)
    value = read_metric({"file_level_metrics": found}, BY_NAME["ttfr_seconds"])
    assert value.reason == (None if is_known else "outside_trial")


def test_watching_does_not_go_on_after_the_trial():
    made = trial(truth("a.py"), ("opened", "b.py", {"seconds": 90.0}))
    found = file_metrics(made, lasted=60.0)
    assert found["censored_at_seconds"] is None
    assert found["censored_at_seconds_reason"] == "outside_trial"
    assert file_metrics(made)["censored_at_seconds"] == 90.0
