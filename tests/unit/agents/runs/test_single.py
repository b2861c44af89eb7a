"""One trial by path."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.agents.runs.trial import inspect_trace, trial_by_path, truth_near
from retrieval_eval.errors import BadInputError
from tests.runs import write_task, write_trial


def test_a_trial_is_measured_against_its_own_task(tmp_path):
    trial = write_trial(tmp_path / "runs" / "run__broken", "baseline", "task", ["src/a.py"])
    write_task(tmp_path / "benchmarks", "task", files=["src/a.py", "src/b.py"])
    truth = truth_near(trial)
    assert [str(file) for file in truth.files] == ["src/a.py", "src/b.py"]
    assert truth_near(tmp_path).files == ()
    assert trial_by_path(trial)[1].name == "run__broken"


@pytest.mark.parametrize("name", ["", "missing", "a" * 300])
def test_what_is_no_trial_is_bad_input(tmp_path, name):
    with pytest.raises(BadInputError, match="trial"):
        trial_by_path(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "is_complete"),
    [
        ({}, True),
        ({"exception_info": {"exception_type": "AgentTimeoutError"}}, False),
        ({"verifier_result": None}, False),
        ({"finished_at": None}, False),
    ],
)
def test_a_result_that_states_the_end_completes_a_transcript_without_a_last_line(
    tmp_path, change, is_complete
):
    trial = write_trial(tmp_path / "run", "baseline", "task", ["src/a.py"])
    transcript = trial / "agent/claude-code.txt"
    transcript.write_text("\n".join(transcript.read_text().splitlines()[:-1]))
    result = json.loads((trial / "result.json").read_text())
    (trial / "result.json").write_text(json.dumps(result | change))
    coverage = inspect_trace(trial).document.coverage
    flag = "final_line_missing" if is_complete else "no_result_event"
    assert flag in coverage.quality_flags
    assert ("trace" in coverage.degraded_sources) is not is_complete
