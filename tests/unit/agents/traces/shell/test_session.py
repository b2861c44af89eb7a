"""Every kind of shell command with the events it must give, worked out by hand."""

from __future__ import annotations

import time

import pytest

from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession

REMOTE_READ = "URL: https://h.example/github.com/o/r--1@ab12/-/blob/src/a.go?L7-9\n7: x\n8: y\n9:\n"
REMOTE_SEARCH = (
    "## Query 1: foo\n\n# github.com/o/r--1 \u2013 src/a.go\n35: foo\n36: \n\n"
    "# github.com/o/s--2 \u2013 b/c.go\n4: foo\n"
)


def facts(analysis: ShellAnalysis) -> list[str]:
    found = []
    for event in analysis.events:
        for t in (t for t in event.targets if t.doubt is None):
            lines = () if t.is_whole else t.lines or ()
            ranges = " " + ",".join(f"{a}-{b}" for a, b in lines) if lines else ""
            where = f"{t.repository}::{t.path}" if t.repository else t.path
            whole = " whole" if t.is_whole else ""
            found.append(f"{event.category} {t.access} {where}{ranges}{whole}")
    return found


def run(command: str, output: str, *, is_error: bool = False) -> ShellAnalysis:
    return ShellSession("/w").analyse(command, output, is_error=is_error)


