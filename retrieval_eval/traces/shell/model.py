"""The records of the shell room: what was typed, what it means, and what it touched."""

from __future__ import annotations

from dataclasses import dataclass

from retrieval_eval.records import RawTarget


@dataclass(frozen=True, slots=True)
class ShellEvent:
    """One command inside a shell call that touched files.

    ``category`` is ``file_read``, ``file_search``, ``code_search``, ``commit_search`` or
    ``file_write``. A target's path is absolute when the working directory was known, else it is
    as written; a target with a ``repository`` has a path inside that repository.
    """

    program: str
    category: str
    targets: tuple[RawTarget, ...]


@dataclass(frozen=True, slots=True)
class ShellAnalysis:
    """The events of one shell call in order of execution.

    ``opaque`` has one reason for each command that may have touched files and could not be
    resolved with certainty; it is empty when the call was understood completely.
    """

    events: tuple[ShellEvent, ...] = ()
    opaque: tuple[str, ...] = ()
