"""What sessions read, on the page of a run of which no trial has a truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from retrieval_eval.agents.runs.what_was_read import MAIN, FileRead, WhatWasRead, what_was_read
from retrieval_eval.errors import RetrievalEvalError
from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING
from retrieval_eval.report.numbers import count as count_text
from retrieval_eval.values import counted

MOST_ROWS: Final = 25
_MOST_NAMED: Final = 3
_KEY: Final = "what-was-read"


def block(places: Sequence[Path]) -> Block:
    """Return the section; nothing to show where there is no place."""
    shown: list[WhatWasRead] = []
    problems: list[str] = []
    for place in places:
        try:
            shown.append(what_was_read(place))
        except (RetrievalEvalError, OSError) as error:
            problems.append(str(error))
    if not shown:
        nothing = Empty(_KEY, " ".join(problems), is_expected=not problems)
        return Block("section", exhibits=(nothing,))
    parts = [_section(found) for found in shown]
    return section(
        "; ".join(part.finding for part in parts),
        *(exhibit for part in parts for exhibit in part.exhibits),
        sentences=[sentence for part in parts for sentence in part.sentences],
    )


def _section(found: WhatWasRead) -> Block:
    n = len(found.sessions)
    content = [row for row in found.files if row.n_opened or row.n_attached or row.n_found]
    named = sum(bool(row.n_named) and row not in content for row in found.files)
    never = [row for row in content if row.n_found and not row.n_opened]
    possible = len(found.files) - len(content) - named
    again = sorted(found.files, key=_reads_each, reverse=True)
    again = [row for row in again if _reads_each(row) > 2]
    files = counted(len(content), "file")
    said = [f"Certain content of {files}; {named} more by name only, {possible} only possible."]
    if never:
        said.append(f"Found but never opened: {_named(never)}.")
    if again:
        said.append(f"Read again and again: {_named(again, with_reads=True)}.")
    if found.problems:
        said.append(f"Not read: {visible('; '.join(found.problems[:_MOST_NAMED]), 400)}.")
    first = content[0] if content else None
    head = f"{counted(n, 'session')} read {counted(len(content), 'file')}"
    if first is not None and first.n_opened:
        much = first.how_much
        head += f", most often {visible(first.file, 80)} ({much}, in {first.n_opened} of {n})"
    return section(head, *_tables(found), sentences=said)


def _tables(found: WhatWasRead) -> Iterator[Table]:
    n = len(found.sessions)
    files = found.files[:MOST_ROWS]
    more = len(found.files) - len(files)
    yield Table(
        "files-read",
        "Files by how many sessions opened them; each session counts once for a file",
        ("File", "Opened in", "How much", "Reads", "Found only", "Name only", "Possible", "By"),
        tuple(
            (
                visible(row.file, 120),
                f"{row.n_opened} of {n}",
                row.how_much,
                count_text(row.n_reads),
                *map(count_text, (row.n_found, row.n_named, row.n_possible)),
                ", ".join(f"{visible(name, 40)} {k}" for name, k in [*row.by.items()][:_MOST_NAMED])
                or MISSING,
            )
            for row in files
        ),
        ("left", *["right"] * 6, "left"),
        notes=(_rest(more, "file"),) if more else (),
    )
    yield Table(
        "tools-used",
        "Kinds of tools; tokens of results are estimated at four characters a token",
        ("Kind", "Calls", "Failed", "Tokens of results"),
        tuple(
            (
                use.kind.replace("_", " "),
                *map(count_text, (use.n_calls, use.n_errors, use.result_tokens)),
            )
            for use in found.tools
        ),
    )
    several = {one.session for one in found.agents if one.agent != MAIN}
    agents = [one for one in found.agents if one.session in several]
    if agents:
        yield Table(
            "agents-used",
            "Agents of sessions with sub-agents; tokens of the messages up to their calls",
            ("Agent", "Session", "Calls", "Files opened", "Tokens", "Tokens of results"),
            tuple(
                (
                    visible(one.agent, 48),
                    visible(one.session, 48),
                    count_text(one.n_calls),
                    count_text(one.n_files_opened),
                    MISSING if one.tokens is None else count_text(one.tokens),
                    count_text(one.result_tokens),
                )
                for one in agents[:MOST_ROWS]
            ),
            ("left", "left", *["right"] * 4),
            notes=(_rest(len(agents) - MOST_ROWS, "agent"),) if len(agents) > MOST_ROWS else (),
        )


def _rest(n: int, noun: str) -> str:
    return f"{counted(n, f'further {noun}')}: retrieval-eval trace PLACE --all --json has them."


def _reads_each(row: FileRead) -> float:
    return row.n_reads / max(row.n_opened, 1)


def _named(rows: Sequence[FileRead], *, with_reads: bool = False) -> str:
    names = [
        visible(row.file, 80)
        + (f" ({row.n_reads} times in {counted(row.n_opened, 'session')})" if with_reads else "")
        for row in rows[:_MOST_NAMED]
    ]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
