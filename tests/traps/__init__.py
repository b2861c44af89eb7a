"""The trap matrix: what a trace of each dialect proves in each situation, with the reason.

Each module declares ``TRAPS``. A trap is a trial written by hand, the files that its task expects,
and for each of them what the trace allows to say. ``ABSENT`` says of a situation that has no trap
why it cannot occur.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

ALWAYS: tuple[Situation, ...] = get_args(Situation)[:11]
"""The situations that every harness either has a trap for, or cannot be in."""


@dataclass(frozen=True, kw_only=True)
class Trap:
    """One trial and what it proves.

    Parameters
    ----------
    situation
        The row of the matrix.
    files
        The trial's files by relative path: a text, a JSON object, or a list of JSON lines.
    expected
        For each file that the task expects, whether the agent got it.
    reason
        Why no more and no less can be said, in a sentence.
    task
        The content of the task's ``task.toml``, where it matters.
    """

    situation: Situation
    files: Mapping[str, Any]
    expected: Mapping[str, Certainty]
    reason: str
    task: str = field(default="")
