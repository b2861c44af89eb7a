"""A command group that imports a command when it is used, so that every other starts at once."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click


class LazyGroup(click.Group):
    """A group that also lists commands by name and place, ``module:attribute``.

    ``gone`` holds the names of removed commands and, for each, what does its work now.
    """

    def __init__(
        self,
        *arguments: Any,
        lazy: Mapping[str, str],
        gone: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._lazy = dict(lazy)
        self._gone = dict(gone or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*super().list_commands(ctx), *self._lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing it first if it is lazy; None if there is none."""
        if cmd_name in self._lazy:
            module, attribute = self._lazy[cmd_name].split(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        if cmd_name in self._gone:
            raise click.UsageError(f"`{cmd_name}` was removed: {self._gone[cmd_name]}", ctx)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; lazy ones are read, not imported."""
        names = self.list_commands(ctx)
        limit = formatter.width - 6 - max(map(len, names))
        rows = [(name, self._short_help(ctx, name, limit)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _short_help(self, ctx: click.Context, name: str, limit: int) -> str:
        if name in self._lazy:
            text = _described(*self._lazy[name].split(":"))
            return click.Command(name, help=text).get_short_help_str(limit)
        command = super().get_command(ctx, name)
        return command.get_short_help_str(limit) if command is not None else ""


def _described(module: str, attribute: str) -> str:
    """Return the ``short_help`` of a command, or its docstring, from its source."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
            given = [k.value for c in calls for k in c.keywords if k.arg == "short_help"]
            stated = [v.value for v in given if isinstance(v, ast.Constant)]
            return str(stated[0]) if stated else ast.get_docstring(node) or ""
    return ""
