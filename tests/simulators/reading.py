"""Which lines of a file an agent asks for, and how it prints them in a shell."""

from __future__ import annotations

from tests.simulators.dice import Dice
from tests.simulators.shell import Command, Shell
from tests.simulators.workspace import Workspace


def span_of(space: Workspace, label: str, dice: Dice) -> tuple[int, int] | None:
    """Return the lines an agent asks for, or None when it reads the file whole."""
    length = len(space.lines(label))
    if length < 70 and dice.chance(0.5, label, "whole"):
        return None
    first = dice.whole(1, max(1, length - 30), label, "first")
    return first, min(length, first + dice.whole(18, 34, label, "count"))


def shell_read(shell: Shell, label: str, span: tuple[int, int] | None, dice: Dice) -> Command:
    """Read a file in one of the ways people do in a shell."""
    if span is None:
        from_folder = dice.chance(0.5, label, "folder")
        return shell.cat_from_folder(label) if from_folder else shell.cat(label)
    if dice.chance(0.3, label, "head"):
        count = span[1] - span[0] + 1
        return shell.head(label, count, is_piped=dice.chance(0.5, label, "pipe"))
    return shell.sed(label, *span)
