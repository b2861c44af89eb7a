"""The independent oracle, compared with values computed by hand on small action lists."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.simulators.model import Action, Result, TaskPlan, TrialPlan
from tests.simulators.moves import OWN_OUTPUT, Touch
from tests.simulators.truth import count_pairs, expect


def action(step: int, *touches: Touch, error: bool = False) -> Action:
    return Action(
        step, "Read", "file_read", None, touches, 10.0 * step, 1000 * step, is_error=error
    )


def task(*files: str, edits=None, chunks=()) -> TaskPlan:
    return TaskPlan("t", "s", files, "ground_truth.json", edits, chunks)


def test_ranking_values_of_a_search_that_finds_two_of_three_files() -> None:
    actions = [
        action(0, Touch("x/n.py", "listed"), Touch("a/m.py", "matched")),
        action(1, Touch("a/m.py", "opened", ((1, 5),))),
        action(2, Touch("a/k.py", "opened", is_whole=True)),
        action(3, Touch("b/l.py", "opened", is_whole=True)),
    ]
    expected = expect(task("a/m.py", "b/l.py", "c/o.py"), actions)
    assert expected.accessed == ("x/n.py", "a/m.py", "a/k.py", "b/l.py")
    assert expected.opened == ("a/m.py", "a/k.py", "b/l.py")
    assert expected.file_recall == pytest.approx(2 / 3)
    assert expected.precision == pytest.approx({"1": 0, "3": 1 / 3, "5": 2 / 5, "10": 2 / 10})
    assert expected.recall == pytest.approx({"1": 0, "3": 1 / 3, "5": 2 / 3, "10": 2 / 3})
    assert expected.mrr == 0.5
    assert expected.map_score == pytest.approx((1 / 2 + 2 / 4) / 3)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert expected.ndcg is not None
    assert expected.ndcg["10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert expected.context_efficiency == 0.5
    assert (expected.first_hit_step, expected.first_hit_rank) == (0, 2)
    assert (expected.first_hit_second, expected.first_hit_tokens) == (0.0, 0)
    assert expected.taxonomy == {
        "irrelevant_retrieval": 2,
        "missed_key_evidence": 1,
        "wrong_evidence_used": 0,
        "unused_correct_retrieval": 2,
        "ambiguity_near_miss": 1,
    }


def test_a_write_is_not_retrieval_and_the_own_output_is_no_evidence() -> None:
    actions = [
        action(0, Touch("a.py", "written")),
        action(1, Touch("b.py", "opened", is_whole=True)),
        action(2, Touch("b.py", "written")),
        action(3, Touch("b.py", "written")),
        action(4, Touch("z.py", "written")),
        action(5, Touch(OWN_OUTPUT, "written")),
    ]
    expected = expect(task("a.py", "b.py", edits=("a.py", "c.py")), actions)
    assert expected.accessed == ("b.py",)
    assert expected.written == ("a.py", "b.py", "z.py")
    assert expected.file_recall == 0.5
    assert expected.first_hit_step == 1
    assert expected.util_write_overlap_proxy == 1.0
    assert expected.util_write_overlap_expected_edits == 0.5
    assert expected.util_read_before_write == pytest.approx(1 / 3)
    assert expected.taxonomy is not None
    assert expected.taxonomy["wrong_evidence_used"] == 1


def test_nothing_found_is_zero_and_nothing_retrieved_has_no_precision() -> None:
    never = expect(task("a.py"), [action(0, Touch("b/b.py", "opened", is_whole=True))])
    assert (never.file_recall, never.mrr, never.context_efficiency) == (0.0, 0.0, 0.0)
    assert never.first_hit_step is None
    empty = expect(task("a.py"), [action(0, error=True)])
    assert (empty.file_recall, empty.precision, empty.context_efficiency) == (0.0, None, None)
    assert empty.recall == {"1": 0.0, "3": 0.0, "5": 0.0, "10": 0.0}


def test_without_ground_truth_only_the_files_are_known() -> None:
    expected = expect(task(), [action(0, Touch("a.py", "opened", is_whole=True))])
    assert expected.accessed == ("a.py",)
    assert expected.file_recall is None
    assert expected.taxonomy is None


def test_line_overlap_counts_lines_and_not_chunks() -> None:
    chunks = (("a.py", 1, 4), ("a.py", 10, 15), ("b.py", 3, 12))
    actions = [
        action(0, Touch("a.py", "opened", ((3, 11),))),
        action(1, Touch("a.py", "matched", ((15, 15),)), Touch("b.py", "listed")),
    ]
    expected = expect(task("a.py", "b.py", chunks=chunks), actions)
    assert expected.chunk_recall == 1.0
    assert expected.line_overlap == pytest.approx((2 + 2 + 1 + 0) / 20)


def test_the_same_folder_of_another_repository_is_no_near_miss() -> None:
    touches = (Touch("one::Makefile", "opened"), Touch("two::Makefile", "opened"))
    expected = expect(task("one::README.md"), [action(0, *touches)])
    assert expected.taxonomy is not None
    assert expected.taxonomy["ambiguity_near_miss"] == 1


def trial(config: str, name: str, reward: float | None, recall: float | None) -> TrialPlan:
    values = expect(
        task("a.py") if recall is not None else task(),
        [action(0, Touch("a.py", "opened", is_whole=True))] if recall else [],
    )
    result = Result(reward, 0.1, 10, 10, 5.0)
    return TrialPlan(
        "r", config, name, name, "s", name, "b", "h", "v", "m", None, "evaluated",
        is_crashed=False, n_calls=0, actions=(), result=result, expected=values,
    )  # fmt: skip


def test_pairs_need_a_value_and_the_same_setup_on_both_sides() -> None:
    trials = [
        trial("base", "t1", 1.0, 1.0),
        trial("base", "t1", 0.5, 1.0),
        trial("mcp", "t1", 1.0, 0.0),
        trial("base", "t2", None, 1.0),
        trial("mcp", "t2", 1.0, 1.0),
        trial("base", "t3", 1.0, None),
        trial("mcp", "t3", 1.0, None),
        trial("base", "t4", 1.0, 1.0),
        trial("base", "t5", 1.0, 1.0),
        replace(trial("mcp", "t5", 1.0, 1.0), model="other"),
        trial("base", "t6", 1.0, 1.0),
        replace(trial("mcp", "t6", 1.0, 1.0), harness_version="other"),
    ]
    pairs = count_pairs(trials, ("base", "mcp"))
    assert pairs["file_recall"] == 2  # t1 and t2
    assert pairs["reward"] == 2  # t1 and t3
    assert pairs["ttfr_seconds"] == 1  # t2
