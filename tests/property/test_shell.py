"""What holds for any text a shell could have been given and any text it could have printed."""

from __future__ import annotations

import posixpath
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.traces.results.base import merged_ranges
from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.shell.plan import fits, take
from retrieval_eval.agents.traces.shell.syntax import parse_with_grammar, plain_script
from tests.conftest import COSTLY

WORDS = [
    "cat", "grep", "-n", "-rn", "sed", "-n '1,5p'", "head", "-5", "find", ".", "-exec", "{}", "\\;",
    "xargs", "ls", "cd", "a.py", "src/b.py", "*.py", "$X", "$(pwd)", "${X%.py}", "$((1+2))", "|",
    "&&", "||", ";", "\n", "(", ")", "{", "}", "if", "then", "fi", "for f in a b; do", "done",
    "while read f; do", ">", ">>", "<", "<<EOF\nx\nEOF\n", "2>/dev/null", "2>&1", "'", '"', "`",
    "echo", "---", "X=a", "python3", "-c", "\"open('a.py')\"", "git", "show", "HEAD:a.py", "sgx",
    "nohup", "&", "docker exec -w /x c sh -c", "ssh h", "kubectl exec p --", "Get-Content",
    "Select-String", "Get-ChildItem", "a\\\\b.py", "pwsh -c", "cmd /c", "type", "apply_patch",
    "gh api repos/o/r/contents/a.py", "gh pr diff", "make", "$A/$B/c.py",
    "read", "awk", "'NR==3'", "tree", "wc", "-l", "{a,b}", "{1..3}", "bash", "f() {", "case",
    "esac",
]  # fmt: skip
LINES = [
    "", "---", "x", "a.py", "./a.py", "src/b.py:3:x", "src/b.py-4-y", "12:x", "13-y", "a.py:2",
    "==> a.py <==", "cat: a.py: No such file or directory", "total 4", "3", "Exit code 1",
    "-rw-r--r-- 1 me me 12 Mar 31 21:39 a.py", "├── a.py", "│   └── b.py", "diff --git a/x b/x",
    "# o/r \u2013 a.py", "URL: https://h/o/r@1/-/blob/a.py", "<system-reminder>", "\u0000",
    "\ud800", "    Directory: C:\\\\w", "-a----  1/1/2024  12:00 PM   12 a.py", " M a.py",
    'File "src/b.py", line 3', "src/b.py(3,4): error", "Command running in background with ID: b",
]  # fmt: skip

commands = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(WORDS)).map(" ".join))
outputs = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(LINES)).map("\n".join))


@given(commands, outputs | st.none(), st.booleans(), st.booleans(), st.sampled_from([None, "/w"]))
def test_any_text_is_analysed(command, output, is_error, is_truncated, cwd):
    shells = ShellSession(cwd), ShellSession(cwd)
    analysis, again = (
        shell.analyse(command, output, is_error=is_error, is_truncated=is_truncated)
        for shell in shells
    )
    assert (analysis, shells[0].cwd) == (again, shells[1].cwd)
    for event in analysis.events:
        assert event.targets
        for target in event.targets:
            assert target.path
            assert not target.path.startswith("/dev/")
            assert all(1 <= first <= last for first, last in target.lines or ())
            assert target.doubt is not None or not target.is_pattern
            assert target.path.count("*") <= 4 or not target.is_pattern
            is_write = event.category == "file_write"
            assert (target.access == "written") == is_write or target.doubt is not None


@given(commands)
def test_without_its_result_a_command_leaves_nothing_certain(command):
    analysis = ShellSession("/w").analyse(command, None)
    assert {target.doubt for e in analysis.events for target in e.targets} <= {
        "no_result",
        "opaque_call",
        "unplaced_path",
    }


@given(st.lists(st.sampled_from(WORDS)).map(" ".join), outputs)
def test_a_doubt_takes_certainty_and_no_file(command, output):
    plain = ShellSession("/w").analyse(command, output)
    doubted = ShellSession("/w").analyse(command, output, doubt="unlinked_result")
    assert all(t.doubt is not None for e in doubted.events for t in e.targets)
    certain = {t.path for e in plain.events for t in e.targets if t.doubt is None}
    assert certain <= {t.path for e in doubted.events for t in e.targets}


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}\.(py|go|txt)", fullmatch=True)
paths = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), max_size=3).flatmap(
    lambda folders: names.map(lambda name: "/".join([*folders, name]))
)


@given(st.lists(paths, min_size=1, max_size=4, unique=True), st.sampled_from(["cat", "wc", "nl"]))
def test_every_path_found_was_typed_or_printed(files, program):
    command, output = f"{program} {' '.join(files)}", "some text"
    for event in ShellSession("/w").analyse(command, output).events:
        for target in event.targets:
            assert target.path.removeprefix("/w/") in files


