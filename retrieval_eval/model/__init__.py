"""The data model: every document this package writes, declared once.

From these structs come the JSON Schemas (``make schemas``), the reading and writing of documents,
and the types, units and meanings of the frames' columns. A new field is added here and nowhere
else.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, TypeVar

import msgspec

from retrieval_eval.errors import SchemaError
from retrieval_eval.model.common import Record

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document: where its struct is declared, and the file in ``schemas/`` of it."""

    module: str
    name: str
    schema_file: str

    @property
    def struct(self) -> type[Record]:
        """The struct. That of a trial's metrics has a field for every registered metric."""
        found: type[Record] = getattr(import_module(f"retrieval_eval.{self.module}"), self.name)
        return found


DOCUMENTS: Final[dict[str, Document]] = {
    "retrieval_events": Document("model.events", "EventDocument", "retrieval_events_schema.json"),
    "retrieval_metrics": Document(
        "agents.metrics.document", "TrialMetrics", "retrieval_metrics_schema.json"
    ),
    "run_retrieval_summary": Document(
        "model.summary", "RunSummary", "run_retrieval_summary_schema.json"
    ),
    "run_impact_analysis": Document(
        "model.impact", "ImpactAnalysis", "run_impact_analysis_schema.json"
    ),
    "search_run": Document("model.search_run", "SearchRun", "search_run_schema.json"),
    "search_diff": Document("model.search_diff", "SearchDiff", "search_diff_schema.json"),
    "search_noise": Document("model.guard", "NoiseFloor", "noise_floor_schema.json"),
    "search_guard": Document("model.guard", "GuardRuling", "search_guard_schema.json"),
    "report": Document("model.dashboard", "ReportEntry", "report_schema.json"),
}
"""The kinds of documents by name."""

INPUTS: Final[dict[str, Document]] = {
    "gold_set": Document("model.gold", "GoldRow", "gold_set_schema.json"),
}
"""Files that people write and whose schema is published; their readers report every fault."""

ANSWERS: Final[dict[str, Document]] = {
    "dashboard": Document("model.dashboard", "Dashboard", "dashboard_schema.json"),
    "diagnostics": Document("model.dashboard", "Diagnostics", "diagnostics_schema.json"),
    "compared_queries": Document(
        "model.search_diff", "ComparedQueries", "compared_queries_schema.json"
    ),
}
"""What the servers answer and ``search diff --query`` prints; these are no files."""

PUBLISHED: Final = {**DOCUMENTS, **INPUTS, **ANSWERS}
"""Everything with a schema in ``schemas/``."""


def to_builtins(record: Record) -> dict[str, Any]:
    """Return a record as plain objects, as it is written in a document.

    Examples
    --------
    >>> from retrieval_eval.model.impact import PairValues
    >>> to_builtins(PairValues(baseline=0.5, comparison=1.0, difference=0.5))
    {'baseline': 0.5, 'comparison': 1.0, 'difference': 0.5}
    """
    plain: dict[str, Any] = msgspec.to_builtins(record, enc_hook=list)
    return record.in_document(plain)


def from_builtins(
    document: Any, struct: type[AnyRecord], name: str, *, strict: bool = True
) -> AnyRecord:
    """Return the record that plain objects describe; members it does not declare are left out.

    Parameters
    ----------
    document
        A decoded JSON value.
    struct
        The struct to read it as.
    name
        What to call it in the message.
    strict
        False for a document that was checked with its schema, which takes 3.0 for a count too.

    Raises
    ------
    SchemaError
        When it is no such document; the message names the first fault by its JSON pointer.

    Examples
    --------
    >>> from retrieval_eval.model.impact import PairValues
    >>> from_builtins({"baseline": 1, "comparison": "x"}, PairValues, "pairs.json")
    Traceback (most recent call last):
    retrieval_eval.errors.SchemaError: pairs.json: /comparison: Expected `float | null`, got `str`
    """
    try:
        return msgspec.convert(struct.upgraded(document), struct, strict=strict)
    except msgspec.ValidationError as error:
        raise SchemaError(f"{name}: {_with_pointer(str(error))}") from None
    except UnicodeEncodeError:  # a lone surrogate where one of a few names is expected
        raise SchemaError(f"{name}: /: a name in it is not valid Unicode") from None


def value_at(part: Any, path: Iterable[str]) -> Any:
    """Return what a record or plain objects hold at a path; None where it ends early.

    The step into a list is a position.

    Examples
    --------
    >>> from retrieval_eval.model.impact import PairValues
    >>> pair = PairValues(baseline=0.5, comparison=None, difference=None)
    >>> value_at({"a": pair}, ["a", "baseline"])
    0.5
    """
    for name in path:
        # What parts nearly always are comes first: a test for any mapping is slow.
        if part is None:
            return None
        if isinstance(part, Record):
            part = getattr(part, name, None)
        elif isinstance(part, (dict, Mapping)):
            part = part.get(name)
        elif isinstance(part, (tuple, list)):
            part = part[int(name)] if name.isdigit() and int(name) < len(part) else None
        else:
            part = getattr(part, name, None)
    return part


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a key of `PUBLISHED`."""
    struct = PUBLISHED[kind].struct
    generated = msgspec.json.schema(struct)
    definitions: dict[str, Any] = generated["$defs"]
    body = definitions.pop(struct.__name__)
    struct.complete_schema(body)
    for definition in definitions.values():
        # Python removes the indentation of docstrings itself from 3.13 on.
        if "description" in definition:
            definition["description"] = inspect.cleandoc(definition["description"])
    title, _, description = (struct.__doc__ or "").partition("\n")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **body,
        "title": title.rstrip("."),
        "description": " ".join(description.split()),
        "$defs": definitions,
    }


_POSITION: Final = re.compile(r"^(?P<what>.*) - at `(?P<where>\$.*)`$", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>[^\]]*)\]")


def _with_pointer(message: str) -> str:
    """Put the position of msgspec's message in front, as a JSON pointer."""
    found = _POSITION.match(message)
    if found is None:
        return f"/: {message}"
    steps = (step["name"] or step["index"] for step in _STEP.finditer(found["where"]))
    pointer = "".join(f"/{step}" for step in steps)
    return f"{pointer or '/'}: {found['what']}"


__all__ = [
    "ANSWERS",
    "DOCUMENTS",
    "INPUTS",
    "PUBLISHED",
    "AnyRecord",
    "Document",
    "Record",
    "from_builtins",
    "json_schema",
    "to_builtins",
    "value_at",
]
