"""One trial by path or name."""

from __future__ import annotations

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
