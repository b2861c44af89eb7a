"""TOML tables taken apart key by key, with a pointer for every fault."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode_toml, read_text

_MISSING = object()


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file; raises `BadInputError` with line and column."""
    if not path.is_file():
        raise BadInputError(f"{path}: no such file")
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(str(text.problem))
    document, problem = decode_toml(text.value)
    if problem is not None:
        raise BadInputError(f"{path}: {problem}")
    return document


def raise_faults(path: Path, faults: Sequence[str]) -> None:
    """Raise `BadInputError` with one line for each fault; do nothing without any."""
    if faults:
        raise BadInputError("\n".join(f"{path}: {fault}" for fault in faults))


@dataclass(slots=True)
class Table:
    """A table that a person wrote; each value is type-checked when it is read.

    ``faults`` collects ``pointer: message``; tables inside share it. Keys that were never read are
    unknown (`report_unknown_keys`).
    """

    given: Mapping[str, Any]
    pointer: str
    faults: list[str]
    _read: set[str] = field(default_factory=set)

    def fault(self, key: str, message: str) -> None:
        """Record a fault of a key."""
        self.faults.append(f"{self.pointer}/{key}: {message}")

    def report_unknown_keys(self) -> None:
        """Record a fault for every key that was not read."""
        for key in self.given:
            if key not in self._read:
                known = ", ".join(sorted(self._read))
                self.fault(key, f"unknown key; the known ones are {known}")

    def text(self, key: str, *, required: bool = True) -> str:
        """Return a text that is not blank; empty where there is none."""
        value = self._get(key)
        if value is _MISSING:
            if required:
                self.fault(key, "is missing; expected a text")
            return ""
        if not isinstance(value, str) or not value.strip():
            self.fault(key, f"expected a text, found {_shown(value)}")
            return ""
        return value

    def choice(self, key: str, known: Sequence[str], default: str | None = "") -> str | None:
        """Return one of the known words; without the key ``default``, empty meaning a fault."""
        value = self._get(key)
        if value is _MISSING and default != "":
            return default
        if value not in known:
            found = "nothing" if value is _MISSING else _shown(value)
            self.fault(key, f"expected {' or '.join(json.dumps(k) for k in known)}, found {found}")
            return known[0]
        return str(value)

    def number(self, key: str, *, least: float = -math.inf, most: float = math.inf) -> float | None:
        """Return a finite number within bounds, None where there is none."""
        value = self._get(key)
        if value is _MISSING:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # A whole number may be larger than any float.
        is_finite = is_number and abs(value) <= sys.float_info.max
        if not is_finite or not least <= value <= most:
            bounds = f"from {least:g}" + (f" to {most:g}" if most < math.inf else "")
            self.fault(key, f"expected a number {bounds}, found {_shown(value)}")
            return None
        return float(value)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._get(key)
        if value is _MISSING:
            return default
        if not isinstance(value, bool):
            self.fault(key, f"expected true or false, found {_shown(value)}")
            return default
        return value

    def raw(self, key: str) -> Any:
        """Return a value of any type, None where there is none."""
        value = self._get(key)
        return None if value is _MISSING else value

    def table(self, key: str) -> Table:
        """Return a table; an empty one where there is none."""
        value = self._get(key)
        if value is not _MISSING and not isinstance(value, Mapping):
            self.fault(key, f"expected a table, found {_shown(value)}")
        found = value if isinstance(value, Mapping) else {}
        return Table(found, f"{self.pointer}/{key}", self.faults)

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables; an empty one where there is none."""
        value = self._get(key)
        if value is _MISSING:
            return []
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            self.fault(key, f"expected [[{key}]] tables, found {_shown(value)}")
            return []
        return [
            Table(row, f"{self.pointer}/{key}/{place}", self.faults)
            for place, row in enumerate(value)
        ]

    def _get(self, key: str) -> Any:
        self._read.add(key)
        return self.given.get(key, _MISSING)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:80]}…"