@given(st.lists(paths, min_size=1, max_size=5, unique=True), st.integers(1, 500))
def test_a_recursive_search_finds_just_the_files_it_prints(files, line):
    output = "\n".join(f"./{path}:{line}:text: 7:more" for path in files)
    events = ShellSession("/w").analyse("grep -rn text .", output).events
    found = {target.path: target.lines for event in events for target in event.targets}
    assert found == {f"/w/{path}": ((line, line),) for path in files}


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "/x", "../c"]), max_size=6))
def test_cd_follows_the_file_system(steps):
    shell, expected = ShellSession("/w"), "/w"
    for step in steps:
        shell.analyse(f"cd {step}", "")
        expected = posixpath.normpath(posixpath.join(expected, step))
    assert shell.cwd == expected
    assert ShellSession("/w").analyse(" && ".join(f"cd {s}" for s in steps), "").events == ()


@given(st.lists(st.sampled_from(["a", "b", "..", "/x"]), min_size=1, max_size=5))
def test_cd_there_and_back_changes_nothing(steps):
    shell = ShellSession("/w")
    shell.analyse(f"(cd {' && cd '.join(steps)}); pushd {steps[0]}; popd; cd .; cd ./", "")
    assert shell.cwd == "/w"


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), max_size=4),
    st.integers(1, 20),
    st.integers(0, 20),
)
def test_taking_lines_agrees_with_a_list(pairs, first, length):
    spans = tuple((a, a + n) for a, n in pairs)
    shown = [line for a, b in spans for line in range(a, b + 1)]
    taken = take(spans, ((first, first + length),))
    assert taken is not None
    closed = [line for a, b in taken if b is not None for line in range(a, b + 1)]
    assert closed == shown[first - 1 : first + length]


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5)).map(lambda p: (p[0], sum(p)))))
def test_merged_ranges_cover_the_same_lines(ranges):
    merged = merged_ranges(ranges) or ()
    assert {n for a, b in merged for n in range(a, b + 1)} == {
        n for a, b in ranges for n in range(a, b + 1)
    }
    assert all(left[1] + 1 < right[0] for left, right in pairwise(merged))


@given(paths)
def test_a_pattern_fits_its_own_names_and_no_deeper_ones(path):
    folder = posixpath.dirname(path)
    pattern = posixpath.join(folder, "*")
    assert fits(pattern, path)
    assert not fits(pattern, posixpath.join(path, "deeper"))


PROGRAMS = ["cat", "grep", "sed", "./run.sh", "X=1 ls", "X= Y=a$Z b", "X=1", "cd", "echo"]
ARGUMENTS = [
    "-rn", "foo", "-5", "--include=*.py", "'a b'", '"x y"', '"$X/y"', "$X", "${Y}", "a$X.py",
    "\\;", "a\\ b", "~/x", "a[0]", "[ab].py", "{}", "a{b,c}", "*.py", "?", "k=v", '--x="a b"',
    "a#b", '""', "''", "2", '"a\\"b"', '"c\\n$"', '"$ x"', '"^foo$|bar$"', "\u00e9", "/dev/null",
    "..", "%s", "a,b", "+", "done", "$?", "$1", "--", "'it'\\''s'", "\"a\"'b'c", "C:\\\\x", "a=b=c",
    "!x", "3.5", "f@example", '"\u00e9"', '"\\$X"', '"$X$Y"', "$X$Y", "$X/$Y", "${X}/$Y/z",
    '" $X"', '"a  ${X} $Y "', '"a\nb"', "'a\nb'", "\u00a0", "Zq41Zq", "\"$X\"'y'",
]  # fmt: skip
BLANKS = [" ", "  ", " \\\n ", "\t"]
REDIRECTS = [
    " 2>/dev/null", " 2>&1", " > f", " >> f", " < f", " &> f", " >f", " 2>f", " >&2", " 1>&2",
    " 2>&1 >f", " >| f", " 2>/dev/null behind", " >f -5",
]  # fmt: skip
JOINTS = [
    " | ", " && ", " || ", "; ", "\n", "\n\n", " &&\n", " |\n", " & ", "|", "&&", ";", " # c\n",
    "\n# c\n", "\r\n",
]  # fmt: skip

arguments = st.tuples(st.sampled_from(BLANKS), st.sampled_from(ARGUMENTS)).map("".join)
simple = st.tuples(
    st.sampled_from(PROGRAMS),
    st.lists(arguments, max_size=4).map("".join),
    st.just("") | st.sampled_from(REDIRECTS),
).map("".join)
plain = st.lists(st.tuples(st.sampled_from(JOINTS), simple), max_size=4)


@COSTLY
@given(simple, plain)
def test_a_plain_script_is_read_as_the_grammar_reads_it(first, more):
    script = first + "".join(joint + command for joint, command in more)
    found = plain_script(script)
    # A name with an index may be assigned to, so that behind an assignment the grammar is asked.
    is_left = found is None and "X=1 " in script.replace("\t", " ") and "[" in script
    assert is_left or found == parse_with_grammar(script)


@given(commands)
def test_what_is_read_without_the_grammar_is_valid(command):
    found = plain_script(command)
    assert found is None or all(item.stages for item in found.items)
