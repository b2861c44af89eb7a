"""The lists of commands say what the commands say of themselves, without importing them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from retrieval_eval.cli import COMMANDS, group
from retrieval_eval.cli.common import LazyGroup


@pytest.mark.parametrize("path", [[], ["gold"], ["search"]], ids=" ".join)
def test_a_list_is_that_of_the_imported_commands(path, monkeypatch):
    def shown():
        return CliRunner().invoke(group, [*path, "--help"], standalone_mode=False).output

    read = shown()
    monkeypatch.setattr(LazyGroup, "format_commands", click.Group.format_commands)
    assert read.count("\n  ") > 8
    assert read == shown()


def test_the_list_imports_no_command():
    program = (
        "import sys; from retrieval_eval.cli import run; run(['--help'])\n"
        "print(*(name for name in sys.modules if name.startswith('retrieval_eval.')))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    imported = set(completed.splitlines()[-1].split())
    assert "retrieval_eval.cli" in imported
    assert not imported & {place.split(":")[0] for place in COMMANDS.values()}


def _helps(command, context):
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            inside = click.Context(found, info_name=name, parent=context, terminal_width=100)
            yield from _helps(found, inside)


HELPS = dict(_helps(group, click.Context(group, info_name="retrieval-eval", terminal_width=100)))


@pytest.mark.parametrize("name", HELPS)
def test_a_help_fits_on_a_screen(name):
    assert len(HELPS[name].splitlines()) <= 40


def test_no_command_calls_a_reviewed_row_by_the_word_of_the_files():
    text = "\n".join(HELPS.values())
    assert "reviewed rows" in text
    assert "chair" not in text
