"""Reading a saved result shows a further part of the result that was saved."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.records import ToolCall, ToolResult, Trace

SAVED = "/logs/projects/-w/s/tool-results/toolu_1.txt"
NOTICE = f"<persisted-output>\nOutput too large (9KB). Full output saved to: {SAVED}\n\nPreview:\n"


def made(*calls: tuple[str, dict[str, str], str]) -> list:
    logged = tuple(
        ToolCall(str(number), name, arguments, ToolResult(text), cwd="/workspace")
        for number, (name, arguments, text) in enumerate(calls)
    )
    trace = Trace(logged, "f", "transcript", False, True, cwd="/workspace")
    return read_calls(trace)


def paths(read) -> list[str]:
    return [target.path for target, _ in read.raw_targets()]


GREP = ("Grep", {"pattern": "x", "output_mode": "content"}, NOTICE + "src/a.py:1:x\n")
SHELL = ("Bash", {"command": "cd src && grep -rn x ."}, NOTICE + "./a.py:1:x\n")


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("tail -n +3 {} | head -2", "src/b.py:2:x"),
        ("cat {} | grep b | sort | uniq", "src/b.py:2:x"),
        ("grep -n b {}", "3:src/b.py:2:x"),
        ("grep -Hn b {}", "{}:3:src/b.py:2:x"),
        ("rg b {}", "src/b.py:2:x"),
        ("rg b {}", "3:src/b.py:2:x"),  # rg numbers lines where it believes in a terminal.
        ("cat -n {} | sed -n '3,4p'", "     3\tsrc/b.py:2:x"),
        ("awk 'NR>=3 && NR<=4' {}", "src/b.py:2:x"),
        ("sed -n '/b/p' < {}", "src/b.py:2:x"),
        ("cut -c1-200 {} | head -3", "src/b.py:2:x"),
        ("wc -l {}; echo --- hits; grep b {} | head -3", "9 {}\n--- hits\nsrc/b.py:2:x"),
        ("F={}; head -3 $F; tail -2 $F", "src/b.py:2:x"),
        ("cd /logs/projects/-w/s && grep b tool-results/toolu_1.txt", "src/b.py:2:x"),
    ],
)
def test_commands_whose_output_consists_of_its_lines(command, printed):
    command, printed = command.replace("{}", SAVED), printed.replace("{}", SAVED)
    reads = made(GREP, ("Bash", {"command": command}, printed))
    assert paths(reads[1]) == ["/workspace/src/b.py"]
    assert not reads[1].is_opaque


FOLDER = SAVED.rpartition("/")[0]


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (f"grep -rn b {FOLDER}", f"{SAVED}:3:src/b.py:2:x"),
        (f"rg b {FOLDER}/", f"{SAVED}:src/b.py:2:x"),
        (f"cd {FOLDER} && grep -rn b .", "./toolu_1.txt:3:src/b.py:2:x"),
        (f"grep -rh b {FOLDER} | head -3", "src/b.py:2:x"),
        (f"grep b {FOLDER}/*.txt", "src/b.py:2:x"),
        (f"cp {SAVED} /tmp/o.txt; grep b /tmp/o.txt", "src/b.py:2:x"),
        (f"cat {SAVED} > /tmp/o.txt && grep -n b /tmp/o.txt", "3:src/b.py:2:x"),
    ],
)
def test_a_search_of_its_folder_or_of_a_copy(command, printed):
    reads = made(GREP, ("Bash", {"command": command}, printed))
    shown = [t.path for t, _ in reads[1].raw_targets() if t.access != "written"]
    assert shown == ["/workspace/src/b.py"]
    assert not reads[1].is_opaque


@pytest.mark.parametrize("copy", ["cp {} /tmp/o.txt", "ln -s {} /tmp/o.txt", "cat {} > /tmp/o.txt"])
def test_a_copy_that_a_later_call_reads(copy):
    later = ("Bash", {"command": "grep b /tmp/o.txt"}, "src/b.py:2:x")
    read = ("Read", {"file_path": "/tmp/o.txt"}, "     1\tsrc/b.py:2:x")
    reads = made(GREP, ("Bash", {"command": copy.format(SAVED)}, ""), later, read)
    assert paths(reads[2]) == paths(reads[3]) == ["/workspace/src/b.py"]


def test_a_search_of_a_folder_with_several_tells_them_apart_by_their_names():
    other = f"{FOLDER}/toolu_2.txt"
    second = ("Grep", {"pattern": "y", "output_mode": "content"}, NOTICE.replace(SAVED, other))
    search = {"command": f"grep -rn b {FOLDER}"}
    reads = made(GREP, second, ("Bash", search, f"{other}:3:src/b.py:2:y"))
    assert paths(reads[2]) == ["/workspace/src/b.py"]
    mixed = made(GREP, second, ("Bash", {"command": f"grep -rh b {FOLDER}"}, "src/b.py:2:y"))
    assert mixed[2].is_opaque


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("Grep", {"path": FOLDER, "output_mode": "content"}, f"{SAVED}:3:src/b.py:2:x"),
        (
            "search_file_content",
            {"path": FOLDER, "pattern": "b"},
            "Found 1 match:\n---\nFile: toolu_1.txt\nL3: src/b.py:2:x\n---",
        ),
    ],
)
def test_a_tool_that_searches_its_folder(tool, arguments, answer):
    assert paths(made(GREP, (tool, arguments, answer))[1]) == ["/workspace/src/b.py"]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("Grep", {"path": SAVED, "output_mode": "content"}, "3:src/b.py:2:x"),
        ("grep", {"paths": SAVED}, f"{SAVED}:3:src/b.py:2:x"),
        ("grep", {"path": SAVED}, f"Found 1 matches\n{SAVED}:\n  Line 3: src/b.py:2:x\n"),
        (
            "grep_search",
            {"dir_path": SAVED},
            "Found 1 match for pattern:\n---\nFile: toolu_1.txt\nL3: src/b.py:2:x\n---",
        ),
        ("view", {"path": SAVED, "view_range": [3, 3]}, "3. src/b.py:2:x"),
        (
            "read",
            {"filePath": SAVED, "offset": 3},
            (
                f"<path>{SAVED}</path>\n<type>file</type>\n<content>\n3: src/b.py:2:x\n\n"
                "(Showing lines 3-3 of 9. Use offset=4 to continue.)\n</content>"
            ),
        ),
        (
            "read_file",
            {"file_path": SAVED, "offset": 2},
            "Showing lines 3-3 of 9 total lines.\n\n---\n\nsrc/b.py:2:x",
        ),
    ],
)
def test_tools_that_read_or_search_it(tool, arguments, answer):
    reads = made(GREP, (tool, {"pattern": "b", **arguments}, answer))
    assert paths(reads[1]) == ["/workspace/src/b.py"]
    assert not reads[1].is_opaque


def test_a_search_that_finds_nothing_in_it_shows_nothing():
    reads = made(GREP, ("Bash", {"command": f"grep zzz {SAVED}"}, ""))
    assert (paths(reads[1]), reads[1].is_opaque) == ([], False)


@pytest.mark.parametrize(
    ("first", "seen"),
    [
        ("cat src/a.py", {"/workspace/src/a.py": True}),
        ("cat src/a.py src/b.py", {"/workspace/src/a.py": False, "/workspace/src/b.py": False}),
    ],
)
def test_some_lines_of_printed_files_are_one_files_only_where_one_was_printed(first, seen):
    printed = ("Bash", {"command": first}, NOTICE + "import os\n")
    reads = made(printed, ("Bash", {"command": f"sed -n 300,310p {SAVED}"}, "    return 1"))
    targets = [target for target, _ in reads[1].raw_targets()]
    assert {target.path: target.doubt is None for target in targets} == seen
    assert not any(target.is_whole or target.lines for target in targets)


def test_what_is_too_large_again_is_a_part_of_the_first_result():
    second = SAVED.replace("toolu_1", "toolu_2")
    again = ("Bash", {"command": f"cat {SAVED}"}, NOTICE.replace(SAVED, second) + "src/a.py:1:x\n")
    reads = made(GREP, again, ("Bash", {"command": f"grep b {second}"}, "src/b.py:2:x"))
    assert paths(reads[2]) == ["/workspace/src/b.py"]


@pytest.mark.parametrize(
    ("notice", "path"),
    [
        ("...output truncated...\n\nFull output saved to: {}\n\nsrc/z.py:9:x", "/d/tool-output/t1"),
        (
            (
                "Output too large to read at once (9 KB). Saved to: {}\nConsider using grep.\n\n"
                "Preview (first 500 chars):\nsrc/z.py:9:x"
            ),
            "/tmp/1-copilot-tool-output-2.txt",
        ),
        (
            (
                "Output too large. Showing first 8,000 and last 32,000 characters. "
                "For full output see: {}\nsrc/z.py:9:x"
            ),
            "/h/.gemini/tmp/p/tool-outputs/s/t.txt",
        ),
        (
            (
                "Tool output was too large and has been truncated.\n"
                "The full output has been saved to: {}\nTo read it, use read_file.\n"
                "Truncated part of the output:\nsrc/z.py:9:x"
            ),
            "/h/.qwen/tmp/p/run_shell_command_1.output",
        ),
        (
            (
                "src/z.py:9:x\n<response clipped><NOTE>The complete output has been saved to {} - "
                "you can use other tools to view it.</NOTE>"
            ),
            "/w/.observations/o.txt",
        ),
    ],
)
def test_each_harness_says_in_its_own_words_where_a_result_is_saved(notice, path):
    first = ("bash", {"command": "grep -rn x src"}, notice.replace("{}", path))
    reads = made(first, ("bash", {"command": f"tail -3 {path}"}, "src/b.py:2:x"))
    assert paths(reads[1]) == ["/workspace/src/b.py"]
    about = made(first, ("bash", {"command": f"python3 x.py {path}"}, "7"))
    assert not any(target == path for target in paths(about[1]))


@pytest.mark.parametrize(
    "command",
    [
        "cat -n {}",
        "grep --count b {}",
        "cat {} | wc -l",
        "grep -c b {}",
        "python3 x.py {}",
        "cat {} src/q.py {}",
    ],
)
def test_a_shell_that_prints_something_else_is_opaque(command):
    reads = made(GREP, ("Bash", {"command": command.format(SAVED, SAVED)}, "7"))
    assert reads[1].is_opaque
    assert not any("tool-results" in path for path in paths(reads[1]))


def test_a_saved_output_of_a_shell_is_read_where_the_shell_was():
    before = ("Bash", {"command": "cd /workspace/w"}, "")
    elsewhere = ("Bash", {"command": "cd /tmp"}, "")
    reads = made(before, SHELL, elsewhere, ("Read", {"file_path": SAVED}, "     1\t./b.py:2:x"))
    assert paths(reads[1]) == ["/workspace/w/src/a.py"]
    assert paths(reads[3]) == ["/workspace/w/src/b.py"]
    assert reads[3].status == "resolved"


def test_a_saved_result_of_no_known_call_is_opaque():
    (read,) = made(("Read", {"file_path": SAVED}, "     1\tsrc/a.py"))
    assert (paths(read), read.status) == ([], "opaque")
