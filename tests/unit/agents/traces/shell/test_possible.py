"""What a shell command may have touched where its output proves nothing."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession
from retrieval_eval.agents.traces.shell.copies import Copies
from retrieval_eval.records import CUT_HERE


def run(command: str, output: str | None) -> ShellAnalysis:
    return ShellSession("/w").analyse(command, output)


def possible(analysis: ShellAnalysis) -> list[str]:
    return [
        f"{t.access} {t.path} {t.doubt}"
        for event in analysis.events
        for t in event.targets
        if t.doubt is not None
    ]


def certain(analysis: ShellAnalysis) -> list[str]:
    return [t.path for e in analysis.events for t in e.targets if t.doubt is None]


POSSIBLE = [
    # operands that are known, lines that cannot be told apart
    ("cat a 2>/dev/null; cat b 2>/dev/null", "x",
     ["opened /w/a opaque_call", "opened /w/b opaque_call"]),
    ("ls x && ls y", "a.py\nb.py",
     ["listed /w/x/a.py opaque_call", "listed /w/x/b.py opaque_call",
      "listed /w/y/a.py opaque_call", "listed /w/y/b.py opaque_call"]),
    ("grep -rh foo src", "foo", ["matched /w/src/* opaque_call"]),
    # operands of which a part is known
    ("cat src/$X/models.py", "x", ["opened /w/src/*/models.py opaque_call"]),
    ("cat src/a.py src/$B.py", "x",
     ["opened /w/src/a.py opaque_call", "opened /w/src/*.py opaque_call"]),
    ("for f in src/*.py; do cat $f; done", "x", ["opened /w/src/*.py opaque_call"]),
    ("find src -name '*.py' -exec cat {} +", "x", ["opened /w/src/* opaque_call"]),
    ("cat $X/models.py", "x", ["opened */models.py opaque_call"]),
    ("cat $X", "x", ["opened * opaque_call"]),
    ("xargs cat < list", "x", ["opened * opaque_call"]),
    ("cd $X && cat src/a.py", "x", ["opened */src/a.py unplaced_path"]),
    # programs that are not known, and programs whose messages name files
    ("python script.py src/a.py", 'Traceback\n  File "src/b.py", line 3, in f',
     ["opened /w/src/a.py opaque_call", "matched /w/src/b.py opaque_call"]),
    ("make", "src/a.c:12:3: error: x\nsee https://x.org/b.c", ["matched /w/src/a.c opaque_call"]),
    ("pytest tests", "src/a.py:12: AssertionError", ["matched /w/src/a.py opaque_call"]),
    ("cargo build", "error[E0382]: x\n --> src/main.rs:3:9",
     ["matched /w/src/main.rs opaque_call"]),
    ("npx tsc", "src/a.ts(12,5): error TS2322: x", ["matched /w/src/a.ts opaque_call"]),
    ("python3 -c \"for f in ['a.py', 'b/c.py']: print(open(f).read())\"", "x",
     ["opened /w/a.py opaque_call", "opened /w/b/c.py opaque_call"]),
    ("python3 -c \"import glob\nfor f in glob.glob('src/*.py'): print(open(f).read())\"", "x",
     ["opened /w/src/*.py opaque_call"]),
    # the trace holds no result
    ("cat a.py", None, ["opened /w/a.py no_result"]),
    ("cd src && cat a.py", None, ["opened /w/src/a.py no_result"]),
    ("grep -rn foo src", None, ["matched /w/src/* no_result"]),
    ("grep -n foo a.py", None, ["matched /w/a.py no_result"]),
    ("ls src", None, ["listed /w/src/* no_result"]),
    # in the background
    ("cat a.py &", "", ["opened /w/a.py background"]),
    ("nohup cat a.py &", "Command running in background with ID: b1",
     ["opened /w/a.py background"]),
    ("cat a.py", "Command running in background with ID: b1", ["opened /w/a.py background"]),
    # another place
    ("docker exec box cat a.py", "x", ["opened */a.py unplaced_path"]),
    ("gh api repos/o/r/contents/src", '[{"path": "src/a.py"}]',
     ["matched src/a.py opaque_call"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "expected"), POSSIBLE)
def test_possible(command, output, expected):
    analysis = run(command, output)
    assert possible(analysis) == expected
    assert certain(analysis) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "1 passed"),
        ("git log --oneline", "abc fix src/a.py"),
        ("gh pr view 3", "see src/a.py"),
        ("echo src/a.py", "src/a.py"),
        ("cat src/a.py", "Command timed out"),
        ("make", "Compiling module.name and others, e.g. README.md"),
        ("make", None),
    ],
)
def test_what_surely_shows_no_file_adds_nothing(command, output):
    assert run(command, output).events == ()


def test_a_file_that_an_error_names_is_not_possible():
    analysis = run("cat a $X", "cat: a: No such file or directory\nx")
    assert possible(analysis) == ["opened * opaque_call"]


def test_line_counts_tell_outputs_apart_that_follow_each_other():
    command = "head -3 a 2>/dev/null; head -2 b 2>/dev/null"
    assert certain(run(command, "1\n2\n3\n4\n5")) == ["/w/a", "/w/b"]
    # one line more than the first can have printed
    assert certain(run(command, "1\n2\n3\n4")) == ["/w/a", "/w/b"]
    # more than the second can have printed, not more than the first
    assert certain(run(command, "1\n2\n3")) == ["/w/a"]
    assert certain(run(command, "1\n2")) == []
    assert certain(run("ls x | wc -l && ls y | head -2", "9\na.py\nb.py")) == [
        "/w/y/a.py",
        "/w/y/b.py",
    ]
    # errors are hidden, and one of the files may be in the part that was left out
    assert certain(run(command, f"1\n2\n3\n{CUT_HERE}\n4")) == []


def test_a_result_that_the_trace_cut_leaves_open_what_lies_below_the_folder():
    shell = ShellSession("/w")
    cut = shell.analyse("grep -rn foo src", "src/a.py:3:foo", is_truncated=True)
    assert certain(cut) == ["/w/src/a.py"]
    assert possible(cut) == ["matched /w/src/* cut_result"]
    assert possible(shell.analyse("cat a.py", "x", is_truncated=True)) == []


def test_a_background_command_does_not_move_the_shell():
    shell = ShellSession("/w")
    shell.analyse("cd src && python server.py > log 2>&1 &", "")
    assert shell.cwd == "/w"


def test_a_pattern_has_few_stars():
    (target,) = run("cat $A/$B/$C/$D/$E.py", "x").events[0].targets
    assert target.path.count("*") <= 4
    assert target.path.endswith(".py")


def test_the_lines_of_a_log_are_what_its_command_printed():
    shell = ShellSession("/w")
    assert certain(shell.analyse("grep -rn foo src > /tmp/out 2>&1 &", "")) == ["/tmp/out"]
    assert certain(shell.analyse("cat /tmp/out | head -5", "src/a.py:3:foo")) == ["/w/src/a.py"]
    shell.analyse("python make.py > /tmp/out", "")
    found = shell.analyse("tail -5 /tmp/out", "src/b.py:3: error")
    assert certain(found) == []
    assert possible(found) == ["matched /w/src/b.py opaque_call"]
    shell.analyse("sed -i s/a/b/ /tmp/out", "")
    assert possible(shell.analyse("cat /tmp/out", "src/b.py:3: error")) == []


_WRITTEN = {
    "s.py": "import sys\nprint(open('src/a.py').read())\n",
    "walk.py": "import os\nfor at, _, names in os.walk('src'):\n    print(names)\n",
    "s.sh": "set -e\nfor f in src/*.py; do cat $f; done\n",
    "one.sh": "#!/bin/bash\nsed -n 1,5p src/a.py\n",
    "s.js": "console.log(require('fs').readFileSync('src/a.py', 'utf8'))\n",
}


@pytest.mark.parametrize(
    "run",
    [
        *("python s.py", "cd /w && python3 -u ./s.py 2>&1 | head -20", "python /w/walk.py"),
        *("bash s.sh", "source s.sh", "chmod +x s.sh && ./s.sh", "sh -x one.sh", ". ./one.sh"),
        "node s.js",
    ],
)  # fmt: skip
def test_a_script_that_the_agent_wrote_may_show_what_its_text_names(run):
    shell = ShellSession("/w")
    for name, text in _WRITTEN.items():
        shell.analyse(f"cat > {name} <<'EOF'\n{text}EOF", "")
    found = [t for event in shell.analyse(run, "x = 1").events for t in event.targets]
    assert {t.doubt for t in found} == {"opaque_call"}
    assert all(t.path.startswith("/w/src/") for t in found)
    assert not shell.analyse(run, "").events


def test_a_script_is_known_by_its_name_where_the_folder_is_not():
    shell = ShellSession()
    shell.analyse("cat > s.py <<'EOF'\nprint(open('src/a.py').read())\nEOF", "")
    (event,) = shell.analyse("python3 s.py", "x = 1").events
    assert [(t.path, t.doubt) for t in event.targets] == [("src/a.py", "opaque_call")]


def test_a_script_whose_text_is_not_known_may_show_any_file():
    copies = Copies()
    copies.keep_text("/w/s.py", "")
    shell = ShellSession("/w", copies)
    (event,) = shell.analyse("python3 s.py", "x = 1").events
    assert [(t.path, t.is_pattern) for t in event.targets] == [("*", True)]
    assert not shell.analyse("python3 s.py", "").events


def test_a_script_may_show_nothing_that_its_text_does_not_name():
    shell = ShellSession("/w")
    shell.analyse("cat > s.py <<'EOF'\nimport widgets\nprint(widgets.f(1))\nEOF", "")
    assert not shell.analyse("python s.py", "3").events
    shell.analyse("tee s.sh <<'EOF' >/dev/null\ncat src/a.py\nEOF", "")
    analysis = shell.analyse("source s.sh; cat b.py", "x = 1")
    found = {t.path: t.doubt for event in analysis.events for t in event.targets}
    assert found == {"/w/src/a.py": "opaque_call", "/w/b.py": None}


@pytest.mark.parametrize(
    ("code", "doubt"),
    [
        ("s = open('src/a.py').read()", "opaque_call"),
        ("s = open('src/a.py').read(); assert 'x' in s", "opaque_call"),
        ("import foo; foo.run(open('src/a.py').read())", "opaque_call"),
        ("print(open('src/a.py').read())", None),
        ("import sys; sys.stdout.writelines(open('src/a.py'))", None),
        ("import shutil, sys; shutil.copyfileobj(open('src/a.py'), sys.stdout)", None),
    ],
)
def test_code_that_prints_nothing_of_its_own_need_not_have_shown_what_it_reads(code, doubt):
    analysis = ShellSession("/w").analyse(f'python -c "{code}"', "x = 1\ny = 2")
    assert [t.doubt for event in analysis.events for t in event.targets] == [doubt]
