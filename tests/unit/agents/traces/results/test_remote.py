"""Remote reads, listings and searches: Sourcegraph in both generations, GitHub, Augment, others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import RawTarget, ToolCall, ToolResult
from tests.tool_uses import certain

REPO = "github.com/acme/widgets--v1.2.0"
URL = f"https://demo.host/{REPO}@0561c21/-/blob/src/app.py"


def use(tool: str, arguments: dict[str, Any], text: str, **result: Any) -> ToolUse:
    name = tool if "__" in tool else f"mcp__sourcegraph__{tool}"
    call = ToolCall("c1", name, arguments, ToolResult(text, **result), cwd="/workspace")
    return certain(interpret(call))


def facts(used: ToolUse) -> list[tuple[str, str | None, Any]]:
    return [(t.path, t.repository, t.lines) for t in used.targets]


def wrapped(text: str) -> str:
    return json.dumps({"text": text})


READS = [
    ({}, wrapped(f"URL: {URL}\n1: a\n2: b\n3: "), ((1, 3),), True),
    (
        {"startLine": 900, "endLine": 902},
        wrapped(f"URL: {URL}%3FL900-902\n900: a\n901: b\n902: c\n903: "),
        ((900, 902),),
        False,
    ),
    ({"startLine": 1}, wrapped(f"URL: {URL}?L1-2\n1: a\n2: b"), ((1, 2),), False),
    ({}, f"URL: {URL}\n1: a", ((1, 1),), True),
    ({}, json.dumps({"content": "900:  }\n901: x"}), ((900, 901),), True),
    ({"startLine": 900, "endLine": 950}, json.dumps({"content": "900: }"}), ((900, 900),), False),
    (
        {},
        wrapped(f"URL: {URL}\n1: a\n[Truncated] Showing first 200 of 999 lines"),
        ((1, 1),),
        False,
    ),
]


@pytest.mark.parametrize(("arguments", "text", "lines", "is_whole"), READS)
@pytest.mark.parametrize("tool", ["read_file", "sg_read_file"])
def test_sourcegraph_read(tool, arguments, text, lines, is_whole):
    used = use(tool, {"repo": REPO, "path": "src/app.py", **arguments}, text)
    assert used.targets == (RawTarget("src/app.py", "opened", REPO, lines, is_whole),)


def test_a_range_behind_the_end_of_the_file_shows_nothing():
    text = wrapped(f"URL: {URL}%3FL1400-1700\n1400: ")
    used = use("read_file", {"repo": REPO, "path": "src/app.py", "startLine": 1400}, text)
    assert used.targets == ()
    assert not used.is_error


def test_a_read_cut_by_the_trace_keeps_the_range_asked_for():
    text = '{"text":"URL: ' + URL + "%3FL150-400\\n150: a\\n151: b\\n15"
    used = use("read_file", {"repo": REPO, "path": "src/app.py"}, text, is_truncated=True)
    assert used.targets == (RawTarget("src/app.py", "opened", REPO, ((150, 400),), False),)


HEADERS = (
    f"# {REPO} – e2e/yarn.lock\n61: \n62: x\n12: y\n\n# {REPO} – docs/a b.md\n"
    f"# github.com/acme/other (archived)\n# {REPO} – e2e/yarn.lock\n63: z\n"
)
BLOCKS = {
    "blocks": [
        {
            "chunks": [{"content": "9: x", "startLine": 9, "endLine": 17}],
            "file": "netwerk/x.js",
            "repo": REPO,
            "type": "file",
        },
        {"chunks": None, "file": "y.js", "repo": REPO, "type": "file"},
        {"repo": "github.com/acme/other", "type": "repo"},
    ]
}


@pytest.mark.parametrize("tool", ["sg_keyword_search", "nls_search", "find_references"])
def test_search_answers_of_both_generations(tool):
    new = use(tool, {"query": "x"}, wrapped(HEADERS))
    assert facts(new) == [
        ("e2e/yarn.lock", REPO, ((12, 12), (61, 63))),
        ("docs/a b.md", REPO, None),
    ]
    old = use(tool, {"query": "x"}, json.dumps(BLOCKS))
    assert facts(old) == [("netwerk/x.js", REPO, ((9, 17),)), ("y.js", REPO, None)]
    assert {t.access for t in (*new.targets, *old.targets)} == {"matched"}
    assert not new.is_opaque
    assert not old.is_opaque


@pytest.mark.parametrize(
    "text",
    [
        '{"blocks":[]}',
        '{"text":"No results."}',
        '{"text":"No results.\\n\\nNo results found."}',
        "",
    ],
)
def test_no_results(text):
    used = use("keyword_search", {"query": "x"}, text)
    assert (used.targets, used.is_opaque, used.is_error) == ((), False, False)


def test_imports_quoted_in_a_hit_are_no_files_found():
    text = wrapped(f'# {REPO} – a.proto\n4: import "envoy/api/v2/core/base.proto";\n5: b/c.go:3:x')
    assert [t.path for t in use("keyword_search", {"query": "x"}, text).targets] == ["a.proto"]


@pytest.mark.parametrize(
    ("query", "repository"),
    [
        (r"repo:^github\.com/acme/w$ foo", "github.com/acme/w"),
        ("repo:^github.com/acme/w$ OR repo:^github.com/acme/v$", None),
        ("repo:acme/w foo", None),
        ("-repo:^github.com/acme/w$ foo", None),
    ],
)
def test_a_cut_record_belongs_to_the_one_repository_searched(query, repository):
    text = '{"blocks":[{"chunks":[{"content":"2: \\"file\\":\\"no.py\\""}],"file":"a.py","re'
    used = use("keyword_search", {"query": query}, text, is_truncated=True)
    path = "a.py" if repository else "/workspace/a.py"
    assert facts(used) == [(path, repository, None)]
    assert used.is_opaque


def test_listings_leave_folders_out():
    new = use("list_files", {"repo": REPO, "path": "a"}, wrapped("a/b/\na/Makefile\na/x y.go\n"))
    assert facts(new) == [("a/Makefile", REPO, None), ("a/x y.go", REPO, None)]
    files = [{"isDirectory": True, "path": "a/b/"}, {"isDirectory": False, "path": "a/c.go"}]
    old = use("list_files", {"repo": REPO}, json.dumps({"files": files}))
    assert facts(old) == [("a/c.go", REPO, None)]
    assert {t.access for t in (*new.targets, *old.targets)} == {"listed"}
    only_folders = use("list_files", {"repo": REPO}, json.dumps({"files": files[:1]}))
    assert (only_folders.targets, only_folders.is_opaque) == ((), False)


def test_commits_and_diffs():
    hunks = {"files": [{"newPath": "new.go", "oldPath": "old.go", "hunks": [{"x": 1}]}]}
    compared = use("compare_revisions", {"repo": REPO, "base": "a", "head": "b"}, json.dumps(hunks))
    assert facts(compared) == [("new.go", REPO, None), ("old.go", REPO, None)]
    diff = (
        "commit 3f\n\ndiff --git a/a/b.py b/a/b.py\n--- a/a/b.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x"
    )
    searched = use("diff_search", {"repos": [REPO], "pattern": "x"}, diff)
    assert facts(searched) == [("a/b.py", REPO, None)]
    assert searched.category == "commit_search"


def test_a_commit_list_without_files_is_opaque():
    used = use("commit_search", {"repos": [REPO]}, wrapped("3f2a Fix the frame\n9b1c Bump"))
    assert used.targets == ()
    assert used.is_opaque


def test_deep_search_names_files_by_links_and_headers_only():
    text = (
        f"The cause is in src/guess.py, see [app]({URL}?L3-9) and "
        f"(https://github.com/acme/w/blob/v1/app/(auth)/page.tsx).\n# {REPO} – b.go\n4: x"
    )
    used = use("deepsearch", {"question": "why?"}, wrapped(text))
    assert used.category == "deep_search"
    assert facts(used) == [
        ("src/app.py", REPO, ((3, 9),)),
        ("app/(auth)/page.tsx", "github.com/acme/w", None),
        ("b.go", REPO, ((4, 4),)),
    ]


def test_deep_search_answers_inside_json():
    used = use("deepsearch", {}, json.dumps({"answer": f"See {URL}.", "title": "a/b.py"}))
    assert facts(used) == [("src/app.py", REPO, None)]


READ_ALL = 'return source.read_file({repo="github.com/acme/w", path="yarn.lock", startLine=s})'


def test_a_script_answers_from_the_one_file_it_reads():
    used = use("evaluator", {"script": READ_ALL}, wrapped('{1022:  lodash "^4"}'))
    assert used.category == "code_search"
    assert facts(used) == [("yarn.lock", "github.com/acme/w", None)]
    assert used.targets[0].access == "matched"
    assert used.is_opaque


@pytest.mark.parametrize(
    ("script", "answer", "is_opaque"),
    [
        (READ_ALL, "{}", False),
        (READ_ALL + READ_ALL.replace("yarn.lock", "b"), "{x}", True),
        ("search.keyword(q, f)", "{x}", True),
        ("for k in pairs(_G) do insert(names, k) end", "{_G, math}", False),
    ],
)
def test_scripts_that_show_no_certain_file(script, answer, is_opaque):
    used = use("evaluator", {"script": script}, wrapped(answer))
    assert (used.targets, used.is_opaque) == ((), is_opaque)


def test_github_file_folder_search_tree_and_commit():
    where = {"owner": "acme", "repo": "w", "path": "src/a.py"}
    read = use("mcp__github__get_file_contents", where, "successfully downloaded text file")
    assert facts(read) == [("src/a.py", "acme/w", None)]
    assert read.targets[0].access == "opened"
    folder = [{"type": "file", "path": "src/a.py"}, {"type": "dir", "path": "src/b"}]
    listing = use("mcp__github__get_file_contents", where, json.dumps(folder))
    assert [(t.path, t.access, t.repository) for t in listing.targets] == [
        ("src/a.py", "listed", "acme/w")
    ]
    assert listing.category == "file_search"
    items = [{"name": "a.py", "path": "src/a.py", "repository": {"full_name": "acme/v"}}]
    search = use("mcp__github__search_code", {"q": "x"}, json.dumps({"items": items}))
    assert facts(search) == [("src/a.py", "acme/v", None)]
    tree = {"tree": [{"path": "src", "type": "tree"}, {"path": "src/a.py", "type": "blob"}]}
    listed = use("mcp__github__get_repository_tree", where, json.dumps(tree))
    assert [(t.path, t.access) for t in listed.targets] == [("src/a.py", "listed")]
    commit = {"sha": "3f", "files": [{"filename": "a.py", "status": "modified"}]}
    committed = use("mcp__github__get_commit", where, json.dumps(commit))
    assert facts(committed) == [("a.py", "acme/w", None)]


def test_augment_sections():
    text = "The following code sections were retrieved:\nPath: src/a.py\n...\n   12\tx\n   13\ty\n"
    used = use("mcp__auggie__codebase-retrieval", {"information_request": "x"}, text)
    assert facts(used) == [("/workspace/src/a.py", None, ((12, 13),))]


def test_unknown_servers_by_grammar():
    grep = use("mcp__x__search_text", {"q": "x"}, "src/a.py:12:x\nsrc/a.py:14:y\nNote: done")
    assert facts(grep) == [("/workspace/src/a.py", None, ((12, 12), (14, 14)))]
    paths = use("mcp__x__search_text", {"q": "x"}, "src/a.py\nlib/b.go")
    assert [t.path for t in paths.targets] == ["/workspace/src/a.py", "/workspace/lib/b.go"]
    symbols = [{"name_path": "F", "relative_path": "src/a.py", "body_location": {}}]
    symbol = use("mcp__x__find_symbol", {"name_path": "F"}, json.dumps(symbols))
    assert facts(symbol) == [("/workspace/src/a.py", None, None)]
    prose = use("mcp__x__search_text", {"q": "x"}, "I believe it is in src/a.py somewhere.")
    assert (prose.targets, prose.is_opaque) == ((), True)


def github(text: str, **arguments: Any) -> ToolUse:
    asked = {"owner": "acme", "repo": "widgets", "path": "src/app.py", **arguments}
    return use("mcp__github__get_file_contents", asked, text)


@pytest.mark.parametrize(
    "text",
    [
        "failed to get file contents: GET https://api.host/x: 404 Not Found []",
        "failed to get raw repository content",
        "Failed to get file contents. The path does not point to a file or directory.",
    ],
)
def test_a_refusal_of_github_is_an_error(text):
    found = github(text)
    assert (found.is_error, found.targets) == (True, ())


def test_a_file_of_github_is_opened_whatever_stands_around_it():
    status = "successfully downloaded text file (SHA: 1f3c)"
    for text in (status, f"{status}\n[Resource from github at repo://acme/widgets] import os"):
        assert facts(github(text)) == [("src/app.py", "acme/widgets", None)]


@pytest.mark.parametrize(
    "text",
    [
        (
            "Resolved potential matches in the repository tree (resolved refs: {}, matching files: "
            '["src/app.py","lib/app.py"]), but the API returned 404.'
        ),
        (
            'Path did not point to a file or directory, but resolved git ref to {"Ref":"m"} '
            'with possible path matches: ["src/app.py","lib/app.py"]'
        ),
    ],
)
def test_paths_that_github_offers_instead_are_listed_and_not_opened(text):
    found = github(text, path="app.py")
    assert [(t.path, t.access) for t in found.targets] == [
        ("src/app.py", "listed"),
        ("lib/app.py", "listed"),
    ]
    assert (found.category, found.is_error) == ("file_search", False)


@pytest.mark.parametrize(
    ("method", "category", "paths"),
    [("get_diff", "commit_search", ["src/a.py"]), ("get_reviews", "other", []), ([], "other", [])],
)
def test_a_pull_request_is_read_by_its_method(method, category, paths):
    diff = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n"
    asked = {"method": method, "owner": "acme", "repo": "widgets"}
    found = use("mcp__github__pull_request_read", asked, diff)
    assert (found.category, [t.path for t in found.targets]) == (category, paths)
    assert not found.is_opaque


@pytest.mark.parametrize(
    "text", ["No relevant code found.", "The following code sections were retrieved:\n", ""]
)
def test_a_retrieval_that_says_it_found_nothing_is_not_opaque(text):
    found = use("mcp__auggie__codebase-retrieval", {"information_request": "x"}, text)
    assert (found.targets, found.is_opaque) == ((), False)


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("get_file_contents", "github"),
        ("search_code", "github"),
        ("get_repository_tree", "github"),
        ("codebase-retrieval", "augment"),
        ("evaluator", "sourcegraph"),
        ("nls_search", "sourcegraph"),
        ("read_file", None),
    ],
)
def test_a_tool_that_only_a_server_has_is_its_servers_without_a_prefix(name, server):
    found = interpret(ToolCall("c1", name, {}, ToolResult("")))
    assert (found.server, found.is_mcp) == (server, server is not None)


@pytest.mark.parametrize("tool", ["read_file", "keyword_search", "list_files"])
def test_a_failure_inside_the_answers_wrapping_is_an_error(tool):
    wrapped = json.dumps({"text": "repository not found: acme/widgets"})
    asked = {"repo": "acme/widgets", "path": "src/a.py", "query": "foo"}
    found = use(f"mcp__sourcegraph__{tool}", asked, wrapped)
    assert (found.targets, found.is_error) == ((), True)


ROWS = [
    ("| File | Line |\n|---|---|\n| src/a.py | 3 |\n| `lib/b.go` | 4 |", [None, None]),
    ("1. src/a.py:3 - foo\n2. lib/b.go:4 - bar", [((3, 3),), ((4, 4),)]),
    ("- **src/a.py** (lines 3-9)\n* lib/b.go", [None, None]),
    ("Two hits\n\n### src/a.py\n```\nfoo\n```\n### lib/b.go:7", [None, ((7, 7),)]),
    ('["src/a.py", "lib/b.go"]', [None, None]),
]


@pytest.mark.parametrize(("text", "lines"), ROWS)
def test_hits_in_rows_of_an_unknown_server(text, lines):
    found = use("mcp__kitchen__code_search", {"query": "foo"}, text)
    expected = zip(("/workspace/src/a.py", "/workspace/lib/b.go"), lines, strict=True)
    assert [(t.path, t.lines) for t in found.targets] == list(expected)
    assert {t.access for t in found.targets} == {"matched"}
    assert not found.is_opaque


@pytest.mark.parametrize(
    "text",
    ["Keine Treffer gefunden.", "- see the manual, page 3/4", "1. first\n2. second", '["a b"]'],
)
def test_an_answer_without_a_path_in_its_rows_is_opaque(text):
    found = use("mcp__kitchen__code_search", {"query": "foo"}, text)
    assert (found.targets, found.is_opaque) == ((), True)


@pytest.mark.parametrize(("text", "is_opaque"), [("src/a.py", True), ("", False), ("  ", False)])
def test_an_answer_of_an_unknown_tool_is_opaque(text, is_opaque):
    assert use("mcp__kitchen__make_coffee", {}, text).is_opaque is is_opaque


def test_a_tree_with_odd_types_is_read():
    call = ToolCall(
        "c1",
        "mcp__x__repository_tree",
        {"repo": "o/r"},
        ToolResult('[{"name": "a.py", "type": {}}, {"name": "src", "type": "dir"}]'),
    )
    assert [t.path for t in interpret(call).targets] == ["a.py"]


def test_a_file_that_holds_a_json_list_is_no_folder():
    text = '[\n{"file": "src/a.c", "command": "cc"},\n{"file": "src/b.c"}\n]'
    arguments = {"owner": "o", "repo": "r", "path": "compile_commands.json"}
    used = use("mcp__github__get_file_contents", arguments, text)
    assert used.category == "file_read"
    assert used.targets == (
        RawTarget("compile_commands.json", "opened", "o/r", None, is_whole=True),
    )
