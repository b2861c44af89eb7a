"""Records to data frames, column by column as declared.

Missing numbers are ``NaN``, missing integers and flags ``<NA>``, missing text None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, overload

from retrieval_eval.agents.study.frames import as_made, named
from retrieval_eval.escape import encodable
from retrieval_eval.model import value_at
from retrieval_eval.report.columns import Column
from retrieval_eval.report.exhibits import Block
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


def read_row(record: Any, columns: Iterable[Column], base: Row) -> Row:
    """Return one row of a record; columns in ``base`` are taken from there."""
    return {
        c.name: base[c.name]
        if c.name in base
        else _cell(value_at(record, c.path.split("/")), c.type)
        for c in columns
    }


def _cell(value: Any, type_: str) -> Any:
    """Return a value as a column of this type holds it; what no struct declares is checked here."""
    match type_:
        case "number":
            return finite(value)
        case "list" if isinstance(value, Mapping):
            return [(encodable(name), *parts) for name, parts in value.items()]
        case "list":
            return list(value or ())
        case "text":
            return value if isinstance(value, str) else None
        case _:
            return value


def make_frame(rows: Sequence[Row], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame with exactly the declared columns and their types."""
    return frame_of({c.name: [row.get(c.name) for row in rows] for c in columns}, columns)


def frame_of(values: Mapping[str, Sequence[Any]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return a frame of the values of each declared column; a dictionary a row is slow for many."""
    import pandas as pd

    return pd.DataFrame(
        {
            c.name: pd.Series(
                list(map(encodable, values[c.name]))
                if c.type in ("text", "list")
                else values[c.name],
                dtype=_DTYPES[c.type],
            )
            for c in columns
        }
    )


class Measured:
    """What was measured: nothing in it can be assigned once it is there, nor any of its frames.

    Sections read what was measured. What could be replaced would change some and not others.
    ``frame_columns`` are the columns of its frames, which notes in them call by ``owner`` and name,
    and ``filtered_by`` is what the conditions of its ``filter`` are about; empty where it has none.
    """

    owner: ClassVar[str]
    frame_columns: ClassVar[Mapping[str, Sequence[Column]]]
    filtered_by: ClassVar[str] = ""

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :mod:`retrieval_eval.report.columns`."""
        found: pd.DataFrame = getattr(self, name)
        return found

    def block(self) -> Block:
        """Return what is shown where this is the last line of a cell."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.block()._repr_mimebundle_(include, exclude)

    def remarks(self, name: str) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what tables of a frame say: ``empty``, why it has no row, and ``notes``."""
        return {}

    def __setattr__(self, name: str, value: object) -> None:
        is_there = name in vars(self) or hasattr(type(self), name)
        if is_there and not name.startswith("_"):
            whose = type(self).__name__
            part = f"; filter(…) returns the part of the {self.filtered_by} that pass a condition"
            raise AttributeError(
                f"{whose}.{name} cannot be assigned, because no section would follow it"
                f"{part if self.filtered_by else ''}"
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
            made = built[self._name] = named(self._make(run), f"{run.owner}.{self._name}")
            made.attrs.update(run.remarks(self._name))
            if made.attrs.get("notes"):
                made.attrs.update(as_made(made))
        frame: pd.DataFrame = built[self._name].copy()
        for column in run.frame_columns[self._name]:
            if column.type == "list":
                frame[column.name] = frame[column.name].map(list)
        return frame
