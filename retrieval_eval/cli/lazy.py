"""A command group that imports a command when it is used, so that every other starts at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that also knows commands by where they are: name to ``module:attribute``."""

    def __init__(self, *arguments: Any, lazy: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing it first where that was put off; None if there is none."""
        if cmd_name in self._lazy:
            module, attribute = self._lazy[cmd_name].split(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        return super().get_command(ctx, cmd_name)
