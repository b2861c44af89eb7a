"""Answers that served nothing, and content that only speaks of such answers.

Each row is a tool, its arguments, what came back, and why it is what it is.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from retrieval_eval.agents.traces.served import is_refusal, is_stub, may_be_refused
from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.tools import ToolUse, interpret
from retrieval_eval.records import ToolCall, ToolResult
from tests.tool_uses import certain

READ = ("mcp__sourcegraph__read_file", {"repo": "github.com/acme/w", "path": "src/a.go"})
GET = ("mcp__github__get_file_contents", {"owner": "acme", "repo": "w", "path": "src/a.go"})
SEARCH = ("mcp__sourcegraph__keyword_search", {"query": "src/a.go"})
PAGE = ("WebFetch", {"url": "https://raw.githubusercontent.com/acme/w/v1/src/a.go", "prompt": "x"})
FETCH = ("mcp__fetch__fetch", {"url": "https://github.com/acme/w/blob/main/src/a.go"})
OTHER = ("mcp__files__read_file", {"path": "src/a.go"})


def page(title: str, body: str = "") -> str:
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>{body}</body></html>"


def asking(tool: tuple[str, dict[str, Any]], path: str) -> tuple[str, dict[str, Any]]:
    return tool[0], {**tool[1], "path": path}


FORM = '<form action="/session"><input name="user"><input type="password" name="p"></form>'

UNSERVED: list[tuple[tuple[str, dict[str, Any]], Any, str]] = [
    (GET, {"message": "Not Found", "status": "404"}, "an error object with HTTP's status"),
    (
        GET,
        {"message": "API rate limit exceeded", "documentation_url": "https://docs"},
        "GitHub's error object, which states no status in older versions",
    ),
    (OTHER, {"error": "unauthorized"}, "an error object and nothing else"),
    (OTHER, {"errors": [{"message": "src/a.go: bad gateway"}], "data": None}, "GraphQL's errors"),
    (
        READ,
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no session"}},
        "a JSON-RPC error",
    ),
    (SEARCH, {"isError": True, "content": [{"type": "text", "text": "src/a.go"}]}, "MCP's flag"),
    (
        OTHER,
        {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": "src/a.go"},
        "a problem document of HTTP",
    ),
    (SEARCH, {"success": False, "message": "src/a.go timed out"}, "a failure by its flag"),
    (SEARCH, {"error": "failed at src/a.go:12: rate limited"}, "a path in an error is no match"),
    (READ, "HTTP 403", "a status alone"),
    (READ, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\n\r\n", "a response's head"),
    (READ, "429 Too Many Requests", "a status with its phrase"),
    (PAGE, "404: Not Found", "what raw addresses answer for a missing file"),
    (OTHER, "Error 503: Service Unavailable", "an error with its status"),
    (GET, "API rate limit exceeded for 192.0.2.1. (Authenticate for more.)", "a rate limit"),
    (READ, "You have exceeded a secondary rate limit. Please wait a few minutes.", "a rate limit"),
    (SEARCH, "rate limit exceeded, retry after 30s (src/a.go)", "a rate limit that names a path"),
    (OTHER, "Bad credentials", "a missing sign-in in words"),
    (READ, "Please sign in to continue.", "a missing sign-in in words"),
    (FETCH, page("Sign in to GitHub · GitHub", FORM), "a page whose title asks to sign in"),
    (FETCH, page("Sign in · GitLab"), "the same without the form"),
    (READ, page("Acme", FORM), "a page whose form asks for a password, in place of Go code"),
    (READ, page("403 Forbidden", "<h1>nginx</h1>"), "an error page of a web server"),
    (OTHER, page("Just a moment..."), "a page that checks for robots"),
    (FETCH, page("Attention Required! | Cloudflare"), "another one"),
    (FETCH, f"Contents of {FETCH[1]['url']}:\n404: Not Found", "an error below an address"),
    (READ, page("Acme | Page not found"), "an error page with the site's name in front"),
    (PAGE, "REDIRECT DETECTED: The URL redirects to a different host.", "nothing was fetched"),
    (READ, "Request timed out", "an answer that did not come"),
]

SERVED: list[tuple[tuple[str, dict[str, Any]], Any, str]] = [
    (READ, "1: // HTTP 403 is returned when\n2: package a", "numbered lines of a file"),
    (READ, "// 429 Too Many Requests\npackage a", "code behind a comment sign"),
    (READ, "404 lines were read by the test\npackage a", "a number is no status"),
    (GET, "# Rate limit exceeded\n\nWhat to do.", "a heading of a document"),
    (OTHER, "Rate limit exceeded errors are retried.\nSee b.", "a sentence that goes on"),
    (OTHER, "Unauthorized\n============\n\nAnswers without a token.", "an underlined heading"),
    (OTHER, "Too Many Requests\n" + "text " * 300, "longer than any error message"),
    (OTHER, "Sign in flow: the form posts to /session", "a name that only begins like the words"),
    (OTHER, "Forbidden words\nfoo", "a list of words"),
    (OTHER, "HTTP 200 OK is what we want", "no error status"),
    (OTHER, "timeout = 30", "a setting"),
    (READ, "1: rate limited", "a numbered line of a file"),
    (READ, "// connection refused", "a comment"),
    (GET, "Connection refused\nmeans that no server listens.\n", "more than a line"),
    (GET, {"name": "w", "version": "1.0", "error": "src/errors.go"}, "a manifest has more names"),
    (asking(READ, "web/login.html"), page("Sign in", FORM), "the page is the requested file"),
    (asking(READ, "views/login.erb"), page("Log in", FORM), "a template of a page"),
    (asking(READ, "errors/404.php"), page("404 Not Found"), "an error page is the requested file"),
    (FETCH, page("w/src/login.go at main · acme/w · GitHub"), "a code host's page of the file"),
    (FETCH, page("w/src/errors.go at main · acme/w · GitHub"), "errors in the file's name"),
    (PAGE, "The file defines a rate limiter that answers 429.", "a summary of the file"),
    (PAGE, "This file shows how the handler renders the 404 page.", "a summary of the file"),
    (PAGE, "The content is a Go package that handles login forms.", "a summary of the file"),
    (PAGE, "# 404 page\nHow to write one.", "a heading of a document"),
    (asking(OTHER, "/workspace/src/a.go"), "Unauthorized", "a server of local files, no network"),
]


def use(tool: tuple[str, dict[str, Any]], answer: Any, is_structured: bool = False) -> ToolUse:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    structured = answer if is_structured and not isinstance(answer, str) else None
    return certain(interpret(ToolCall("c", tool[0], tool[1], ToolResult(text, structured))))


@pytest.mark.parametrize("is_structured", [False, True])
@pytest.mark.parametrize(("tool", "answer", "why"), UNSERVED)
def test_an_error_in_place_of_an_answer_serves_nothing(tool, answer, why, is_structured):
    used = use(tool, answer, is_structured)
    assert (used.targets, used.is_error, used.is_opaque) == ((), True, False), why


@pytest.mark.parametrize(("tool", "answer", "why"), SERVED)
def test_content_that_speaks_of_errors_is_content(tool, answer, why):
    used = use(tool, answer)
    assert not used.is_error, why
    assert [t.access for t in used.targets] == ["opened"], why


@pytest.mark.parametrize("answer", [row[1] for row in UNSERVED if isinstance(row[1], str)])
def test_what_a_local_tool_reads_is_content_whatever_it_says(answer):
    lines = "\n".join(f"{n:6}\t{line}" for n, line in enumerate(answer.split("\n"), start=1))
    used = use(("Read", {"file_path": "/w/page.txt"}), lines)
    assert [(t.path, t.access) for t in used.targets] == [("/w/page.txt", "opened")]


@pytest.mark.parametrize("tool", [GET, READ, OTHER])
def test_an_error_object_where_a_json_file_was_asked_for_stays_open(tool):
    used = use(asking(tool, "fixtures/error.json"), {"error": "not found", "status": 404})
    assert (used.targets, used.is_error, used.is_opaque) == ((), False, True)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm unable to access this page because it requires authentication.",
        "I cannot access the content of the URL.",
        "The page returned a 404 error.",
        "This page appears to be a login page.",
        "Unfortunately, the content was not provided.",
        "Based on the provided content, this is a GitHub 404 page.",
        "The content provided is a GitHub sign-in page, not the requested file.",
        "The page content appears to be an error page.",
        "It seems to be a login form of the host.",
    ],
)
def test_a_model_that_says_it_saw_nothing_leaves_open_what_it_saw(answer):
    used = use(PAGE, answer)
    assert (used.targets, used.is_error, used.is_opaque) == ((), False, True)


@pytest.mark.parametrize(
    "answer",
    [
        "You are not logged in. Run `w login` first.",
        "Your session has expired. Please sign in again.",
        "The operation was aborted due to timeout",
        "Tool call timed out after 60s",
        "Connection refused",
        'MCP server "w" is not connected',
        "upstream connect error or disconnect/reset before headers",
        'API Error: 529 {"type": "error", "error": {"type": "overloaded_error"}}',
        "You are being rate limited.",
        "Request was throttled. Expected available in 12 seconds.",
    ],
)
@pytest.mark.parametrize("tool", [READ, GET, OTHER])
def test_a_line_that_tells_of_an_error_in_other_words_leaves_open_what_was_served(tool, answer):
    used = use(tool, answer)
    assert (used.targets, used.is_error, used.is_opaque) == ((), False, True)


@pytest.mark.parametrize("title", ["Sign in to GitHub", "Page not found · GitHub"])
def test_a_fetched_page_in_markdown_may_be_a_sign_in_or_error_page(title):
    for text in (f"# {title}\n\nUsername\n\nPassword", f"{title}\n\nGo back."):
        used = use(FETCH, text)
        assert (used.targets, used.is_opaque or used.is_error) == ((), True)
    document = {"url": "https://github.com/acme/w/blob/main/docs/login.md"}
    assert use((FETCH[0], document), f"# {title}\n\nUsername").targets


def test_the_status_of_a_fetched_page_decides():
    result = ToolResult("The file has three lines.", {"code": 404, "result": "x", "url": "u"})
    assert interpret(ToolCall("c", *PAGE, result)).is_error
    result = ToolResult("The file has three lines.", {"code": 200, "result": "x", "url": "u"})
    assert interpret(ToolCall("c", *PAGE, result)).targets


CURL = "curl -s https://raw.githubusercontent.com/acme/w/v1/{}"


@pytest.mark.parametrize(
    "printed",
    [
        "404: Not Found",
        "429: Too Many Requests",
        "HTTP/2 403\ncontent-type: text/html",
        '{"message": "Not Found", "documentation_url": "https://docs", "status": "404"}',
        '{\n  "error": "rate limited"\n}',
        page("Sign in to GitHub · GitHub", FORM),
        "curl: (22) The requested URL returned error: 404",
    ],
)
def test_an_error_that_a_shell_fetched_is_not_the_file(printed):
    assert ShellSession("/w").analyse(CURL.format("src/a.go"), printed).events == ()


@pytest.mark.parametrize(
    ("path", "printed"),
    [
        ("src/a.go", "package a // 404: Not Found"),
        ("web/login.html", page("Sign in", FORM)),
        ("package.json", '{\n  "name": "w", "error": "x"\n}'),
    ],
)
def test_content_that_a_shell_fetched_is_the_file(path, printed):
    (event,) = ShellSession("/w").analyse(CURL.format(path), printed).events
    assert [t.path for t in event.targets] == [path]


STUBS = [
    "The file has not changed since you last read it.",
    "<system-reminder>File unchanged since last read.</system-reminder>",
    "File src/a.py unchanged since last read in this session; see above.",
    "No changes since your previous view of this file",
    "You have already read this file, and its content is identical.",
]


@pytest.mark.parametrize("text", STUBS)
def test_an_answer_that_names_an_earlier_read_serves_nothing_new(text):
    assert is_stub(text)
    for name in ("Read", "read_file", "str_replace_editor"):
        call = ToolCall("1", name, {"path": "a.py", "command": "view"}, ToolResult(text))
        assert not [t for t in interpret(call).targets if t.doubt is None]


@pytest.mark.parametrize(
    "text",
    [
        "1\tThe file has not changed since you last read it.",
        "# unchanged since the last read",
        "state = 'unchanged since last read'",
        "a\nb\nunchanged since last read",
        "The file has not changed.",
    ],
)
def test_content_that_speaks_of_an_earlier_read_is_content(text):
    assert not is_stub(text)


@pytest.mark.parametrize(
    "text",
    [
        "Approval required: the command changes files outside of the folder",
        "Sandbox: operation not permitted by policy, command was not run",
        "[sandbox] command not executed: no network",
        "The command was not executed because nobody approved it.",
        "This command needs your confirmation",
        "Awaiting approval",
    ],
)
def test_a_short_answer_that_nothing_was_run_serves_nothing(text):
    assert is_refusal(text)
    for name, arguments in (("Bash", {"command": "cat a.py"}), ("Read", {"file_path": "a.py"})):
        assert not interpret(ToolCall("1", name, arguments, ToolResult(text))).targets


@pytest.mark.parametrize(
    "text",
    [
        "12: Approval required: x",
        "Approval required\n=================\n\n1. Ask.\n2. Wait.",
        "approval_required = True",
        "Approval required " + "x" * 700,
        "The test was not executed",
    ],
)
def test_content_about_approvals_is_content(text):
    assert not is_refusal(text)


@pytest.mark.parametrize(
    "text", ["[sandbox] denied: cat a.py", "Policy violation: this command is not allowed"]
)
def test_a_label_before_a_refusal_leaves_it_open(text):
    assert may_be_refused(text)
