"""Small trials written by hand: ground truth and events in a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from retrieval_eval.agents.events import (
    Beside,
    TrialEvents,
    created,
    extract_events,
    own_output,
)
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.match import Workspace
from retrieval_eval.agents.traces import NoTraceError, read_trace
from retrieval_eval.agents.truth import load_ground_truth
from retrieval_eval.paths import file_ref
from retrieval_eval.records import Chunk, Event, FileRef, GroundTruth, Target, Trace


def ref(text: str) -> FileRef:
    found = file_ref(text)
    assert found is not None
    return found


def truth(
    *files: str, edits: Sequence[str] | None = None, chunks: Sequence[tuple] = ()
) -> GroundTruth:
    return GroundTruth(
        files=tuple(ref(f) for f in files),
        chunks=tuple(Chunk(ref(f), a, b) for f, a, b in chunks),
        expected_edit_files=None if edits is None else tuple(ref(f) for f in edits),
        source="tests/ground_truth.json" if files else None,
        confidence="high" if files else None,
        reason=None if files else "no_ground_truth",
    )


_CATEGORIES = {
    "opened": "file_read",
    "matched": "code_search",
    "listed": "file_search",
    "written": "file_write",
}


def trial(
    ground_truth: GroundTruth, *steps: tuple[str, str] | tuple[str, str, dict]
) -> TrialEvents:
    """Build a trial of steps ``(access, "file file ...", event fields)``."""
    events = []
    positions = {f.key: i for i, f in enumerate(ground_truth.files)}
    for index, step in enumerate(steps):
        access, files, fields = (*step, {})[:3]
        fields = dict(fields)
        lines, is_whole = fields.pop("lines", None), fields.pop("is_whole", False)
        refs = [ref(f) for f in files.split()]
        targets = tuple(Target(f, access, lines, is_whole) for f in refs)
        events.append(
            Event(
                step_index=index,
                call_index=fields.pop("call_index", index),
                call_id=f"call-{index}",
                tool_name="tool",
                tool_category=fields.pop("category", _CATEGORIES[access]),
                is_mcp=fields.pop("is_mcp", False),
                targets=targets,
                matched=tuple(positions[f.key] for f in refs if f.key in positions),
                elapsed_seconds=fields.pop("seconds", float(index)),
                cumulative_tokens=fields.pop("tokens", 100 * (index + 1)),
                **fields,
            )
        )
    return TrialEvents(
        tuple(events),
        ground_truth,
        own_output=own_output(events, ground_truth, Workspace(ground_truth)),
        created=created(events, Beside()),
    )


def trace_or_none(path: Path) -> Trace | None:
    """The trace of a trial, or None where there is none to read."""
    try:
        return read_trace(path)
    except NoTraceError:
        return None


def proven(
    folder: Path, files: Mapping[str, Any], expected: Iterable[str], task: str = ""
) -> dict[str, str]:
    """What a trial of these files proves of each file that its task expects.

    The content of a file is a text, a JSON object, or a list of JSON lines.
    """
    listed = {"files": list(expected)}
    written = {"task/task.toml": task, "task/tests/ground_truth.json": listed}
    written |= {f"trial/{name}": content for name, content in files.items()}
    for name, content in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "\n".join(map(json.dumps, content)) + "\n"
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    events = extract_events(read_trace(folder / "trial"), load_ground_truth(folder / "task"))
    return dict(zip(listed["files"], evidence(events).values(), strict=True))
