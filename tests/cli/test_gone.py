"""Removed commands and options: their names still say what does their work."""

from __future__ import annotations

import re

import click
import pytest

from retrieval_eval.cli import GONE as MAIN
from retrieval_eval.cli import GONE_OPTIONS, group, run
from retrieval_eval.cli.gold import GONE as GOLD
from retrieval_eval.cli.search import GONE as SEARCH

GONE = [
    [*above, name]
    for above, gone in (((), MAIN), (("search",), SEARCH), (("gold",), GOLD))
    for name in gone
]


def _command(words: list[str]) -> click.Command | None:
    found: click.Command | None = group
    for word in words:
        if not isinstance(found, click.Group):
            break
        found = found.get_command(click.Context(found), word)
    return found


def _check(told: str) -> list[str]:
    """Check that each command that a sentence names exists, and return the commands."""
    named = re.findall(r"`retrieval-eval ([^`]+)`", " ".join(told.split()))
    for line in named:
        command = _command([word for word in line.split() if re.fullmatch(r"[a-z-]+", word)])
        assert command is not None
        assert not isinstance(command, click.Group)
        options = {name for option in command.params for name in option.opts}
        assert set(re.findall(r"--[a-z-]+", line)) <= options
    return named


@pytest.mark.parametrize("words", GONE, ids=" ".join)
def test_a_removed_command_ends_as_wrong_usage_and_names_one_that_exists(words, capsys):
    assert run([*words, "anything"]) == 64
    assert _check(capsys.readouterr().err)


@pytest.mark.parametrize("option", GONE_OPTIONS)
def test_a_removed_option_ends_as_wrong_usage_with_what_does_its_work(option, capsys):
    assert run(["search", "show", option]) == 64
    told = capsys.readouterr().err
    assert f"{option} is gone: " in told
    _check(told)
