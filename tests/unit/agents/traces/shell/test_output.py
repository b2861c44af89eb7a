"""Decorations, cut outputs and error messages."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell.output import Output, is_error_line, read_output
from retrieval_eval.records import CUT_HERE


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n\n", ("a", "b")),
        ("a\r\nb", ("a", "b")),
        ("Exit code 1\na", ("a",)),
        ("a\nExit code 1", ("a", "Exit code 1")),
        ("Exit code 143\nCommand timed out after 2m 0.0s\na", ("a",)),
        ("command timed out after 120 milliseconds\na", ("a",)),
        ("a\n[The command timed out after 30.0 seconds. You may wait.]", ("a",)),
        ("a\nb\nCommand timed out after 2 s", ("a", "b", "Command timed out after 2 s")),
        ("(Bash completed with no output)", ()),
        ("[no output]", ()),
        ("[The command completed with exit code 1.]\n[Command finished with exit code 1]", ()),
        ("a\n[Current working directory: /w]\n[Python interpreter: /bin/python]", ("a",)),
        ("Command executed successfully with no output", ()),
        ("no output\nyet", ("no output", "yet")),
        ("grep: a.bin: binary file matches", ("grep: a.bin: binary file matches",)),
        ("a\n<system-reminder>cat b.py</system-reminder>", ("a",)),
        ("a\n<system-reminder>never closed", ("a",)),
        ("cat: b: No such file or directory\na", ("a",)),
        ("", ()),
    ],
)
def test_lines(text, lines):
    assert read_output(text).lines == lines


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("cat: a b.py: No such file or directory", "a b.py"),
        ("head: cannot open 'a.py' for reading: No such file or directory", "a.py"),
        ("sed: can't read a.py: No such file or directory", "a.py"),
        ("ls: cannot access 'a.py': No such file or directory", "a.py"),
        ("rm: cannot remove 'a.py': Read-only file system", "a.py"),
        ("grep: src: Is a directory", "src"),
        ("find: \u2018src\u2019: No such file or directory", "src"),
        ("bash: line 3: cd: src: No such file or directory", "src"),
        ("/bin/bash: line 1: a.py: Permission denied", "a.py"),
        ("rg: src: No such file or directory (os error 2)", "src"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'a.py'", "a.py"),
        ("fatal: path 'a.py' does not exist in 'HEAD'", "a.py"),
        ('awk: cannot open "a.py" (No such file or directory)', "a.py"),
        ("cat: a.py: Datei oder Verzeichnis nicht gefunden", "a.py"),
        ("ls: impossible d'acc\u00e9der \u00e0 'a.py': Aucun fichier ou dossier", "a.py"),
    ],
)
def test_error_messages_name_their_file(line, name):
    output = read_output(line)
    assert output.failed(name, "/w")
    assert not output.failed("other.py", "/w")


@pytest.mark.parametrize(
    "line",
    [
        "12:    raise OSError('No such file or directory')",
        "    cat: a.py: No such file or directory",
        "src/a.py:3:No such file or directory",
        "the folder does not exist",
    ],
)
def test_content_is_no_error(line):
    assert not is_error_line(line)


def test_cut_and_refused_outputs():
    assert read_output(f"a\n\n{CUT_HERE}\n\nb") == Output(("a", "b"), cuts=(1,))
    assert read_output(f"a\n{CUT_HERE}").cuts == (1,)
    assert read_output(f"{CUT_HERE}\na").cuts == (0,)
    assert read_output("a\n...").cuts == ()
    assert read_output("<tool_use_error>no</tool_use_error>").is_refused
    long = read_output("x" * 2_100_000)
    assert (long.cuts, long.is_shortened) == ((1,), True)
