"""Ground-truth and outcome readers against any JSON; alignment and literal paths."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.outcomes import load_outcome
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.agents.truth.readers import heredocs, path_like, touched_by
from retrieval_eval.agents.truth.shapes import literal_path
from retrieval_eval.agents.truth.workspace import OwnOutputs, stated_outputs
from retrieval_eval.io.files import json_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.values import REASONS
from tests.conftest import COSTLY

NAMES = """
    files required_files buggy_files entries steps file_references patterns fix_files
    producer_changed_files consumer_affected_files dependency_chain manifest canonical_path
    file_path root_cause symbols symbol chunks line_start line_end file path repo repository
    expected_files expected_edit_files defects artifacts oracle confidence patch
    agent_info model_info name version agent_result n_input_tokens n_output_tokens cost_usd
    verifier_result rewards reward started_at finished_at agent_execution exception_info
    exception_type timing agent tool_usage error
"""
KEYS = st.sampled_from(NAMES.split())
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["src/a.py", "r::b/c.go", "/workspace/answer.json", "a/", "2026-01-01"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
SEGMENTS = st.text("abcXYZ019._-+()@", min_size=1, max_size=8).filter(lambda s: s.strip("."))


@COSTLY
@given(st.lists(JSON, min_size=6, max_size=6), st.text(max_size=200))
def test_no_document_makes_the_chain_raise(documents, text):
    names = ("ground_truth", "oracle_answer", "expected_defects", "expected_changes", "task_spec")
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder)
        (task / "tests").mkdir()
        for name, document in zip((*names, "config"), documents, strict=True):
            (task / f"tests/{name}.json").write_text(json.dumps(document))
        for name in ("task.toml", "instruction.md", "tests/expected.diff", "tests/test.sh"):
            (task / name).write_text(text, "utf-8", "surrogatepass")
        found = load_ground_truth(task)
    assert (found.reason is None) is bool(found.files)
    assert found.reason is None or found.reason in REASONS
    assert (found.source is None) is (found.confidence is None) is (not found.files)
    assert len({f.key for f in found.files}) == len(found.files)
    known = set(found.files)
    assert {c.file for c in found.chunks} | {s.file for s in found.symbols} <= known
    assert all(1 <= c.line_start <= c.line_end for c in found.chunks)
    assert found.expected_edit_files is None or found.expected_edit_files


@given(JSON, JSON)
def test_no_document_makes_the_outcome_raise(result, metrics):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "result.json").write_text(json.dumps(result))
        (Path(folder) / "task_metrics.json").write_text(json.dumps(metrics))
        found = load_outcome(Path(folder))
    assert json_bytes(to_builtins(found))
    assert (found.reward is None) is (found.reward_reason in REASONS)
    assert (found.cost_usd is None) is (found.cost_source is None)
    assert (found.total_tokens is None) is (found.token_source is None)
    assert found.elapsed_seconds is None or found.elapsed_seconds >= 0


@given(st.lists(SEGMENTS, min_size=2, max_size=5), st.sampled_from(["", "^"]))
def test_an_escaped_path_is_literal_again(segments, start):
    path = "/".join([*segments, "f.py"])
    escaped = "".join(f"\\{c}" if c in ".-+()" else c for c in path)
    assert literal_path(f"{start}{escaped}$") == path


@given(st.lists(SEGMENTS, min_size=1, max_size=4), st.data())
def test_a_diff_names_what_it_changes(segments, data):
    old = "/".join(segments)
    new = data.draw(st.sampled_from([old, f"{old}.moved"]))
    body = data.draw(st.lists(st.sampled_from(["+x", "+-- a/no.py", "+++ b/no.py"]), max_size=4))
    hunk = f"@@ -0,0 +1,{len(body)} @@\n" if body else ""
    diff = f"--- a/{old}\n+++ b/{new}\n{hunk}" + "".join(f"{line}\n" for line in body)
    found = touched_by([diff])
    assert [e.path for e in (*found.existing, *found.added)] == list(dict.fromkeys([old, new]))


@given(st.text())
def test_text_readers_take_any_text(text):
    assert all("/" in path for path in path_like(text))
    assert all(OwnOutputs([place]).includes(place) for place in stated_outputs(text))
    assert sum(map(len, heredocs(text))) <= len(text) + 1
    touched_by([text])


@given(st.lists(st.text("a<-'\"\nEOF ", max_size=12), max_size=8))
def test_here_documents_never_overlap(lines):
    script = "\n".join(lines)
    assert sum(map(len, heredocs(script))) <= len(script)
