"""Which files of a trial the agent made itself, and which were there before.

A file that the agent made it has not retrieved. A copy over a file looks like the copy to a new
one: what showed the file before, or what git says of it afterwards, decides.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from retrieval_eval.agents.events.calls import ReadCall
from retrieval_eval.agents.events.match import Identity, Workspace
from retrieval_eval.agents.traces.results.base import is_absolute
from retrieval_eval.records import RawTarget

_State = Literal["known", "source", "removed", "made", "touched", "open", "unplaced"]
_BACKUP: Final = re.compile(
    r"(?:[._-](?:bak|backup|orig|original|old|save[d]?|copy|before|tmp)\d{0,3}|~)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Made:
    """The files that the agent made, and those that it may have made or have found there."""

    own: frozenset[Identity] = frozenset()
    open: frozenset[Identity] = frozenset()


@dataclass(slots=True)
class _History:
    """What happened to the files of a trial so far; those that were there and are ``gone``."""

    states: dict[Identity, _State] = field(default_factory=dict)
    gone: set[Identity] = field(default_factory=set)
    touched_at: dict[Identity, int] = field(default_factory=dict)

    def leave(self, key: Identity, *, is_there: bool) -> None:
        """Note that a file was copied, or moved away."""
        state = self.states.get(key)
        if not is_there:
            self.gone.add(key)
        if state is None:
            self.states[key] = "source"
        elif state in ("made", "touched") and not is_there:
            self.states[key] = "removed"

    def write(self, key: Identity, target: RawTarget, source: Identity | None) -> None:
        """Note a write of a file, perhaps as a copy of another one."""
        state = self.states.get(key)
        if target.state == "existed":
            self.states[key] = "known"
        elif target.state == "removed":
            self.gone.add(key)
            self.states[key] = state if state in ("known", "source") else "removed"
        elif target.state == "touched":
            self.states.setdefault(key, "touched")
        elif target.state in ("copied", "created"):
            if state is None or state == "removed":
                may_restore = target.state == "copied" and state is None and source is not None
                is_back = may_restore and self._may_restore(key, source)
                self.states[key] = "open" if is_back else "made"
            elif state == "source":
                self.states[key] = "known"
        elif target.is_new:
            if state in (None, "removed") or (state == "source" and key in self.gone):
                self.states[key] = "made"
        elif state == "touched":
            self.states[key] = "made"
        else:
            self.states.setdefault(key, "known")

    def may_make(self, keys: Iterable[Identity]) -> None:
        """Note a write of a whole file which may be any of these."""
        for key in keys:
            self.states.setdefault(key, "unplaced")

    def _may_restore(self, key: Identity, source: Identity | None) -> bool:
        """Return whether a copy may put back what was there before: it has the file's name."""
        if source is None or self.states.get(source) in ("made", "touched"):
            return False
        name, other = posixpath.basename(key[1]), posixpath.basename(source[1])
        return other == name or (
            other.startswith(name) and _BACKUP.fullmatch(other[len(name) :]) is not None
        )

    def see(self, key: Identity, target: RawTarget, n_opaque: int) -> None:
        """Note that a file was shown."""
        state = self.states.get(key)
        if state in (None, "source"):
            self.states[key] = "known"
        elif state in ("made", "touched", "open") and target.state is not None:
            self.states[key] = "known" if target.state == "existed" else "made"
        elif state == "unplaced" and (target.state == "existed" or (is_absolute(target.path))):
            # A full path other than that of the write is another file; the same would be placed.
            self.states[key] = "known"
        elif state == "touched" and target.access != "listed":
            # What is in it the agent did not write.
            is_sure = self.touched_at.get(key) == n_opaque
            self.states[key] = "known" if is_sure else "open"


def made_by_agent(reads: Iterable[ReadCall], workspace: Workspace) -> Made:
    """Return which files the agent made, from its interpreted calls in order."""
    history = _History()
    n_opaque = 0

    def key_of(raw: str, cwd: str | None, repository: str | None = None) -> Identity | None:
        file = workspace.resolve(raw, cwd=cwd, repository=repository)
        return file.key if file is not None else None

    for read in reads:
        n_opaque += read.is_opaque
        steps = [((), read.use.targets, read.cwd)] if read.use.targets else []
        commands = read.shell.events if read.shell is not None else ()
        for sources, targets, cwd in (*steps, *((c.sources, c.targets, None) for c in commands)):
            first: Identity | None = None
            for source, is_there in sources:
                key = key_of(source, None)
                first = first or key
                if key is not None:
                    history.leave(key, is_there=is_there)
            for target in targets:
                key = (
                    None
                    if target.doubt or target.is_pattern
                    else key_of(target.path, cwd, target.repository)
                )
                if key is None:
                    continue
                if target.access == "written" and target.is_new:
                    placed = workspace.place(target.path, cwd=cwd, repository=target.repository)
                    history.may_make(found.file.key for found in placed if found.doubt)
                if target.access != "written":
                    history.see(key, target, n_opaque)
                    continue
                history.write(key, target, first)
                history.touched_at[key] = n_opaque
    return Made(
        frozenset(k for k, state in history.states.items() if state in ("made", "touched")),
        frozenset(k for k, state in history.states.items() if state in ("open", "unplaced")),
    )
