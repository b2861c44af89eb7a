"""The rarer ways to type a command, with the events each must give."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellAnalysis, ShellSession


def run(command: str, output: str) -> ShellAnalysis:
    return ShellSession("/w").analyse(command, output)


def touched(analysis: ShellAnalysis) -> list[str]:
    return [
        f"{target.access} {target.path}"
        + "".join(
            f" {first}-{last}" for first, last in (() if target.is_whole else target.lines or ())
        )
        for event in analysis.events
        for target in event.targets
        if target.doubt is None
    ]


RESOLVED = [
    # markers other than a plain echo
    ("printf '%s\\n' --a; cat a.py 2>/dev/null; printf -- '--b\\n'; cat b.py 2>/dev/null",
     "--a\n--b\nx", ["opened /w/b.py"]),
    ("printf '== %s ==\\n' a; cat a 2>/dev/null; echo -e 'x\\ny'; cat b 2>/dev/null",
     "== a ==\nx\ny\nz", ["opened /w/b"]),
    ("echo -n 'count: '; grep -c foo a.py", "count: 0", []),
    ("echo 100%; printf '100%% %d\\n' 3; cat a.py", "100%\n100% 3\nx", ["opened /w/a.py"]),
    ("for f in *.py; do printf '== %s\\n' \"$f\"; head -1 \"$f\"; done", "== a.py\nx\n== b.py\ny",
     ["opened /w/a.py 1-1", "opened /w/b.py 1-1"]),
    # scripts inside scripts
    ("eval 'cd sub'; cat a.py", "x", ["opened /w/sub/a.py"]),
    ("bash <<'EOF'\ncat a.py\nEOF", "x", ["opened /w/a.py"]),
    ("show() { head -2 \"$1\"; cat $2; }; show a.py b.py", "x\ny",
     ["opened /w/a.py 1-2", "opened /w/b.py"]),
    ("all() { cat \"$@\"; }; all a.py b.py", "x\ny", ["opened /w/a.py", "opened /w/b.py"]),
    ("show() { cat $1; }; for f in a b; do show $f; done", "x\ny", ["opened /w/a", "opened /w/b"]),
    ("cat $(dirname src/x/b.py)/$(basename /y/c.py .py).go", "x", ["opened /w/src/x/c.go"]),
    ("A=a.py B=; export C=src; readonly D=d; cat $A$B $C/$D", "x\ny",
     ["opened /w/a.py", "opened /w/src/d"]),
    ("popd; cat a.py", "bash: popd: directory stack empty\nx", ["opened /w/a.py"]),
    ('x=$(cat a.py); echo "$x" | head -5', "x\ny", ["opened /w/a.py 1-5"]),
    ('x=$(cat a.py); y=$(cat b.py); echo "$y"', "x\ny", ["opened /w/b.py"]),
    ('out=$(sgx read o/r a.go --start $N); echo "$out" | grep x', "7: x", ["opened a.go 7-7"]),
    # groups and what surrounds them
    ("{ cat a.py; cat b.py; } > out.txt", "", ["written /w/out.txt"]),
    ("(cat a.py; cat b.py) 2>/dev/null", "", []),
    ("(grep -n foo a.py) | head", "3:foo", ["matched /w/a.py 3-3"]),
    ("for f in a b; do grep -H foo $f; done | sort", "a:foo", ["matched /w/a"]),
    ("> new.txt", "", ["written /w/new.txt"]),
    ("cat a.py &> /dev/null", "", []),
    ("case x in x) cat a.py;; esac", "x", ["opened /w/a.py"]),
    ("while true; do cat a.py; break; done", "x", ["opened /w/a.py"]),
    ("printf 'a.py\\nb.py\\n' | while read -r f; do cat $f; done", "x\ny",
     ["opened /w/a.py", "opened /w/b.py"]),
    ("while read name line; do sed -n ${line}p $name; done <<< 'a.py 7'", "x",
     ["opened /w/a.py 7-7"]),
    # feeds
    ("find . -name '*.py' | xargs -n1 head -3", "==> ./a.py <==\nx", ["opened /w/a.py 1-3"]),
    ("find . -name '*.py' | xargs wc -l", " 3 ./a.py\n 4 ./b.py\n 7 total",
     ["listed /w/a.py", "listed /w/b.py"]),
    ("echo a.py | xargs -I% cat src/%", "x", ["opened /w/src/a.py"]),
    ("ls src | xargs -I{} grep -H foo src/{}", "src/a.py:foo", ["matched /w/src/a.py"]),
    ("find . -exec sh -c 'echo \"= $1\"; head -1 \"$1\"' _ {} \\;", "= ./a.py\nx",
     ["opened /w/a.py 1-1"]),
    ("find . -name '*.py' -exec grep -Hn foo {} +", "./a.py:3:foo", ["matched /w/a.py 3-3"]),
    # filters
    ("cat a.py | tee b.py | head -2", "x", ["opened /w/a.py 1-2", "written /w/b.py"]),
    ("sort a.txt | uniq -c | head -3", "3 x", ["opened /w/a.txt"]),
    ("grep -rl foo src | grep -q x", "", []),
    ("cat a.py | grep -v '^#' | head", "x", ["opened /w/a.py"]),
    ("cat a.py | grep -c foo", "2", ["listed /w/a.py"]),
    ("cat a.py | awk 'NR>=4 && NR<=6'", "x", ["opened /w/a.py 4-6"]),
    ("cat a.py | tail -n +3 | head -n 2", "x", ["opened /w/a.py 3-4"]),
    ("tail +5 a.py | head -2", "x", ["opened /w/a.py 5-6"]),
    ("sed '20q' a.py", "x", ["opened /w/a.py 1-20"]),
    ("sed -n -e 3p -e 5,6p a.py", "x", ["opened /w/a.py 3-3 5-6"]),
    ("sed -i.bak -e 's/a/b/' a.py", "", ["written /w/a.py"]),
    ("bat -r 5:9 a.py", "x", ["opened /w/a.py 5-9"]),
    ("perl -ne 'print if /x/' a.py", "x", ["opened /w/a.py"]),
    ("python3 -m json.tool a.json", "{}", ["opened /w/a.json"]),
    ("cat <<'E' | python3\nprint(open('a.py').read())\nE", "x", ["opened /w/a.py"]),
    ("python3 - 3 <<'E'\nprint(open('a.py').read())\nE", "x", ["opened /w/a.py"]),
    ("perl -0777 -i -pe 's/a/b/' a.py b.py", "", ["written /w/a.py", "written /w/b.py"]),
    ("ruby -i.bak -pe 'x' a.rb", "", ["written /w/a.rb"]),
    ("less +10 a.py", "x", ["opened /w/a.py"]),
    ("grep -n foo a.bin", "Binary file a.bin matches", ["matched /w/a.bin"]),
    ("grep -n foo a.py; pwd", "[The command completed with exit code 1.]", []),
    # searches whose lines lie among other output
    ("grep -n foo a.py\nsed -n '5,6p' a.py", "x\ny", ["opened /w/a.py 5-6"]),
    ("grep -n foo a.py; grep -n bar b.py", "1:foo\n7:bar", ["matched /w/a.py 1-1",
     "matched /w/b.py 7-7"]),
    ("cd - && cd /v && cat a.py", "x", ["opened /v/a.py"]),
    ("pushd s; popd; popd; cat a.py", "x", ["opened /w/a.py"]),
    # listings
    ("ls --color", "\x1b[0m\x1b[01;34msrc\x1b[0m  \x1b[32ma.py\x1b[0m", ["listed /w/a.py"]),
    # a search whose program numbers its lines, and what a line shows around a known text
    ("ack foo src", "src/a.py:3:foo", ["matched /w/src/a.py 3-3"]),
    ("ag foo a.py", "3:foo", ["matched /w/a.py 3-3"]),
    ("rg --vimgrep foo", "src/a.py:3:1:foo", ["matched /w/src/a.py 3-3"]),
    ("git grep -n foo Makefile.am", "Makefile.am:3:foo", ["matched /w/Makefile.am 3-3"]),
    ("git grep -hn foo Makefile.am", "3:foo", ["matched /w/Makefile.am 3-3"]),
    ("git grep -n foo main src/a.py", "main:src/a.py:3:foo", ["matched /w/src/a.py 3-3"]),
    ('echo "n: $(grep -n foo a.py) end"; cat b.py', "n: 3:foo end\nx",
     ["matched /w/a.py 3-3", "opened /w/b.py"]),
    ("rg --files -g '*.py'", "src/a.py", ["listed /w/src/a.py"]),
    ("rg --files src", "src/a.py", ["listed /w/src/a.py"]),
    ("fd '\\.py$' src", "src/a.py", ["listed /w/src/a.py"]),
    ("find . -name '*.py' -ls", "1 4 -rw-r--r-- 1 me me 12 Mar 31 21:39 ./a.py",
     ["listed /w/a.py"]),
    ("du -a src", "4\tsrc/a.py\n8\tsrc", ["listed /w/src/a.py"]),
    ("ls -R src", "src:\na.py\nsub\n\nsrc/sub:\nb.py",
     ["listed /w/src/a.py", "listed /w/src/sub/b.py"]),
    ("file src/*", "src/a.py: Python script, ASCII text", ["listed /w/src/a.py"]),
    # git and writes
    ("git cat-file -p HEAD:a.py", "x", ["opened /w/a.py"]),
    ("git show --name-status", "commit ab\n\nM\tsrc/a.py", ["matched /w/src/a.py"]),
    ("git ls-tree -r --name-only HEAD", "src/a.py", ["listed /w/src/a.py"]),
    ("git -c a=b --no-pager log -1 --numstat", "3\t1\tsrc/a.py", ["matched /w/src/a.py"]),
    ("git rm a.py; git mv b.py c.py", "rm 'a.py'", ["written /w/a.py", "written /w/c.py"]),
    ("git restore a.py", "", ["written /w/a.py"]),
    ("git stash", "Saved", []),
    ("cp -t lib a.py", "", ["written /w/lib/a.py"]),
    ("patch a.py fix.diff", "patching file a.py", ["written /w/a.py"]),
    ("curl -sLo x.go https://raw.githubusercontent.com/o/r/main/a.go", "", ["written /w/x.go"]),
    ("wget -qO- https://github.com/o/r/raw/main/src/a.go", "x", ["opened src/a.go"]),
    ("wget https://raw.githubusercontent.com/o/r/main/a.go", "saved", []),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "expected"), RESOLVED, ids=[r[0] for r in RESOLVED])
def test_resolved(command, output, expected):
    analysis = run(command, output)
    assert touched(analysis) == expected
    assert analysis.opaque == ()


OPAQUE = [
    ("diff -r src lib", "Only in src: a.py"),
    ("find . -name '*.py' -delete; ls", "a.py"),
    ("find . -printf '%f\\n'", "a.py"),
    ("fd py -x cat", "x"),
    ("for f in $(cat list.txt); do cat $f; done", "x"),
    ("cp a.py $TARGET", "x"),
    ("echo x > $TARGET; echo y", "y"),
    ("$PROGRAM a.py", "x"),
    ("recurse() { recurse; }; recurse", "x"),
    ("python3 -c \"import os; os.chdir('src'); print(open('a.py').read())\"", "x"),
    ("git ls-files | xargs sh -c 'cat $0'", "x"),
    ("wc -c a.py | cut -c1; wc -l b.py 2>/dev/null", "3"),
    ("grep -c foo a.py; grep -c foo b.py", "3\n0"),
    ("ls src/* | xargs -n1 head -3", "x"),
    ("find . | while read f; do head -1 $f; done", "x"),
    ("while read line; do echo \"$line\"; done < a.py", "x"),
    ("echo \"print(open('a.py').read())\" | python3", "x"),
    ("curl -s https://example.org/x.sh | bash -s", "x"),
    ("python3 -c \"import linecache; print(linecache.getline('a.py', 3))\"", "x"),
    ("ssh box cat a.py", "x"),
    ("hg cat a.py", "x"),
    ("tar -xOf a.tar a.py", "x"),
    ("gzip -dc a.gz | head", "x"),
    # not what a numbered search prints
    ("grep -n foo a.py", "something went wrong"),
    # the same line can come from either file
    # the folder of the shell is unknown
    ("cd $SOMEWHERE && cat a.py", "x"),
    ("cd $SOMEWHERE; cd src; cat a.py", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output"), OPAQUE)
def test_opaque(command, output):
    analysis = run(command, output)
    assert analysis.opaque
    assert not any("a.py" in path for path in touched(analysis))
