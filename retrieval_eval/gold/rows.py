"""One row of a gold set: from decoded JSON to a query, with every fault named by JSON pointer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Final

from retrieval_eval.gold.faults import kind, pointer, unusable_part
from retrieval_eval.gold.fields import FieldMap
from retrieval_eval.gold.ids import query_id
from retrieval_eval.gold.model import ORIGINS, SOURCES, Anchor, GoldQuery, Label

DEFAULT_CORPUS: Final = "default"
"""The corpus of queries and documents that name none."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class Kept(dict[str, Any]):
    """The fields of a row that are not ours, with the line they came from and how it was read.

    With the line at hand an unchanged query is written as it stood, and a changed one under the
    names the file uses. To everybody else this is a plain dictionary.
    """

    __slots__ = ("fields", "text")

    def __init__(
        self,
        values: Iterable[tuple[str, Any]] = (),
        text: str | None = None,
        fields: FieldMap | None = None,
    ) -> None:
        super().__init__(values)
        self.text = text
        self.fields = fields


def read_row(
    value: Any, fields: FieldMap, *, text: str | None = None, line: int = 0
) -> tuple[GoldQuery | None, list[str]]:
    """Return the query of a decoded row, or None, and a sentence for each fault of the row.

    Parameters
    ----------
    value
        The decoded JSON of one line.
    fields
        How the file names its fields, and its scale of grades.
    text, line
        The line as it stands in the file, and its number.
    """
    if not isinstance(value, dict):
        return None, [f"expected an object, found {kind(value)}"]
    unusable = unusable_part(value)
    if unusable is not None:
        return None, [unusable]
    row = _Row(value, fields)
    query = row.build(text, line)
    return (None if row.faults else query), row.faults


