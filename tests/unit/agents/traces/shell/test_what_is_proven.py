"""What a command and its output prove of a file: certain, possible, or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.normalise import extract_events
from retrieval_eval.agents.traces import read_trace
from retrieval_eval.agents.truth import load_ground_truth

C, P, N = "certain", "possible", "none"
E = "Exit code "

Calls = list[tuple[str, str]]

CASES: list[tuple[Calls, dict[str, str]]] = [
    # What the agent created itself it did not find.
    ([("cat > src/a.py <<'EOF'\nimport os\nEOF\ncat src/a.py", "import os")], {"src/a.py": N}),
    ([("python3 - <<'EOF'\nopen('src/a.py','w').write('x')\nprint('done')\nEOF", "done")],
     {"src/a.py": N}),
    ([(("python3 - <<'EOF'\nfrom pathlib import Path\np=Path('src/a.py')\ns=p.read_text()\n"
        "s=s.replace('x','y')\np.write_text(s)\nEOF"),
       "")], {"src/a.py": N}),
    ([("python -c \"import glob\nfor f in glob.glob('src/*.py'): print(f, len(open(f).read()))\"",
       "src/a.py 12")], {"src/a.py": P, "src/b.py": P}),
    ([("python -c \"import src.a; print(src.a.__file__)\"", "/workspace/src/a.py")],
     {"src/a.py": P}),
    ([("python -c \"import inspect, src.a; print(inspect.getsource(src.a.f))\"",
       "def f():\n    return 1")], {"src/a.py": P}),
    ([("find src -name '*.py' -exec grep -n foo {} \\;", "3:foo")], {"src/a.py": P, "src/b.py": P}),
    ([("find src -name '*.py' -exec sed -i 's/a/b/' {} +", "")], {"src/a.py": N}),
    ([("find src -name '*.py' | xargs -n1 basename", "a.py")], {"src/a.py": P, "src/b.py": P}),
    ([("rg -l x src | xargs dirname | sort -u", "src")], {"src/a.py": P, "lib/b.py": N}),
    ([("rg -l x src | xargs realpath", "/w/src/a.py")], {"src/a.py": P, "lib/b.py": N}),
    ([("rg -l x src | xargs -I% sh -c 'basename %'", "a.py")], {"src/a.py": P, "lib/b.py": N}),
    ([("basename -a $(rg -l x src)", "a.py")], {"src/a.py": P, "lib/b.py": N}),
    ([("for f in $(rg -l x src); do basename $f; done", "a.py")], {"src/a.py": P, "lib/b.py": N}),
    (
        [("grep -rn x src | while IFS=: read -r f n _; do echo $f $n; done", "src/a.py 3")],
        {"src/a.py": P, "lib/b.py": N},
    ),
    (
        [("rg -n x src | while read -r l; do echo \"hit: $l\"; done", "hit: src/a.py:3:x")],
        {"src/a.py": P, "lib/b.py": N},
    ),
    (
        [("rg --heading -n x src | awk NF", "src/a.py\n3:x = 1\nsrc/b.py\n9:x = 2")],
        {"src/a.py": C, "src/b.py": C, "src/c.py": N},
    ),
    (
        [("rg --heading x src | grep -v '^$'", "src/a.py\nx = 1\nsrc/b.py\nx = 2")],
        {"src/a.py": P, "src/b.py": P, "lib/c.py": N},
    ),
    ([("rg -n x src > h.txt; grep -n x < h.txt", "1:src/a.py:3:x")], {"src/a.py": C, "h.txt": N}),
    (
        [("grep -rn x src > /tmp/h", ""), ("awk -F: '{print $3}' /tmp/h", "x")],
        {"src/a.py": P, "lib/b.py": N},
    ),
    ([("echo src/a.py | xargs -I{} cat {}", "import os")], {"src/a.py": C}),
    ([("grep -rl foo src | xargs sed -n '1,3p'", "import os")], {"src/a.py": P, "docs/x.md": N}),
    ([("git show --stat abc123",
       "commit abc123\n\n src/a.py | 4 ++--\n 1 file changed, 2 insertions(+)")],
     {"src/a.py": C, "src/b.py": N}),
    ([("git show abc123 -- src/a.py", "commit abc\nAuthor: x\n\n    msg")], {"src/a.py": N}),
    ([("git log --stat -1",
       "commit abc\n\n    msg\n\n src/a.py | 2 +-\n src/very/.../x.py | 3 +\n")],
     {"src/a.py": C, "src/b.py": N}),
    ([("git diff --name-status HEAD~1", "M\tsrc/a.py\nR100\tsrc/old.py\tsrc/b.py")],
     {"src/a.py": C, "src/b.py": C, "src/c.py": N}),
    ([("git diff --no-prefix",
       "diff --git src/a.py src/a.py\n--- src/a.py\n+++ src/a.py\n@@ -1 +1 @@\n-x\n+y")],
     {"src/a.py": C}),
    ([("git diff HEAD~1",
       ("diff --git a/src/a.py b/src/a.py\ndeleted file mode 100644\n--- a/src/a.py\n+++ "
        "/dev/null\n@@ -1 +0,0 @@\n-x"))], {"src/a.py": C}),
    ([("git diff -M HEAD~1",
       ("diff --git a/src/a.py b/src/b.py\nsimilarity index 100%\nrename from src/a.py\nrename "
        "to src/b.py"))], {"src/a.py": C, "src/b.py": C}),
    ([("git status --porcelain", " M src/a.py\n?? src/c.py")], {"src/a.py": C, "src/b.py": N}),
    ([("git checkout -- src/a.py && cat src/a.py", "import os")], {"src/a.py": C}),
    ([("git log -S foo --oneline", "abc fix")], {"src/a.py": N}),
    ([("git apply <<'EOF'\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\nEOF", "")],
     {"src/a.py": N}),
    ([("git worktree add /tmp/wt HEAD~3",
       "Preparing worktree (detached HEAD abc)\nHEAD is now at abc x"),
      ("cat /tmp/wt/src/a.py", "import os")], {"src/a.py": C}),
    ([("git format-patch -1 --stdout",
       ("From abc\n---\n src/a.py | 2 +-\n\ndiff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n"
        "+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y"))], {"src/a.py": C, "src/b.py": N}),
    ([("git archive HEAD src/a.py | tar xO", "import os")], {"src/a.py": P}),
    ([("cd nosuch && cat a.py",
       "Exit code 1\n/bin/bash: line 1: cd: nosuch: No such file or directory")],
     {"a.py": N, "nosuch/a.py": N}),
    ([("cd $REPO && cat src/a.py", "x")], {"src/a.py": P}),
    ([("cd ~/w && cat src/a.py", "x")], {"src/a.py": P}),
    ([("cat src/größe.py", "x")], {"src/größe.py": C}),
    ([("git status --short", " M \"src/gr\\303\\266\\303\\237e.py\"")], {"src/größe.py": C}),
    ([("ls src", "größe.py\na.py")], {"src/größe.py": C}),
    ([("sed -n 1,5p \"app/(auth)/page.tsx\"", "x")], {"app/(auth)/page.tsx": C}),
    ([("cat 'src/$types.ts'", "x")], {"src/$types.ts": C}),
    ([("ls -la src",
       ("total 8\ndrwxr-xr-x 2 u u 4096 Jan  1 10:00 .\n-rw-r--r-- 1 u u 12 Jan  1 10:00 a.py\n"
        "lrwxrwxrwx 1 u u 4 Jan 1 10:00 b.py -> a.py"))],
     {"src/a.py": C, "src/b.py": C, "src/c.py": N}),
    ([("ls src/a.py src/zzz.py",
       "ls: cannot access 'src/zzz.py': No such file or directory\nsrc/a.py")],
     {"src/a.py": C, "src/zzz.py": N}),
    ([("tree -f src",
       "src\n├── src/a.py\n└── src/lib\n    └── src/lib/d.py\n\n1 directory, 2 files")],
     {"src/a.py": P, "src/lib/d.py": P, "src/b.py": N}),
    ([("tree -fi src", "src\nsrc/a.py\nsrc/lib/d.py\n\n1 directory, 2 files")],
     {"src/a.py": C, "src/lib/d.py": C, "src/b.py": N}),
    ([("cat src/a.py 2>/dev/null || echo missing", "missing")], {"src/a.py": N}),
    ([("if [ -f src/a.py ]; then cat src/a.py; else cat src/b.py; fi", "x")],
     {"src/a.py": P, "src/b.py": P}),
    ([("grep -n foo src/a.py || echo 'no match'", "no match")], {"src/a.py": N}),
    ([("diff <(sort src/a.py) <(sort src/b.py)", "< x\n> y")], {"src/a.py": P, "src/b.py": P}),
    ([("diff <(git show HEAD:src/a.py) src/a.py", "< x\n> y")], {"src/a.py": P}),
    ([("git ls-files src | while read f; do echo \"$f\"; done", "src/a.py\nsrc/c.py")],
     {"src/a.py": C, "src/b.py": N}),
    ([("find src -name '*.py' | while read f; do echo \"$f: $(wc -l < $f)\"; done",
       "src/a.py: 12")], {"src/a.py": C, "src/b.py": N}),
    ([("awk '/foo/{print FILENAME\":\"FNR\": \"$0}' src/*.py", "src/a.py:3: foo")],
     {"src/a.py": P, "src/b.py": P}),
    ([("jq .dependencies package.json", "{}")], {"package.json": C}),
    ([("strings src/a.bin | head", "x")], {"src/a.bin": C}),
    ([("zcat src/a.gz | head", "x")], {"src/a.gz": C}),
    ([("base64 src/a.py", "aW1wb3J0")], {"src/a.py": C}),
    ([("vim -es -c ':%p' -c ':q' src/a.py", "import os")], {"src/a.py": P}),
    ([("printf ',p\\nq\\n' | ed -s src/a.py", "import os")], {"src/a.py": P}),
    ([("while IFS= read -r l; do echo \"$l\"; done < src/a.py", "import os")], {"src/a.py": P}),
    ([("mapfile -t L < src/a.py; printf '%s\\n' \"${L[@]:0:5}\"", "import os")], {"src/a.py": N}),
    ([("bash -x src/a.sh", "+ echo hello")], {"src/a.sh": P}),
    ([("stat src/a.py", "  File: src/a.py\n  Size: 12")], {"src/a.py": C}),
    ([("md5sum src/a.py", "abc  src/a.py")], {"src/a.py": C}),
    ([("which python", "/usr/bin/python")], {"src/a.py": N}),
    ([("make", "gcc -c src/a.c\nsrc/a.c:12:5: error: x")], {"src/a.c": P}),
    ([("pytest --collect-only -q", "tests/test_a.py::test_x\n1 test collected")],
     {"tests/test_a.py": P}),
    ([("ruff check .", "src/a.py:1:1: F401 unused")], {"src/a.py": P}),
    ([("mypy src", "src/a.py:3: error: x")], {"src/a.py": P}),
    ([("node scripts/show.js src/a.js", "x")], {"src/a.js": P}),
    ([("npx prettier src/a.js", "const x = 1")], {"src/a.js": N}),
    ([("npx prettier --check src", "Checking formatting...\n[warn] src/a.js")], {"src/a.js": P}),
    ([("black --diff src/a.py",
       "--- src/a.py\t2020\n+++ src/a.py\t2020\n@@ -1 +1 @@\n-x\n+y")], {"src/a.py": P}),
    ([("gofmt -d src/a.go",
       "diff src/a.go.orig src/a.go\n--- src/a.go.orig\n+++ src/a.go\n@@ -1 +1 @@\n-x")],
     {"src/a.go": P}),
    ([("ctags -x src/a.py", "f function 3 src/a.py def f():")], {"src/a.py": P}),
    ([("cscope -dL -1 foo", "src/a.c foo 3 int foo()")], {"src/a.c": P}),
    ([("ast-grep -p 'foo($A)' src", "src/a.py:3:foo(1)")], {"src/a.py": P}),
    ([("sg run -p 'foo' src", "src/a.py\n3│foo")], {"src/a.py": P}),
    ([("rg -n -C1 foo src", "src/a.py-2-x\nsrc/a.py:3:foo\n--\nsrc/c.py:1:foo")],
     {"src/a.py": C, "src/c.py": C, "src/b.py": N}),
    ([("rg -on 'foo\\w+' src", "src/a.py:3:foobar")], {"src/a.py": C}),
    ([("rg -N foo src/a.py", "foo")], {"src/a.py": C}),
    ([("grep -rn --include='*.py' foo .", "./src/a.py:3:foo")], {"src/a.py": C, "src/b.py": N}),
    ([("grep -n -A2 foo src/a.py", "3:foo\n4-x\n5-y")], {"src/a.py": C}),
    ([("egrep -n 'foo|bar' src/a.py src/b.py", "src/a.py:3:foo")], {"src/a.py": C, "src/b.py": N}),
    ([("zgrep -n foo src/a.gz", "3:foo")], {"src/a.gz": C}),
    ([("grep --color=always -rn foo src",
       "\u001b[35msrc/a.py\u001b[m\u001b[36m:\u001b[m\u001b[32m3\u001b[m\u001b[36m:\u001b[mfoo")],
     {"src/a.py": C}),
    ([("docker run --rm -v /workspace:/w -w /w alpine cat src/a.py", "x")], {"src/a.py": C}),
    ([("docker logs web", "src/a.py:3: error")], {"src/a.py": P}),
    ([("kubectl exec pod -- cat /app/src/a.py", "error: unable to upgrade connection")],
     {"src/a.py": N}),
    ([("docker exec web cat /app/src/a.py",
       "Exit code 1\nError response from daemon: container abc is not running")], {"src/a.py": N}),
    ([("wc -l src/a.py; cat src/b.py", "12 src/a.py\nx")], {"src/a.py": C, "src/b.py": C}),
    ([("find src -name '*.py'; cat README.md", "src/a.py\n# Title")],
     {"src/a.py": C, "README.md": C, "src/b.py": N}),
    ([("git log --oneline -3; git diff",
       ("abc x\ndef y\nghi z\ndiff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ "
        "b/src/a.py\n@@ -1 +1 @@\n-x\n+y"))], {"src/a.py": C, "src/b.py": N}),
    ([("cat src/a.py; printf '\\n---\\n'; cat src/b.py", "x\n\n---\ny")],
     {"src/a.py": C, "src/b.py": C}),
    ([("test -f src/a.py && echo exists", "exists")], {"src/a.py": N}),
    ([("time cat src/a.py", "x\n\nreal\t0m0.001s\nuser\t0m0.001s\nsys\t0m0.000s")],
     {"src/a.py": C}),
    ([("timeout 10 cat src/a.py", "x")], {"src/a.py": C}),
    ([("bash -lc 'cd src && cat a.py'", "x")], {"src/a.py": C, "a.py": N}),
    ([("i=0; until [ $i -ge 1 ]; do cat src/a.py; i=$((i+1)); done", "x")], {"src/a.py": C}),
    ([("cat `echo src/a.py`", "x")], {"src/a.py": C}),
    ([("patch -p1 < fix.patch", "patching file src/a.py")], {"src/a.py": N, "fix.patch": N}),
    ([("ex -s src/a.py <<'EOF'\n%s/a/b/\nwq\nEOF", "")], {"src/a.py": N}),
    ([("find . -path '*/src/*' -name '*.py' -not -path '*/test/*'", "./src/a.py")],
     {"src/a.py": C}),
    ([("find src -name '*.py' -printf '%p\\n'", "src/a.py")], {"src/a.py": P, "src/b.py": P}),
    ([("locate a.py", "/workspace/src/a.py")], {"src/a.py": P}),
    ([("tar tf x.tgz", "src/a.py")], {"src/a.py": N}),
    ([("unzip -p x.zip src/a.py", "x")], {"src/a.py": P}),
    ([("unzip -l x.zip", "  12  2020-01-01 10:00   src/a.py")], {"src/a.py": N}),
    ([("curl -s http://localhost:8000/src/a.py", "x")], {"src/a.py": N}),
    ([("curl -s file:///workspace/src/a.py", "x")], {"src/a.py": C}),
    ([("psql -c 'select 1'", "1")], {"src/a.py": N}),
    ([("sqlite3 db.sqlite .dump", "CREATE")], {"db.sqlite": P, "src/a.py": N}),
    ([("go doc ./src", "package src")], {"src/a.py": N}),
    ([("go vet ./...", "src/a.go:3:1: x")], {"src/a.go": P}),
    ([("cargo build", "error[E0]: x\n --> src/a.rs:3:1")], {"src/a.rs": P}),
    ([("npx tsc --noEmit", "src/a.ts(3,1): error TS1: x")], {"src/a.ts": P}),
    ([("pytest -q tests/test_a.py",
       ("    def test_x():\n>       assert f() == 1\nE       assert 2\n\ntests/test_a.py:3: "
        "AssertionError"))], {"tests/test_a.py": P}),
    ([("python -m pdb src/a.py", "> /workspace/src/a.py(1)<module>()\n-> import os")],
     {"src/a.py": P}),
    ([("python -m pydoc src.a", "Help on module src.a:\nFILE\n    /workspace/src/a.py")],
     {"src/a.py": P}),
    ([("node -p \"require('fs').readFileSync('src/a.js','utf8')\"", "x")], {"src/a.js": C}),
    ([("ruby -e \"puts File.read('src/a.rb')\"", "x")], {"src/a.rb": C}),
    ([("comm -12 src/a.txt src/b.txt", "x")], {"src/a.txt": C, "src/b.txt": C}),
    ([("cmp src/a.py src/b.py", "src/a.py src/b.py differ: byte 1, line 1")],
     {"src/a.py": C, "src/b.py": C}),
    ([("diff -rq src old", "Files src/a.py and old/a.py differ")], {"src/a.py": P, "src/b.py": P}),
    ([("git difftool --no-prompt", "x")], {"src/a.py": N}),
    ([("ls -l src", "lrwxrwxrwx 1 u u 10 Jan 1 10:00 link.py -> ../lib/a.py"),
      ("cat src/link.py", "x")], {"src/link.py": C}),
    ([("cat /proc/cpuinfo", "x")], {"src/a.py": N}),
    ([("# look at the file\ncat src/a.py  # here", "x")], {"src/a.py": C}),
    ([("cat ${F:-src/a.py}", "x")], {"src/a.py": C}),
    ([("for i in 1 2; do sed -n \"${i}p\" src/a.py; done", "x\ny")], {"src/a.py": C}),
    ([("jq . src/a.json",
       "Exit code 2\njq: parse error: Invalid numeric literal at line 1, column 7")],
     {"src/a.json": N}),
    ([("jq . src/a.json",
       "Exit code 2\njq: error: Could not open src/a.json: No such file or directory")],
     {"src/a.json": N}),
    ([("awk '{print' src/a.py",
       ("Exit code 1\nawk: cmd. line:1: {print\nawk: cmd. line:1:       ^ unexpected newline "
        "or end of string"))], {"src/a.py": N}),
    ([("awk '{print' src/a.py",
       "Exit code 2\nawk: syntax error at source line 1\n context is\n\t >>> {print <<<")],
     {"src/a.py": P}),
    ([("grep '[' src/a.py", "Exit code 2\ngrep: Unmatched [, [^, [:, [., or [=")], {"src/a.py": N}),
    ([("sed -n '1,5' src/a.py",
       "Exit code 1\nsed: -e expression #1, char 3: missing command")], {"src/a.py": N}),
    ([("head -n x src/a.py", "Exit code 1\nhead: invalid number of lines: 'x'")], {"src/a.py": N}),
    ([("tail -n x src/a.py", "Exit code 1\ntail: illegal offset -- x")], {"src/a.py": N}),
    ([("git show HEAD:src/a.py",
       "Exit code 128\nfatal: path 'src/a.py' exists on disk, but not in 'HEAD'")],
     {"src/a.py": N}),
    ([("git show HEAD:src/a.py",
       "Exit code 128\nfatal: not a git repository (or any of the parent directories): .git")],
     {"src/a.py": N}),
    ([("git diff",
       ("Exit code 128\nfatal: detected dubious ownership in repository at '/workspace'\nTo "
        "add an exception for this directory, call:\n\n\tgit config --global --add "
        "safe.directory /workspace"))], {"src/a.py": N}),
    ([("python3 -c \"import json; print(json.load(open('src/a.json'))['x'])\"",
       ("Exit code 1\nTraceback (most recent call last):\n  File \"<string>\", line 1, in "
        "<module>\nKeyError: 'x'"))], {"src/a.json": P}),
    ([("python3 -c \"print(open('src/a.py').read()\"",
       ("Exit code 1\n  File \"<string>\", line 1\n    print(open('src/a.py').read()\n         "
        "^\nSyntaxError: '(' was never closed"))], {"src/a.py": P}),
    ([("node -e \"console.log(require('fs').readFileSync('src/a.js','utf8'))\"",
       ("Exit code 1\nnode:fs:441\n    return binding.readFileUtf8(path, flags);\n\nError: "
        "ENOENT: no such file or directory, open 'src/a.js'\n    at Object.readFileSync "
        "(node:fs:441:20)"))], {"src/a.js": N}),
    ([("cat src/a.py > /dev/null && echo ok", "ok")], {"src/a.py": N}),
    ([("test -s src/a.py; echo $?", "0")], {"src/a.py": N}),
    ([("read x < src/a.py; echo \"$x\"", "import os")], {"src/a.py": C}),
    ([("for f in src/a.py src/b.py; do cat $f; done | head -2", "x\ny")],
     {"src/a.py": P, "src/b.py": P}),
    ([("ls src/a.py; cat README.md", "src/a.py\n# T")], {"src/a.py": C, "README.md": C}),
    ([("git diff --quiet || echo changed", "changed")], {"src/a.py": N}),
    ([("grep sort src/a.yml", "sort: desc")], {"src/a.yml": C}),
    ([("cat src/a.py", "Exit code 1\nsomething odd happened")], {"src/a.py": C}),
    ([("timeout 5 cat src/a.py", "Exit code 124")], {"src/a.py": N}),
    ([("cat src/a.py", "Exit code 1\nbash: fork: Cannot allocate memory")], {"src/a.py": N}),
    ([("cat src/*.rs", "Exit code 1\nzsh: no matches found: src/*.rs")], {"src/a.rs": N}),
    ([("find src -name '*.zig' | xargs cat", "cat: write error: Broken pipe")], {"src/a.py": N}),
    ([("sudo cat src/a.py", "Exit code 1\nsudo: a password is required")], {"src/a.py": N}),
    ([("cat src/a.py && pytest -q", "Exit code 1\nimport os\nFAILED tests/test_a.py")],
     {"src/a.py": C}),
    ([("cat src/a.py; test -d nope",
       ("Exit code 1\nline 0 error\nline 1 error\nline 2 error\nline 3 error\nline 4 error\n"
        "line 5 error\nline 6 error\nline 7 error\nline 8 error\nline 9 error\nline 10 error\n"
        "line 11 error\nline 12 error\nline 13 error\nline 14 error\nline 15 error\nline 16 "
        "error\nline 17 error\nline 18 error\nline 19 error\nline 20 error\nline 21 error\n"
        "line 22 error\nline 23 error\nline 24 error\nline 25 error\nline 26 error\nline 27 "
        "error\nline 28 error\nline 29 error"))], {"src/a.py": C}),
    ([("wc -l src/a.py zz",
       "Exit code 1\nwc: zz: No such file or directory\n 3 src/a.py\n 3 total")], {"src/a.py": C}),
    ([("cat logs/err.log", "Exit code 1\nERROR: failed")], {"logs/err.log": P}),
    ([("python3 -c \"print(open('src/trace.txt').read())\"",
       "Traceback (most recent call last):\n  x")], {"src/trace.txt": P}),
    ([("cat src/pets.yml", "cat: tom\ndog: rex")], {"src/pets.yml": C}),
    ([("grep -rn -A1 foo src", "src/a.py:3:foo\nsrc/a.py-4-src/b.py:4:x")],
     {"src/a.py": C, "src/b.py": N}),
    ([("cat README.md", "See src/a.py:3 for details")], {"README.md": C, "src/a.py": N}),
    ([("ls -lh src", "total 4.0K\n-rw-rw-r--+ 1 u g 1.2K Jan  1 10:00 a.py")], {"src/a.py": C}),
    ([("ls -l --time-style=long-iso src",
       "total 4\n-rw-r--r-- 1 u g 12 2024-01-01 10:00 a.py")], {"src/a.py": C}),
    ([("ls --full-time src",
       "total 4\n-rw-r--r-- 1 u g 12 2024-01-01 10:00:00.000000000 +0000 a.py")], {"src/a.py": C}),
    ([("ls -l@ src", "total 8\n-rw-r--r--@ 1 u  staff  12 Jan  1 10:00 a.py")], {"src/a.py": C}),
    ([("eza --tree src", "src\n├── a.py\n└── lib\n   └── d.py")],
     {"src/a.py": C, "src/lib/d.py": C}),
    ([("tree -L 2 --prune",
       ".\n├── README.md\n└── src\n    └── a.py\n\n1 directory, 2 files")],
     {"README.md": C, "src/a.py": C, "src/b.py": N}),
    ([("tree --charset=ascii src", "src\n|-- a.py\n`-- lib\n    `-- d.py")],
     {"src/a.py": C, "src/lib/d.py": C}),
    ([("tree -h src", "[4.0K]  src\n├── [ 12]  a.py\n└── [4.0K]  lib\n    └── [ 3]  d.py")],
     {"src/a.py": C, "src/lib/d.py": C}),
    ([("cd src && git ls-files --full-name", "src/a.py")], {"src/a.py": C}),
    ([("cd src && git diff --relative --name-only", "a.py")], {"src/a.py": C}),
    ([("git diff --stat HEAD~1",
       " src/{old => new}/a.py | 2 +-\n src/b.py => src/c.py | 0")], {"src/new/a.py": C}),
    ([("git show abc",
       ("commit abc\nMerge: 1 2\n\ndiff --cc src/a.py\nindex 1,2..3\n--- a/src/a.py\n+++ "
        "b/src/a.py\n@@@ -1,1 -1,1 +1,1 @@@\n- x\n++y"))], {"src/a.py": C}),
    ([("git log --graph -p -1",
       ("* commit abc\n| \n| diff --git a/src/a.py b/src/a.py\n| --- a/src/a.py\n| +++ "
        "b/src/a.py\n| @@ -1 +1 @@\n| -x\n| +y"))], {"src/a.py": C}),
    ([("git diff --color",
       ("\u001b[1mdiff --git a/src/a.py b/src/a.py\u001b[m\n\u001b[1m--- a/src/a.py\u001b[m\n"
        "\u001b[1m+++ b/src/a.py\u001b[m\n@@ -1 +1 @@\n-x\n+y"))], {"src/a.py": C}),
    ([("git diff",
       ("diff --git a/docs/x.md b/docs/x.md\n--- a/docs/x.md\n+++ b/docs/x.md\n@@ -1 +1 @@\n"
        "-src/a.py\n+src/b.py"))], {"docs/x.md": C, "src/a.py": N, "src/b.py": N}),
    ([("cat node_modules/x/src/a.py", "x")], {"src/a.py": N, "node_modules/x/src/a.py": C}),
    ([("cat vendor/src/a.py", "x")], {"src/a.py": N}),
    ([("cat src/a.py.orig", "x")], {"src/a.py": N, "src/a.py.orig": C}),
    ([("cd django && git diff",
       ("diff --git a/django/db.py b/django/db.py\n--- a/django/db.py\n+++ b/django/db.py\n@@ "
        "-1 +1 @@\n-x\n+y"))], {"django/django/db.py": P, "django/db.py": P}),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), CASES)
def test_what_is_proven(tmp_path: Path, calls: Calls, expected: dict[str, str]) -> None:
    lines: list[object] = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/workspace"}
    ]
    for number, (command, output) in enumerate(calls):
        use = {
            "type": "tool_use",
            "id": f"c{number}",
            "name": "Bash",
            "input": {"command": command},
        }
        answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output}
        answer["is_error"] = output.startswith(E)
        for kind, block in (("assistant", use), ("user", answer)):
            message = {"id": f"m{number}", "content": [block]}
            lines.append({"type": kind, "parent_tool_use_id": None, "message": message})
    (tmp_path / "agent").mkdir()
    (tmp_path / "task/tests").mkdir(parents=True)
    transcript = "\n".join(map(json.dumps, [*lines, {"type": "result", "subtype": "success"}]))
    (tmp_path / "agent/claude-code.txt").write_text(transcript, "utf-8")
    (tmp_path / "task/task.toml").write_text("", "utf-8")
    truth = json.dumps({"files": list(expected)})
    (tmp_path / "task/tests/ground_truth.json").write_text(truth, "utf-8")
    events = extract_events(read_trace(tmp_path), load_ground_truth(tmp_path / "task"))
    assert dict(zip(expected, evidence(events).values(), strict=True)) == expected