RESOLVED = [
    # reading
    ("cat /x/a.py b/../b.py", "x\ny",
     ["file_read opened /x/a.py whole", "file_read opened /w/b.py whole"]),
    ("cat a.py | head -30", "x", ["file_read opened /w/a.py 1-30"]),
    ("cat a.py 2>/dev/null | head -n 30", "x", ["file_read opened /w/a.py 1-30"]),
    ("head a.py", "x", ["file_read opened /w/a.py 1-10"]),
    ("head -5 a.py b.py", "==> a.py <==\nx\n\n==> b.py <==\ny",
     ["file_read opened /w/a.py 1-5", "file_read opened /w/b.py 1-5"]),
    ("head -n 3 src/*.py", "==> src/a.py <==\nx", ["file_read opened /w/src/a.py 1-3"]),
    ("tail -n +100 a.py | head -50", "x", ["file_read opened /w/a.py 100-149"]),
    ("tail -n +5 a.py", "x\ny\nz", ["file_read opened /w/a.py 5-7"]),
    ("sed -n '10,20p' a.py", "x", ["file_read opened /w/a.py 10-20"]),
    ("sed -n '30,31p;5p' a.py", "x\ny\nz", ["file_read opened /w/a.py 5-5,30-31"]),
    ("sed -n '10,$p' a.py", "x\ny", ["file_read opened /w/a.py 10-11"]),
    ("sed -n '10,99p' a.py | head -4", "x", ["file_read opened /w/a.py 10-13"]),
    ("sed -n '/x/,/y/p' a.py", "x", ["file_read opened /w/a.py"]),
    ("jq --arg v 1 -r '.x[$v]' a.json", "3", ["file_read opened /w/a.json"]),
    ("yq e '.x' a.yml", "3", ["file_read opened /w/a.yml"]),
    # a row of a table in a diff is content, in a summary it names a file
    ("git show --compact-summary x", "commit x\n\n src/a.py | 3 +-\n 1 file changed",
     ["commit_search matched /w/src/a.py"]),
    # sizes and inodes stand before the names
    ("ls -s src", "total 8\n  4 a.py\n 12 b.py",
     ["file_search listed /w/src/a.py", "file_search listed /w/src/b.py"]),
    ("ls -lai src", "total 4\n77 -rw-r--r-- 1 me me 12 Mar 31 21:39 Makefile",
     ["file_search listed /w/src/Makefile"]),
    # values of options are not written
    ("touch -d 2020-01-01 a.py", "", ["file_write written /w/a.py"]),
    ("install -m 644 a.conf etc/a.conf", "", ["file_write written /w/etc/a.conf"]),
    ("rsync -a --exclude tmp src/ dst/", "", ["file_write written /w/dst/src"]),
    ("awk 'NR>=10 && NR<=20' a.py", "x", ["file_read opened /w/a.py 10-20"]),
    ("awk 'FNR==7{print}' a.py", "x", ["file_read opened /w/a.py 7-7"]),
    ("awk -F: '/x/ {print $1}' a.py", "x", ["file_read opened /w/a.py"]),
    ("cat -n a.py | sed -n '5,9p'", "x", ["file_read opened /w/a.py 5-9"]),
    ("nl -ba a.py", "1 x", ["file_read opened /w/a.py whole"]),
    ("jq '.a' a.json", "1", ["file_read opened /w/a.json"]),
    ("cut -d, -f2 a.csv", "x", ["file_read opened /w/a.csv"]),
    ("xxd a.bin | head", "00", ["file_read opened /w/a.bin"]),
    ("sudo -u me timeout 5 env A=b cat a.py", "x", ["file_read opened /w/a.py whole"]),
    ("cat $(pwd)/a.py", "x", ["file_read opened /w/a.py whole"]),
    ("D=/x/y; cat $D/a.py ${D}/b.py", "x\ny",
     ["file_read opened /x/y/a.py whole", "file_read opened /x/y/b.py whole"]),
    ("F=src/a.test.py; cat ${F%.py}.txt ${F##*/}", "x\ny",
     ["file_read opened /w/src/a.test.txt whole", "file_read opened /w/a.test.py whole"]),
    ("cat ${UNSET_NAME:-a.py}", "x", ["file_read opened /w/a.py whole"]),
    ('echo "v: $(cat VERSION)"', "v: 1.2", ["file_read opened /w/VERSION whole"]),
    ('x=$(head -3 a.py); echo "$x"', "x", ["file_read opened /w/a.py 1-3"]),
    ("cat a.py | python3 -m json.tool", "{}", ["file_read opened /w/a.py"]),
    ("cat a.py && true", "x", ["file_read opened /w/a.py whole"]),
    # names only
    ("wc -l a.py", "3 a.py", ["file_search listed /w/a.py"]),
    ("ls src | grep test", "test_a.py", ["file_search listed /w/src/test_a.py"]),
    ("ls -la a.py", "-rw-r--r-- 1 me me 12 Mar 31 21:39 a.py", ["file_search listed /w/a.py"]),
    ("ls . && find /x -type f", "a.py\n/x/b",
     ["file_search listed /w/a.py", "file_search listed /x/b"]),
    ("find src -type f | head -2", "src/a\nsrc/b",
     ["file_search listed /w/src/a", "file_search listed /w/src/b"]),
    ("find . -name '*.py' -exec ls -l {} \\;",
     "-rw-r--r-- 1 me me 12 Mar 31 21:39 ./a.py", ["file_search listed /w/a.py"]),
    # searching
    ("grep -n foo a.py", "12:foo\n13:foo", ["code_search matched /w/a.py 12-13"]),
    ("grep -n -A1 foo a.py | head", "12:foo\n13-bar", ["code_search matched /w/a.py 12-13"]),
    ("grep foo a.py | wc -l", "3", ["code_search matched /w/a.py"]),
    ("grep -l foo a.py b.py", "b.py", ["code_search matched /w/b.py"]),
    ("grep -rn foo src", "src/a.py:12:foo: 3:x\nsrc/a.py-13-bar\n--\nsrc/b-1-c.py:4:foo",
     ["code_search matched /w/src/a.py 12-13", "code_search matched /w/src/b-1-c.py 4-4"]),
    ("grep -rn foo .", "./a.py:3:foo", ["code_search matched /w/a.py 3-3"]),
    ("grep -rn foo", "a.py:3:foo", ["code_search matched /w/a.py 3-3"]),
    ("grep -rc foo src", "src/a.py:3\nsrc/b.py:0", ["code_search matched /w/src/a.py"]),
    ("grep -rn foo src/a.py", "3:foo", ["code_search matched /w/src/a.py 3-3"]),
    ("grep -rn foo src | cut -d: -f1 | sort -u", "src/a.py", ["code_search matched /w/src/a.py"]),
    ("rg -n foo src", "src/a.py:3:foo", ["code_search matched /w/src/a.py 3-3"]),
    ("git grep -n foo", "src/a.py:3:foo", ["code_search matched /w/src/a.py 3-3"]),
    ("git -C sub grep -n foo", "a.py:3:foo", ["code_search matched /w/sub/a.py 3-3"]),
    ("find src -name '*.py' -print0 | xargs -0 grep -n foo", "src/a.py:3:foo",
     ["code_search matched /w/src/a.py 3-3"]),
    ("cat a.py | grep -n foo", "3:foo", ["code_search matched /w/a.py 3-3"]),
    # several commands
    ("cat src/a.py && rg foo src && sed -i s/x/y/ src/b.py", "x = 1\nsrc/c.py:foo\n",
     ["file_read opened /w/src/a.py whole", "code_search matched /w/src/c.py",
      "file_write written /w/src/b.py"]),
    ("grep -n foo a.py\necho ---\ngrep -n bar b.py", "---\n4:bar",
     ["code_search matched /w/b.py 4-4"]),
    ("grep -n foo a.py; grep -n bar b.py", "4:bar", ["code_search matched /w/b.py 4-4"]),
    ("cat missing.py || cat b.py", "cat: missing.py: No such file or directory\nx",
     ["file_read opened /w/b.py whole"]),
    ("cat a.py 2>/dev/null || echo none", "x", ["file_read opened /w/a.py whole"]),
    ("pushd sub; cat a.py; popd; cat b.py", "/w/sub /w\nx\n/w\ny",
     ["file_read opened /w/sub/a.py whole", "file_read opened /w/b.py whole"]),
    ("cd sub\ncat a.py\ncd -\ncat b.py", "x\n/w\ny",
     ["file_read opened /w/sub/a.py whole", "file_read opened /w/b.py whole"]),
    ("cd gone; cat a.py", "bash: line 1: cd: gone: No such file or directory\nx",
     ["file_read opened /w/a.py whole"]),
    # loops
    ("for f in a b; do echo \"== $f\"; sed -n 3,5p $f.py; done", "== a\nx\n== b\n",
     ["file_read opened /w/a.py 3-5"]),
    ("for n in 10 20; do echo \"at $n\"; sed -n \"$((n-2)),$((n+2))p\" a.py; done",
     "at 10\nx\nat 20\ny", ["file_read opened /w/a.py 8-12", "file_read opened /w/a.py 18-22"]),
    ("find . -name '*.py' | while read f; do echo \"[$f]\"; head -2 \"$f\"; done", "[./a.py]\nx",
     ["file_read opened /w/a.py 1-2"]),
    ("while read -r f; do cat $f; done <<'EOF'\na.py\nb.py\nEOF", "x\ny",
     ["file_read opened /w/a.py whole", "file_read opened /w/b.py whole"]),
    ("fs=(a.py b.py); for f in \"${fs[@]}\"; do cat $f; done", "x\ny",
     ["file_read opened /w/a.py whole", "file_read opened /w/b.py whole"]),
    # writing
    ("cat > f.py <<EOF\nhi\nEOF", "", ["file_write written /w/f.py"]),
    ("echo x >> log.txt", "", ["file_write written /w/log.txt"]),
    ("echo x | tee a.txt", "x", ["file_write written /w/a.txt"]),
    ("touch a b.txt", "", ["file_write written /w/a", "file_write written /w/b.txt"]),
    ("rm -rf a.py", "", ["file_write written /w/a.py"]),
    ("mv a.py b.py lib/", "", ["file_write written /w/lib/a.py", "file_write written /w/lib/b.py"]),
    ("cat a.py > b.py", "", ["file_write written /w/b.py"]),
    ("patch -p1 < x.diff", "patching file src/a.py", ["file_write written /w/src/a.py"]),
    # history
    ("git show HEAD~1:src/a.py | head -20", "x", ["file_read opened /w/src/a.py 1-20"]),
    ("git log --oneline -3 -- src/a.py", "ab12 fix", ["commit_search matched /w/src/a.py"]),
    ("git blame -L 5,9 a.py", "ab12 (me) x", ["commit_search matched /w/a.py 5-9"]),
    # code in other languages
    ("python3 -c \"from pathlib import Path; print(Path('a.py').read_text())\"", "x",
     ["file_read opened /w/a.py"]),
    ("python3 -c \"p = 'a.py'\nprint(open(p).read())\"", "x", ["file_read opened /w/a.py"]),
    ("node -e \"console.log(require('fs').readFileSync('a.js', 'utf8'))\"", "x",
     ["file_read opened /w/a.js"]),
    # remote
    ("sgx read github.com/o/r--1 src/a.go --start 7 --end 9", REMOTE_READ,
     ["file_read opened github.com/o/r--1::src/a.go 7-9"]),
    ("sgx read github.com/o/r--1 src/a.go | grep x", "7: x",
     ["file_read opened github.com/o/r--1::src/a.go 7-7"]),
    ("sgx search 'foo file:src/z.go' -q 'bar'", REMOTE_SEARCH,
     ["code_search matched github.com/o/r--1::src/a.go 35-36",
      "code_search matched github.com/o/s--2::b/c.go 4-4"]),
    ("sgx ls github.com/o/r--1 src", "sub/\na.go",
     ["file_search listed github.com/o/r--1::src/a.go"]),
    ("curl -sL https://raw.githubusercontent.com/o/r/v1/src/a.go | head -5", "x",
     ["file_read opened o/r::src/a.go 1-5"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "output", "expected"), RESOLVED, ids=[c for c, _, _ in RESOLVED]
)
def test_resolved(command, output, expected):
    analysis = run(command, output)
    assert facts(analysis) == expected
    assert analysis.opaque == ()


NOTHING = [
    ("grep -q foo a.py", ""),
    ("grep -r foo src | wc -l", "12"),
    ("find . -name a.py | wc -l", "1"),
    ("find . -type d", "./src\n./src/a.b"),
    ("cat a.py >/dev/null 2>&1", ""),
    ("cat a.py > /dev/null; echo done", "done"),
    ("test -f a.py && echo yes", "yes"),
    ("mkdir -p src", ""),
    ("git status", "modified: src/a.py"),
    ("sgx search 'foo file:a.py'", "No results."),
    ("curl -s https://raw.githubusercontent.com/o/r/v1/src/a.go", "404: Not Found"),
    ("curl -s https://example.com/a.go", "x"),
    ("npm test", "src/a.test.js passed"),
    ("cat a.py\ncat b.py", "ERROR: Cannot execute multiple commands at once.\n(1) cat a.py"),
    ("cat /x/tool-results/toolu_1.txt", "src/a.py"),
    ("# just a comment", ""),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output"), NOTHING)
def test_nothing_is_found(command, output):
    analysis = run(command, output)
    assert facts(analysis) == []
    assert analysis.opaque == ()


OPAQUE = [
    ("cat $SOMETHING", "x"),
    ("grep foo a.py; grep bar b.py", "foobar"),
    ("python3 -c 'import sys; print(open(sys.argv[1]).read())' a.py", "x"),
    ("python3 script.py", "x"),
    ("some-unknown-tool a.py", "x"),
    ("if grep -q x a.py; then touch b.py; fi", "x"),
    ("git apply fix.patch", "x"),
    ("find . -name '*.py' -exec cat {} \\;", "x"),
]


@pytest.mark.parametrize(("command", "output"), OPAQUE)
def test_ambiguous_commands_are_opaque(command, output):
    analysis = run(command, output)
    assert facts(analysis) == []
    assert analysis.opaque


@pytest.mark.parametrize(
    ("code", "is_certain"),
    [
        ("print(open('a.py').read())", True),
        ("s=open('a.py').read()\nprint(s[:9])", True),
        ("s=open('a.py').read()\nopen('a.py','w').write(s)\nprint('done')", False),
        ("s=open('a.py').read()\nprint('lines', len(s.split()))", False),
        ("print('def' in open('a.py').read())", False),
    ],
)
def test_code_that_prints_something_else_than_what_it_reads_shows_no_file(code, is_certain):
    found = run(f"python3 - <<'EOF'\n{code}\nEOF", "done\n")
    read = [t.doubt for e in found.events for t in e.targets if t.access == "opened"]
    assert read == [None if is_certain else "opaque_call"]


@pytest.mark.parametrize(
    ("command", "output", "lines"),
    [
        ("cat a.py", "x\ny\nz\n", ((1, 3),)),
        ("echo '--- a'; cat a.py; echo '--- b'; cat b.py", "--- a\nx\ny\n--- b\nz\n", ((1, 2),)),
        ("cat a.py; cat b.py", "x\ny\nz\n", None),
        ("cat a.py b.py", "x\ny\nz\n", None),
    ],
)
def test_the_length_of_a_whole_file_is_known_where_its_lines_are_told_apart(command, output, lines):
    """A file that was shown whole has as many lines as were shown of it."""
    target = run(command, output).events[0].targets[0]
    assert (target.is_whole, target.lines) == (True, lines)


def test_the_working_directory_lasts_from_call_to_call():
    shell = ShellSession()
    assert facts(shell.analyse("cat y.py", "x")) == ["file_read opened y.py whole"]
    shell.analyse("cd /workspace/x", "")
    assert facts(shell.analyse("cat y.py", "x")) == ["file_read opened /workspace/x/y.py whole"]
    shell.analyse("cd sub", "")
    assert shell.cwd == "/workspace/x/sub"
    assert facts(shell.analyse("cat y.py", "x", cwd="/z")) == ["file_read opened /z/y.py whole"]


def test_a_directory_change_in_a_subshell_does_not_last():
    shell = ShellSession("/w")
    shell.analyse("(cd sub && ls); bash -c 'cd other'; ls | (cd third; cat)", "")
    assert shell.cwd == "/w"


def test_a_directory_that_may_have_changed_is_unknown():
    shell = ShellSession("/w")
    shell.analyse("if [ -d sub ]; then cd sub; fi", "")
    assert shell.cwd is None
    shell.analyse("cd /w; cd $UNSET", "")
    assert shell.cwd is None


def test_the_harness_can_reset_the_directory():
    shell = ShellSession("/w")
    shell.analyse("cd /etc && cat hosts", "x\nShell cwd was reset to /w")
    assert shell.cwd == "/w"


def test_a_refused_call_changes_nothing():
    shell = ShellSession("/w")
    shell.analyse("cd /x", "<tool_use_error>Cancelled: parallel tool call</tool_use_error>")
    assert shell.cwd == "/w"


def test_a_write_behind_a_failed_command_is_not_taken_for_granted():
    analysis = run("grep -q x a.py && touch b.py", "Exit code 1", is_error=True)
    assert facts(analysis) == []


def test_limits():
    assert ShellSession().analyse("cat a " * 40_000, "x").opaque
    long_loop = "for i in {1..900}; do for j in {1..900}; do cat a$i$j; done; done"
    assert any("too many steps" in reason for reason in run(long_loop, "x").opaque)
    assert run("a && " * 3000 + "b", "x").opaque
    assert run("(" * 300 + "cat a.py" + ")" * 300, "x").opaque


def test_a_loop_too_long_to_follow_is_opaque_and_never_cut_short():
    names = "\n".join(f"f{n}.py" for n in range(1001))
    analysis = run(f"while read f; do touch $f; done <<'EOF'\n{names}\nEOF\n", "")
    assert (analysis.events, analysis.opaque) == ((), ("a loop over 1001 lines",))
    shown = "\n".join(f"== f{n}.py\nx" for n in range(1001))
    analysis = run('for f in *.py; do echo "== $f"; head -1 $f; done', shown)
    assert analysis.opaque == ("a loop over 1001 names",)
    assert facts(analysis) == []


def test_a_text_that_only_begins_like_a_refusal_is_what_the_command_printed():
    analysis = run("cat a.py", "The user doesn't want to be bothered\n")
    assert facts(analysis) == ["file_read opened /w/a.py whole"]
    refused = run("cat a.py", "The user doesn't want to proceed with this tool use.\n")
    assert facts(refused) == []


def test_lines_that_end_as_on_windows_are_lines():
    analysis = run("cd src\r\ncat a.py\r\n", "x")
    assert facts(analysis) == ["file_read opened /w/src/a.py whole"]


def test_many_files_in_a_folder_that_is_not_known_take_no_longer_than_their_number():
    found = "\n".join(f"src/a{n}.py" for n in range(30_000))
    begun = time.process_time()
    analysis = run('cd "$X" && rg -l foo', found)
    assert time.process_time() - begun < 5
    assert len(analysis.events[0].targets) == 30_000
