"""Every real task has ground truth, every real trial is found and has a task and an outcome."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from retrieval_eval.agents.outcomes import load_outcome
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.io.files import read_json
from retrieval_eval.io.layout import TaskIndex, discover, find_runs, resolve_trials
from retrieval_eval.records import TrialRef
from tests.trials import trace_or_none

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def index(real_runs: Path) -> TaskIndex:
    return TaskIndex(real_runs / "benchmarks")


@pytest.fixture(scope="module")
def trials(real_runs: Path, index: TaskIndex) -> tuple[TrialRef, ...]:
    found = [discover(run, run.name) for run in find_runs(real_runs / "runs")]
    assert [d.excluded for d in found if d.excluded] == []
    resolved, reasons = resolve_trials([t for d in found for t in d.trials], index)
    assert reasons == {}
    return resolved


def test_every_task_lists_the_files_its_document_lists(index: TaskIndex) -> None:
    assert index.tasks
    for task in index.tasks:
        assert task.path is not None
        found = load_ground_truth(task.path)
        listed = read_json(task.path / "tests/ground_truth.json", task.path).value["files"]
        assert len(found.files) == len(set(listed)), task.name
        assert (found.source, found.reason) == ("tests/ground_truth.json", None), task.name
        assert (found.problems, found.not_retrieval_targets) == ((), ()), task.name
        for raw, file in zip(listed, found.files, strict=True):
            repository, separator, path = raw.rpartition("::")
            if separator:
                assert file.path == path
                assert repository.endswith(str(file.repository))
            else:
                assert raw.endswith(file.path)


def test_line_ranges_are_the_real_ones(index: TaskIndex) -> None:
    with_chunks = {}
    for task in index.tasks:
        assert task.path is not None
        chunks = load_ground_truth(task.path).chunks
        if chunks:
            with_chunks[task.path] = chunks
    for path, chunks in with_chunks.items():
        defects = read_json(path / "tests/expected_defects.json", path).value
        expected = Counter((d["file"], d["line_start"], d["line_end"]) for d in defects)
        assert Counter((c.file.path, c.line_start, c.line_end) for c in chunks) == expected


def test_every_trial_is_found(real_runs: Path, trials: tuple[TrialRef, ...]) -> None:
    folders = {
        path.parent
        for path in (real_runs / "runs").rglob("result.json")
        if "n_total_trials" not in read_json(path, real_runs).value
    }
    assert {trial.path for trial in trials} == folders
    assert len(trials) == len(folders)


def test_every_trial_has_a_task_config_and_batch(
    real_runs: Path, trials: tuple[TrialRef, ...]
) -> None:
    for trial in trials:
        assert trial.task_dir is not None, trial.trial_name
        assert trial.task_name in trial.raw_task_name
        assert trial.benchmark == trial.task_dir.parent.name
        parts = trial.path.relative_to(real_runs / "runs").parts
        assert parts[-3:] == (trial.config_name, trial.batch_timestamp, trial.trial_name)
        assert parts[-4] == trial.run_id


def test_every_trial_has_an_outcome(trials: tuple[TrialRef, ...]) -> None:
    for trial in trials:
        result = read_json(trial.path / "result.json", trial.path).value
        found = load_outcome(trial.path)
        rewards = (result.get("verifier_result") or {}).get("rewards", {})
        assert found.reward == rewards.get("reward")
        assert found.model == result["agent_info"]["model_info"]["name"]
        assert found.harness == result["agent_info"]["name"]
        assert found.problems == ()
        assert found.cost_usd is None or found.cost_usd > 0


def test_tokens_counted_in_whole_traces_are_the_recorded_ones(
    trials: tuple[TrialRef, ...],
) -> None:
    for trial in trials:
        found = load_outcome(trial.path, trace_or_none(trial.path))
        if found.is_token_total_confirmed:
            assert found.total_tokens is not None
        if found.input_tokens is not None and found.output_tokens is not None:
            total = found.input_tokens + found.output_tokens
            assert total == pytest.approx(found.total_tokens, rel=0.01)
