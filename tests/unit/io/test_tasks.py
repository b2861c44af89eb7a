"""Which task a decorated or cut name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.layout import Task, TaskIndex, resolve_trials
from retrieval_eval.records import TrialRef


def index(root: Path, *names: str) -> TaskIndex:
    for name in names:
        (root / name / "tests").mkdir(parents=True)
    return TaskIndex(root)


@pytest.fixture
def tasks(tmp_path: Path) -> TaskIndex:
    return index(
        tmp_path,
        "csb_fix/fix",
        "csb_fix/fix_login",
        "csb_fix/linux-nfs-inode-revalidate-fault-001",
        "csb_fix/qutebrowser-adblock-cache-regr-001",
        "csb_fix/qutebrowser-adblock-cache-regr-002",
        "csb_org/ccx-onboard-search-208",
        "csb_org/envoy-code-review-001",
        "swe/django__django-1234",
    )


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("ccx-onboard-search-208", "ccx-onboard-search-208"),
        ("CCX-onboard-search-208", "ccx-onboard-search-208"),
        ("mcp_ccx-onboard-search-208", "ccx-onboard-search-208"),
        ("mcp_ccx-onboard-search-208_6zocjw", "ccx-onboard-search-208"),
        ("mcp_ccx-onboard-search-208_0b2c8f22", "ccx-onboard-search-208"),
        ("mcp_CCX-onboard-search-208_dyywsa", "ccx-onboard-search-208"),
        ("bl_ccx-onboard-search-208_Ab3dE5", "ccx-onboard-search-208"),
        ("sgonly_ccx-onboard-search-208", "ccx-onboard-search-208"),
        ("artifact_mcp_ccx-onboard-search-208_6zocjw", "ccx-onboard-search-208"),
        ("sdlc_test_envoy-code-review-001_Z8m4il", "envoy-code-review-001"),
        ("ccx-onboard-search-208_Z8m4il", "ccx-onboard-search-208"),
        # Cut at 32 characters: inside the suffix, behind it, inside the name.
        ("mcp_ccx-onboard-search-208_6zocj", "ccx-onboard-search-208"),
        ("sdlc_test_envoy-code-review-001_", "envoy-code-review-001"),
        ("linux-nfs-inode-revalidate-fault", "linux-nfs-inode-revalidate-fault-001"),
        ("django-django-1234", "django__django-1234"),
        ("mcp_django__django-1234_aaaaaa", "django__django-1234"),
        ("fix_login", "fix_login"),
        ("fix", "fix"),
    ],
)
def test_names_that_mean_a_task(tasks: TaskIndex, raw: str, name: str) -> None:
    found = tasks.resolve(raw)
    assert found.reason is None
    assert found.task is not None
    assert found.task.name == name


@pytest.mark.parametrize(
    "raw",
    [
        "fix_login_flow",
        "fix_button",
        "mcp_fix_login_ab12",
        "mcp_fix_login_ab12cd34e",
        "fix-001",
        "linux-nfs-inode-revalidate-faul",
        "mcp_other-task_dyywsa",
        "ccx-onboard-search-20",
        "",
        "mcp_",
        "_",
    ],
)
def test_names_that_mean_no_task(tasks: TaskIndex, raw: str) -> None:
    found = tasks.resolve(raw)
    assert found.task is None
    assert "no task is named" in (found.reason or "")


def test_a_cut_name_that_several_tasks_complete_is_ambiguous(tasks: TaskIndex) -> None:
    found = tasks.resolve("mcp_qutebrowser-adblock-cache-re")
    assert found.task is None
    assert found.reason is not None
    assert "regr-001" in found.reason
    assert "regr-002" in found.reason


def test_two_readings_that_both_exist_are_ambiguous(tmp_path: Path) -> None:
    both = index(tmp_path, "s/mcp_foo", "s/foo_abcde1")
    found = both.resolve("mcp_foo_abcde1")
    assert found.task is None
    assert "ambiguous" in (found.reason or "")


def test_the_suite_decides_between_tasks_of_one_name(tmp_path: Path) -> None:
    both = index(tmp_path, "csb_fix/a-001", "csb_test/a-001")
    assert both.resolve("a-001").task is None
    found = both.resolve("mcp_a-001_abcdef", suite_hint="CSB-test").task
    assert found == Task("a-001", "csb_test", tmp_path / "csb_test/a-001")
    assert both.resolve("a-001", suite_hint="other").task is None


def test_an_id_in_task_toml_is_a_name_too(tmp_path: Path) -> None:
    calibration = tmp_path / "s/calibration-001"
    calibration.mkdir(parents=True)
    text = '[task]\nid = "cal-err-flask-001"\n[metadata]\nname = "A title"\n'
    (calibration / "task.toml").write_text(text)
    broken = tmp_path / "s/broken-001"
    broken.mkdir()
    (broken / "task.toml").write_text("[task")
    found = TaskIndex(tmp_path).resolve("mcp_CAL-err-flask-001_abcdef").task
    assert found == Task("calibration-001", "s", calibration)
    assert TaskIndex(tmp_path).resolve("A title").task is None


def test_tasks_are_found_by_content(tmp_path: Path) -> None:
    for name in ("s/a/instruction.md", "s/b/solution/solve.sh", "group/s/c/task.toml", "s/d/x.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = TaskIndex(tmp_path)
    assert [(t.suite, t.name) for t in found.tasks] == [("s", "a"), ("s", "b"), ("s", "c")]
    assert found.suites == ("s",)


def test_a_link_out_of_the_benchmarks_is_no_task(tmp_path: Path) -> None:
    (tmp_path / "outside/t/tests").mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/s").symlink_to(tmp_path / "outside")
    assert TaskIndex(tmp_path / "benchmarks").tasks == ()


def test_a_wrong_benchmarks_root_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="nowhere"):
        TaskIndex(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("mcp_x-1_AbCdEf", "x-1"),
        ("mcp_y-1_AbCdEf", "mcp_y-1_AbCdEf"),
        ("fix_login_Fl0wer", "fix_login_Fl0wer"),
        ("x-1", "x-1"),
    ],
)
def test_without_benchmarks_other_trials_are_the_tasks(raw: str, name: str) -> None:
    known = ["x-1", "mcp_x-1_AbCdEf", "mcp_y-1_AbCdEf", "fix_login", "fix_login_Fl0wer"]
    found = TaskIndex.with_names(known).resolve(raw).task
    assert found is not None
    assert (found.name, found.path) == (name, None)


def trial(raw: str, **fields: str) -> TrialRef:
    stated = {"run_id": "r", "config_name": "c"} | fields
    return TrialRef(batch_timestamp=None, trial_name=raw, path=Path(raw), task_name=raw, **stated)


def test_trials_get_their_task(tasks: TaskIndex) -> None:
    given = [trial("mcp_fix_login_AbCdEf"), trial("nothing", benchmark="ccb_x"), trial("nix")]
    resolved, reasons = resolve_trials(given, tasks)
    assert [(t.task_name, t.benchmark, t.raw_task_name) for t in resolved] == [
        ("fix_login", "csb_fix", "mcp_fix_login_AbCdEf"),
        ("nothing", "ccb_x", "nothing"),
        ("nix", "unknown", "nix"),
    ]
    assert [t.task_dir and t.task_dir.name for t in resolved] == ["fix_login", None, None]
    assert set(reasons) == {Path("nothing"), Path("nix")}


def test_the_run_id_hints_at_the_suite(tmp_path: Path) -> None:
    both = index(tmp_path, "csb_fix/a-001", "csb_fix_more/a-001")
    (found,), _ = resolve_trials([trial("a-001", run_id="csb_fix_more_haiku_2026")], both)
    assert found.benchmark == "csb_fix_more"
