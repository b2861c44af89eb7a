"""Every trap of the matrix is read as its reason says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.normalise import extract_events
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.truth import load_ground_truth
from tests.generated import absent_traps, all_traps
from tests.traps import ALWAYS, Trap


def _traps() -> list[object]:
    return [
        pytest.param(trap, id=f"{name}-{trap.situation}-{number}")
        for name, traps in all_traps().items()
        for number, trap in enumerate(traps)
    ]


def _write(folder: Path, trap: Trap) -> None:
    for name, content in trap.files.items():
        path = folder / "trial" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "\n".join(json.dumps(line) for line in content) + "\n"
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    task = folder / "task"
    (task / "tests").mkdir(parents=True)
    (task / "task.toml").write_text(trap.task, "utf-8")
    truth = json.dumps({"files": list(trap.expected)})
    (task / "tests/ground_truth.json").write_text(truth, "utf-8")


_NO_HARNESSES = ("roots", "shell")


def test_every_harness_is_in_every_situation_or_says_why_not() -> None:
    absent = absent_traps()
    for name, traps in all_traps().items():
        found = {trap.situation for trap in traps}
        assert not found & absent[name].keys()
        if name not in _NO_HARNESSES:
            assert set(ALWAYS) <= found | absent[name].keys(), name
        assert all(reason.endswith(".") for reason in absent[name].values())


@pytest.mark.parametrize("trap", _traps())
def test_a_trap_is_read_as_its_reason_says(tmp_path: Path, trap: Trap) -> None:
    _write(tmp_path, trap)
    trace = read_trace(tmp_path / "trial")
    truth = load_ground_truth(tmp_path / "task")
    found = evidence(extract_events(trace, truth))
    read = dict(zip(trap.expected, found.values(), strict=True))
    assert read == trap.expected, trap.reason
    assert trap.reason.endswith(".")
