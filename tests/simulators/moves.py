"""What a tool call looks like in a trace, together with the events it must become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Access = Literal["opened", "matched", "listed", "written"]
LineRange = tuple[int, int]

OWN_OUTPUT = "/workspace/answer.json"
"""Where agents put their answers: neither evidence nor a file of the repository."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One file an action touches, by its label, and how."""

    file: str
    access: Access
    lines: tuple[LineRange, ...] | None = None
    is_whole: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the JSON shape used in ``demo_plan.json``."""
        return {
            "file": self.file,
            "access": self.access,
            "lines": [list(pair) for pair in self.lines] if self.lines else None,
            "is_whole": self.is_whole,
        }


@dataclass(frozen=True, slots=True)
class Deed:
    """One event that a call must become; ``program`` is set when a shell command caused it."""

    category: str
    touches: tuple[Touch, ...] = ()
    program: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as the harness shows it, before time and tokens are known.

    ``deeds`` are empty for housekeeping, which becomes no event. ``shown_arguments`` differ from
    ``arguments`` where the harness records another call's by mistake. ``children`` are the calls
    of a sub-agent.
    """

    name: str
    arguments: Mapping[str, Any]
    text: str
    deeds: tuple[Deed, ...] = ()
    structured: Any = None
    is_error: bool = False
    is_mcp: bool = False
    is_opaque: bool = False
    shown_arguments: Mapping[str, Any] | None = None
    children: tuple[Call, ...] = ()
