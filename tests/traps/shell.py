"""Shell commands: what a command and its output prove, whatever the harness."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Rows
from tests.traps.claude_code import Step, trial


def _run(*said: str | None, is_error: bool = False) -> dict[str, Any]:
    """Return a trial of commands of Bash, each followed by what it printed (``None``: no result).

    ``BashOutput ID`` is the tool of this name.
    """
    steps: list[Step] = []
    for command, output in zip(said[::2], said[1::2], strict=True):
        name, arguments = "Bash", {"command": command}
        if command is not None and command.startswith("BashOutput "):
            name, arguments = "BashOutput", {"bash_id": command.split()[1]}
        result = None if output is None else {"content": output, "is_error": is_error}
        steps.append((name, arguments, result))
    return trial(*steps)


_ENDED = {"output": "a = 1\n"}
_STARTED = "Command running in background with ID: b1. Output is being written to: /tmp/claude-0/b1"
_PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n-x\n+y\n*** End Patch\nEOF"
)

TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The only command printed something, and it prints nothing but the file.": _run(
            "cat src/a.py", "import os"
        ),
        "What the copy shows is the content of the file, and the copy surely succeeded.": _run(
            "cp src/a.py /tmp/x.py && cat /tmp/x.py", "import os"
        ),
        "The diff shows lines of the file that it names.": _run(
            "git stash show -p", "diff --git a/src/a.py b/src/a.py\n@@ -1 +1 @@\n-x\n+y"
        ),
    },
    ("read", "?src/a.py, ?src/b.py"): {
        "One of the two files was printed, and errors are hidden, so nothing says which.": _run(
            "cat src/a.py 2>/dev/null; cat src/b.py 2>/dev/null", "import os"
        ),
        "One line cannot be of both files, and nothing says of which it is.": _run(
            "sed -n 1,5p src/a.py; sed -n 90,99p src/b.py", "import os"
        ),
        "A line passed the filter, and nothing says of which file.": _run(
            "awk '/limit/' src/a.py src/b.py", "limit = 3"
        ),
    },
    ("read", "+src/a.py, +src/b.py"): {
        "Four lines are more than either command alone can have printed.": _run(
            "head -3 src/a.py 2>/dev/null; head -2 src/b.py 2>/dev/null", "1\n2\n3\n4"
        ),
        "The separator that the script prints divides the outputs.": _run(
            "cat src/a.py && echo --- && sed -n 1,5p src/b.py", "x\n---\ny"
        ),
    },
    ("read", "?src/core/models.py, -src/core/views.py"): {
        "A file whose path fits the known parts of the word was printed.": _run(
            "cat src/$NAME/models.py", "class A: ..."
        )
    },
    ("read", "?src/a.py, ?lib/b.py"): {
        "Some file was printed, and nothing of its name is known.": _run(
            "cat $FILE", "class A: ..."
        )
    },
    ("read", "-src/a.py"): {
        "Nothing was printed.": _run("cat $FILE", ""),
        "The program describes itself and reads no file.": _run(
            "cat --help src/a.py", "Usage: cat [OPTION]... [FILE]..."
        ),
    },
    ("read", "?src/a.py, -src/b.py"): {
        "A program that is not known may have printed the file it was given.": _run(
            "python tools/show.py src/a.py", "x = 1"
        )
    },
    ("read", "+src/a.py"): {
        "The command in the container printed the file under its path.": _run(
            "docker exec box sh -c 'cat /workspace/src/a.py'", "x"
        ),
        "PowerShell printed the beginning of the file.": _run(
            "pwsh -c 'Get-Content src/a.py -TotalCount 5'", "x"
        ),
        "An older version of the file is its content.": _run("git show HEAD~1:src/a.py", "x"),
        "Standard error comes in no order with standard output.": _run(
            "cat src/a.py; echo bad >&2; exit 3", "Exit code 3\nbad\nx = 1", is_error=True
        ),
    },
    ("read", "?src/a.py"): {
        "The folder in which a container starts a command is not known.": _run(
            "docker exec box cat src/a.py", "x"
        ),
        "The copy was changed before it was shown.": _run(
            "cp src/a.py /tmp/x.py; sed -i s/os/re/ /tmp/x.py; cat /tmp/x.py", "import re"
        ),
        "The list names the files, and it is not in the trace.": _run(
            "cat files.txt | xargs cat", "import os"
        ),
    },
    ("read", "+src/a.py, ?src/b.py"): {
        "As many lines passed as may pass; the second file need not have been reached.": _run(
            "cat src/a.py src/b.py | head -2", "import os\nimport re"
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "Every line of a search of a folder names its file.": _run(
            "grep -rn foo src", "src/a.py:3:foo"
        ),
        "Some of the lines passed whole, and each names its file.": _run(
            "rg -n alpha src | sed -n '1,5p'", "src/a.py:9:alpha = 1"
        ),
        "The beginning of each line passed, and it names the file.": _run(
            "rg -n alpha src | cut -c1-200", "src/a.py:9:alpha = 1"
        ),
        "The revision stands before each name.": _run(
            "git grep -n limit v1.0", "v1.0:src/a.py:3:limit"
        ),
    },
    ("search", "?src/a.py, -lib/b.py"): {
        "Lines without names came from files below the folder that was searched.": _run(
            "grep -rhn foo src", "3:foo"
        ),
        "The lines were changed, so that what they name need not be a file.": _run(
            "git grep -n alpha -- src | tr a-z A-Z", "SRC/A.PY:9:ALPHA = 1"
        ),
    },
    ("search", "+src/lib/d.py, -src/lib/src/lib/d.py"): {
        "Git names files from the top of the checkout, whatever the folder.": _run(
            "cd src/lib && git diff --name-only", "src/lib/d.py"
        )
    },
    ("search", "+src/a.py, -src/b.py, +src/c.py"): {
        "Each block of lines stands below the name of its file.": _run(
            "rg --heading -n limit src", "src/a.py\n3:limit\n\nsrc/c.py\n1:limit"
        )
    },
    ("search", "+src/a.py"): {
        "The search reads its patterns from the pipe and not the file.": _run(
            "echo limit | grep -n -f - src/a.py", "3:limit"
        )
    },
    ("listing", "+src/a.py, +src/b.py, -src/c.py"): {
        "Each line of the status names one file.": _run(
            "git status --short", " M src/a.py\n?? src/b.py"
        )
    },
    ("listing", "?src/a.py, ?lib/a.py, -src/c.py"): {
        "The names are those of two folders, and nothing says where one ends.": _run(
            "ls src && ls lib", "a.py\nb.py"
        )
    },
    ("listing", "+cart.py, -shop/cart.py"): {
        "The folder does not exist, so that all entries are those of this one.": _run(
            "ls && ls shop || true", "cart.py\nls: cannot access 'shop': No such file or directory"
        )
    },
    ("listing", "+src/a.py, -src/b.py, +src/c.py"): {
        "The shell printed the names that the pattern fits.": _run(
            "echo src/*.py", "src/a.py src/c.py"
        )
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "The error names the file that was not printed.": _run(
            "cat src/a.py src/b.py", "x = 1\ncat: src/b.py: No such file or directory"
        )
    },
    ("denied", "-src/a.py"): {
        "The command did not run.": _run(
            "cat src/a.py", "Permission to use Bash has been denied.", is_error=True
        )
    },
    ("timed out", "-src/a.py"): {
        "An error without an exit status means that the command did not finish.": _run(
            "cat src/a.py; sleep 600", "Command timed out after 2m 0.0s", is_error=True
        )
    },
    ("timed out", "+src/a.py, ?src/b.py"): {
        "What was printed before the stop is the first file; the second may be unread.": _run(
            "cat src/a.py; sleep 8; cat src/b.py", "a = 1\n[The command timed out after 3 seconds.]"
        ),
        "A record around the output says that the command was ended.": [
            _run("cat src/a.py; sleep 8; cat src/b.py", json.dumps(_ENDED | told))
            for told in (
                {"returncode": -1, "exception_info": "An error occurred: timed out after 3 s"},
                {"exit_code": -1, "error": "Command timed out"},
                {"exit_code": 1, "timed_out": True},
            )
        ],
    },
    ("background", "?src/a.py"): {
        "The output went to a file that the trace does not show to be read.": _run(
            "cat src/a.py", _STARTED
        ),
        "The later call fetched nothing.": _run(
            "grep -rn foo src",
            _STARTED,
            "BashOutput b1",
            "<retrieval_status>timeout</retrieval_status>",
        ),
    },
    ("background", "+src/a.py, -lib/b.py"): {
        "A later call fetched what the command printed.": _run(
            "grep -rn foo src",
            _STARTED,
            "BashOutput b1",
            "<status>completed</status>\n<stdout>\nsrc/a.py:3:foo\n</stdout>",
        )
    },
    ("background", "+src/a.py"): {
        "The lines of the log are what the search printed.": _run(
            "grep -rn foo src > /tmp/log 2>&1 &", "", "tail -5 /tmp/log", "src/a.py:3:foo"
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "The output was fetched to its end, so that the search has found nothing else.": _run(
            "grep -rn limit src",
            _STARTED,
            "BashOutput b1",
            "<status>completed</status>\n\n<stdout>\nsrc/a.py:3:limit\n</stdout>",
        )
    },
    ("two checkouts", "+src/a.py, ?src/b.py"): {
        "The second folder is not known: the file there may be of another checkout.": _run(
            "cd /workspace && cat src/a.py", "x", "cd $OTHER && cat src/b.py", "x"
        )
    },
    ("truncated output", "+src/a.py, +src/b.py"): {
        "The harness cut the output in the middle, and no error names either file.": _run(
            "cat src/a.py src/b.py", "x\n... [900 lines truncated] ...\ny"
        )
    },
    ("truncated output", "+src/a.py, ?src/b.py, +src/c.py"): {
        "The first file was shown first and the last one last; what lies between may be cut.": _run(
            "cat src/a.py src/b.py src/c.py", "x\n... [900 lines truncated] ...\ny"
        )
    },
    ("truncated output", "+src/a.py, ?src/b.py"): {
        "Only the beginning was shown, which is that of the first file.": _run(
            "cat src/a.py src/b.py", "x = 1\ny = 2\n[Output truncated]"
        )
    },
    ("truncated output", "?src/a.py"): {
        "Other commands print the beginning and the end, which is all that was shown.": _run(
            "seq 1 9; cat src/a.py; seq 1 9", "1\n2\n\u20269 tokens truncated\u2026\n8\n9"
        )
    },
    ("write", "-src/a.py, -src/c.py"): {
        "Writing and moving files does not show them to the agent.": _run(
            _PATCH,
            "Success. Updated the following files:\nM src/a.py",
            "git mv src/b.py src/c.py",
            "",
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "A test that failed names a file, and may show lines of it.": _run(
            "pytest -q", "src/a.py:12: AssertionError\n1 failed"
        ),
        "The trace holds no result of the call.": _run("cat src/a.py", None),
    },
    ("other", "-src/a.py"): {
        "What a commit prints shows no file.": _run(
            "git commit -am x", " 1 file changed\nsee src/a.py"
        )
    },
    ("other", "?src/a.py, -lib/b.py"): {
        "A search without a result may have found any file below its folder.": _run(
            "grep -rn foo src", None
        )
    },
    ("other", "+src/a.py, -src/b.py"): {
        "The shell did not find the first program, so that the other printed everything.": _run(
            "bat src/b.py; cat src/a.py",
            "/bin/bash: line 1: bat: command not found\nimport os\nx = 1",
        ),
        "Nothing behind the end of a script runs.": _run(
            "cat src/a.py; exit; cat src/b.py", "import os"
        ),
    },
    ("other", "+src/a.py, ?src/b.py"): {
        "The script ends with the first command that fails, which may be the search.": _run(
            "set -e; cat src/a.py; grep zeta src/a.py; cat src/b.py",
            "Exit code 1\nimport os\nx",
            is_error=True,
        ),
        "The script may have ended between the two, although it succeeded.": _run(
            "cat src/a.py; if [ -f x ]; then exit 0; fi; cat src/b.py", "import os\nx = 1"
        ),
    },
    ("other", "+src/a.py, +src/b.py"): {
        "The script succeeded, so that it did not end in the condition.": _run(
            "[ -f src/b.py ] || exit 1; cat src/a.py; cat src/b.py", "import os\nx = 1"
        )
    },
}
