"""Trials are found by what a folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from retrieval_eval.io.layout import UNKNOWN_CONFIG, discover, runs_inside
from tests.locking import lock

RESULT = {"task_name": "fix-a-001", "agent_info": {"name": "x"}}
BATCH = {"n_total_trials": 1, "stats": {"n_trials": 1}}
STAMP = "2026-03-02__18-09-51"


def put(root: Path, name: str, content: Any) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize(
    ("levels", "config", "batch"),
    [
        (["mcp", STAMP], "mcp", STAMP),
        (["mcp"], "mcp", None),
        (["mcp", "ccb_fix_a_mcp"], "mcp", None),
        (["mcp", "csb_fix_a_mcp", STAMP], "mcp", STAMP),
        ([STAMP, "mcp"], "mcp", STAMP),
        (["2026-01-01__00-00-00", "mcp", STAMP], "mcp", STAMP),
        ([STAMP], UNKNOWN_CONFIG, STAMP),
        ([], UNKNOWN_CONFIG, None),
    ],
)
def test_levels_between_run_and_trial(
    tmp_path: Path, levels: list[str], config: str, batch: str | None
) -> None:
    place = "/".join([*levels, "mcp_fix-a-001_abc__Xy12345"])
    put(tmp_path, f"{place}/result.json", RESULT | {"task_name": "mcp_fix-a-001_abcdef"})
    if levels:
        put(tmp_path, f"{'/'.join(levels)}/result.json", BATCH)
    (trial,) = discover(tmp_path, "r1").trials
    assert (trial.config_name, trial.batch_timestamp, trial.run_id) == (config, batch, "r1")
    assert trial.trial_name == "mcp_fix-a-001_abc__Xy12345"
    assert trial.task_name == trial.raw_task_name == "mcp_fix-a-001_abcdef"
    assert trial.task_dir is None


@pytest.mark.parametrize("content", ["{", "[]", "null", "{}", '{"task_name": 3}', "\x00"])
def test_a_trial_whose_result_is_broken_is_a_trial(tmp_path: Path, content: str) -> None:
    put(tmp_path, f"c/{STAMP}/django__django-1__aB3dE5f/result.json", content)
    (trial,) = discover(tmp_path, "r").trials
    assert trial.task_name == "django__django-1"


@pytest.mark.parametrize("trace", ["trajectory.json", "claude-code.txt", "sessions/x.jsonl"])
def test_a_trial_that_left_only_its_trace_is_a_trial(tmp_path: Path, trace: str) -> None:
    put(tmp_path, f"c/task-without-hash/agent/{trace}", "")
    (trial,) = discover(tmp_path, "r").trials
    assert trial.task_name == "task-without-hash"


def test_a_trial_that_left_nothing_is_named(tmp_path: Path) -> None:
    put(tmp_path, f"c/{STAMP}/fix-a-001__Xy12345/config.json", {})
    put(tmp_path, f"c/{STAMP}/result.json", BATCH)
    found = discover(tmp_path, "r")
    assert found.trials == ()
    assert [(e.reason, e.detail, e.config_name) for e in found.excluded] == [
        ("nothing_recorded", f"c/{STAMP}/fix-a-001__Xy12345", "c")
    ]


def test_a_level_named_like_a_trial_is_a_level(tmp_path: Path) -> None:
    put(tmp_path, "c/job__baseline/fix__Xy12345/result.json", RESULT)
    put(tmp_path, "c/job__baseline/result.json", "{broken")
    found = discover(tmp_path, "r")
    assert [t.trial_name for t in found.trials] == ["fix__Xy12345"]
    assert found.excluded == ()


def test_the_subtree_of_a_trial_and_our_own_folder_are_not_searched(tmp_path: Path) -> None:
    put(tmp_path, "c/fix__Xy12345/result.json", RESULT)
    put(tmp_path, "c/fix__Xy12345/nested__Xy12345/result.json", RESULT)
    put(tmp_path, "retrieval_events/c/old__Xy12345/result.json", RESULT)
    put(tmp_path, ".git/c/old__Xy12345/result.json", RESULT)
    assert [t.trial_name for t in discover(tmp_path, "r").trials] == ["fix__Xy12345"]


def test_repeats_are_all_kept_in_a_fixed_order(tmp_path: Path) -> None:
    for place in ("b/fix__Bbbbbb2", "b/fix__Aaaaaa1", f"b/{STAMP}/fix__Aaaaaa0", "a/fix__Zzzzzz9"):
        put(tmp_path, f"{place}/result.json", RESULT)
    found = discover(tmp_path, "r").trials
    assert [(t.config_name, t.trial_name) for t in found] == [
        ("a", "fix__Zzzzzz9"),
        ("b", "fix__Aaaaaa1"),
        ("b", "fix__Bbbbbb2"),
        ("b", "fix__Aaaaaa0"),
    ]


@pytest.mark.parametrize(
    "run_id", ["fix_archive_2", "fix__broken", "x__duplicate_1", "x__all_errored", "x__partial"]
)
def test_skipped_run_names(tmp_path: Path, run_id: str) -> None:
    put(tmp_path, "c/fix__Xy12345/result.json", RESULT)
    found = discover(tmp_path, run_id)
    assert found.trials == ()
    assert [(e.path.name, e.reason) for e in found.excluded] == [("fix__Xy12345", "skipped_name")]


def test_every_trial_of_a_skipped_run_is_accounted_for(tmp_path: Path) -> None:
    for place in ("mcp/a__Xy12345", f"mcp/{STAMP}/b__Xy12345", "baseline/c__Xy12345"):
        put(tmp_path, f"{place}/result.json", RESULT)
    found = discover(tmp_path, "r__broken")
    assert found.trials == ()
    assert [(e.config_name, e.reason, e.detail) for e in found.excluded] == [
        ("baseline", "skipped_name", "r__broken/baseline/c__Xy12345"),
        ("mcp", "skipped_name", f"r__broken/mcp/{STAMP}/b__Xy12345"),
        ("mcp", "skipped_name", "r__broken/mcp/a__Xy12345"),
    ]


def test_an_empty_skipped_run_is_named_itself(tmp_path: Path) -> None:
    found = discover(tmp_path, "old_archive")
    assert [(e.path, e.detail) for e in found.excluded] == [(tmp_path, "old_archive")]


@pytest.mark.parametrize("level", ["archive", "Archived", f"mcp/{STAMP}__broken_verifier"])
def test_archive_folders_and_marked_batches_are_skipped(tmp_path: Path, level: str) -> None:
    put(tmp_path, f"{level}/fix__Xy12345/result.json", RESULT)
    put(tmp_path, f"mcp/{STAMP}/fix__Xy12345/result.json", RESULT)
    found = discover(tmp_path, "r")
    assert [t.path.parent.name for t in found.trials] == [STAMP]
    assert [(e.detail, e.reason) for e in found.excluded] == [
        (f"r/{level}/fix__Xy12345", "skipped_name")
    ]


@pytest.mark.parametrize(
    "level",
    [
        "mcp__broken_websearch",
        "mcp/ccb_libarchive-fix-001_mcp",
        "mcp/ccb_archive-fix-001_mcp",
        f"mcp/{STAMP}",
    ],
)
@pytest.mark.parametrize("name", ["archive-fix-001__Xy12345", "x__partial-order-1__Xy12345"])
def test_names_of_configs_jobs_and_trials_mark_nothing(
    tmp_path: Path, level: str, name: str
) -> None:
    put(tmp_path, f"{level}/{name}/result.json", RESULT)
    found = discover(tmp_path, "r")
    assert [t.trial_name for t in found.trials] == [name]
    assert found.excluded == ()


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/fix__Xy12345/result.json", RESULT).parent.parent
    run = tmp_path / "run"
    put(run, "c/fix__Xy12345/result.json", RESULT)
    (run / "elsewhere").symlink_to(outside)
    (run / "again").symlink_to(run / "c")
    (run / "c" / "loop").symlink_to(run)
    found = discover(run, "r")
    assert len(found.trials) == 1
    assert [(e.path.name, e.reason) for e in found.excluded] == [
        ("again", "link"),
        ("loop", "link"),
        ("elsewhere", "link"),
    ]
    assert [e.detail for e in found.excluded if "leads out" in e.detail] == [
        "elsewhere: leads out of the run"
    ]


def test_a_result_that_is_a_link_out_of_the_run_is_not_read(tmp_path: Path) -> None:
    secret = put(tmp_path, "secret.json", RESULT | {"task_name": "secret"})
    trial = tmp_path / "run/c/fix__Xy12345"
    trial.mkdir(parents=True)
    (trial / "result.json").symlink_to(secret)
    (found,) = discover(tmp_path / "run", "r").trials
    assert found.task_name == "fix"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("registry/task-1", "task-1"),
        ("../../etc/passwd", "passwd"),
        ("..", "fix"),
        ("a\nb", "fix"),
        ("  ", "fix"),
        ("x" * 300, "fix"),
        (["task"], "fix"),
    ],
)
def test_a_task_name_is_a_single_name(tmp_path: Path, stated: Any, expected: str) -> None:
    put(tmp_path, "c/fix__Xy12345/result.json", RESULT | {"task_name": stated})
    (trial,) = discover(tmp_path, "r").trials
    assert trial.task_name == expected


def test_the_suite_a_trial_states(tmp_path: Path) -> None:
    put(tmp_path, "c/a__Xy12345/result.json", RESULT)
    put(tmp_path, "c/a__Xy12345/task_metrics.json", {"benchmark": "ccb_fix"})
    put(tmp_path, "c/b__Xy12345/result.json", RESULT | {"task_id": {"path": "/h/benchmarks/s/t"}})
    put(tmp_path, "c/c__Xy12345/result.json", RESULT | {"task_id": {"path": 3}})
    put(tmp_path, "c/c__Xy12345/task_metrics.json", "[")
    found = discover(tmp_path, "r").trials
    assert [t.benchmark for t in found] == ["ccb_fix", "s", None]


@pytest.mark.parametrize("name", ["c", "c/2026-01-05__10-00-00"])
def test_a_folder_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    lock(monkeypatch, tmp_path / name)
    assert [(e.reason, e.detail) for e in discover(tmp_path, "r").excluded] == [
        ("unreadable", name)
    ]


def test_the_folder_of_one_trial_is_a_run_of_one(tmp_path: Path) -> None:
    put(tmp_path, "fix__Xy12345/result.json", RESULT)
    (trial,) = discover(tmp_path / "fix__Xy12345", "fix__Xy12345").trials
    assert (trial.trial_name, trial.config_name) == ("fix__Xy12345", UNKNOWN_CONFIG)


def test_a_run_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    found = discover(tmp_path / "nowhere", "r")
    assert found.trials == ()
    assert [e.reason for e in found.excluded] == ["unreadable"]


@pytest.mark.parametrize(
    ("levels", "run"),
    [
        (["mcp", STAMP], ""),
        (["mcp"], ""),
        (["mcp", "job"], ""),
        (["mcp", "csb_fix_a_mcp", STAMP], ""),
        ([STAMP, "mcp"], ""),
        (["2026-01-01__00-00-00", "mcp", STAMP], ""),
        ([], ""),
        (["run", "mcp", STAMP], "run"),
        (["csb_fix_haiku", "mcp", STAMP], "csb_fix_haiku"),
        (["run", "mcp", "csb_job", STAMP], "run"),
        (["official", "csb_fix_haiku", "mcp", STAMP], "official/csb_fix_haiku"),
        (["runs", "official", "run", "mcp", STAMP], "runs/official/run"),
        (["reports", "demo", "data", "runs", "demo", "mcp"], "reports/demo/data/runs/demo"),
    ],
)
def test_a_folder_that_holds_runs_is_no_run(tmp_path: Path, levels: list[str], run: str) -> None:
    put(tmp_path, "/".join([*levels, "fix-a-001__Xy12345", "result.json"]), RESULT)
    found = runs_inside((t.path for t in discover(tmp_path, "r").trials), tmp_path)
    assert found == ((tmp_path / run,) if run else ())


def test_one_trial_in_its_place_makes_a_run(tmp_path: Path) -> None:
    """Something that was copied into a run must not make it unreadable."""
    put(tmp_path, f"mcp/{STAMP}/fix-a-001__Xy12345/result.json", RESULT)
    put(tmp_path, f"copies/of/mcp/{STAMP}/fix-a-001__Xy12345/result.json", RESULT)
    assert runs_inside((t.path for t in discover(tmp_path, "r").trials), tmp_path) == ()
