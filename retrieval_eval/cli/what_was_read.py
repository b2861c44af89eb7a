"""``retrieval-eval trace PLACE --all``: what the sessions of a folder or log read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import to_builtins

from retrieval_eval.cli.common import echo, number, print_json, print_table, progress_bar
from retrieval_eval.values import counted

if TYPE_CHECKING:
    from retrieval_eval.agents.runs.what_was_read import FileRead, WhatWasRead

_MOST_FILES: Final = 20
_MOST_SESSIONS: Final = 20
_MOST_AGENTS: Final = 20
_MOST_TOOLS: Final = 3


def show_reading(place: Path, *, as_json: bool) -> None:
    """Print what the sessions of a place read."""
    from retrieval_eval.agents.runs.what_was_read import what_was_read

    with progress_bar("session") as progress:
        found = what_was_read(place, progress)
    if as_json:
        print_json(to_builtins(found))
        return
    _print_sessions(found)
    _print_files(found)
    _print_tools(found)
    for problem in found.problems:
        echo(f"note: {problem}")


def _print_sessions(found: WhatWasRead) -> None:
    harnesses = Counter(one.harness or "unknown" for one in found.sessions)
    named = ", ".join(f"{n} of {name}" for name, n in harnesses.most_common())
    echo(f"{counted(len(found.sessions), 'session')}: {named}")
    head = ["  session", "calls", "opaque", "tokens", "USD", "opened", "possible"]
    rows = [
        [
            f"  {one.session[:60]}",
            str(one.n_calls),
            "—" if one.n_opaque_calls is None else str(one.n_opaque_calls),
            "—" if one.tokens is None else f"{one.tokens:,}",
            number(one.cost_usd),
            str(one.n_files_opened),
            str(one.n_files_possible),
        ]
        for one in found.sessions
    ]
    print_table([head, *rows[:_MOST_SESSIONS]])
    _print_more(len(rows) - _MOST_SESSIONS)
    for one in found.sessions:
        if one.problem:
            echo(f"  {one.session[:60]}: {one.problem}")


def _print_files(found: WhatWasRead) -> None:
    n = len(found.sessions)
    shown = [row for row in found.files if row.n_opened or row.n_attached or row.n_found]
    named = sum(bool(row.n_named) for row in found.files)
    possible = sum(bool(row.n_possible) for row in found.files)
    echo()
    echo(
        f"{counted(len(shown), 'file')} whose content was shown; {named} known by name alone in "
        f"some session, {possible} only possible in some"
    )
    head = ["  file", "opened in", "found only", "reads", "how much", "by"]
    rows = [
        [
            f"  {row.file}",
            f"{row.n_opened} of {n}",
            str(row.n_found),
            str(row.n_reads),
            _how_much(row),
            ", ".join(f"{name} {times}" for name, times in list(row.by.items())[:_MOST_TOOLS]),
        ]
        for row in shown
    ]
    if rows:
        print_table([head, *rows[:_MOST_FILES]])
    _print_more(len(rows) - _MOST_FILES)
    again = [row for row in shown if row.n_reads > 2 * max(row.n_opened, 1)]
    again.sort(key=lambda row: -row.n_reads / max(row.n_opened, 1))
    for row in again[:3]:
        of = counted(row.n_opened, "session")
        echo(f"  read again and again: {row.file}, {row.n_reads} times in {of}")
    never = [row for row in shown if row.n_found and not row.n_opened]
    if never:
        files = ", ".join(row.file for row in never[:3])
        echo(f"  found but never opened: {counted(len(never), 'file')}, such as {files}")


def _how_much(row: FileRead) -> str:
    if row.share is not None:
        return "whole" if row.share == 1 else f"{row.share:.0%} of {row.n_lines}"
    return "not known" if row.n_lines_shown is None else f"{row.n_lines_shown} lines"


def _print_tools(found: WhatWasRead) -> None:
    echo()
    echo("tokens of results by kind of tool, estimated at 4 characters a token")
    head = ["  kind", "calls", "failed", "tokens"]
    rows = [
        [f"  {use.kind}", str(use.n_calls), str(use.n_errors), f"{use.result_tokens:,}"]
        for use in found.tools
    ]
    print_table([head, *rows])
    several = {one.session for one in found.agents if one.agent != "main agent"}
    of_agents = [one for one in found.agents if one.session in several]
    if not of_agents:
        return
    echo()
    echo("agents of the sessions that had sub-agents; tokens of the messages up to their calls")
    head = ["  agent", "session", "calls", "opened", "tokens", "of results"]
    rows = [
        [
            f"  {one.agent[:40]}",
            one.session[:40],
            str(one.n_calls),
            str(one.n_files_opened),
            "—" if one.tokens is None else f"{one.tokens:,}",
            f"{one.result_tokens:,}",
        ]
        for one in of_agents
    ]
    print_table([head, *rows[:_MOST_AGENTS]], numbers_from=2)
    _print_more(len(rows) - _MOST_AGENTS)


def _print_more(n: int) -> None:
    if n > 0:
        echo(f"  and {n} more, all of them with --json")
