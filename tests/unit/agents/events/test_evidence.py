"""What a trace proves, leaves open and rules out; exposed answers; agents; functions."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from retrieval_eval.agents.events.evidence import CAUSES
from retrieval_eval.records import Doubt
from tests.scenes import Bench, Call, call, read, shell

FIX = [
    "    limit = read_limit(config)",
    "    if size > limit:",
    "        raise TooLarge(size, limit)",
]
PATCH = (
    "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,5 @@\n def check(size):\n"
    + "".join(f"+{line}\n" for line in FIX)
    + "     return size\n"
)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def unanswered(tool: str, **arguments: str) -> Call:
    return Call(tool, arguments, None)


def test_a_certain_hit_and_a_possible_one_give_a_value_with_bounds(bench):
    seen = bench.look(
        [read("/workspace/src/a.py"), unanswered("Read", file_path="/workspace/src/b.py")],
        "src/a.py",
        "src/b.py",
    )
    assert seen.recall == 0.5
    assert seen.files["file_recall_bounds"] == [0.5, 1.0]
    assert "context_efficiency" not in seen.files["bounds"]
    assert seen.metrics["coverage"]["recall_width"] == 0.5
    assert seen.metrics["coverage"]["possible_files"] == {"no_result": 1}
    assert seen.metrics["coverage"]["possible_calls"] == {"no_result": 1}
    assert seen.labels["missed_key_evidence"] == 0


def test_nothing_certain_and_something_possible_is_not_computable(bench):
    seen = bench.look(
        [read("/workspace/lib/c.py"), unanswered("Grep", pattern="x", path="/workspace/src")]
    )
    for name in ("file_recall", "mrr", "map_score", "context_efficiency"):
        assert seen.files[name] is None
        assert seen.files["reasons"][name] == "evidence_incomplete"
    assert seen.files["file_recall_bounds"] == [0.0, 1.0]
    assert "never_hit" not in seen.files or seen.files["never_hit"] is None
    assert seen.metrics["utilization_probes"]["util_read_overlap_with_relevant_files"] == 0.0


def test_a_search_below_another_folder_leaves_nothing_open(bench):
    seen = bench.look(
        [read("/workspace/lib/c.py"), unanswered("Grep", pattern="x", path="/workspace/lib")]
    )
    assert (seen.recall, seen.files["file_recall_bounds"]) == (0.0, [0.0, 0.0])


def test_bounds_hold_the_rank_that_an_open_call_may_have_changed(bench):
    seen = bench.look([unanswered("Grep", pattern="x"), read("/workspace/src/a.py")])
    assert seen.files["mrr"] == 1.0
    low, high = seen.files["bounds"]["mrr"]
    assert 0 < low < 0.01
    assert high == 1.0


@pytest.mark.parametrize(
    ("calls", "exposed_at"),
    [
        ([read("/workspace/src/a.py"), shell("git show HEAD~1", PATCH)], 1),
        ([call("WebFetch", json.dumps({"diff": PATCH}), url="https://x/pull/1.diff")], 0),
        ([shell("git show HEAD~1", f"+{FIX[0]}\n+{FIX[1]}")], None),
        (
            [
                call("Edit", file_path="/workspace/src/a.py", new_string="\n".join(FIX)),
                shell("git diff", PATCH),
            ],
            None,
        ),
        ([read("/workspace/src/a.py", "1\tdef check(size):\n2\t    return size")], None),
    ],
)
def test_the_reference_change_in_a_result_is_an_exposed_answer(bench, calls, exposed_at):
    task = bench.task(["src/a.py"])
    (task / "tests/reference_fix.patch").write_text(PATCH)
    bench.trial(calls)
    bench.evaluate()
    covered = bench.seen().metrics["coverage"]
    assert covered.get("answer_exposed_at") == exposed_at
    assert ("answer_exposed" in covered["quality_flags"]) is (exposed_at is not None)


def test_each_agent_of_a_trial_has_its_own_recall(bench):
    calls = [
        read("/workspace/src/a.py"),
        Call("Task", {"prompt": "find it"}, "Done.", call_id="t"),
        Call("Read", {"file_path": "/workspace/src/b.py"}, "1\tx", parent="t"),
        Call("Read", {"file_path": "/workspace/lib/c.py"}, "1\tx", parent="t"),
    ]
    agents = bench.look(calls, "src/a.py", "src/b.py").files["by_agent"]
    assert agents["main"] == {
        "n_retrieved": 1,
        "n_overlap": 1,
        "file_recall": 0.5,
        "file_precision": 1.0,
    }
    assert (agents["t"]["n_retrieved"], agents["t"]["file_precision"]) == (2, 0.5)


@pytest.mark.parametrize(
    ("symbol", "text", "n_hit"),
    [
        ("check", "1\tdef check(size):", 1),
        ("Store.check", "4\tfunc (s *Store) check(size int) error {", 1),
        ("check", "9\t    ok = check(size);", 0),
        ("check", "9\tint check(int size) {", 1),
        ("check", "9\tdef check_all(size):", 0),
    ],
)
def test_a_function_is_found_where_its_definition_was_shown(bench, symbol, text, n_hit):
    task = bench.task(["src/a.py"])
    truth = {"files": ["src/a.py"], "symbols": [{"file": "src/a.py", "symbol": symbol}]}
    (task / "tests/ground_truth.json").write_text(json.dumps(truth))
    bench.trial([read("/workspace/src/a.py", text)])
    bench.evaluate()
    block = bench.seen().metrics["chunk_level_metrics"]
    assert (block["functions_hit"], block["functions_total"]) == (n_hit, 1)
    assert block["function_recall"] == n_hit


def test_every_doubt_has_words():
    assert set(CAUSES) == set(get_args(Doubt))
