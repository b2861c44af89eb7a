"""Whatever a trial's files hold, its two documents exist, are valid and can be written."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.runs.trial import Job, documents
from retrieval_eval.io.files import json_bytes
from retrieval_eval.model import from_builtins, to_builtins
from retrieval_eval.records import TrialRef
from retrieval_eval.schema import faults

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(["/workspace/a.py", "a.py", "NaN", "\ud800", "2026-01-01T00:00:00Z", "1"])
)
NAMES = """
    type message content role id name input tool_use tool_use_id text result usage steps
    step_id schema_version source tool_calls function_name arguments observation results
    source_call_id metrics prompt_tokens extra timestamp agent version files path file repo
    chunks line_start line_end symbols rewards reward verifier_result agent_info agent_result
    cost_usd task_name trial_name started_at finished_at agent_execution exception_info command
    file_path
"""
KEYS = st.sampled_from(NAMES.split()) | st.text(max_size=6)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
CALL = st.fixed_dictionaries(
    {
        "tool_call_id": SCALARS,
        "function_name": st.sampled_from(["Read", "Bash", "Grep", "Write", "mcp__s__search", ""])
        | SCALARS,
        "arguments": st.fixed_dictionaries(
            {}, optional={"file_path": SCALARS, "command": SCALARS, "path": ANY_JSON}
        )
        | ANY_JSON,
    }
)
STEP = (
    st.fixed_dictionaries(
        {
            "step_id": SCALARS,
            "source": st.sampled_from(["agent", "user", "system"]) | SCALARS,
            "tool_calls": st.lists(CALL, max_size=3) | ANY_JSON,
            "observation": st.fixed_dictionaries({"results": ANY_JSON}) | ANY_JSON,
        },
        optional={"timestamp": SCALARS, "metrics": ANY_JSON, "extra": ANY_JSON},
    )
    | ANY_JSON
)
TRAJECTORY = (
    st.fixed_dictionaries(
        {
            "schema_version": st.sampled_from(["ATIF-v1.2", "ATIF-v1.5", "cursor-jsonl-v1"]),
            "agent": ANY_JSON,
            "steps": st.lists(STEP, max_size=5),
        }
    )
    | ANY_JSON
)
LINES = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["system", "assistant", "user", "result"]), "message": ANY_JSON}
    )
    | ANY_JSON,
    max_size=5,
)


@given(TRAJECTORY, LINES, ANY_JSON, ANY_JSON, ANY_JSON)
def test_untrusted_json_of_any_shape(trajectory, lines, result, metrics, ground_truth):
    with tempfile.TemporaryDirectory() as folder:
        trial, task = Path(folder) / "trial", Path(folder) / "task"
        (trial / "agent").mkdir(parents=True)
        (task / "tests").mkdir(parents=True)
        for path, value in (
            (trial / "agent" / "trajectory.json", trajectory),
            (trial / "result.json", result),
            (trial / "task_metrics.json", metrics),
            (task / "tests" / "ground_truth.json", ground_truth),
        ):
            path.write_text(json.dumps(value))
        transcript = "".join(json.dumps(line) + "\n" for line in lines)
        (trial / "agent" / "claude-code.txt").write_text(transcript)
        ref = TrialRef("r", "c", None, "t__1", trial, "t", "suite", task, "t")
        made = documents(Job(ref, Path(folder), "c/t", (1, 5)))
    for record, kind in zip(made, ("retrieval_events", "retrieval_metrics"), strict=True):
        document = to_builtins(record)
        written = json.loads(json_bytes(document))
        read = to_builtins(from_builtins(written, type(record), kind))
        assert json.loads(json_bytes(read)) == written
        assert faults(written, kind) == []


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=100))
def test_untrusted_bytes(trajectory, transcript, result):
    with tempfile.TemporaryDirectory() as folder:
        trial = Path(folder)
        (trial / "agent").mkdir()
        (trial / "agent" / "trajectory.json").write_bytes(trajectory)
        (trial / "agent" / "claude-code.txt").write_bytes(transcript)
        (trial / "result.json").write_bytes(result)
        ref = TrialRef("r", "c", None, "t__1", trial, "t")
        events, _ = documents(Job(ref, trial, "c/t", (1, 5)))
    assert events.events == ()
    assert events.coverage.degraded_reason
