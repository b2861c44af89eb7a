"""Shell completion, which docs/howto/completion.md describes."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from retrieval_eval.cli import run

VARIABLE = "_RETRIEVAL_EVAL_COMPLETE"


@pytest.fixture
def page(project) -> str:
    return (project / "docs" / "howto" / "completion.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell, page, monkeypatch, capfd, tmp_path):
    assert f"{VARIABLE}={shell}_source" in page
    monkeypatch.setenv(VARIABLE, f"{shell}_source")
    assert run([]) == 0
    script = capfd.readouterr().out
    assert "retrieval-eval" in script
    if program := shutil.which(shell):
        file = tmp_path / "complete"
        file.write_text(script)
        subprocess.run([program, "-n", file], check=True)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("retrieval-eval ev", ["evaluate"]),
        ("retrieval-eval search gu", ["guard"]),
        ("retrieval-eval search guard --comm", ["--comment"]),
    ],
)
def test_commands_and_options_are_completed(words, completed, monkeypatch, capfd):
    monkeypatch.setenv(VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert run([]) == 0
    assert re.findall(r"^plain,(.*)$", capfd.readouterr().out, flags=re.MULTILINE) == completed
