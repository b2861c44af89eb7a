"""Commands in containers, on other machines, for hosts of code, and in PowerShell."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession
from retrieval_eval.agents.traces.shell.powershell import is_powershell

TABLE = (
    "\n\n    Directory: C:\\dev\\src\n\n\nMode                 LastWriteTime         Length Name\n"
    "----                 -------------         ------ ----\n"
    "d-----         1/1/2024  12:00 PM                sub\n"
    "-a----         1/1/2024  12:00 PM           1234 a.py\n\n"
    "    Directory: C:\\dev\\src\\sub\n\n"
    "-a----         1/1/2024  12:00 PM             12 b.py\n"
)
PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n"
    "*** Add File: b.py\n+z\n*** End Patch\nEOF"
)
STATUS = (
    "On branch main\nChanges not staged for commit:\n\tmodified:   src/a.py\n"
    "\trenamed:    c.py -> d.py\n\nUntracked files:\n  (use git add)\n\tsrc/new.py\n\tfolder/\n"
)
DIFF = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x"

CERTAIN = [
    # containers and other machines
    ("docker exec box cat /w/a.py", "x", ["opened /w/a.py"]),
    ("docker exec -it -w /w box sh -c 'cd src && cat a.py | head -3'", "x",
     ["opened /w/src/a.py 1-3"]),
    ("docker exec -e A=b --workdir=/w box cat a.py | head -2", "x", ["opened /w/a.py 1-2"]),
    ("docker compose exec -T web cat /w/a.py", "x", ["opened /w/a.py"]),
    ("docker run --rm -v $PWD:/w -w /w img grep -rn foo src", "src/a.py:3:foo",
     ["matched /w/src/a.py 3-3"]),
    ("kubectl exec -n ns pod -c c -- cat /w/a.py", "x", ["opened /w/a.py"]),
    ("ssh -p 22 host cat /w/a.py", "x", ["opened /w/a.py"]),
    ("ssh host 'cd /w && grep -rn foo .'", "./a.py:3:foo", ["matched /w/a.py 3-3"]),
    ("docker exec box cat /w/a.py > out.txt", "", ["written /w/out.txt"]),
    ("X=/y; docker exec box sh -c 'cat $X/a.py'", "x", []),
    # git, GitHub and patches
    (PATCH, "Success.", ["written /w/src/a.py", "written /w/b.py"]),
    ("git status", STATUS,
     ["listed /w/src/a.py", "listed /w/c.py", "listed /w/d.py", "listed /w/src/new.py"]),
    ("git status -s", " M src/a.py\n?? b.py\nR  x.py -> y.py\n?? folder/",
     ["listed /w/src/a.py", "listed /w/b.py", "listed /w/x.py", "listed /w/y.py"]),
    ("git mv a.py b.py src/", "", ["written /w/src/a.py", "written /w/src/b.py"]),
    ("git log -p -2 -- src", f"commit x\n\n{DIFF}", ["matched /w/src/a.py"]),
    ("git show HEAD~2:src/a.py", "x", ["opened /w/src/a.py"]),
    ("gh api repos/o/r/contents/src/a.py -H 'Accept: application/vnd.github.raw'", "x",
     ["opened o/r::src/a.py"]),
    ("gh api repos/o/r/contents/src/a.py?ref=main --jq .content | base64 -d", "x",
     ["opened o/r::src/a.py"]),
    ("gh pr diff 12", DIFF, ["matched /w/src/a.py"]),
    ("gh pr diff 12 --name-only", "src/a.py", ["matched /w/src/a.py"]),
    # pagers and dumps
    ("bat src/a.py", "x", ["opened /w/src/a.py"]),
    ("nl -ba src/a.py", "1 x", ["opened /w/src/a.py"]),
    ("less src/a.py", "x", ["opened /w/src/a.py"]),
    ("xxd src/a.bin", "0: 00", ["opened /w/src/a.bin"]),
    # PowerShell
    (r"Get-Content -Path src\a.py -TotalCount 20", "x", ["opened /w/src/a.py 1-20"]),
    (r"Get-Content 'C:\dev\src\a b.py'", "x", ["opened C:/dev/src/a b.py"]),
    (r"cd C:\dev; gc src\a.py | Select-Object -First 5", "x", ["opened C:/dev/src/a.py 1-5"]),
    (r"(Get-Content src\a.py)[0..20]", "x", ["opened /w/src/a.py"]),
    (r"Select-String -Path src\*.py -Pattern foo", "\r\nsrc\\a.py:12:foo\r\nsrc\\b.py:3:foo",
     ["matched /w/src/a.py 12-12", "matched /w/src/b.py 3-3"]),
    (r"Get-ChildItem -Recurse -Filter *.py | Select-String 'foo'", "src\\a.py:12:foo",
     ["matched /w/src/a.py 12-12"]),
    (r"Get-ChildItem -Recurse src", TABLE, ["listed /w/src/a.py", "listed /w/src/sub/b.py"]),
    (r"Get-ChildItem C:\dev\src", TABLE,
     ["listed C:/dev/src/a.py", "listed C:/dev/src/sub/b.py"]),
    ("Get-ChildItem -Recurse -Name", "src\\a.py", ["listed /w/src/a.py"]),
    (r"type src\a.py", "x", ["opened /w/src/a.py"]),
    ("pwsh -c 'Get-Content src/a.py'", "x", ["opened /w/src/a.py"]),
    (r'powershell -Command "Get-Content src\a.py"', "x", ["opened /w/src/a.py"]),
    (r'cmd /c "type src\a.py"', "x", ["opened /w/src/a.py"]),
    ("Set-Content -Path out.txt -Value 'x'", "", ["written /w/out.txt"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "output", "expected"), CERTAIN)
def test_what_is_certain(command, output, expected):
    found = [
        f"{t.access} {t.repository + '::' if t.repository else ''}{t.path}"
        + "".join(f" {first}-{last}" for first, last in (() if t.is_whole else t.lines or ()))
        for event in ShellSession("/w").analyse(command, output).events
        for t in event.targets
        if t.doubt is None
    ]
    assert found == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat > x.ps1 <<'EOF'\nGet-Content a.py\nEOF",
        "grep -rn 'foo|Get-Content' src",
        r"cat my\ file.txt",
        "cat a.txt | tr '\\n' ' '",
    ],
)
def test_bash_that_mentions_powershell_stays_bash(command):
    assert not is_powershell(command)
