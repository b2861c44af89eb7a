"""Every ground-truth path that a real result shows in a place for paths is a target.

What counts as a place for paths is decided here, independently of the parsers: the start of a
line, a JSON member, a header, an address. A path that occurs elsewhere is quoted: in file
contents, in what the agent wrote, in a sub-agent's prose. Those are no findings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import ToolCall
from tests.trials import trace_or_none

pytestmark = pytest.mark.corpus

DECORATION = re.compile(r"^(?:mcp_|bl_|sgonly_)|_[A-Za-z0-9]{6,8}$")
BEFORE = re.compile(
    r'(?:^|\n|\\n|"(?:file|path)":"| – |/-/blob/|`cat -n` on |",\s?"|\[")[\w./+-]*$'
)
AFTER = re.compile(r'(?:$|\n|\\n|"|[:-]\d|%3F|\?L|:\n|:\\n)')
SEARCHES = {"file_search", "code_search", "symbol_navigation", "commit_search", "deep_search"}


class Case(NamedTuple):
    call: ToolCall
    use: ToolUse
    files: frozenset[str]


def ground_truth(folder: Path) -> dict[str, frozenset[str]]:
    """Read the paths of every task from its JSON files, by task name in lower case."""
    tasks: dict[str, set[str]] = {}
    for file in sorted(folder.glob("*/*/tests/ground_truth.json")):
        found = tasks.setdefault(file.parents[1].name.lower(), set())
        found.update(p for text in leaves(json.loads(file.read_text())) if "/" in (p := tail(text)))
    return {task: frozenset(files) for task, files in tasks.items()}


def tail(path: str) -> str:
    return path.rsplit("::", 1)[-1].lstrip("/")


def leaves(value: Any) -> Iterator[str]:
    """Yield the paths of ground truth: items of lists, and members called path or file."""
    if isinstance(value, dict):
        for key, child in value.items():
            if key in {"path", "file"} or not isinstance(child, str):
                yield from leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child)
    elif isinstance(value, str) and re.fullmatch(r"[\w./:+-]{3,300}", value):
        yield value


def files_of(task: str, tasks: dict[str, frozenset[str]]) -> frozenset[str]:
    names = {task, DECORATION.sub("", task), DECORATION.sub("", DECORATION.sub("", task))}
    known = [tasks[n.lower()] for n in names if n.lower() in tasks]
    return known[0] if known else frozenset()


@pytest.fixture(scope="module")
def cases(real_runs: Path) -> list[Case]:
    tasks = ground_truth(real_runs / "benchmarks")
    found: list[Case] = []
    for result in sorted((real_runs / "runs").glob("*/*/*/*/*/result.json")):
        trace = trace_or_none(result.parent)
        files = files_of(json.loads(result.read_text())["task_name"], tasks)
        calls = getattr(trace, "calls", ())
        found.extend(Case(call, interpret(call), files) for call in calls)
    return found


def succeeded(case: Case) -> bool:
    return case.call.result is not None and not case.use.is_error and case.use.is_retrieval


def shown_in_a_place_for_paths(text: str, path: str) -> bool:
    for match in re.finditer(re.escape(path), text):
        before, after = text[max(0, match.start() - 200) : match.start()], text[match.end() :]
        if BEFORE.search(before) and AFTER.match(after):
            return True
    return False


def test_every_search_hit_on_a_ground_truth_file_is_a_target(cases: list[Case]) -> None:
    missed, hits = [], 0
    for case in cases:
        if not succeeded(case) or case.use.category not in SEARCHES:
            continue
        found = [t.path for t in case.use.targets]
        result = case.call.result
        assert result is not None
        text = result.text or json.dumps(result.structured, separators=(",", ":"))
        for path in sorted(case.files):
            if shown_in_a_place_for_paths(text, path):
                hits += 1
                if not any(f.endswith(path) for f in found):
                    missed.append((case.call.name, case.call.where, path))
    assert missed == []
    assert hits > 150


def test_every_successful_read_of_a_ground_truth_file_opens_it(cases: list[Case]) -> None:
    missed, hits = [], 0
    for case in cases:
        if not succeeded(case) or case.use.category != "file_read":
            continue
        asked = json.dumps(dict(case.call.arguments))
        for path in sorted(case.files):
            if f'{path}"' not in asked:
                continue
            opened = [t for t in case.use.targets if t.access == "opened"]
            hits += 1
            result = case.call.result
            assert result is not None
            behind_the_end = re.search(r"%3FL\d+-\d+(?:\\n|\n)\d+: \"?}?$", result.text)
            if not any(t.path.endswith(path) for t in opened) and not behind_the_end:
                missed.append((case.call.name, case.call.where, path))
    assert missed == []
    assert hits > 80


def test_results_are_resolved_and_what_is_not_stays_rare(cases: list[Case]) -> None:
    whole = [c for c in cases if succeeded(c) and c.call.result and not c.call.result.is_truncated]
    opaque = Counter(c.call.name for c in whole if c.use.is_opaque)
    # A server-side script prints what it likes, so its answers are never fully resolved.
    assert set(opaque) <= {"mcp__sourcegraph__evaluator"}
    reads = [c for c in whole if c.use.category == "file_read" and c.use.targets]
    assert sum(t.lines is not None for c in reads for t in c.use.targets) > 0.9 * len(reads)


def test_targets_are_paths_and_errors_find_nothing(cases: list[Case]) -> None:
    for case in cases:
        assert not (case.use.is_error and case.use.targets)
        for target in case.use.targets:
            assert not target.path.endswith("/")
            assert "tool-results" not in target.path
            assert target.repository is None or "/" in target.repository
            assert not re.search(r"\s{2}|^\d+[:→]|: ", target.path), case.call.where
