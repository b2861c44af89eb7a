"""Shell commands: what a command and its output prove, whatever the harness."""

from __future__ import annotations

from typing import Any

from tests.traps import Certainty, Situation, Trap


def _trap(
    situation: Situation,
    calls: list[tuple[str, str | None]],
    expected: dict[str, Certainty],
    reason: str,
    *,
    is_error: bool = False,
) -> Trap:
    """Return the trap of a trial whose calls are commands of Bash with what they printed."""
    lines: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/workspace"}
    ]
    for number, (command, output) in enumerate(calls):
        name, arguments = "Bash", {"command": command}
        if command.startswith("BashOutput "):
            name, arguments = "BashOutput", {"bash_id": command.split()[1]}
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}
        message = {"id": f"m{number}", "content": [call]}
        lines.append({"type": "assistant", "parent_tool_use_id": None, "message": message})
        if output is not None:
            answer = {
                "type": "tool_result",
                "tool_use_id": f"c{number}",
                "content": output,
                "is_error": is_error,
            }
            content = {"content": [answer]}
            lines.append({"type": "user", "parent_tool_use_id": None, "message": content})
    lines.append({"type": "result", "subtype": "success"})
    return Trap(
        situation=situation,
        files={"agent/claude-code.txt": lines},
        expected=expected,
        reason=reason,
    )


_STARTED = "Command running in background with ID: b1. Output is being written to: /tmp/claude-0/b1"
_PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n-x\n+y\n*** End Patch\nEOF"
)

