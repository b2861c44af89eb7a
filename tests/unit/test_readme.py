"""The README tells the truth about the command, and its Python examples name what exists."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

import retrieval_eval

PROGRAM = "import sys; from retrieval_eval.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def readme(project) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def _help(project, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words, "--help"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout


def test_the_table_of_commands_is_complete(project, readme):
    told = re.findall(r"^\| `retrieval-eval (\w+)", readme, flags=re.MULTILINE)
    listing = _help(project).partition("Commands:")[2]
    commands = re.findall(r"^  (\w+)", listing, flags=re.MULTILINE)
    assert sorted(told) == sorted(commands)


def test_options_that_are_told_exist(project, readme):
    section = readme.partition("## The command")[2].partition("\n## ")[0]
    told = set(re.findall(r"`(--[a-z-]+)`", section))
    assert told >= {"--runs-root", "--benchmarks-root", "--output-dir", "--jobs", "--json"}
    listing = _help(project, "evaluate")
    assert [option for option in sorted(told) if option not in listing] == []


def test_commands_that_are_shown_can_be_parsed(project, readme):
    blocks = re.findall(r"^```\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    shown = [
        line.removeprefix(".venv/bin/").partition("#")[0].split()
        for block in blocks
        for line in block.splitlines()
        if line.startswith((".venv/bin/retrieval-eval ", "retrieval-eval "))
    ]
    assert shown
    for _, command, *words in shown:
        listing = _help(project, command)
        assert [w for w in words if w.startswith("--") and w not in listing] == []


def test_python_examples_compile_and_name_what_exists(readme):
    examples = re.findall(r"^```python\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        compile(textwrap.dedent(example), "README.md", "exec")
        for name in re.findall(r"\brev\.(\w+)", example):
            assert hasattr(retrieval_eval, name), name
