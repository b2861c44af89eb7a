"""Thresholds of the guard: what may change by how much, read from TOML and checked."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode_toml, read_text
from retrieval_eval.search.decide import RULES, Rule
from retrieval_eval.search.gold.identity import Pinned, read_pinned
from retrieval_eval.search.run.composite import Bound
from retrieval_eval.search.run.named_metrics import (
    NOT_IN_PARTS,
    OF_TWO_RUNS,
    check_metric_name,
)
from retrieval_eval.search.run.scoring import DIMENSIONS

# --------------------------------------------------------------------------------------------------
# TOML tables taken apart key by key, with a pointer for every fault.

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


# --------------------------------------------------------------------------------------------------
# Thresholds of the guard: what may change by how much, read from TOML and checked.

Direction = Literal["down is bad", "up is bad"]
Unit = Literal["points", "relative_percent"]

DIRECTIONS: Final = ("down is bad", "up is bad")
UNITS: Final = ("points", "relative_percent")
MIN_QUERIES: Final = 20
"""Smaller slices are not judged, unless a threshold names another number."""
PINNED: Final = "queries"
"""The slice that is a file of query ids."""

SHIPPED: Final = Path(__file__).with_name("guard.toml")


@dataclass(frozen=True, slots=True)
class Part:
    """The queries a threshold looks at: a slice, or a pinned list by its path as it is written."""

    dimension: str
    value: str

    def __str__(self) -> str:
        return f"{self.dimension} {self.value}"


@dataclass(frozen=True, slots=True)
class Threshold:
    """What one metric may do.

    ``max_change`` is the largest allowed change in the bad direction, in points (hundredths) or in
    per cent of the baseline; ``floor`` and ``ceiling`` bound the value itself, in the metric's own
    unit. None: no such bound. A metric that the baseline did not record is not checked;
    ``required``: it leaves no verdict. With ``slices``, dimensions such as corpus, it holds for
    each of their slices of at least ``min_queries`` queries, and the worst of them decides.
    """

    metric: str
    direction: Direction
    max_change: float | None = None
    unit: Unit | None = None
    floor: float | None = None
    ceiling: float | None = None
    part: Part | None = None
    required: bool = False
    slices: tuple[str, ...] = ()
    min_queries: int = MIN_QUERIES

    @property
    def name(self) -> str:
        """The metric, and the slice where there is one."""
        if self.part is None and self.slices:
            return f"{self.metric} [worst {' or '.join(self.slices)}]"
        return f"{self.metric} [{self.part}]" if self.part else self.metric

    @property
    def is_bounded(self) -> bool:
        """Whether the value itself is bounded, by a floor or a ceiling."""
        return self.floor is not None or self.ceiling is not None

    def limit_points(self, baseline: float | None) -> float | None:
        """Return the allowed change in points, given the baseline's value.

        Examples
        --------
        >>> Threshold("P@5", "down is bad", 2.0, "relative_percent").limit_points(0.75)
        1.5
        """
        if self.max_change is None or self.unit == "points":
            return self.max_change
        return None if baseline is None else self.max_change * abs(baseline)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """All thresholds of a file, and the rule that turns them into a verdict."""

    rows: tuple[Threshold, ...]
    rule: Rule
    alpha: float
    path: Path


def shipped_thresholds() -> Thresholds:
    """Return the thresholds that come with the package."""
    return read_thresholds(SHIPPED)


def read_thresholds(path: Path) -> Thresholds:
    """Return the thresholds of a TOML file.

    Raises
    ------
    BadInputError
        When the file cannot be read, is not TOML, or holds a key, metric, direction, unit or
        number that means nothing; every fault is listed with its pointer.
    """
    top = Table(read_toml(path), "", [])
    decision = top.table("decision")
    rule = decision.choice("rule", RULES, RULES[0])
    alpha = decision.number("alpha", least=0.0, most=0.5)
    decision.report_unknown_keys()
    rows = [_threshold(table) for table in top.tables("threshold")]
    top.report_unknown_keys()
    if not rows and not top.faults:
        top.fault("threshold", "there is none, and nothing checked is nothing passed")
    seen = set()
    for place, row in enumerate(rows):
        if row.name in seen:
            top.fault(f"threshold/{place}", f"a second threshold for {row.name}")
        seen.add(row.name)
    raise_faults(path, top.faults)
    return Thresholds(
        tuple(rows),
        cast("Rule", rule),
        0.05 if alpha is None else alpha,
        path,
    )


def components_of(thresholds: Thresholds) -> tuple[Bound, ...]:
    """Return the components of a composite that thresholds name, in their order.

    They are its floors and ceilings for the whole run; bounds on slices are the guard's alone.
    """
    found = []
    for row in thresholds.rows:
        if row.part is not None or row.slices or row.metric == "composite":
            continue
        for bound, is_ceiling in ((row.floor, False), (row.ceiling, True)):
            if bound is not None:
                found.append(Bound(row.metric, bound, is_ceiling, row.required))
    return tuple(found)


def pinned_lists(thresholds: Thresholds) -> dict[str, Pinned]:
    """Return the lists that thresholds name, which lie beside their file.

    Raises
    ------
    BadInputError
        As `read_pinned` does.
    """
    parts = [row.part for row in thresholds.rows]
    named = {part.value for part in parts if part is not None and part.dimension == PINNED}
    return {name: read_pinned(thresholds.path.parent / name) for name in sorted(named)}


def toml_of(thresholds: Thresholds) -> str:
    """Return thresholds as the TOML that `read_thresholds` reads."""
    head = f"[decision]\nrule = {_quoted(thresholds.rule)}\nalpha = {thresholds.alpha!r}\n"
    blocks = [head]
    for row in thresholds.rows:
        keys = {
            "metric": _quoted(row.metric),
            "direction": _quoted(row.direction),
            "max_change": row.max_change,
            "unit": row.unit and _quoted(row.unit),
            "floor": row.floor,
            "ceiling": row.ceiling,
            "slice": row.part and f"{{ {row.part.dimension} = {_quoted(row.part.value)} }}",
            "slices": json.dumps(row.slices) if row.slices else None,
            "min_queries": row.min_queries if row.slices else None,
            "required": "true" if row.required else None,
        }
        lines = (f"{name} = {value}\n" for name, value in keys.items() if value is not None)
        blocks.append("[[threshold]]\n" + "".join(lines))
    return "\n".join(blocks)


def _quoted(text: str) -> str:
    # Basic strings of TOML are written as those of JSON, but for one control character.
    return json.dumps(text).replace("\x7f", "\\u007f")


def _threshold(table: Table) -> Threshold:
    metric = table.text("metric")
    if metric and metric not in OF_TWO_RUNS:
        try:
            check_metric_name(metric)
        except BadInputError as error:
            table.fault("metric", f"{error}, {', '.join(OF_TWO_RUNS)}")
    direction = table.choice("direction", DIRECTIONS)
    max_change = table.number("max_change", least=0.0)
    unit = table.choice("unit", UNITS, None)
    if ("max_change" in table.given) != ("unit" in table.given):
        table.fault("unit", f"expected with max_change, and one of {', '.join(UNITS)}")
    least = -1.0 if metric == "composite" else 0.0
    floor = table.number("floor", least=least, most=1.0)
    ceiling = table.number("ceiling", least=least, most=1.0)
    if not {"max_change", "floor", "ceiling"} & set(table.given):
        table.fault("max_change", "expected max_change, floor or ceiling: nothing is bounded")
    if floor is not None and ceiling is not None and floor > ceiling:
        table.fault("floor", f"{floor:g} is above the ceiling of {ceiling:g}: nothing can pass")
    if metric in OF_TWO_RUNS:
        if direction != "up is bad":
            table.fault("direction", f'of {metric} more is worse: expected "up is bad"')
        for key in {"floor", "ceiling"} & set(table.given):
            table.fault(key, f"{metric} is a change, and only max_change bounds it")
    part = part_of(table)
    if part is not None and metric in {*NOT_IN_PARTS, *OF_TWO_RUNS}:
        table.fault("slice", f"{metric} has no value for a part of a run")
    slices, min_queries = _slices_of(table, metric)
    required = table.flag("required", default=False)
    table.report_unknown_keys()
    return Threshold(
        metric,
        cast("Direction", direction),
        max_change,
        cast("Unit | None", unit),
        floor,
        ceiling,
        part,
        required,
        slices,
        min_queries,
    )


def _slices_of(table: Table, metric: str) -> tuple[tuple[str, ...], int]:
    """Return the dimensions of the declared slices, and the least number of queries of one."""
    given = table.raw("slices")
    least = table.number("min_queries", least=1)
    known = ", ".join(DIMENSIONS)
    is_list = isinstance(given, list) and all(name in list(DIMENSIONS) for name in given) and given
    if given is not None and (not is_list or len(set(given)) < len(given)):
        table.fault("slices", f"expected a list of some of {known}")
        return (), MIN_QUERIES
    if given is None and least is not None:
        table.fault("min_queries", "expected with slices")
    if least is not None and least != int(least):
        table.fault("min_queries", "expected a whole number")
    if given and "slice" in table.given:
        table.fault("slices", "slice and slices exclude each other")
    if given and metric in {*NOT_IN_PARTS, *OF_TWO_RUNS}:
        table.fault("slices", f"{metric} has no value for a part of a run")
    return tuple(given or ()), MIN_QUERIES if least is None else int(least)


def part_of(table: Table) -> Part | None:
    """Return the slice that a table names under ``slice``, None where it names none."""
    given = table.table("slice")
    known = (*DIMENSIONS, PINNED)
    found = [Part(name, value) for name in known if (value := given.text(name, required=False))]
    given.report_unknown_keys()
    if "slice" in table.given and len(found) != 1:
        table.fault("slice", f"expected exactly one of {', '.join(known)}")
    return found[0] if found else None
