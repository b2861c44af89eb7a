"""One trial by path or name."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline.trial import evaluate_one
from tests.runs import write_trial


def test_a_name_that_two_trials_have_is_not_guessed(tmp_path):
    run = tmp_path / "run"
    one = write_trial(run, "baseline", "task", ["src/a.py"])
    other = write_trial(run, "mcp", "task", ["src/b.py"])
    with pytest.raises(BadInputError, match="2 trials of run run are named") as raised:
        evaluate_one(one.name, run=str(run))
    assert str(one) in str(raised.value)
    assert str(other) in str(raised.value)
    events, _ = evaluate_one(str(other))
    assert events.provenance.config_name == "mcp"
    assert events.provenance.run_id == "run"


def test_a_trial_is_shown_by_its_path_whatever_lies_around_it(tmp_path):
    trial = write_trial(tmp_path / "run__broken", "baseline", "task", ["src/a.py"])
    events, _ = evaluate_one(str(trial))
    assert events.provenance.run_id == "run__broken"
    assert events.summary.unique_files_accessed == 1


@pytest.mark.parametrize("name", ["", "missing", "a" * 300])
def test_what_is_no_trial_is_bad_input(tmp_path, name):
    with pytest.raises(BadInputError, match="trial"):
        evaluate_one(str(tmp_path / name))


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
    coverage = evaluate_one(str(trial))[0].coverage
    flag = "final_line_missing" if is_complete else "no_result_event"
    assert flag in coverage.quality_flags
    assert ("trace" in coverage.degraded_sources) is not is_complete
