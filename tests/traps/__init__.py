"""The trap matrix: what a trace of each dialect proves in each situation, with the reason.

Each module declares ``TRAPS``: for a situation and what is true of each file that the task expects
(``+certain, ?possible, -none``), trials written by hand that prove this, each by the reason why no
more and no less can be said. Those of :func:`of_a_shell` are among them where a module names its
``SHELL``. ``ABSENT`` says of a situation that has no trap why it cannot occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, TypeAlias, get_args

Situation: TypeAlias = Literal[
    "read",
    "search",
    "listing",
    "failed read",
    "denied",
    "timed out",
    "background",
    "sub-agent",
    "two checkouts",
    "truncated output",
    "write",
    "layout",
    "other",
]

Certainty: TypeAlias = Literal["certain", "possible", "none"]

Absent: TypeAlias = Mapping[Situation, str]
"""Why a harness's traces cannot be in a situation, in a sentence."""

Trial: TypeAlias = Mapping[str, Any]
"""Texts, JSON objects or lists of JSON lines by path; ``task.toml`` is that of the task."""

Rows: TypeAlias = Mapping[tuple[Situation, str], Mapping[str, Trial | list[Trial]]]

ALWAYS: tuple[Situation, ...] = get_args(Situation)[:11]
"""The situations that every harness either has a trap for, or cannot be in."""


@dataclass(frozen=True)
class Trap:
    """One trial and what it proves."""

    situation: Situation
    reason: str
    expected: Mapping[str, Certainty]
    files: Trial
    task: str


_SIGNS: Mapping[str, Certainty] = {"+": "certain", "?": "possible", "-": "none"}


def traps_of(module: ModuleType) -> Iterator[Trap]:
    """Yield the traps that a module declares."""
    tables: list[Rows] = [module.TRAPS]
    if hasattr(module, "SHELL"):
        tables.append(of_a_shell(module.SHELL))
    for (situation, signed), found in (row for table in tables for row in table.items()):
        expected = {file[1:]: _SIGNS[file[0]] for file in signed.split(", ")}
        for reason, trials in found.items():
            for trial in trials if isinstance(trials, list) else [trials]:
                files = {name: text for name, text in trial.items() if name != "task.toml"}
                yield Trap(situation, reason, expected, files, trial.get("task.toml", ""))


def of_a_shell(run: Callable[[str, str], Trial]) -> Rows:
    """Return what holds of any shell; ``run`` makes a trial of a command and what it printed."""
    return {
        ("search", "+src/a.py, -src/b.py"): {
            "Each line of the output names its file.": run("grep -rn x src", "src/a.py:1:x\n")
        },
        ("listing", "+src/a.py, -src/b.py"): {
            "The output lists the folder.": run("ls src", "a.py\n")
        },
        ("failed read", "+src/a.py, -src/b.py"): {
            "One file was printed, and the error is of the other.": run(
                "cat src/a.py src/b.py; true",
                "import os\ncat: src/b.py: No such file or directory\n",
            )
        },
        ("background", "?src/a.py"): {
            "The shell did not wait for the command, and nothing of it was shown.": run(
                "cat src/a.py &", ""
            )
        },
        ("two checkouts", "-src/a.py, +lib/src/a.py"): {
            "The command ran in the other folder, whose file has the same name.": run(
                "cd lib && cat src/a.py", "x = 1\n"
            )
        },
    }
