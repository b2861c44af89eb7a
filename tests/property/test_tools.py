"""Tool calls with any JSON for arguments and results: nothing raises, nothing is invented."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.agents.traces.results.grep import grep_lines
from retrieval_eval.agents.traces.tools import LONGEST_ARGUMENT, ToolUse, interpret
from retrieval_eval.records import ToolCall, ToolResult
from tests.tool_uses import certain

CATEGORIES = {
    *("file_read", "file_search", "symbol_navigation", "code_search", "commit_search"),
    *("deep_search", "file_write", "other"),
}
NAMES = [
    *("Read", "Grep", "Glob", "LS", "Write", "Edit", "MultiEdit", "Bash", "WebFetch", "Task"),
    *("TodoWrite", "str_replace_editor", "apply_patch", "execute_bash", "read_file", "list_files"),
    *("readToolCall", "grepToolCall", "globToolCall", "lsToolCall", "semSearchToolCall"),
    *("mcpToolCall", "mcp__sourcegraph__sg_read_file", "mcp__sourcegraph__keyword_search"),
    *(
        "mcp__sourcegraph__list_files",
        "mcp__sourcegraph__evaluator",
        "mcp__sourcegraph__deepsearch",
    ),
    *("mcp__sourcegraph__compare_revisions", "mcp__github__get_file_contents", "mcp__x__y"),
    *("mcp__auggie__codebase-retrieval", "keyword_search", "x", ""),
]
KEYS = st.sampled_from(
    [
        *("file_path", "path", "offset", "limit", "command", "output_mode", "pattern", "repo"),
        *("owner", "query", "startLine", "endLine", "view_range", "url", "args", "toolName"),
        *("file", "files", "filenames", "blocks", "chunks", "text", "content", "repository"),
        *("type", "isDirectory", "workspaceResults", "matches", "lineNumber", "numLines"),
        *("startLine", "totalLines", "directoryTreeRoot", "childrenFiles", "structuredContent"),
        *("script", "input", "paths", "repos", "tree", "items", "providerIdentifier"),
    ]
)
GRAMMAR = st.sampled_from(
    [
        *("Found 3 files", "a/b.py", "a/b.py:3:x", "a-1-b.py-4-x", "12:x", "12\tx", "12→x", "--"),
        *("# github.com/a/b – c.go", "URL: https://h/r/r@1/-/blob/a%3FL1-9", "- src/", "  - a.py"),
        *("No results.", "</persisted-output>", "<persisted-output>", "Preview (first 2KB):"),
        *("<system-reminder>", "</system-reminder>", "diff --git a/x b/x", "+++ b/x", "Path: a.py"),
        *("https://github.com/a/b/blob/m/c.py", "src/", "...", "read_file({repo='a', path='b'})"),
        "Here's the result of running `cat -n` on /w/a.py:",
        "Here's the files and directories up to 2 levels deep in /w, excluding hidden items:",
        "*** Update File: a.py",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(GRAMMAR, st.text()), max_size=12).map("\n".join))
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.sampled_from(["3", "content"])
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.one_of(KEYS, st.text()), inner, max_size=6)
    ),
    max_leaves=20,
)


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    text = draw(st.one_of(TEXTS, ANYTHING.map(json.dumps)))
    text = text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text
    result = ToolResult(text, draw(ANYTHING), draw(st.booleans()), draw(st.booleans()))
    arguments = draw(st.dictionaries(st.one_of(KEYS, st.text()), ANYTHING, max_size=6))
    name = draw(st.one_of(st.sampled_from(NAMES), st.text(max_size=40)))
    cwd = draw(st.sampled_from([None, "/workspace", "", "/"]))
    return ToolCall("c", name, arguments, draw(st.sampled_from([result, result, None])), cwd=cwd)


def check(used: ToolUse) -> None:
    assert used.category in CATEGORIES
    assert not (used.is_error and used.targets)
    assert not (used.command is not None and used.targets)
    assert used.is_mcp == (used.server is not None)
    seen = [(t.path, t.repository) for t in certain(used).targets]
    assert len(seen) == len(set(seen))
    for target in used.targets:
        assert target.path
        assert not target.path.endswith("/")
        assert target.doubt is not None or not target.is_pattern
        assert "\n" not in target.path
        json.dumps([target.path, target.repository], ensure_ascii=False).encode()
        last = 0
        for start, end in target.lines or ((1, 1),):
            assert last < start <= end < 10**9
            last = end
    for value in used.arguments.values():
        assert not isinstance(value, str) or len(value) <= LONGEST_ARGUMENT


@given(calls())
def test_any_call_is_interpreted(call):
    used = interpret(call)
    check(used)
    assert repr(interpret(call)) == repr(used)
    if call.result is None or not used.is_retrieval:
        assert certain(used).targets == ()
    if call.result is not None and call.result.is_error:
        assert used.is_error


def paths(alphabet: str) -> st.SearchStrategy[str]:
    name = st.text(alphabet, min_size=1, max_size=12).filter(
        lambda n: n.strip(" .-") and n == n.strip()
    )
    return st.lists(name, min_size=2, max_size=4).map("/".join)


PATHS = paths("abc12-._ ()[]")
# "a-1-b:2:c" is a match in the file "a-1-b" or the context of another in "a": where both files,
# or a space, are involved, it is ambiguous.
PLAIN_PATHS = paths("abc12._ ()[]")
PATHS_WITHOUT_SPACES = paths("abc12-._()[]")
FILES = st.dictionaries(
    PLAIN_PATHS,
    st.lists(st.integers(1, 99), min_size=1, max_size=5, unique=True),
    min_size=1,
    max_size=4,
)


@given(FILES)
def test_matching_lines_of_any_path_are_attributed(files):
    lines = [f"{path}:{n}:text" for path, numbers in files.items() for n in sorted(numbers)]
    found = grep_lines(lines).files
    assert found == {p: merged_ranges((n, n) for n in ns) for p, ns in files.items()}


@given(PATHS_WITHOUT_SPACES, st.integers(3, 90), st.sampled_from(["x", "y: z", "a 5-6", ""]))
def test_context_lines_of_any_path_are_attributed(path, number, text):
    lines = [f"{path}-{number - 1}-{text}", f"{path}:{number}:x", f"{path}-{number + 1}-{text}"]
    assert grep_lines(lines).files == {path: ((number - 1, number + 1),)}


@given(st.lists(PATHS, min_size=1, max_size=8, unique=True))
def test_every_name_of_a_listing_is_a_target_in_order(names):
    arguments = {"repo": "github.com/a/b"}
    text = json.dumps({"text": "\n".join(names)})
    call = ToolCall("c", "mcp__sourcegraph__list_files", arguments, ToolResult(text))
    assert [t.path for t in interpret(call).targets] == names


PATHOLOGICAL: list[tuple[str, dict[str, Any], str]] = [
    ("Grep", {"output_mode": "content"}, "a-1-" * 250_000),
    ("Grep", {"output_mode": "content"}, "a-1-b:2:c\n" * 100_000),
    ("Grep", {"output_mode": "content", "path": "/w"}, "x:y\n" * 250_000),
    ("Glob", {"path": "/a/b/c/d/e/f/g/h"}, "\n".join(f"h/{n}" for n in range(100_000))),
    ("Read", {"file_path": "a"}, "1\t\n" * 300_000),
    ("Read", {"file_path": "a"}, " " * 1_000_000),
    ("LS", {}, "".join(f"{' ' * (n % 50)}- d{n}/\n" for n in range(30_000))),
    ("mcp__x__search", {}, "https://github.com/a/b/blob/m/" + ")" * 1_000_000),
    ("mcp__x__search", {}, ("https://h/-/blob/" + ")" * 4000 + " ") * 250),
    ("mcp__x__search", {}, "# a/b – " * 125_000),
    ("mcp__x__search", {}, '{"blocks":[' + '{"file":"' * 100_000),
    ("mcp__x__search", {}, '{"text":"' + "\\" * 1_000_001),
    ("mcp__x__search", {}, "<system-reminder>" * 60_000),
    ("mcp__x__search", {}, "\n<system-reminder></system-reminder>" * 25_000),
    ("mcp__x__search", {"query": "repo:^" * 150_000}, "x"),
    ("mcp__sourcegraph__evaluator", {"script": "read_file({" * 90_000}, "x"),
    ("apply_patch", {"input": "*** Update File: a\n" * 50_000}, "Done"),
]


@pytest.mark.parametrize(("name", "arguments", "text"), PATHOLOGICAL)
def test_a_megabyte_of_anything_is_read(name, arguments, text):
    """Seconds, not minutes: quadratic work here runs into the time-out of a hanging test."""
    check(interpret(ToolCall("c", name, arguments, ToolResult(text), cwd="/workspace")))
