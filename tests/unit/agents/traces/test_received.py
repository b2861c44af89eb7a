"""Marks that harnesses put where they cut an answer, told from content about cutting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.traces.received import received, whole_lines
from retrieval_eval.agents.traces.tools import interpret
from retrieval_eval.records import CUT_HERE, ToolCall, ToolResult

BEFORE, BEHIND = "a = 1\nb = 2\nc = 3\nd = 4", "e = 5\nf = 6\n7\n8\n9\n10\n11\n12"

MARKS = [
    "[... 1200 more lines ...]",
    "... and 1234 more lines",
    "\u2500\u2500 400 lines hidden \u2500\u2500",
    "[SNIP: 12000 tokens]",
    "<snip>",
    "... [remaining 400 lines]",
    '<truncated after="30000"/>',
    "<truncated_output/>",
    "[3 KB of 90 KB shown]",
    "[Output truncated. Use view_range=[3, 9] to read on. File has 900 lines total.]",
    "--- snip ---",
    "<truncated />",
    "[Earlier output omitted: 51234 characters]",
    "[... Observation truncated due to length ...]",
    "[... output truncated ...]",
    "... [12,345 characters truncated] ...",
    "... [900 lines truncated] ...",
    "[900 lines omitted]",
    "<response clipped>",
    "<response clipped><NOTE>Only part of the response has been shown.</NOTE>",
    "…44019 tokens truncated…",
    "...output truncated...",
    "...90 lines truncated...",
    "[... omitted 3 of 90 lines ...]",
    "[... output truncated: 200000 chars total. Refine the command …]",
    "... 120 more lines omitted",
    "... (truncated)",
    "[Output truncated]",
    "(output truncated)",
    "<truncated>",
    "<truncated 120 lines>",
    "--- truncated ---",
    "*** output truncated ***",
    "### 120 lines truncated ###",
    "<... 1000 characters elided ...>",
    "[Output truncated: 30000 of 90000 characters shown]",
    "[Output limited to 20000 characters; remaining 70000 omitted]",
    "[output limit reached]",
    "(max output size reached)",
    "[output abbreviated]",
    "[... and 30 more]",
    "[12,000 characters remaining]",
    "(+12 more rows)",
    "\u2026 200 lines \u2026",
    "\u2026 +200 lines (ctrl+o to expand)",
    "~~~ 300 lines elided ~~~",
    "[remainder of file not displayed]",
    "[output shortened]",
    "--More--(45%)",
    "[cut]",
    "[...]",
    "(\u2026)",
    "...",
    ". . . . .",
    "............",
]
BETWEEN_LINES = [
    "[381 more lines in file. Use offset=21 to continue.]",
    "[200 lines remaining]",
    "... eliding lines 3-90 ...",
    "(File has more lines. Use 'offset' parameter to read beyond line 20)",
    "[Showing lines 1-20 of 90]",
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_stands_where_a_part_is_left_out(mark):
    text = received(ToolResult(f"{BEFORE}\n{mark}\n{BEHIND}")).text
    assert text == f"{BEFORE}\n{CUT_HERE}\n{BEHIND}"


@pytest.mark.parametrize("mark", BETWEEN_LINES)
def test_a_mark_that_counts_lines_stands_between_whole_lines(mark):
    text = received(ToolResult(f"{BEFORE}\n{mark}\n{BEHIND}")).text
    assert text == f"{BEFORE}\n{CUT_HERE}\n{CUT_HERE}\n{BEHIND}"
    assert whole_lines(text) == [*BEFORE.split("\n"), *BEHIND.split("\n")]


def test_the_lines_of_a_read_end_where_its_note_says():
    rows = "".join(f"{n}\trow {n}\n" for n in range(1, 201))
    for mark in (*BETWEEN_LINES, "[Showing first 200 lines of 900]"):
        shown = received(ToolResult(f"{rows}\n{mark}"))
        target = interpret(ToolCall("1", "Read", {"file_path": "a.py"}, shown)).targets[0]
        assert (target.lines, target.is_whole) == (((1, 200),), False)
        plain = received(ToolResult("x = 1\n" * 200 + mark))
        target = interpret(ToolCall("1", "Read", {"file_path": "a.py"}, plain)).targets[0]
        assert (target.lines, target.is_whole) == (((1, 200),), False)


def test_a_line_that_the_call_holds_itself_is_no_mark():
    result = ToolResult(f"{BEFORE}\n...\n{BEHIND}")
    assert received(result, {"command": "cat a; echo ...; cat b"}) is result
    for command in ("cat a", "git diff a...b; cat a", "go vet ./...; cat a"):
        assert received(result, {"command": command}) is not result


CONTENT = [
    "- 400 lines of code",
    "(3 lines)",
    "    # output truncated here",
    'raise ValueError("output too long ...")',
    "... x = truncate(output)",
    ">>> truncated = text[:10]",
    '    "... [truncated] ...",',
    "12: [... output truncated ...]",
    "src/a.py:12:# [... output truncated ...]",
    'if is_truncated: print("[output truncated]")',
    'msg = f"...{n} lines truncated..."',
    '_CUT = "[... Observation truncated"',
    "- the output is truncated after 100 lines",
    "[x for x in truncated]",
    '(truncated or "")',
    "{ truncated: true }",
    "(exceeds, limit)",
    "[skipped]",
    "[omitted]: https://example.org",
    '<truncated-text :value="x">',
    "    ...",
    "    [...]",
    "12\t[...]",
    "12: ...",
    "# ...",
    "x[...]",
    "..",
    ">>> for n in x:\n...\n1",
    "......\n----------------------------------------------------------------------",
    "Showing lines of code",
    "[Showing lines 1-20 of 20]",
    "(see the remaining lines)",
    "[more]",
]


@pytest.mark.parametrize("line", CONTENT)
def test_a_line_about_cutting_is_content(line):
    result = ToolResult(f"{BEFORE}\n{line}\n{BEHIND}")
    assert received(result) is result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # nothing, or the end alone, behind a mark at the beginning
        ("...output truncated...\n\nFull output saved to: /x/tool_1\n\n", f"{CUT_HERE}\n"),
        ("...output truncated...\n\nFull output saved to: /x/t\n\nz = 1", f"{CUT_HERE}\nz = 1"),
        # notes that tell which lines are shown
        ("x\ny\n\n[Showing lines 9-20 of 20 (50.0KB limit).]", f"{CUT_HERE}\n{CUT_HERE}\nx\ny\n\n"),
        ("x\ny\n\n[Showing lines 1-20 of 90. Use offset=21]", f"x\ny\n{CUT_HERE}\n{CUT_HERE}"),
        ("x\ny\n[Showing first 2 lines of 9]", f"x\ny\n{CUT_HERE}\n{CUT_HERE}"),
        ("[Showing last 2 lines of 9]\nx\ny", f"{CUT_HERE}\n{CUT_HERE}\nx\ny"),
        ("x\ny\nShowing first 2 of 9 lines.", f"x\ny\n{CUT_HERE}\n{CUT_HERE}"),
        # a mark within a line
        ("import o\u20269 tokens truncated\u2026s = 1", f"import o\n{CUT_HERE}\ns = 1"),
        # a sentence below and above what is shown
        ("a\nb\nOutput truncated.", f"a\nb\n{CUT_HERE}"),
        (
            "The output of your call was too long to be displayed.\na\nb",
            f"{CUT_HERE}\na\nb\n{CUT_HERE}",
        ),
        (
            "Output too large. Showing first 8 and last 9.\nab\n... 5 lines omitted ...\nz",
            f"\nab\n{CUT_HERE}\nz",
        ),
    ],
)
def test_where_the_part_is_that_was_left_out(text, expected):
    assert received(ToolResult(text)).text == expected


@pytest.mark.parametrize(
    "mark",
    [
        "*Output was truncated at 10000 characters*",
        "> Output truncated. Full log: /tmp/x.log",
        "## [output truncated to 16384 bytes] ##",
        "|| truncated ||",
        "\u2702 400 lines cut",
    ],
)
def test_an_ornament_is_a_mark_only_as_the_outermost_line(mark):
    assert received(ToolResult(f"{BEFORE}\n{mark}")).text == f"{BEFORE}\n{CUT_HERE}"
    within = ToolResult(f"{BEFORE}\n{mark}\n{BEHIND}")
    assert received(within) is within


def test_a_preview_ends_where_the_rest_was_saved():
    text = "<persisted-output>\nPreview (2KB):\na.py\nb.p\n...\n</persisted-output>"
    assert whole_lines(received(ToolResult(text)).text)[:3] == [
        "<persisted-output>",
        "Preview (2KB):",
        "a.py",
    ]


LINES = st.lists(st.sampled_from(["x = 1", "", "12\ty", "    z()", "a.py:3:b"]), max_size=6)


@given(before=LINES, behind=LINES, mark=st.sampled_from([*MARKS, *BETWEEN_LINES]))
def test_beside_a_mark_nothing_is_shown_that_was_not_there(before, behind, mark):
    text = received(ToolResult("\n".join([*before, mark, *behind]))).text
    shown = whole_lines(text)
    assert mark not in shown or not any(map(str.strip, before + behind))
    assert {*shown} <= {*before, *behind, "", mark}
    assert whole_lines(received(ToolResult(text)).text) == shown


def test_marks_are_found_in_linear_time():
    for dots in (
        "...\n" * 300_000,
        ". " * 900_000,
        "[" * 900_000,
        "\n" * 900_000,
        "(more " * 300_000,
    ):
        assert received(ToolResult(f"x{dots}")).text.startswith("x")
    text = "truncated " * 200_000
    assert received(ToolResult(text)).text == text
    assert received(ToolResult("... " * 300_000 + "truncated")).text.startswith("... ")