class _Row:
    """A row under inspection; faults are collected so that all of them can be named at once."""

    def __init__(self, row: dict[str, Any], fields: FieldMap) -> None:
        self.row = row
        self.fields = fields
        self.faults: list[str] = []
        self.names: dict[str, str] = {}
        self.extra: list[tuple[str, Any]] = []
        meanings = fields.meanings()
        for name, value in row.items():
            ours = meanings.get(name)
            if ours is None:
                self.extra.append((name, value))
            elif ours in self.names:
                self.fault(f"says the same as {self.names[ours]!r}; keep one of them", name)
            else:
                self.names[ours] = name

    def build(self, text: str | None, line: int) -> GoldQuery:
        query = self.text("query", is_required=True) or ""
        corpus = self.text("corpus") or DEFAULT_CORPUS
        relevant = self.relevant()
        return GoldQuery(
            id=self.text("id") or query_id(corpus, query),
            query=query,
            corpus=corpus,
            area=self.area(),
            relevant=relevant,
            source=self.source(),
            origin=self.choice("origin", ORIGINS),
            answerable=self.answerable(relevant),
            note=self.note(),
            labels=self.labels(),
            anchors=self.anchors(),
            extra=Kept(self.extra, text, self.fields),
            line=line,
        )

    def fault(self, message: str, *parts: object) -> None:
        self.faults.append(f"{pointer(*parts)}: {message}")

    def name(self, ours: str) -> str:
        return self.names.get(ours, ours)

    def get(self, ours: str) -> Any:
        return self.row.get(self.name(ours)) if ours in self.names else None

    def text(self, ours: str, *, is_required: bool = False) -> str | None:
        value = self.get(ours)
        if isinstance(value, str) and value.strip():
            return value
        if ours in self.names and (value is not None or is_required):
            self.fault(f"expected text, found {kind(value)}", self.name(ours))
        elif is_required:
            self.fault("is missing; expected text", self.name(ours))
        return None

    def area(self) -> str | None:
        # Exports write "" for a query that belongs to no area.
        return None if self.get("area") == "" else self.text("area")

    def note(self) -> str:
        value = self.get("note")
        if value is None or isinstance(value, str):
            return value or ""
        self.fault(f"expected text, found {kind(value)}", self.name("note"))
        return ""

    def choice(self, ours: str, known: tuple[str, ...]) -> str | None:
        value = self.get(ours)
        if value is None:
            return None
        if isinstance(value, str) and value in known:
            return value
        found = repr(value[:80]) if isinstance(value, str) else kind(value)
        self.fault(f"{found} is unknown; expected one of {', '.join(known)}", self.name(ours))
        return None

    def source(self) -> str:
        source = self.choice("source", SOURCES)
        if source is None and self.get("source") is None:
            # Neither can be assumed: the one may be overwritten, the other claims a review.
            self.fault(
                "is missing; say 'chair' for a person's row, 'bootstrap' for a machine's",
                self.name("source"),
            )
        return source or "bootstrap"

    def grade(self, value: Any, *parts: object) -> int:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or value != math.floor(value):
            self.fault(f"expected a whole number as grade, found {kind(value)}", *parts)
            return 0
        if not 0 <= value <= self.fields.max_grade:
            self.fault(
                f"the grade {str(value)[:40]} is off the scale 0 to {self.fields.max_grade}"
                " (max_grade in gold.toml or in the header line)",
                *parts,
            )
            return 0
        return int(value)

    def relevant(self) -> dict[str, int]:
        value, name = self.get("relevant"), self.name("relevant")
        if value is None:
            return {}
        if isinstance(value, dict):
            return {
                doc: self.grade(grade, name, doc)
                for doc, grade in value.items()
                if self.document(doc, name, doc)
            }
        found: dict[str, int] = {}
        if not isinstance(value, list):
            self.fault(f"expected a list of ids or ids with grades, found {kind(value)}", name)
            return found
        for place, doc in enumerate(value):
            if self.document(doc, name, place):
                if doc in found:
                    self.fault(f"the document {doc[:80]!r} is listed twice", name, place)
                found[doc] = 1
        return found

    def document(self, value: Any, *parts: object) -> bool:
        is_id = isinstance(value, str) and bool(value.strip())
        if not is_id:
            self.fault(f"expected a document id as text, found {kind(value)}", *parts)
        return is_id

    def answerable(self, relevant: dict[str, int]) -> bool | None:
        value, name = self.get("answerable"), self.name("answerable")
        has_relevant = any(grade >= 1 for grade in relevant.values())
        if value is None:
            return True if has_relevant else None
        if not isinstance(value, bool):
            self.fault(f"expected true or false, found {kind(value)}", name)
            return None
        if not value and has_relevant:
            self.fault("is false, yet a document is judged relevant; one of them is wrong", name)
        return bool(value)

    def labels(self) -> tuple[Label, ...]:
        value, name = self.get("labels"), self.name("labels")
        if value is None:
            return ()
        if not isinstance(value, list):
            self.fault(f"expected a list, found {kind(value)}", name)
            return ()
        labels: list[Label] = []
        seen: set[tuple[str, str]] = set()
        for place, item in enumerate(value):
            if not self.members(item, ("labeller", "doc", "grade"), name, place):
                continue
            labeller, doc = item["labeller"], item["doc"]
            if not self.document(doc, name, place, "doc"):
                continue
            if not isinstance(labeller, str) or not labeller.strip():
                self.fault(f"expected text, found {kind(labeller)}", name, place, "labeller")
                continue
            if (labeller, doc) in seen:
                self.fault(f"{labeller[:80]!r} labels {doc[:80]!r} a second time", name, place)
            seen.add((labeller, doc))
            labels.append(Label(labeller, doc, self.grade(item["grade"], name, place, "grade")))
        return tuple(labels)

    def anchors(self) -> dict[str, Anchor]:
        value, name = self.get("anchors"), self.name("anchors")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(f"expected documents with their anchors, found {kind(value)}", name)
            return {}
        anchors = {doc: self.anchor(item, name, doc) for doc, item in value.items()}
        return {doc: anchor for doc, anchor in anchors.items() if anchor is not None}

    def anchor(self, item: Any, *parts: object) -> Anchor | None:
        if not self.members(item, ("source", "start", "end", "sha256"), *parts):
            return None
        n_faults = len(self.faults)
        for key in ("start", "end"):
            if not isinstance(item[key], int) or isinstance(item[key], bool) or item[key] < 0:
                self.fault(f"expected a whole number from 0, found {kind(item[key])}", *parts, key)
        if not isinstance(item["source"], str) or not item["source"].strip():
            self.fault(
                f"expected the path of a text, found {kind(item['source'])}", *parts, "source"
            )
        if not isinstance(item["sha256"], str) or not _DIGEST.fullmatch(item["sha256"]):
            self.fault("expected 64 hexadecimal digits in lower case", *parts, "sha256")
        if len(self.faults) == n_faults and item["end"] < item["start"]:
            self.fault(f"ends at {item['end']}, before its start {item['start']}", *parts)
        return Anchor(**item) if len(self.faults) == n_faults else None

    def members(self, item: Any, expected: tuple[str, ...], *parts: object) -> bool:
        if not isinstance(item, dict):
            self.fault(f"expected an object, found {kind(item)}", *parts)
            return False
        for key in expected:
            if key not in item:
                self.fault("is missing", *parts, key)
        for key in item:
            if key not in expected:
                self.fault(f"is unknown; expected {', '.join(expected)}", *parts, key)
        return set(item) == set(expected)