TRAPS = (
    _trap(
        "read",
        [("cat src/a.py", "import os")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The only command printed something, and it prints nothing but the file.",
    ),
    _trap(
        "read",
        [("cat src/a.py 2>/dev/null; cat src/b.py 2>/dev/null", "import os")],
        {"src/a.py": "possible", "src/b.py": "possible"},
        "One of the two files was printed, and errors are hidden, so nothing says which.",
    ),
    _trap(
        "read",
        [("head -3 src/a.py 2>/dev/null; head -2 src/b.py 2>/dev/null", "1\n2\n3\n4")],
        {"src/a.py": "certain", "src/b.py": "certain"},
        "Four lines are more than either command alone can have printed.",
    ),
    _trap(
        "read",
        [("cat src/a.py && echo --- && sed -n 1,5p src/b.py", "x\n---\ny")],
        {"src/a.py": "certain", "src/b.py": "certain"},
        "The separator that the script prints divides the outputs.",
    ),
    _trap(
        "read",
        [("cat src/$NAME/models.py", "class A: ...")],
        {"src/core/models.py": "possible", "src/core/views.py": "none"},
        "A file whose path fits the known parts of the word was printed.",
    ),
    _trap(
        "read",
        [("cat $FILE", "class A: ...")],
        {"src/a.py": "possible", "lib/b.py": "possible"},
        "Some file was printed, and nothing of its name is known.",
    ),
    _trap(
        "read",
        [("cat $FILE", "")],
        {"src/a.py": "none"},
        "Nothing was printed.",
    ),
    _trap(
        "read",
        [("python tools/show.py src/a.py", "x = 1")],
        {"src/a.py": "possible", "src/b.py": "none"},
        "A program that is not known may have printed the file it was given.",
    ),
    _trap(
        "read",
        [("docker exec box sh -c 'cat /workspace/src/a.py'", "x")],
        {"src/a.py": "certain"},
        "The command in the container printed the file under its path.",
    ),
    _trap(
        "read",
        [("docker exec box cat src/a.py", "x")],
        {"src/a.py": "possible"},
        "The folder in which a container starts a command is not known.",
    ),
    _trap(
        "read",
        [("pwsh -c 'Get-Content src/a.py -TotalCount 5'", "x")],
        {"src/a.py": "certain"},
        "PowerShell printed the beginning of the file.",
    ),
    _trap(
        "read",
        [("git show HEAD~1:src/a.py", "x")],
        {"src/a.py": "certain"},
        "An older version of the file is its content.",
    ),
    _trap(
        "search",
        [("grep -rn foo src", "src/a.py:3:foo")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "Every line of a search of a folder names its file.",
    ),
    _trap(
        "search",
        [("grep -rhn foo src", "3:foo")],
        {"src/a.py": "possible", "lib/b.py": "none"},
        "Lines without names came from files below the folder that was searched.",
    ),
    _trap(
        "listing",
        [("git status --short", " M src/a.py\n?? src/b.py")],
        {"src/a.py": "certain", "src/b.py": "certain", "src/c.py": "none"},
        "Each line of the status names one file.",
    ),
    _trap(
        "listing",
        [("ls src && ls lib", "a.py\nb.py")],
        {"src/a.py": "possible", "lib/a.py": "possible", "src/c.py": "none"},
        "The names are those of two folders, and nothing says where one ends.",
    ),
    _trap(
        "other",
        [("pytest -q", "src/a.py:12: AssertionError\n1 failed")],
        {"src/a.py": "possible", "src/b.py": "none"},
        "A test that failed names a file, and may show lines of it.",
    ),
    _trap(
        "other",
        [("git commit -am x", " 1 file changed\nsee src/a.py")],
        {"src/a.py": "none"},
        "What a commit prints shows no file.",
    ),
    _trap(
        "other",
        [("cat src/a.py", None)],
        {"src/a.py": "possible", "src/b.py": "none"},
        "The trace holds no result of the call.",
    ),
    _trap(
        "other",
        [("grep -rn foo src", None)],
        {"src/a.py": "possible", "lib/b.py": "none"},
        "A search without a result may have found any file below its folder.",
    ),
    _trap(
        "failed read",
        [("cat src/a.py src/b.py", "x = 1\ncat: src/b.py: No such file or directory")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The error names the file that was not printed.",
    ),
    _trap(
        "denied",
        [("cat src/a.py", "Permission to use Bash has been denied.")],
        {"src/a.py": "none"},
        "The command did not run.",
        is_error=True,
    ),
    _trap(
        "timed out",
        [("cat src/a.py; sleep 600", "Command timed out after 2m 0.0s")],
        {"src/a.py": "none"},
        "An error without an exit status means that the command did not finish.",
        is_error=True,
    ),
    _trap(
        "background",
        [("cat src/a.py", _STARTED)],
        {"src/a.py": "possible"},
        "The output went to a file that the trace does not show to be read.",
    ),
    _trap(
        "background",
        [
            ("grep -rn foo src", _STARTED),
            ("BashOutput b1", "<status>completed</status>\n<stdout>\nsrc/a.py:3:foo\n</stdout>"),
        ],
        {"src/a.py": "certain", "lib/b.py": "none"},
        "A later call fetched what the command printed.",
    ),
    _trap(
        "background",
        [
            ("grep -rn foo src", _STARTED),
            ("BashOutput b1", "<retrieval_status>timeout</retrieval_status>"),
        ],
        {"src/a.py": "possible"},
        "The later call fetched nothing.",
    ),
    _trap(
        "background",
        [("grep -rn foo src > /tmp/log 2>&1 &", ""), ("tail -5 /tmp/log", "src/a.py:3:foo")],
        {"src/a.py": "certain"},
        "The lines of the log are what the search printed.",
    ),
    _trap(
        "two checkouts",
        [("cd /workspace && cat src/a.py", "x"), ("cd $OTHER && cat src/b.py", "x")],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "The second folder is not known: the file there may be of another checkout.",
    ),
    _trap(
        "truncated output",
        [("cat src/a.py src/b.py", "x\n... [900 lines truncated] ...\ny")],
        {"src/a.py": "certain", "src/b.py": "certain"},
        "The harness cut the output in the middle, and no error names either file.",
    ),
    _trap(
        "truncated output",
        [("cat src/a.py src/b.py src/c.py", "x\n... [900 lines truncated] ...\ny")],
        {"src/a.py": "certain", "src/b.py": "possible", "src/c.py": "certain"},
        "The first file was shown first and the last one last; what lies between them may be cut.",
    ),
    _trap(
        "truncated output",
        [("cat src/a.py src/b.py", "x = 1\ny = 2\n[Output truncated]")],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "Only the beginning was shown, which is that of the first file.",
    ),
    _trap(
        "truncated output",
        [("seq 1 9; cat src/a.py; seq 1 9", "1\n2\n\u20269 tokens truncated\u2026\n8\n9")],
        {"src/a.py": "possible"},
        "Other commands print the beginning and the end, which is all that was shown.",
    ),
    _trap(
        "timed out",
        [
            (
                "cat src/a.py; sleep 8; cat src/b.py",
                "a = 1\n[The command timed out after 3 seconds.]",
            )
        ],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "What was printed before the stop is the first file; the second need not have been read.",
    ),
    _trap(
        "search",
        [("rg -n alpha src | sed -n '1,5p'", "src/a.py:9:alpha = 1")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "Some of the lines passed whole, and each names its file.",
    ),
    _trap(
        "search",
        [("rg -n alpha src | cut -c1-200", "src/a.py:9:alpha = 1")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The beginning of each line passed, and it names the file.",
    ),
    _trap(
        "search",
        [("git grep -n alpha -- src | tr a-z A-Z", "SRC/A.PY:9:ALPHA = 1")],
        {"src/a.py": "possible", "lib/b.py": "none"},
        "The lines were changed, so that what they name need not be a file.",
    ),
    _trap(
        "read",
        [("cat src/a.py; echo bad >&2; exit 3", "Exit code 3\nbad\nx = 1")],
        {"src/a.py": "certain"},
        "Standard error comes in no order with standard output.",
        is_error=True,
    ),
    _trap(
        "read",
        [("cat --help src/a.py", "Usage: cat [OPTION]... [FILE]...")],
        {"src/a.py": "none"},
        "The program describes itself and reads no file.",
    ),
    _trap(
        "listing",
        [
            (
                "ls && ls shop || true",
                "cart.py\nls: cannot access 'shop': No such file or directory",
            )
        ],
        {"cart.py": "certain", "shop/cart.py": "none"},
        "The folder does not exist, so that all entries are those of this one.",
    ),
    _trap(
        "write",
        [
            (_PATCH, "Success. Updated the following files:\nM src/a.py"),
            ("git mv src/b.py src/c.py", ""),
        ],
        {"src/a.py": "none", "src/c.py": "none"},
        "Writing and moving files does not show them to the agent.",
    ),
    _trap(
        "read",
        [("sed -n 1,5p src/a.py; sed -n 90,99p src/b.py", "import os")],
        {"src/a.py": "possible", "src/b.py": "possible"},
        "One line cannot be of both files, and nothing says of which it is.",
    ),
    _trap(
        "read",
        [("cat src/a.py src/b.py | head -2", "import os\nimport re")],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "As many lines passed as may pass, so that the second file need not have been reached.",
    ),
    _trap(
        "read",
        [("cp src/a.py /tmp/x.py && cat /tmp/x.py", "import os")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "What the copy shows is the content of the file, and the copy surely succeeded.",
    ),
    _trap(
        "read",
        [("cp src/a.py /tmp/x.py; sed -i s/os/re/ /tmp/x.py; cat /tmp/x.py", "import re")],
        {"src/a.py": "possible"},
        "The copy was changed before it was shown.",
    ),
    _trap(
        "read",
        [("awk '/limit/' src/a.py src/b.py", "limit = 3")],
        {"src/a.py": "possible", "src/b.py": "possible"},
        "A line passed the filter, and nothing says of which file.",
    ),
    _trap(
        "read",
        [("cat files.txt | xargs cat", "import os")],
        {"src/a.py": "possible"},
        "The list names the files, and it is not in the trace.",
    ),
    _trap(
        "read",
        [("git stash show -p", "diff --git a/src/a.py b/src/a.py\n@@ -1 +1 @@\n-x\n+y")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The diff shows lines of the file that it names.",
    ),
    _trap(
        "search",
        [("cd src/lib && git diff --name-only", "src/lib/d.py")],
        {"src/lib/d.py": "certain", "src/lib/src/lib/d.py": "none"},
        "Git names files from the top of the checkout, whatever the folder.",
    ),
    _trap(
        "search",
        [("git grep -n limit v1.0", "v1.0:src/a.py:3:limit")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The revision stands before each name.",
    ),
    _trap(
        "search",
        [("rg --heading -n limit src", "src/a.py\n3:limit\n\nsrc/c.py\n1:limit")],
        {"src/a.py": "certain", "src/b.py": "none", "src/c.py": "certain"},
        "Each block of lines stands below the name of its file.",
    ),
    _trap(
        "search",
        [("echo limit | grep -n -f - src/a.py", "3:limit")],
        {"src/a.py": "certain"},
        "The search reads its patterns from the pipe and not the file.",
    ),
    _trap(
        "listing",
        [("echo src/*.py", "src/a.py src/c.py")],
        {"src/a.py": "certain", "src/b.py": "none", "src/c.py": "certain"},
        "The shell printed the names that the pattern fits.",
    ),
    _trap(
        "background",
        [
            ("grep -rn limit src", _STARTED),
            (
                "BashOutput b1",
                "<status>completed</status>\n\n<stdout>\nsrc/a.py:3:limit\n</stdout>",
            ),
        ],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The output was fetched to its end, so that the search has found nothing else.",
    ),
    _trap(
        "other",
        [
            (
                "bat src/b.py; cat src/a.py",
                "/bin/bash: line 1: bat: command not found\nimport os\nx = 1",
            )
        ],
        {"src/a.py": "certain", "src/b.py": "none"},
        "The shell did not find the first program, so that the other printed everything.",
    ),
    _trap(
        "other",
        [("cat src/a.py; exit; cat src/b.py", "import os")],
        {"src/a.py": "certain", "src/b.py": "none"},
        "Nothing behind the end of a script runs.",
    ),
    _trap(
        "other",
        [("set -e; cat src/a.py; grep zeta src/a.py; cat src/b.py", "Exit code 1\nimport os\nx")],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "The script ends with the first command that fails, which may be the search.",
        is_error=True,
    ),
    _trap(
        "other",
        [("cat src/a.py; if [ -f x ]; then exit 0; fi; cat src/b.py", "import os\nx = 1")],
        {"src/a.py": "certain", "src/b.py": "possible"},
        "The script may have ended between the two, although it succeeded.",
    ),
    _trap(
        "other",
        [("[ -f src/b.py ] || exit 1; cat src/a.py; cat src/b.py", "import os\nx = 1")],
        {"src/a.py": "certain", "src/b.py": "certain"},
        "The script succeeded, so that it did not end in the condition.",
    ),
)
