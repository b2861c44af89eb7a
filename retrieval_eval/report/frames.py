"""Artefact documents to data frames, column by column as declared.

Reading is lenient: a value of the wrong type is missing, never an error. Missing numbers are
``NaN``, missing integers and flags ``<NA>``, missing text None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, overload

from retrieval_eval.report.columns import FRAMES, Column
from retrieval_eval.report.numbers import finite

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
_DTYPES: Final = {
    "text": "object",
    "number": "float64",
    "integer": "Int64",
    "boolean": "boolean",
    "list": "object",
}


def lookup(document: Any, path: str) -> Any:
    """Return what a slash-separated path leads to, or None.

    Examples
    --------
    >>> lookup({"a": {"b": 1}}, "a/b"), lookup({"a": []}, "a/b")
    (1, None)
    """
    for key in path.split("/"):
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def coerce(value: Any, type_: str) -> Any:
    """Return ``value`` when it is of the declared type, else None (an empty list for lists)."""
    match type_:
        case "number":
            return finite(value)
        case "integer":
            number = finite(len(value) if isinstance(value, list | dict) else value)
            return int(number) if number is not None and number.is_integer() else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "list":
            return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []
        case _:
            return value if isinstance(value, str) else None


def read_row(document: Any, columns: Iterable[Column], base: Row | None = None) -> Row:
    """Return one row of a document; columns in ``base`` are taken from there."""
    base = base or {}
    return {
        c.name: base[c.name] if c.name in base else coerce(lookup(document, c.source), c.type)
        for c in columns
    }


def make_frame(rows: Sequence[Row], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame with exactly the declared columns and their types."""
    import pandas as pd

    return pd.DataFrame(
        {
            c.name: pd.Series([row.get(c.name) for row in rows], dtype=_DTYPES[c.type])
            for c in columns
        }
    )


class Measured:
    """What was measured: nothing in it can be assigned once it is there, nor any of its frames.

    Sections read what was measured. What could be replaced would change some and not others.
    ``frame_columns`` are the columns of its frames.
    """

    frame_columns: ClassVar[Mapping[str, Sequence[Column]]]

    def __setattr__(self, name: str, value: object) -> None:
        is_there = name in vars(self) or hasattr(type(self), name)
        if is_there and not name.startswith("_"):
            whose = type(self).__name__
            part = "; run.filter(…) returns a run of the trials that pass a condition"
            raise AttributeError(
                f"{whose}.{name} cannot be assigned, because no section would follow it"
                f"{part if hasattr(self, 'filter') else ''}"
            )
        super().__setattr__(name, value)


class handed_out:  # noqa: N801  used as a decorator, as cached_property is
    """A frame of what was measured: built when it is first used, handed out as a copy."""

    def __init__(self, make: Callable[[Any], pd.DataFrame]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, run: None, owner: type) -> Self: ...
    @overload
    def __get__(self, run: Measured, owner: type) -> pd.DataFrame: ...
    def __get__(self, run: Measured | None, owner: type) -> Self | pd.DataFrame:
        if run is None:
            return self
        built = vars(run).setdefault("_frames", {})
        if self._name not in built:
            built[self._name] = self._make(run)
        frame: pd.DataFrame = built[self._name]
        lists = [c.name for c in run.frame_columns[self._name] if c.type == "list"]
        return frame.assign(**{name: frame[name].map(list) for name in lists}).copy()


def records(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a JSON list, or nothing when it is no list."""
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def members(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def event_rows(document: Any, identity: Row) -> list[Row]:
    """Return one row per event of an event document."""
    rows = []
    for event in records(members(document).get("events")):
        arguments = event.get("arguments")
        text = json.dumps(arguments, ensure_ascii=False, sort_keys=True) if arguments else None
        rows.append(read_row(event, FRAMES["events"][1], identity | {"arguments": text}))
    return rows


def pair_rows(comparisons: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return one row per matched task and metric of every comparison."""
    rows = []
    for comparison in comparisons:
        for pair in records(comparison.get("pairs")):
            for metric, values in members(pair.get("metrics")).items():
                rows.append(
                    {
                        "baseline_config": coerce(comparison.get("baseline_config"), "text"),
                        "comparison_config": coerce(comparison.get("comparison_config"), "text"),
                        "benchmark": coerce(pair.get("benchmark"), "text"),
                        "task_name": coerce(pair.get("task_name"), "text"),
                        "metric": metric,
                        **{
                            side: finite(members(values).get(side))
                            for side in ("baseline", "comparison", "difference")
                        },
                        "n_trials_baseline": coerce(pair.get("n_trials_baseline"), "integer"),
                        "n_trials_comparison": coerce(pair.get("n_trials_comparison"), "integer"),
                    }
                )
    return rows


def summary_rows(summary: Mapping[str, Any]) -> list[Row]:
    """Return one row per config and metric of a run summary."""
    rows = []
    for config, aggregate in members(summary.get("configs")).items():
        for metric, values in members(members(aggregate).get("metrics")).items():
            value = members(values)
            rows.append(
                {
                    "run_id": coerce(summary.get("run_id"), "text"),
                    "config_name": config,
                    "metric": metric,
                    "mean": finite(value.get("mean")),
                    "median": finite(value.get("median")),
                    "n": coerce(value.get("n"), "integer"),
                    "n_not_computable": coerce(value.get("n_not_computable"), "integer"),
                }
            )
    return rows
