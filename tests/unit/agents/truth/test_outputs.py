"""What an agent has to write is no evidence to retrieve."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.truth.workspace import OwnOutputs, stated_outputs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write your findings to `/workspace/REPORT.md`.", {"/workspace/REPORT.md"}),
        ("- `TASK_OUTPUT=/workspace/answer.json`", {"/workspace/answer.json"}),
        ("cat > /workspace/answer.json << 'EOF'", {"/workspace/answer.json"}),
        ("You MUST save the JSON to answer.json", {"answer.json"}),
        ("The bug is in /workspace/data.json.", set()),
        ("Write tests in tests/data.json", set()),
        ("Create src/store.go and write /workspace/store.go", set()),
        ("Update and document README.md", set()),
        ("", set()),
    ],
)
def test_stated_outputs(text, expected):
    assert set(stated_outputs(text)) == expected


@pytest.mark.parametrize(
    ("raw", "stated", "is_own"),
    [
        ("/workspace/documentation.md", (), True),
        ("/tmp/logs/agent/investigation.md", (), True),
        ("/logs/agent/solution.md", (), True),
        ("security_audit.md", (), True),
        ("answer.json", (), True),
        ("/workspace/flask/INCIDENT.md", ("/workspace/flask/INCIDENT.md",), True),
        ("BLAST.md", ("/workspace/BLAST.md",), True),
        ("/workspace/flask/INCIDENT.md", (), False),
        ("/workspace/README.md", (), False),
        ("/workspace/package.json", (), False),
        ("package.json", (), False),
        ("go.mod", (), False),
        ("eval_variable.go", (), False),
        ("docs/report.md", (), False),
        ("kafka::docs/report.md", (), False),
        ("/workspace/src/report.py", (), False),
    ],
)
def test_own_outputs(raw, stated, is_own):
    assert OwnOutputs(stated).includes(raw) is is_own


def test_long_hostile_text_is_read_in_linear_time():
    assert stated_outputs("write " + "OUTPUT_" * 40_000) == ()
    assert stated_outputs("write a/" * 60_000) == ()
